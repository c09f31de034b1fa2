"""Overlays to compare with: what is in use today, and random links within a budget."""

import numpy as np

from meshwright.errors import InputError
from meshwright.model.instance import Instance, subscribers_of
from meshwright.model.overlay import distinct_edges, gains_of
from meshwright.overlay.greedy.kernels.run import NO_LIMIT
from meshwright.overlay.greedy.rule import Edges
from meshwright.overlay.kernels.random_links import random_edges
from meshwright.runtime.arrays import Ints

MOST_MESH_EDGES = 50_000_000  # those of 10,000 nodes


def ring_per_topic(instance: Instance) -> Edges:
    """Return a cycle through each topic's subscribers in id order; shared links count once."""
    pointers, nodes = subscribers_of(instance)
    starts, ends = pointers[:-1], pointers[1:]
    following = np.roll(nodes, -1)
    has_subscribers = ends > starts
    following[ends[has_subscribers] - 1] = nodes[starts[has_subscribers]]
    return _with_gains(instance, distinct_edges(nodes, following))


def star(instance: Instance, *, relay: bool = True) -> Edges:
    """Return links from the hub, who wants most, to every node; without `relay` where they share.

    With `relay`, topics that the hub does not want also pass through it; the support ignores that.
    """
    if instance.n_nodes == 0:
        return _with_gains(instance, np.empty((0, 2), dtype=np.int32))
    centre = hub(instance)
    others = np.arange(instance.n_nodes, dtype=np.int32)
    if not relay:
        wanted = np.isin(instance.topics, instance.topics_of(centre))
        others = np.unique(np.repeat(others, np.diff(instance.indptr))[wanted])
    return _with_gains(instance, distinct_edges(np.full_like(others, centre), others))


def hub(instance: Instance) -> int:
    """Return the node with most subscriptions, the smallest id among equals."""
    return int(np.argmax(np.diff(instance.indptr)))


def full_mesh(instance: Instance) -> Edges:
    """Return all pairs; raise InputError if there are more than `MOST_MESH_EDGES`."""
    n = instance.n_nodes
    if n * (n - 1) // 2 > MOST_MESH_EDGES:
        raise InputError(
            f"a full mesh of {n:,} nodes has {n * (n - 1) // 2:,} links; at most "
            f"{MOST_MESH_EDGES:,} are listed. Sample the workload to compare."
        )
    return _with_gains(instance, np.column_stack(np.triu_indices(n, 1)).astype(np.int32))


def random_links(
    instance: Instance,
    *,
    max_edges: int | None = None,
    max_degree: int | None = None,
    seed: int = 1,
) -> Edges:
    """Return the links of `random-average` (with `max_edges`) or `random-max`.

    RandomA and RandomM of Chen, Tock, Jacobsen (ICDCS 2016, section IX): pairs drawn uniformly.
    """
    n = instance.n_nodes
    n_pairs = n * (n - 1) // 2
    most = n_pairs if max_edges is None else min(n_pairs, max_edges)
    cap = NO_LIMIT if max_degree is None else max_degree
    return _with_gains(instance, random_edges(n, most, cap, seed))


def _with_gains(instance: Instance, edges: Ints) -> Edges:
    return edges, gains_of(instance, edges)
