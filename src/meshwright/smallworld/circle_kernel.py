"""From the paths of GSwicoS to its ring: joining what is left, and walking round."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def close_circle(n, edges):
    """Return for each node its two neighbours on the circle that paths are joined to.

    The paths are given by their edges. While there are several, the smallest pair (u, v) of ends of
    two of them is linked; the ends of the last one close the circle. For three nodes or more.
    """
    near = np.full((n, 2), -1, np.int32)
    links = np.zeros(n, np.int32)
    for i in range(len(edges)):
        link(near, links, edges[i, 0], edges[i, 1])
    other_end = ends_of_paths(near, links)
    n_paths, u = n - len(edges), 0
    while n_paths > 1:
        while links[u] == 2:
            u += 1
        v = u + 1
        while links[v] == 2 or v == other_end[u]:
            v += 1
        link(near, links, u, v)
        a, b = other_end[u], other_end[v]
        other_end[a], other_end[b] = b, a
        n_paths -= 1
    while links[u] == 2:
        u += 1
    link(near, links, u, other_end[u])
    return near


@njit(cache=True)
def link(near, links, u, v):
    """Make two nodes neighbours. Writes both arrays."""
    near[u, links[u]], near[v, links[v]] = v, u
    links[u] += 1
    links[v] += 1


@njit(cache=True)
def ends_of_paths(near, links):
    """Return for each end of a path the other end; a node without links is both. Reads only."""
    other_end = np.arange(len(links)).astype(np.int32)
    for start in range(len(links)):
        if links[start] != 1:
            continue
        before, here = start, near[start, 0]
        while links[here] == 2:
            before, here = here, near[here, 1] if near[here, 0] == before else near[here, 0]
        other_end[start] = here
    return other_end


@njit(cache=True)
def walk_circle(near):
    """Return the nodes of a circle in order, from node 0 towards its smaller neighbour."""
    ring = np.empty(len(near), np.int32)
    before, here = max(near[0, 0], near[0, 1]), 0
    for position in range(len(near)):
        ring[position] = here
        before, here = here, near[here, 1] if near[here, 0] == before else near[here, 0]
    return ring
