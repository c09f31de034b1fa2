"""From an overlay to a plan of bridges: a tree per topic, each link configured at one end."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from math import isnan
from typing import NamedTuple

import numpy as np

from meshwright.deploy.graphs import neighbours
from meshwright.deploy.inventory import inventory_problems
from meshwright.deploy.names import ambiguous_patterns, bridge_pattern, directory_names
from meshwright.deploy.plan import Broker, Plan
from meshwright.deploy.route import Rate, Route
from meshwright.deploy.trees import Edge, Forest, grow_trees, ordered
from meshwright.errors import InputError, check_choice
from meshwright.model.instance import Instance, row_pointers, subscribers_of
from meshwright.model.limits import Links
from meshwright.model.overlay import Overlay
from meshwright.model.publications import Publications
from meshwright.overlay.demand import make_demand
from meshwright.patterns.expand import expand
from meshwright.patterns.filters import (
    PatternIndex,
    example_names,
    is_filter,
    meet,
    topic_error,
)
from meshwright.storage.csv_files import raise_problems

QOS = (0, 1, 2)
COMPLETE = ("relay",)
MOST_TOPICS = 10  # that cannot be bridged, in one message

Publishers = Sequence[tuple[str, str]]  # (node, topic or filter)
Published = Sequence[tuple[int, int]]  # the same by id, of topics that are carried


def plan(
    overlay: Overlay,
    brokers: Sequence[Broker],
    *,
    publishers: Publishers = (),  # further ones: they do not want the topics themselves
    tree: str = "shallow",  # the lowest depth; "balanced" evens out topics per link and broker
    qos: int = 1,  # the quality of service of all bridges
    complete: str | None = None,  # "relay": reach disconnected subscribers via relays
    skip_unsupported: bool = False,  # leave out topics that bridges cannot carry
) -> Plan:
    """Return the bridges that carry every topic to all its subscribers, once.

    The overlay is topic-connected, or partial with `complete`; `brokers` has one row per node.
    """
    if qos not in QOS:
        raise InputError(f"--qos is {qos}; choose 0, 1 or 2.")
    check_choice("--complete", complete, COMPLETE)
    nodes = list(overlay.instance.node_names)
    wrong = inventory_problems(brokers, nodes, [broker.node for broker in brokers])
    raise_problems("the inventory does not fit the overlay", wrong)
    instance, unheard = with_published(overlay, publishers)
    secured = any(broker.username for broker in brokers)
    wrong_topics = unsupported(instance, [topic for _, topic in unheard], secured=secured)
    if not skip_unsupported:
        problems = [f"topic {name!r} {reason}" for name, reason in wrong_topics.items()]
        raise_problems(
            "the workload has topics that cannot be bridged (--skip-unsupported leaves them out)",
            problems,
            most=MOST_TOPICS,
        )
    skipped = {t for t, name in enumerate(instance.topic_names) if name in wrong_topics}
    edges = overlay.edge_list()
    leaves = leaves_of(overlay, instance)
    forest = grow_trees(instance, edges, tree, relay=complete == "relay", leaves=leaves)
    for t in skipped:
        forest.disconnected.pop(t, None)
    if forest.disconnected:
        raise disconnected_error(overlay, instance, forest)
    node_id = {name: i for i, name in enumerate(nodes)}
    topic_id = {name: t for t, name in enumerate(instance.topic_names)}
    published = [
        (node_id[node], topic_id[topic]) for node, topic in heard_pairs(instance, publishers)
    ]
    roles = roles_of(instance, forest, published)
    published = [(node, t) for node, t in published if t not in skipped]
    carried, added = attach_publishers(forest, roles, edges, published)
    carried = [[] if t in skipped else tree for t, tree in enumerate(carried)]
    refuse_transit(instance, carried, leaves)
    links = orient(carried, overlay.links)
    dialled = [[links[edge] for edge in edges] for edges in carried]
    by_node = {broker.node: broker for broker in brokers}
    return Plan(
        brokers=tuple(by_node[node] for node in nodes),
        directories=directory_names(nodes),
        links=tuple((nodes[u], nodes[v]) for u, v in links.values()),
        routes=tuple(r for r in routes_of(instance, roles, dialled) if r.name not in wrong_topics),
        qos=qos,
        workload_digest=(overlay.instance.workload or overlay.instance).digest,
        method=overlay.method,
        tree=tree,
        n_unused=len(set(edges) - links.keys()),
        added=tuple((nodes[u], nodes[v]) for u, v in added),
        shared=tuple(tuple(names) for names in forest.shared),
        unheard=tuple(unheard),
        skipped=tuple(wrong_topics),
    )


class Roles(NamedTuple):
    """Who does what in each topic, by topic id; nodes are sorted."""

    subscribers: list[list[int]]
    publishers: list[list[int]]
    relays: list[list[int]]  # receive the topic and pass it on, but do not want it


def with_published(
    overlay: Overlay, publishers: Publishers
) -> tuple[Instance, list[tuple[str, str]]]:
    """Return who takes part in each topic and must be on its tree, and what no node wants.

    Further publishers are not on the trees: they are attached to them. The names that they publish
    become topics where a filter matches them, and so do the meets of filters.
    """
    workload = overlay.instance.workload or overlay.instance
    known = set(workload.topic_names)
    patterns = PatternIndex(known)
    near = {topic: patterns.overlapping(topic) for _, topic in publishers if topic not in known}
    unheard = [(node, topic) for node, topic in publishers if near.get(topic, True) == []]
    if overlay.instance.wants is None:
        # A filter itself may be wider than what anybody wants.
        heard = {found for one, others in near.items() for o in others if (found := meet(one, o))}
        return expand(workload, heard), unheard
    if not publishers:
        return overlay.instance, unheard
    more = [pair for pair in publishers if pair not in unheard]
    taking = make_demand(workload.with_publications(more), overlay.parameters["assume_publishers"])
    return without_attached(taking, overlay.instance, more), unheard


def heard_pairs(instance: Instance, publishers: Publishers) -> list[tuple[str, str]]:
    """Return who else publishes which topic: a publisher of a filter all that it covers."""
    names = list(instance.topic_names)
    known, wanted = set(names), {names[t] for t in np.unique(instance.wanted.topics).tolist()}
    found = {pair for pair in publishers if pair[1] in known and not is_filter(pair[1])}
    if by_filter := patterns_of(pair for pair in publishers if is_filter(pair[1])):
        found |= {(v, t) for t in wanted for v, own in by_filter.items() if own.covering(t)}
    return sorted(found)


def patterns_of(pairs: Iterable[tuple[str, str]]) -> dict[str, PatternIndex]:
    """Return the patterns of each node."""
    found: dict[str, PatternIndex] = {}
    for node, pattern in pairs:
        found.setdefault(node, PatternIndex()).add(pattern)
    return found


def without_attached(taking: Instance, designed: Instance, more: Publishers) -> Instance:
    """Return an instance without the nodes that take part only as further publishers."""
    names, patterns = list(taking.node_names), list(taking.topic_names)
    old_topics = list(designed.topic_names)
    old = {
        (names[v], old_topics[t])
        for v, t in zip(designed.nodes.tolist(), designed.topics.tolist(), strict=True)
    }
    # A further publisher of a filter takes part in what the filter covers, too.
    further = patterns_of(more)
    workload = designed.workload or designed
    made, listed = workload.publications, list(workload.topic_names)
    own = patterns_of(
        (names[v], listed[t])
        for v, t in zip(made.nodes.tolist(), made.topics.tolist(), strict=True)
    )

    def is_added(node: str, pattern: str) -> bool:
        said = further.get(node)
        if said is None or (node, pattern) in old or not said.covering(pattern):
            return False
        return node not in own or not own[node].covering(pattern)

    assert taking.wants is not None
    keep = np.array(
        [
            wanted or not is_added(names[v], patterns[t])
            for v, t, wanted in zip(
                taking.nodes.tolist(), taking.topics.tolist(), taking.wants.tolist(), strict=True
            )
        ],
        np.bool_,
    )
    pointers = row_pointers(taking.nodes[keep], taking.n_nodes)
    topics, wants = taking.topics[keep], taking.wants[keep]
    return replace(taking, indptr=pointers, topics=topics, wants=wants, _digest=[])


def roles_of(instance: Instance, forest: Forest, published: Published) -> Roles:
    """Return the subscribers, publishers and relays of each topic; `published` adds publishers.

    A node that takes part only to publish is a relay if it lies inside the tree.
    """
    # Of topics that nobody publishes, too: their subscribers may read them.
    everything = instance
    if instance.wants is not None and instance.workload is not None:
        everything = expand(instance.workload)
    pointers, nodes = subscribers_of(everything)
    subscribers = [nodes[start:end].tolist() for start, end in pairwise(pointers)]
    listed = instance.wants is not None and instance.n_publications > 0
    made: Instance | Publications = instance.publications if listed else instance
    publishers: list[set[int]] = [set() for _ in subscribers]
    for node, t in [*zip(made.nodes.tolist(), made.topics.tolist(), strict=True), *published]:
        publishers[t].add(node)
    relays = []
    for t, tree in enumerate(forest.trees):
        degree = Counter(node for edge in tree for node in edge)
        inside = {node for node in forest.subscribers[t] if degree[node] > 1}
        relays.append(sorted({*forest.relays[t], *inside} - set(subscribers[t])))
    return Roles(subscribers, [sorted(nodes) for nodes in publishers], relays)


def unsupported(instance: Instance, unheard: Sequence[str], *, secured: bool) -> dict[str, str]:
    """Return the topics that Mosquitto's files cannot hold, with the reason; with users more."""
    names = list(instance.topic_names)
    wrong = {name: reason for name in names if (reason := topic_error(name))}
    if secured:
        reason = "begins or ends with a space, which an access list cannot hold"
        wrong |= {name: reason for name in names if name != name.strip(" ")}
    # A pattern must not carry what no node wants, either.
    clashes = ambiguous_patterns({*names, *unheard})
    for name in sorted(clashes.keys() & set(names)):
        reason = "has a space, which cannot stand" if " " in name else "stands for nothing"
        wrong[name] = (
            f"{reason} in a bridge's topic line, and a '+' instead would carry "
            f"{clashes[name]!r} too: rename one of them"
        )
    return wrong


