"""What of an overlay still holds for another instance: nodes and topics are matched by name."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.model.interests import Interests, Rows
from meshwright.model.limits import NO_LIMIT, Limits, Links
from meshwright.model.names import match_names
from meshwright.model.overlay import Overlay, count_joins, gains_of
from meshwright.model.publications import Publications
from meshwright.overlay import restricted as rules
from meshwright.overlay.greedy.rule import Restrictions
from meshwright.overlay.kernels.matching import (
    Changes,
    Places,
    Taking,
    copy_part,
    count_wanted,
    mark_changes,
    mark_common,
)
from meshwright.overlay.losses import after_losses, topics_apart
from meshwright.overlay.methods.refined import with_cap
from meshwright.runtime.arrays import Bools, Ints, Longs
from meshwright.storage.digest import pack

# How much of its links a node gives up with its topics. On FB1K the maximum degree was 0.96 of that
# of a fresh design after 100 steps with 1 (and 1% more links), 1.08 with 0.
LINKS_BY_TOPICS = 0.75


@dataclass(frozen=True, slots=True, eq=False)
class Matched:
    """An overlay carried over to another instance, and what changed."""

    instance: Instance
    edges: Ints  # int32[n, 2], the links that hold, by the new ids, in their order
    at: Longs  # int64[n], which links of the overlay before they are
    topics: Longs  # int64[topics before], the new id of each topic, -1 if it is gone
    dirty: Bools  # bool[n_topics], whether a member came or went, or joins may be missing
    changed: Longs  # the nodes whose topics changed, or that lost a link
    n_changed: int  # pairs of a node and a topic that came or went
    most_links: float  # of a node, beyond which links are moved away from it
    restrictions: Restrictions
    limits: Limits | None
    links: Links | None
    survive: int  # losses that the overlay is to survive


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """An instance with some of its topics, numbered anew; the nodes are the same.

    If losses are to be survived, its topics are what remains of these topics.
    """

    instance: Interests
    carries: Bools | None

    def gains(self, edges: Ints) -> Ints:
        """Return what each of the edges gains in these topics, in their order."""
        return gains_of(self.instance, edges, self.carries).copy()


def part_of(instance: Instance, chosen: Bools, carries: Bools | None, survive: int = 0) -> Part:
    """Return the part of an instance with the chosen topics, or what losses leave of them."""
    topics = np.flatnonzero(chosen)
    number = np.full(instance.n_topics, -1, np.int32)
    number[topics] = np.arange(len(topics), dtype=np.int32)
    n = instance.n_subscriptions
    own, slots = np.empty(n, np.int32), np.empty(n, np.int64)
    n_copied = copy_part(instance.topics, number, own, slots)
    own, slots = own[:n_copied], slots[:n_copied]
    pointers = np.searchsorted(slots, instance.indptr)
    flags = None if carries is None else carries[slots]
    if not survive:
        return Part(Rows(pointers, own, len(topics)), flags)
    part = Instance.from_arrays(pointers, own, len(topics))
    made, wants = instance.publications, instance.wants
    here = chosen[made.topics]
    published = Publications(
        made.nodes[here], number[made.topics[here]], made.rates[here], made.sizes[here]
    )
    part = replace(part, publications=published, wants=None if wants is None else wants[slots])
    remaining = after_losses(part, survive, Restrictions(carries=flags))
    return Part(remaining.instance, remaining.restrictions.carries)


def match_overlay(
    before: Overlay,
    instance: Instance,
    *,
    limits: rules.LimitsGiven = None,
    links: rules.LinksGiven = None,
) -> Matched:
    """Return what of an overlay holds for another instance."""
    old = before.instance
    nodes = match_names(old.node_names, instance.node_names)
    topics = match_names(old.topic_names, instance.topic_names)
    check_related(before, instance, nodes)
    now_limits = _carried_limits(before.limits, nodes, instance)
    now_links = _carried_links(before.links, nodes)
    if limits is not None:
        now_limits = rules.read_limits(limits, instance)
    if links is not None:
        now_links = rules.read_links(links, instance)
    publishers_as = before.parameters.get("publishers_as")
    _refuse_flags(before, publishers_as)
    restrictions = rules.restrict(
        instance, publishers_as=publishers_as, limits=now_limits, links=now_links
    )
    restrictions = with_cap(instance, restrictions, before.parameters.get("max_degree"))
    places = nodes, topics
    dirty, changed, n_changed = find_changes(before, instance, places, restrictions.carries)
    edges, holds = before.edges, np.ones(before.n_edges, np.bool_)
    if old.node_names is not instance.node_names:
        ends = nodes[before.edges]
        holds = (ends[:, 0] >= 0) & (ends[:, 1] >= 0)
        changed[ends[~holds][ends[~holds] >= 0]] = True
        edges = ends[holds].astype(np.int32)
    obeys = _obeying(edges, restrictions, instance.n_nodes)
    mark_common(instance.indptr, instance.topics, edges[~obeys], dirty)
    changed[edges[~obeys].ravel()] = True
    apart = topics[_apart(before)]
    dirty[apart[apart >= 0]] = True
    at = np.flatnonzero(holds)
    if not obeys.all():
        edges, at = edges[obeys], at[obeys]
    return Matched(
        instance=instance,
        edges=edges,
        at=at,
        topics=topics,
        dirty=dirty,
        changed=np.flatnonzero(changed),
        n_changed=n_changed,
        most_links=_most_links(before, instance, nodes),
        restrictions=restrictions,
        limits=now_limits,
        links=now_links,
        survive=before.parameters.get("survive") or 0,
    )


def find_changes(
    before: Overlay, instance: Instance, places: tuple[Longs, Longs], carries: Bools | None = None
) -> tuple[Bools, Bools, int]:
    """Return which topics and nodes changed, and how many incidences came or went.

    `places` are the new ids of the nodes and topics before, `carries` the flags of today.
    """
    old, (nodes, topics) = before.instance, places
    node_before = np.full(instance.n_nodes, -1, np.int64)
    gone = np.flatnonzero(nodes < 0)
    stays = np.flatnonzero(nodes >= 0)
    node_before[nodes[stays]] = stays
    all_carry = np.empty(0, np.bool_)
    found = Changes(
        topic=np.zeros(instance.n_topics, np.bool_),
        node=np.zeros(instance.n_nodes, np.bool_),
        total=np.zeros(1, np.int64),
    )
    mark_changes(
        Taking(old.indptr, old.topics, all_carry if before.carries is None else before.carries),
        Taking(instance.indptr, instance.topics, all_carry if carries is None else carries),
        Places(node_before, topics),
        found,
    )
    n_changed = int(found.total[0])
    for v in gone.tolist():
        row = topics[old.topics_of(v)]
        found.topic[row[row >= 0]] = True
        n_changed += len(row)
    return found.topic, found.node, n_changed


def _most_links(before: Overlay, instance: Instance, nodes: Longs) -> float:
    """Return beyond how many links of a node some are moved away from it.

    That is what the busiest node had in the design. A busy node has its links because it wants
    much, so the number falls as it wants less, and with it if it is gone. It is kept from replan to
    replan as a fraction: a node loses few topics at a time.
    """
    links, old, new = before.degrees, before.instance.indptr, instance.indptr
    busiest = int(links.max(initial=0))
    most: float = before.parameters.get("most_links", busiest)
    links[nodes < 0] = 0
    least = (1 - LINKS_BY_TOPICS) * links.max(initial=0)
    busy = np.flatnonzero(links >= max(least, 1))  # all others have less whatever they want
    v = nodes[busy]
    lost = 1 - (new[v + 1] - new[v]) / np.maximum(old[busy + 1] - old[busy], 1)
    now = links[busy] * (1 - LINKS_BY_TOPICS * np.maximum(lost, 0))
    return round(most * float(now.max(initial=0)) / max(busiest, 1), 3)


def _apart(overlay: Overlay) -> Longs:
    """Return the topics of an overlay that lack joins, or would lack some after a loss."""
    survive = overlay.parameters.get("survive")
    if survive:
        return topics_apart(overlay, survive)
    if int(overlay.gains.sum(dtype=np.int64)) == _count_joins(overlay):
        return np.empty(0, np.int64)
    return np.flatnonzero(overlay.components > 1)


def _count_joins(overlay: Overlay) -> int:
    """Return the joins of a complete overlay."""
    instance = overlay.instance
    if overlay.carries is not None:
        return count_joins(instance, overlay.carries)
    return instance.n_subscriptions - int(
        count_wanted(instance.topics, np.zeros(instance.n_topics, np.bool_))
    )


def check_related(before: Overlay, instance: Instance, nodes: Longs) -> None:
    """Raise InputError if two workloads have no node in common; `nodes` are the new ids."""
    old, new = before.instance.workload or before.instance, instance.workload or instance
    if len(nodes) and new.n_nodes and not (nodes >= 0).any():
        raise InputError(
            "the overlay to start from is of an unrelated workload: no node of it is in the new "
            f"one. Their digests are {old.digest} and {new.digest}. Give an overlay of an earlier "
            "state of this workload, or leave out --from."
        )


def _refuse_flags(before: Overlay, publishers_as: str | None) -> None:
    """Raise InputError if leaves were given as flags, which have no names to carry them over by."""
    if before.carries is None:
        return
    known = rules.restrict(before.instance, publishers_as=publishers_as, limits=before.limits)
    if known.carries is None or not np.array_equal(known.carries, before.carries):
        raise InputError(
            "the overlay was designed with `carries`; replan knows leaves by limits and "
            "publishers_as alone. Design it anew."
        )


def _carried_limits(limits: Limits | None, nodes: Longs, instance: Instance) -> Limits | None:
    """Return limits by the new ids; nodes that are new have none."""
    if limits is None:
        return None
    most = np.full(instance.n_nodes, NO_LIMIT, np.int32)
    role = np.full(instance.n_nodes, -1, np.int32)
    stays = nodes >= 0
    most[nodes[stays]], role[nodes[stays]] = limits.max_degree[stays], limits.role[stays]
    return Limits(most, role)


def _carried_links(links: Links | None, nodes: Longs) -> Links | None:
    """Return pairs by the new ids, without those of nodes that are gone."""
    if links is None:
        return None
    pairs = nodes[links.pairs]
    stays = (pairs >= 0).all(axis=1)
    cost = None if links.cost is None else links.cost[stays]
    return Links(pairs[stays].astype(np.int32), links.allowed[stays], links.dial[stays], cost)


def _obeying(edges: Ints, restrictions: Restrictions, n_nodes: int) -> Bools:
    """Return which links may stay: allowed pairs, the first ones of a node with too many."""
    obeys = np.ones(len(edges), np.bool_)
    if not restrictions.exclude_pairs:
        return obeys
    if restrictions.pairs is not None:
        listed = pack(*restrictions.pairs.T)
        obeys &= np.isin(pack(edges[:, 0], edges[:, 1]), listed) == restrictions.only_listed
    most = restrictions.max_links
    degree = np.bincount(edges[obeys].ravel(), minlength=n_nodes)
    if most is None or (degree <= most).all():
        return obeys
    degree[:] = 0
    for k in np.flatnonzero(obeys).tolist():
        u, v = edges[k].tolist()
        obeys[k] = degree[u] < most[u] and degree[v] < most[v]
        degree[[u, v]] += int(obeys[k])
    return obeys
