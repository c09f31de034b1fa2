"""Spare links near changed nodes: drop those that no topic needs, and search for better ones.

Both look at the topics of the near nodes alone. A link with a near node has no topic besides.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from meshwright.overlay.kernels.completion import MISSING, Search, Settings
from meshwright.overlay.kernels.mending import Near, drop_listed, mend_rounds
from meshwright.overlay.kernels.neighbourhood import are_linked, list_links
from meshwright.overlay.kernels.plan import N_LINKS, Members, Plan, link_all
from meshwright.overlay.methods.refined import MOST_NODES, NOISE, make_members, new_search
from meshwright.overlay.replanning.joining import Joined
from meshwright.overlay.replanning.matching import Matched, Part, part_of
from meshwright.runtime.arrays import Bools, Ints, Longs
from meshwright.storage.digest import pack

ROUNDS_PER_CHANGE, MOST_ROUNDS = 2, 20_000  # of a search; see docs/replanning.md
MOST_FREED = 8  # links that a round frees, about
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
    made = np.concatenate((matched.edges, joined.edges))
    if not near.any() or moves == 0:
        return Settled(np.ones(len(matched.edges), np.bool_), joined.edges)
    plan = _NearPlan(matched, joined, near)
    plan.drop(made[::-1], moves)
    dropped = plan.links(matched.edges, joined.edges)
    if rounds is None:
        rounds = min(ROUNDS_PER_CHANGE * matched.n_changed, MOST_ROUNDS)
    if rounds == 0 or matched.restrictions.costs is not None:  # the search knows no costs
        return dropped
    if not plan.search(rounds):
        return dropped
    found = plan.links(matched.edges, joined.edges)
    if moves is None:
        return found
    n_moves = int(np.count_nonzero(~found.stays)) + len(found.added)
    return found if n_moves <= moves + len(joined.edges) else dropped


class _NearPlan:
    """The links as a plan, with the topics of near nodes."""

    def __init__(self, matched: Matched, joined: Joined, near: Bools) -> None:
        instance, restrictions = matched.instance, matched.restrictions
        self._near = near
        chosen = np.zeros(instance.n_topics, np.bool_)
        chosen[instance.topics[near[instance.nodes]]] = True
        part = part_of(instance, chosen)
        carries = part.flags(restrictions.carries)
        self._members: Members = make_members(part.instance, replace(restrictions, carries=carries))
        edges = np.concatenate((matched.edges, joined.edges))
        n, n_slots = instance.n_nodes, part.instance.n_subscriptions
        busiest = int(np.bincount(edges.ravel(), minlength=1).max())
        self._plan = Plan(
            degree=np.zeros(n, np.int32),
            neighbours=np.zeros((n, busiest + 1), np.int32),
            seen=np.zeros(n_slots, np.int64),
            queue=np.zeros(n, np.int32),
            counts=np.zeros(2, np.int64),
        )
        link_all(self._plan, edges)
        most = np.full(n, busiest, np.int32)  # the search must not make it worse
        if restrictions.max_links is not None:
            most = np.minimum(most, restrictions.max_links).astype(np.int32)
        limited = replace(restrictions, carries=carries, max_links=most)
        ids = np.arange(n, dtype=np.int32)
        self._exclusions = limited.exclusions(ids, self._plan.degree)
        self._settings = Settings(SEED, min(MOST_NODES, max(n, 1)), MOST_FREED, NOISE)
        self._search: Search = new_search(part.instance, self._settings)
        self._set_parts(part, joined)

    def _set_parts(self, part: Part, joined: Joined) -> None:
        """Note the components of the topics: those that did not change are connected."""
        members = self._members
        carriers = np.bincount(members.topics[members.carries], minlength=len(part.topics))
        parts = (carriers > 0).astype(np.int32)
        apart = joined.components > 1
        here = np.searchsorted(part.topics, joined.topics[apart])
        known = here < len(part.topics)
        known[known] = part.topics[here[known]] == joined.topics[apart][known]
        parts[here[known]] = joined.components[apart][known]
        self._search.n_parts[:] = parts
        self._search.counts[MISSING] = int(np.maximum(parts - 1, 0).sum())

    def drop(self, edges: Ints, most: int | None) -> None:
        """Drop links near changed nodes that no topic needs, in this order."""
        listed = edges[self._near[edges].any(axis=1)]
        drop_listed(self._members, self._plan, listed, len(listed) if most is None else most)

    def search(self, n_rounds: int) -> int:
        """Search for fewer links; return how many rounds found a better plan."""
        near = Near(np.flatnonzero(self._near).astype(np.int32), self._near, 0, n_rounds)
        better: int = mend_rounds(
            self._members, self._plan, self._search, self._exclusions, self._settings, near
        )
        return better

    def links(self, old: Ints, added: Ints) -> Settled:
        """Return the old links that are still there, and the others, those of `added` first."""
        stays: Bools = are_linked(self._plan, old)
        new = added[are_linked(self._plan, added)]
        n_links = int(self._plan.counts[N_LINKS])
        if n_links == np.count_nonzero(stays) + len(new):
            return Settled(stays, new)
        found = np.empty((n_links, 2), np.int32)
        list_links(self._plan, found)
        known: Longs = pack(*np.concatenate((old[stays], new)).T)
        moved = found[~np.isin(pack(*found.T), known)]
        return Settled(stays, np.concatenate((new, moved)))
