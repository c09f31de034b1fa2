"""A small world and another workload -> the world repaired, as `churn` repairs it event by event.

All nodes that are gone leave at once, then the new ones join in the order of their names, and the
fingers are picked again once, where they must be.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

import numpy as np

from meshwright.errors import InfeasibleError, InputError
from meshwright.model.instance import Instance
from meshwright.model.names import match_names
from meshwright.model.small_world import SmallWorld
from meshwright.overlay.replanning import Link, Replan, next_parameters
from meshwright.overlay.replanning.matching import check_related, find_changes
from meshwright.runtime.arrays import Ints, Longs
from meshwright.smallworld import churn
from meshwright.smallworld.kernels.worlds import EMPTY
from meshwright.storage.digest import pack


def replan_world(
    world: SmallWorld,
    instance: Instance,
    assumed: str = "subscribers",
    *,
    moves: int | None = None,
    crashed: Collection[str] = (),
) -> Replan:
    """Return the small world for another instance, with the changes of links.

    `instance` is what to design for, `assumed` who publishes (`make_demand`).
    Ring and fingers stay where they can (`meshwright.smallworld.churn`). Subscriptions of nodes
    that stay change neither. If that takes more than `moves` links to add and remove, those of
    nodes that are gone apart, new fingers follow links that are there where they can. A ring and
    its fingers are whole or nothing: raise InfeasibleError if these are still too many.

    Cost: that of one event of `churn`, and one walk over the subscriptions for each node that
    joins.

    Examples
    --------
    >>> from meshwright.overlay import design
    >>> world = design(Instance.from_pairs([("a", "x"), ("b", "x"), ("c", "y")]), "sl")
    >>> pairs = [("a", "x"), ("b", "x"), ("bb", "y"), ("c", "y")]
    >>> after = replan_world(world, Instance.from_pairs(pairs))
    >>> after.added, after.removed
    ((('b', 'bb'), ('bb', 'c'), ('a', 'bb')), ())
    """
    if instance.n_nodes == 0:
        raise InputError("all nodes are gone; a small world needs one.")
    places = match_names(world.instance.node_names, instance.node_names)
    check_related(world, instance, places)
    ring, moved = _moved_ring(world, instance, places)
    parameters = next_parameters(world, instance, assumed)
    for thrifty in (False, True):
        after = churn.repaired(world, instance, ring, moved, thrifty=thrifty)
        found = _changes(world, replace(after, parameters=parameters), places, crashed)
        n_moves = len(found.added) + _count_staying(found.removed, instance)
        if moves is None or n_moves <= moves:
            return found
    raise InfeasibleError(
        f"moves is {moves}, and the ring and its fingers take {n_moves:,} to repair; a small world "
        f"cannot be left in between. Allow {n_moves:,}, or replan in smaller batches of changes."
    )


def _count_staying(links: Iterable[Link], instance: Instance) -> int:
    """Return how many links are between nodes that are still there."""
    names = set(instance.node_names)
    return sum(names.issuperset(link) for link in links)


def _moved_ring(world: SmallWorld, instance: Instance, places: Longs) -> tuple[Ints, Longs]:
    """Return the ring by the new ids, and where each old position is now, EMPTY if it left."""
    old = places[world.ring]
    ring: Ints = old[old >= 0].astype(np.int32)
    new = np.setdiff1d(np.arange(instance.n_nodes), places)
    for node in new.tolist():
        after = churn.neighbour(world, instance, ring, instance.topics_of(node))
        ring = np.insert(ring, after + 1, node).astype(np.int32)
    position = np.full(instance.n_nodes, EMPTY, np.int64)
    position[ring] = np.arange(len(ring))
    return ring, np.where(old >= 0, position[old], EMPTY)


def _changes(
    before: SmallWorld, after: SmallWorld, places: Longs, crashed: Collection[str]
) -> Replan:
    """Return the changes of links between two worlds, by name."""
    old, now, fell = before.instance, after.instance, set(crashed)
    topics = match_names(old.topic_names, now.topic_names)
    ends = np.sort(places[before.edges], axis=1)
    codes, links = pack(*ends.T), pack(*after.edges.T)
    stays = np.isin(codes, links) & (ends[:, 0] >= 0)
    new = ~np.isin(links, codes[stays])
    gone = [(old.node_names[u], old.node_names[v]) for u, v in before.edges[~stays].tolist()]
    return Replan(
        after,
        added=tuple((now.node_names[u], now.node_names[v]) for u, v in after.edges[new].tolist()),
        removed=tuple(link for link in gone if fell.isdisjoint(link)),
        lost=tuple(link for link in gone if not fell.isdisjoint(link)),
        n_kept=int(np.count_nonzero(stays)),
        n_changed=find_changes(before, now, (places, topics))[2],
    )
