"""Idle edges: those of gain 0 with which Alg. 3 of paper 1 fills up each phase of `minmax`.

When no pair gains under a degree cap, the algorithm as printed still prefers any edge under that
cap to a gain above it, so it links nodes below the cap until none can be linked. Of equal gains the
lower larger degree comes first, then the smaller ids, as everywhere.
"""

from typing import NamedTuple

import numpy as np

from meshwright.runtime.arrays import Ints, Longs
from meshwright.runtime.compile import kernel

END = -1  # of a list of neighbours


class Neighbours(NamedTuple):
    """The neighbours of each node, as lists that only grow. Nodes are ranks, as in `Run`."""

    first: Longs  # int64[n_nodes], where the list of a node begins in the next two, or END
    node: Ints  # int32[room], a neighbour
    following: Longs  # int64[room], where the list goes on, or END
    size: Longs  # int64[1], the places used of `node` and `following`
    seen_by: Ints  # int32[n_nodes], the last node that marked this one as its neighbour, or END


def new_neighbours(n_nodes: int) -> Neighbours:
    """Return lists without a neighbour and without room; `with_room` makes some."""
    first = np.full(n_nodes, END, dtype=np.int64)
    seen_by = np.full(n_nodes, END, dtype=np.int32)
    node, following = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64)
    return Neighbours(first, node, following, np.zeros(1, dtype=np.int64), seen_by)


def with_room(neighbours: Neighbours, n_edges: int) -> Neighbours:
    """Return the lists with room for as many more edges, two places each."""
    size = int(neighbours.size[0])
    if size + 2 * n_edges <= len(neighbours.node):
        return neighbours
    room = max(size + 2 * n_edges, 2 * len(neighbours.node)) - size
    node = np.concatenate((neighbours.node[:size], np.empty(room, dtype=np.int32)))
    following = np.concatenate((neighbours.following[:size], np.empty(room, dtype=np.int64)))
    return neighbours._replace(node=node, following=following)


@kernel
def link(neighbours, u, w):
    """Put each node of an edge into the list of the other."""
    for node, other in ((u, w), (w, u)):
        at = neighbours.size[0]
        neighbours.node[at], neighbours.following[at] = other, neighbours.first[node]
        neighbours.first[node] = at
        neighbours.size[0] = at + 1


@kernel
def link_all(neighbours, edges):
    """Enter edges, int32[n, 2], into the lists."""
    for k in range(len(edges)):
        link(neighbours, edges[k, 0], edges[k, 1])


@kernel
def mark(neighbours, u):
    """Mark a node and its neighbours as seen by it."""
    neighbours.seen_by[u] = u
    at = neighbours.first[u]
    while at >= 0:
        neighbours.seen_by[neighbours.node[at]] = u
        at = neighbours.following[at]


@kernel
def add_idle_edges(run, neighbours, cap, below, idle):
    """Link nodes below the cap until no two are left that can be linked; return the edges added.

    Writes the degrees of `run`, the lists, `idle` (int32[room, 2], the edges in the order added)
    and `below` (int32[n_nodes], scratch).
    """
    degree, n_idle = run.degree, 0
    lowest = cap
    for u in range(len(degree)):
        lowest = min(lowest, degree[u])
    for larger in range(lowest, cap):  # the larger degree of the pairs that come next
        size = 0
        for node_id in range(len(degree)):
            if degree[run.rank[node_id]] <= larger:
                below[size] = run.rank[node_id]
                size += 1
        for i in range(size):
            u = below[i]
            mark(neighbours, u)
            for j in range(i + 1, size):
                if degree[u] > larger:
                    break
                w = below[j]
                if degree[w] <= larger and neighbours.seen_by[w] != u:
                    link(neighbours, u, w)
                    degree[u] += 1
                    degree[w] += 1
                    idle[n_idle, 0], idle[n_idle, 1] = u, w
                    n_idle += 1
    return n_idle
