"""Kernels of rings: random keys, joining the paths of GSwicoS to a circle, and walking it."""

from __future__ import annotations

import numpy as np

from meshwright.runtime.compile import kernel, maker
from meshwright.runtime.kernels.random import stream, uniform


@maker
def random_keys(n, seed):
    """Return float64[n]: number 0 of each node's stream, by which a random ring is sorted."""
    keys = np.empty(n, np.float64)
    for node in range(n):
        keys[node] = uniform(stream(seed, node), 0)
    return keys


@maker
def close_circle(n, edges):
    """Join paths to one circle; return int32[n, 2], the two neighbours of each node.

    The paths are given by their edges. While there are several, the smallest pair (u, v) of ends of
    two of them is linked; the ends of the last one close the circle. For three nodes or more.
    """
    near = np.full((n, 2), -1, np.int32)
    degree = np.zeros(n, np.int32)
    for i in range(len(edges)):
        link(near, degree, edges[i, 0], edges[i, 1])
    other_end = ends_of_paths(near, degree)
    n_paths, u = n - len(edges), 0
    while n_paths > 1:
        while degree[u] == 2:
            u += 1
        v = u + 1
        while degree[v] == 2 or v == other_end[u]:
            v += 1
        link(near, degree, u, v)
        a, b = other_end[u], other_end[v]
        other_end[a], other_end[b] = b, a
        n_paths -= 1
    while degree[u] == 2:
        u += 1
    link(near, degree, u, other_end[u])
    return near


@kernel
def link(near, degree, u, v):
    """Make two nodes neighbours. Writes both arrays."""
    near[u, degree[u]], near[v, degree[v]] = v, u
    degree[u] += 1
    degree[v] += 1


@kernel
def other_neighbour(near, before, here):
    """Return the neighbour of `here` that is not `before`."""
    return near[here, 1] if near[here, 0] == before else near[here, 0]


@maker
def ends_of_paths(near, degree):
    """Return int32[n]: for each end of a path the other end; a node without links is both ends."""
    other_end = np.arange(len(degree)).astype(np.int32)
    for start in range(len(degree)):
        if degree[start] != 1:
            continue
        before, here = start, near[start, 0]
        while degree[here] == 2:
            before, here = here, other_neighbour(near, before, here)
        other_end[start] = here
    return other_end


@maker
def walk_circle(near):
    """Return the nodes of a circle in order, from node 0 towards its smaller neighbour."""
    ring = np.empty(len(near), np.int32)
    before, here = max(near[0, 0], near[0, 1]), 0
    for position in range(len(near)):
        ring[position] = here
        before, here = here, other_neighbour(near, before, here)
    return ring