def disconnected_error(overlay: Overlay, instance: Instance, forest: Forest) -> InputError:
    """Return the error for a partial overlay, with the subscribers that would miss messages."""
    n_missing = sum(map(len, forest.disconnected.values()))
    rows = [
        f"{instance.topic_names[t]!r}: {', '.join(repr(instance.node_names[v]) for v in missing)}"
        for t, missing in forest.disconnected.items()
    ]
    text = (
        f"the overlay leaves {n_missing:,} subscribers of {len(rows):,} topics disconnected; they "
        "would miss messages and nothing was written:\n  " + "\n  ".join(rows) + "\n"
    )
    if instance.digest != overlay.instance.digest and overlay.connected:
        return InputError(
            text + "Filters make their nodes subscribers of what they match, and the overlay was "
            "designed without that. Design it again, which expands filters, or pass --complete "
            "relay."
        )
    return InputError(
        text + "Design a complete overlay, or pass --complete relay to reach them via relays "
        "where the links allow it."
    )


def attach_publishers(
    forest: Forest, roles: Roles, edges: Sequence[Edge], published: Published
) -> tuple[list[list[Edge]], list[Edge]]:
    """Return each topic's tree followed by the links of nodes that only publish it, and new links.

    A publisher outside the tree uses a link that it has to the tree, the least used first; without
    one it gets a new link to the subscriber with the fewest links.
    """
    load = Counter(edge for tree in forest.trees for edge in tree)
    near = neighbours(edges)
    leaves: list[list[Edge]] = [[] for _ in forest.trees]
    added: list[Edge] = []
    for p, t in published:
        carriers = {*roles.subscribers[t], *roles.relays[t]}
        if p in carriers or p in forest.subscribers[t]:
            continue
        reachable = carriers.intersection(near.get(p, ()))
        if reachable:
            at = min(reachable, key=lambda v: (load[ordered(p, v)], v))
        else:
            at = min(roles.subscribers[t], key=lambda v: (len(near.get(v, ())), v))
            near.setdefault(p, []).append(at)
            near.setdefault(at, []).append(p)
            added.append(ordered(p, at))
        load[ordered(p, at)] += 1
        leaves[t].append(ordered(p, at))
    return [tree + sorted(ends) for tree, ends in zip(forest.trees, leaves, strict=True)], added


