"""Spare links near changed nodes: drop those that no topic needs, and search for better ones.

Both look at the topics of the near nodes alone. A link with a near node has no topic besides.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from meshwright.model.interests import Interests, Rows
from meshwright.overlay.greedy.rule import Restrictions
from meshwright.overlay.kernels.completion import MISSING, Settings
from meshwright.overlay.kernels.matching import mark_topics
from meshwright.overlay.kernels.mending import (
    Mending,
    Near,
    drop_listed,
    lower_busiest,
    mend_rounds,
)
from meshwright.overlay.kernels.neighbourhood import are_linked, count_parts, list_links
from meshwright.overlay.kernels.plan import N_LINKS, Plan
from meshwright.overlay.kernels.relinking import MOST_LINKS, Work
from meshwright.overlay.methods.refined import make_members, make_plan, new_search
from meshwright.overlay.replanning.joining import Joined
from meshwright.overlay.replanning.matching import Matched, Part, part_of
from meshwright.runtime.arrays import Bools, Ints
from meshwright.storage.digest import pack

PASSES, MOST_ROUNDS = 2, 20_000  # rounds for each near node, and in all; see docs/replanning.md
MOST_FREED = 64  # links that a round frees, about: all of most nodes
NOISE = 0.0
SLACK = 1  # a node that is linked anew may get as many links as it had, if others go for it
SEED = 1


class Settled(NamedTuple):
    """What becomes of the links."""

    stays: Bools  # bool[n], of the old links
    added: Ints  # int32[m, 2], in the order to add them


def improve(
    matched: Matched, joined: Joined, near: Bools, moves: int | None, rounds: int | None
) -> Settled:
    """Return the old links that stay, and the new ones.

    With `moves`, at most as many links are added and removed besides those that join topics.
    """
    if not near.any() or moves == 0:
        return Settled(np.ones(len(matched.edges), np.bool_), joined.edges)
    plan = _NearPlan(matched, joined, near)
    plan.drop(moves)
    if rounds is None:
        rounds = min(PASSES * int(np.count_nonzero(near)), MOST_ROUNDS)
    if matched.restrictions.costs is not None:  # the search knows no costs
        rounds = 0
    if moves is None:
        plan.search(rounds)
        return plan.links()
    dropped = plan.links()
    plan.search(rounds)
    found = plan.links()
    n_moves = int(np.count_nonzero(~found.stays)) + len(found.added)
    return found if n_moves <= moves + len(joined.edges) else dropped


class _NearPlan:
    """The links as a plan, with the topics of near nodes and the nodes that take part in them.

    Nodes are numbered anew, in their order, so that little depends on how many there are in all.
    """

    def __init__(self, matched: Matched, joined: Joined, near: Bools) -> None:
        instance, restrictions = matched.instance, matched.restrictions
        chosen = np.zeros(instance.n_topics, np.bool_)
        mark_topics(instance.indptr, instance.topics, np.flatnonzero(near), chosen)
        part = part_of(instance, chosen, restrictions.carries, matched.survive)
        edges = np.concatenate((matched.edges, joined.edges))
        is_here = (np.diff(part.instance.indptr) > 0) | near
        self._edges, self._n_old = edges, len(matched.edges)
        is_near = near[edges[:, 0]] | near[edges[:, 1]]
        is_here[edges[is_near].ravel()] = True
        self._ids = np.flatnonzero(is_here).astype(np.int32)
        self._number = np.full(instance.n_nodes, -1, np.int32)
        self._number[self._ids] = np.arange(len(self._ids), dtype=np.int32)
        self._near = near[self._ids]
        # The rows of nodes that are left out are empty.
        pointers = np.append(0, part.instance.indptr[1:][is_here])
        rows = Rows(pointers, part.instance.topics, part.instance.n_topics)
        degree = np.bincount(edges.ravel(), minlength=instance.n_nodes)
        self._here, self._is_inside = self._inside(edges)
        # Links near changed nodes, the last first.
        self._listed = np.ascontiguousarray(self._here[is_near][::-1])
        plan = make_plan(rows, self._here[self._is_inside], int(degree.max()))
        elsewhere = (degree[self._ids] - plan.degree).astype(np.int32)
        limited = self._restrict(restrictions, part, int(degree.max()), elsewhere)
        self._mending = new_mending(rows, plan, limited, self._near, elsewhere)
        enough = math.ceil(matched.most_links)
        self._enough = max(enough, int(degree[~is_here].max(initial=0)))
        self._set_parts(is_whole=joined.is_whole)

    def _inside(self, edges: Ints) -> tuple[Ints, Bools]:
        """Return edges by the numbers of here, and which have both ends here."""
        here = self._number[edges]
        return here, (here[:, 0] >= 0) & (here[:, 1] >= 0)

    def _restrict(
        self, restrictions: Restrictions, part: Part, busiest: int, elsewhere: Ints
    ) -> Restrictions:
        """Return the restrictions of the nodes here; no node may have more links than `busiest`."""
        most = np.full(len(self._ids), busiest, np.int64)  # the search must not make it worse
        if restrictions.max_links is not None:
            most = np.minimum(most, restrictions.max_links[self._ids])
        pairs = restrictions.pairs
        if pairs is not None:
            here, is_inside = self._inside(pairs)
            pairs = here[is_inside]
        return Restrictions(
            part.carries,
            max_links=(most - elsewhere).astype(np.int32),
            pairs=pairs,
            only_listed=restrictions.only_listed,
        )

    def _set_parts(self, *, is_whole: bool) -> None:
        """Note the components of the topics: those that did not change are connected."""
        members, plan, search = self._mending[:3]
        if not is_whole:
            count_parts(members, plan, search)
            return
        carriers = np.bincount(members.topics[members.carries], minlength=len(search.n_parts))
        search.n_parts[:] = carriers > 0

    def drop(self, most: int | None) -> None:
        """Drop links near changed nodes that no topic needs, the last first."""
        members, plan = self._mending[:2]
        drop_listed(members, plan, self._listed, len(self._listed) if most is None else most)

    def search(self, n_rounds: int) -> None:
        """Search for fewer links; then move some away from nodes with too many."""
        mend_rounds(self._mending, n_rounds)
        if n_rounds and self._mending.search.counts[MISSING] == 0:
            lower_busiest(self._mending, self._enough, n_rounds)

    def links(self) -> Settled:
        """Return the old links that are still there, and the others, those of joins first."""
        plan = self._mending.plan
        there = np.ones(len(self._edges), np.bool_)
        there[self._is_inside] = are_linked(plan, self._here[self._is_inside])
        stays, new = there[: self._n_old], self._edges[self._n_old :][there[self._n_old :]]
        n_links = int(plan.counts[N_LINKS])
        if n_links == np.count_nonzero(there & self._is_inside):
            return Settled(stays, new)
        found = np.empty((n_links, 2), np.int32)
        list_links(plan, found)
        found = found[self._near[found[:, 0]] | self._near[found[:, 1]]]  # others do not move
        moved = found[~np.isin(pack(*found.T), pack(*self._listed.T))]
        return Settled(stays, np.concatenate((new, self._ids[moved])))


def new_mending(
    instance: Interests, plan: Plan, restrictions: Restrictions, near: Bools, elsewhere: Ints
) -> Mending:
    """Return a plan with what it takes to mend it, before the first round.

    `near` are the nodes whose links may move, `elsewhere` the links of each node that the plan
    does not have. The parts of topics are not counted yet.
    """
    n_nodes, n_topics = instance.n_nodes, instance.n_topics
    settings = Settings(SEED, 1, MOST_FREED, NOISE)
    nodes = np.flatnonzero(near).astype(np.int32)
    return Mending(
        make_members(instance, restrictions),
        plan,
        new_search(instance, settings),
        restrictions.exclusions(np.arange(n_nodes, dtype=np.int32), plan.degree),
        settings,
        Work(
            slot=np.zeros(n_topics, np.int32),
            shared=np.zeros(n_topics, np.int32),
            plain=np.zeros(n_topics, np.bool_),
            joined=np.zeros(n_topics, np.uint64),
            apart=np.zeros(n_topics, np.int32),
            partners=np.zeros(MOST_LINKS + 1, np.int32),
            elsewhere=elsewhere,
            all_carry=restrictions.carries is None,
            slack=SLACK,
        ),
        Near(nodes, near, queue=nodes.copy(), waits=np.zeros(n_nodes, np.bool_)),
    )
