"""Overlay and another workload -> the overlay mended: few links move, and none without a reason.

Three steps, each of which looks at nothing but topics and nodes that changed:

1. Links stay unless a node of theirs is gone or they are forbidden now.
2. The changed topics that are in several parts are joined by the rule of `gm`, from the links that
   are there (`joining`).
3. Links near changed nodes that no topic needs are dropped, and a search moves a few more if that
   saves links (`nearby`).

Additions come before removals. While links are added, the old subscribers of a topic are joined by
the old links; while links are removed, the new ones by the new links. So no topic that was
connected is ever split.

The idea of mending a topic-connected overlay is that of Chen, Vitenberg, Jacobsen, "OMen: Overlay
Mending for Topic-based Publish/Subscribe Systems Under Churn" (DEBS 2016). docs/replanning.md says
what is different here.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.model.overlay import Overlay, gains_of
from meshwright.overlay import restricted as rules
from meshwright.overlay.kernels.matching import mark_common
from meshwright.overlay.losses import topics_split
from meshwright.overlay.replanning.joining import join_topics
from meshwright.overlay.replanning.matching import Matched, match_overlay, part_of
from meshwright.overlay.replanning.nearby import Settled, improve
from meshwright.runtime.arrays import Bools, Ints
from meshwright.runtime.compile import Stopwatch

MENDED = ("gm", "minmax", "low", "refined", "exact")  # methods whose overlays can be mended
# Parameters that are facts of an old search, or of a design without survival beside it.
FACTS = ("rounds", "interrupted", "proved_links", "links_without", "max_degree_without")
Link = tuple[str, str]


class LinkChange(NamedTuple):
    """One link to add or to remove, by the names of its nodes."""

    action: Literal["add", "remove"]
    u: str
    v: str


@dataclass(frozen=True, slots=True, eq=False)
class Replan:
    """A mended overlay, and how to get there from the one before."""

    overlay: Overlay
    added: tuple[Link, ...]  # in the order in which to add them
    removed: tuple[Link, ...]  # after all additions
    lost: tuple[Link, ...]  # links of crashed nodes: they are gone already
    n_kept: int
    n_changed: int  # pairs of a node and a topic that differ between the two workloads

    @property
    def steps(self) -> tuple[LinkChange, ...]:
        """The changes of links in order: additions first, so that no topic is split."""
        return (
            *(LinkChange("add", u, v) for u, v in self.added),
            *(LinkChange("remove", u, v) for u, v in self.removed),
        )

    @property
    def n_moves(self) -> int:
        """The links to add and to remove."""
        return len(self.added) + len(self.removed)

    @property
    def unjoined(self) -> tuple[str, ...]:
        """The topics whose subscribers are not all joined, or not after a loss to survive."""
        survive = self.overlay.parameters.get("survive")
        if survive:
            return tuple(topics_split(self.overlay, survive))
        names = self.overlay.instance.topic_names
        return tuple(names[t] for t in np.flatnonzero(self.overlay.components > 1).tolist())

    def facts(self) -> dict[str, int]:
        """Return the numbers of links kept, added, removed and lost."""
        return {
            "kept": self.n_kept,
            "added": len(self.added),
            "removed": len(self.removed),
            "lost": len(self.lost),
        }


def mend(
    before: Overlay,
    instance: Instance,
    assumed: str = "subscribers",
    *,
    limits: rules.LimitsGiven = None,
    links: rules.LinksGiven = None,
    moves: int | None = None,
    rounds: int | None = None,
    crashed: Collection[str] = (),
) -> Replan:
    """Return an overlay for another instance, made of the one before.

    `instance` is what to design for, `assumed` who publishes (`make_demand`). `limits` and `links`
    replace those of the overlay, which are carried over by name otherwise. With `moves`, at most as
    many links are added and removed; links of nodes that are gone do not count. `rounds` are those
    of the search for fewer links, by default as many as the changes ask for.

    Cost: a few copies of the arrays of the instance, and work in the topics that changed and those
    of the changed nodes. docs/replanning.md has figures.

    Examples
    --------
    >>> from meshwright.overlay import design
    >>> before = design(Instance.from_pairs([("a", "x"), ("b", "x")]), certify=False)
    >>> after = mend(before, Instance.from_pairs([("a", "x"), ("b", "x"), ("c", "x")]))
    >>> after.steps
    (LinkChange(action='add', u='a', v='c'),)
    """
    watch = Stopwatch()
    _check(before, moves)
    matched = match_overlay(before, instance, limits=limits, links=links)
    made = matched.edges
    whole = matched.restrictions
    dirty = part_of(instance, matched.dirty, whole.carries, matched.survive)
    joined = join_topics(before, dirty, made, whole, most=moves)
    near = _near(matched, joined.edges, instance.n_nodes)
    left = None if moves is None else moves - len(joined.edges)
    settled = improve(matched, joined, near, left, rounds)
    edges = np.concatenate((made[settled.stays], settled.added))
    gains = _gains(before, matched, edges, settled.stays)
    overlay = Overlay(
        instance,
        edges,
        gains,
        before.method,
        next_parameters(before, instance, assumed) | {"most_links": matched.most_links},
        before.seed,
        seconds=watch.seconds,
        carries=whole.carries,
        limits=matched.limits,
        links=matched.links,
    )
    return _changes(before, overlay, settled, matched, crashed)


def next_parameters(before: Overlay, instance: Instance, assumed: str) -> dict[str, Any]:
    """Return the parameters of an overlay after one more replan."""
    parameters = {k: v for k, v in before.parameters.items() if k not in FACTS}
    parameters["replans"] = parameters.get("replans", 0) + 1
    if instance.workload is not None:
        parameters["assume_publishers"] = assumed
    return parameters


def _check(before: Overlay, moves: int | None) -> None:
    """Raise InputError for an overlay that cannot be mended, or impossible moves."""
    if before.method not in MENDED:
        raise InputError(
            f"an overlay by {before.method} cannot be replanned; one by {', '.join(MENDED)} or a "
            "small world can. Design it anew."
        )
    check_moves(moves)


def check_moves(moves: object) -> None:
    """Raise InputError unless a number of moves is None or a whole number."""
    is_count = isinstance(moves, int) and not isinstance(moves, bool) and moves >= 0
    if moves is not None and not is_count:
        raise InputError(f"moves is {moves!r}; give a whole number, 0 or more.")


def _near(matched: Matched, added: Ints, n_nodes: int) -> Bools:
    """Return which nodes may move links: those that changed, and the ends of new and lost links."""
    near = np.zeros(n_nodes, np.bool_)
    near[matched.changed] = True
    near[added.ravel()] = True
    return near


def _gains(before: Overlay, matched: Matched, edges: Ints, is_old: Bools) -> Ints:
    """Return the gains of the edges in their order, from those before and the topics that changed.

    `is_old` says which of the old links stay; they keep their order. In a topic that neither
    changed nor lost a link, each has the gain it had, and a new link has none.
    """
    instance, old = matched.instance, before.instance
    changed = matched.dirty.copy()
    mark_common(instance.indptr, instance.topics, matched.edges[~is_old], changed)
    carries = matched.restrictions.carries
    if 2 * np.count_nonzero(changed) > len(changed):  # then two parts are more than the whole
        return gains_of(instance, edges, carries)
    gains = part_of(instance, changed, carries).gains(edges)
    place = matched.topics
    changed_before = np.ones(old.n_topics, np.bool_)
    changed_before[place >= 0] = changed[place[place >= 0]]
    then = part_of(old, changed_before, before.carries).gains(before.edges)
    n_old = int(np.count_nonzero(is_old))
    stay = matched.at[is_old]
    gains[:n_old] += before.gains[stay] - then[stay]
    return gains


def _changes(
    before: Overlay,
    overlay: Overlay,
    settled: Settled,
    matched: Matched,
    crashed: Collection[str],
) -> Replan:
    """Return the mended overlay with the changes of links, by name."""
    names, old = overlay.instance.node_names, before.instance.node_names
    is_gone = np.ones(before.n_edges, np.bool_)
    is_gone[matched.at[settled.stays]] = False
    gone = [(old[u], old[v]) for u, v in before.edges[is_gone].tolist()]
    fell = set(crashed)
    return Replan(
        overlay,
        added=tuple((names[u], names[v]) for u, v in settled.added.tolist()),
        removed=tuple(link for link in gone if fell.isdisjoint(link)),
        lost=tuple(link for link in gone if not fell.isdisjoint(link)),
        n_kept=int(np.count_nonzero(settled.stays)),
        n_changed=matched.n_changed,
    )