def leaves_of(overlay: Overlay, instance: Instance) -> set[tuple[int, int]]:
    """Return the leaves of topics, (node, topic), in the instance that trees are grown for.

    In a topic that the overlay was not designed for, the nodes of role leaf are leaves.
    """
    if overlay.carries is None:
        return set()
    designed, names = overlay.instance, list(instance.topic_names)
    known = {name: t for t, name in enumerate(designed.topic_names)}
    leaf = ~overlay.carries
    listed = set(zip(designed.nodes[leaf].tolist(), designed.topics[leaf].tolist(), strict=True))
    everywhere = set()
    if overlay.limits is not None:
        everywhere = set(np.flatnonzero(overlay.limits.is_leaf).tolist())
    pairs = zip(instance.nodes.tolist(), instance.topics.tolist(), strict=True)
    return {
        (node, t)
        for node, t in pairs
        if ((node, known[names[t]]) in listed if names[t] in known else node in everywhere)
    }


def refuse_transit(
    instance: Instance, carried: Sequence[Iterable[Edge]], leaves: Iterable[tuple[int, int]]
) -> None:
    """Raise InputError if the tree of a topic passes through one of its leaves."""
    links = [Counter(node for edge in edges for node in edge) for edges in carried]
    wrong = [
        f"the tree of {instance.topic_names[t]!r} passes through {instance.node_names[node]!r}"
        for node, t in sorted(leaves)
        if links[t][node] > 1
    ]
    raise_problems(
        "leaves would carry topics for others: filters that overlap share a tree here, or relays "
        "and further publishers need one. Give these nodes another role, or design without filters",
        wrong,
    )


