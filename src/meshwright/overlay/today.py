"""What people build today: a ring per topic, one hub, a full mesh."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meshwright.datasets.digest import pack
from meshwright.errors import InputError
from meshwright.kernels.components import Components, join_all, new_components
from meshwright.overlay.engine import Edges
from meshwright.values import Instance

MOST_MESH_EDGES = 50_000_000  # 10,000 nodes; beyond that nobody means it


def ring_per_topic(instance: Instance) -> Edges:
    """Return a cycle through each topic's subscribers in id order; shared links count once."""
    components = new_components(instance.indptr, instance.topics, instance.n_topics)
    nodes, ends = components.nodes.astype(np.int32), components.topic_ptr[1:]
    following = np.empty_like(nodes)
    following[:-1] = nodes[1:]
    occupied = ends[ends > components.topic_ptr[:-1]]
    first = components.topic_ptr[:-1][ends > components.topic_ptr[:-1]]
    following[occupied - 1] = nodes[first]
    return _with_gains(components, _distinct(nodes, following))


def star(instance: Instance, *, relay: bool = True) -> Edges:
    """Return links from the hub to every node; without `relay` only where a topic is shared.

    The hub is the node with most subscriptions. As it relays, topics it does not want reach their
    subscribers through it all the same, which the support does not count.
    """
    components = new_components(instance.indptr, instance.topics, instance.n_topics)
    if instance.n_nodes == 0:
        return _with_gains(components, np.empty((0, 2), dtype=np.int32))
    centre = hub(instance)
    others = np.delete(np.arange(instance.n_nodes, dtype=np.int32), centre)
    if not relay:
        wanted = np.zeros(instance.n_topics, dtype=bool)
        wanted[instance.topics_of(centre)] = True
        shared = np.add.reduceat(
            np.append(wanted[instance.topics], False), instance.indptr[:-1], dtype=np.int64
        )
        shared[np.diff(instance.indptr) == 0] = 0
        others = others[shared[others] > 0]
    return _with_gains(components, _distinct(np.full_like(others, centre), others))


def hub(instance: Instance) -> int:
    """Return the node with most subscriptions, the smallest of them."""
    return int(np.argmax(np.diff(instance.indptr)))


def full_mesh(instance: Instance) -> Edges:
    """Return all pairs."""
    n = instance.n_nodes
    if n * (n - 1) // 2 > MOST_MESH_EDGES:
        raise InputError(
            f"a full mesh of {n:,} nodes has {n * (n - 1) // 2:,} links; at most "
            f"{MOST_MESH_EDGES:,} are listed. Sample the workload to compare."
        )
    u, v = np.triu_indices(n, 1)
    components = new_components(instance.indptr, instance.topics, instance.n_topics)
    return _with_gains(components, np.column_stack((u, v)).astype(np.int32))


def _distinct(one: npt.NDArray[np.int32], other: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return the pairs as edges u < v, each once, in the order they first stand."""
    low, high = np.minimum(one, other), np.maximum(one, other)
    low, high = low[low != high], high[one != other]
    _, first = np.unique(pack(low, high), return_index=True)
    kept = np.sort(first)
    return np.column_stack((low[kept], high[kept])).astype(np.int32)


def _with_gains(components: Components, edges: npt.NDArray[np.int32]) -> Edges:
    return edges, join_all(components, edges)