def orient(carried: Iterable[Iterable[Edge]], links: Links | None = None) -> dict[Edge, Edge]:
    """Return each used link as (from, to): the end with fewer links dials, then the smaller id.

    Where `links` say that one end can dial, that one does.
    """
    # The dialling end keeps messages to send while a link is down, and an outer broker can usually
    # reach an inner one but not the other way round.
    used = {edge for edges in carried for edge in edges}
    degree = Counter(node for edge in used for node in edge)
    found = {(u, v): (v, u) if degree[v] < degree[u] else (u, v) for u, v in sorted(used)}
    for u, v in found if links is not None else ():
        if links is not None and (able := links.diallers(u, v)) and len(able) == 1:
            found[u, v] = (u, v) if able[0] == u else (v, u)
    return found


def routes_of(
    instance: Instance, roles: Roles, edges: Sequence[Sequence[Edge]]
) -> tuple[Route, ...]:
    """Return how each topic travels; `edges` are those of each topic as (from, to)."""
    nodes, names = list(instance.node_names), list(instance.topic_names)
    patterns = [bridge_pattern(name) for name in names]
    examples = example_names(patterns)
    made = instance.publications
    rates: dict[int, list[Rate]] = {}
    listed = instance.wants is not None  # else all subscribers are taken to publish, equally
    for i in np.flatnonzero(~np.isnan(made.rates)).tolist() if listed else ():
        size = float(made.sizes[i])
        rate = Rate(nodes[made.nodes[i]], float(made.rates[i]), None if isnan(size) else size)
        rates.setdefault(int(made.topics[i]), []).append(rate)
    return tuple(
        Route(
            name=name,
            pattern=pattern,
            example=examples[pattern] if is_filter(name) else name,
            subscribers=tuple(nodes[v] for v in roles.subscribers[t]),
            publishers=tuple(nodes[v] for v in roles.publishers[t]),
            relays=tuple(nodes[v] for v in roles.relays[t]),
            edges=tuple((nodes[u], nodes[v]) for u, v in edges[t]),
            rates=tuple(rates.get(t, ())),
        )
        for t, (name, pattern) in enumerate(zip(names, patterns, strict=True))
    )
