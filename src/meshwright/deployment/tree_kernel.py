"""Spanning trees of one topic's sub-overlay: nodes are 0..n-1, edges sorted by (u, v), u < v.

Edges that are forced (flag 1) have no cycle among themselves and are in every tree.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
from numba import njit


@njit(cache=True)
def root_of(parent, node):
    """Return the root of a disjoint set, halving the path to it. Writes `parent`."""
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@njit(cache=True)
def pieces_of(n, u, v, flags):
    """Return for each node the smallest node that the flagged edges join it to."""
    parent = np.arange(n)
    for i in range(len(u)):
        if flags[i]:
            a, b = root_of(parent, u[i]), root_of(parent, v[i])
            parent[max(a, b)] = min(a, b)
    for node in range(n):
        parent[node] = root_of(parent, node)
    return parent


@njit(cache=True)
def adjacency(n, u, v):
    """Return each node's edges as CSR, its neighbours in ascending order."""
    start = np.zeros(n + 1, np.int64)
    for i in range(len(u)):
        start[u[i] + 1] += 1
        start[v[i] + 1] += 1
    start = np.cumsum(start)
    fill = start[:-1].copy()
    edge_at = np.empty(2 * len(u), np.int64)
    for i in range(len(u)):
        for end in (u[i], v[i]):
            edge_at[fill[end]] = i
            fill[end] += 1
    return start, edge_at


@njit(cache=True)
def breadth_first(root, limit, start, edge_at, u, v, forced, piece, depth, entered, via):
    """Grow the tree from a root; return its depth, or `limit` as soon as it is reached.

    A piece of forced edges is entered once and then walked along them. Writes `depth` (-1 where
    not reached), `entered` and `via`, the edge by which a node was reached.
    """
    depth[:] = -1
    entered[:] = False
    queue = np.empty(len(depth), np.int64)
    queue[0], head, tail = root, 0, 1
    depth[root], entered[piece[root]], via[root] = 0, True, -1
    deepest = 0
    while head < tail:
        here = queue[head]
        head += 1
        for slot in range(start[here], start[here + 1]):
            edge = edge_at[slot]
            there = u[edge] + v[edge] - here
            if depth[there] >= 0:
                continue
            if not forced[edge]:
                if entered[piece[there]]:
                    continue
                entered[piece[there]] = True
            depth[there] = depth[here] + 1
            via[there] = edge
            queue[tail] = there
            tail += 1
            deepest = depth[there]
            if deepest >= limit:
                return limit
    return deepest


@njit(cache=True)
def shallow_tree(n, u, v, forced):
    """Return (chosen, depth): the tree of least depth over all roots, smallest root first.

    No tree is shallower than half the distance of two nodes, so the search ends there.
    """
    start, edge_at = adjacency(n, u, v)
    piece = pieces_of(n, u, v, forced)
    free, alone = np.zeros(len(u), np.bool_), np.arange(n)
    depth, via = np.empty(n, np.int64), np.empty(n, np.int64)
    entered = np.empty(n, np.bool_)
    far, floor = 0, 0
    for _ in range(2):  # from any node to the farthest, and from there
        reach = breadth_first(far, n, start, edge_at, u, v, free, alone, depth, entered, via)
        floor = (reach + 1) // 2
        far = np.argmax(depth)
    best, best_root = n, 0
    for root in range(n):
        reach = breadth_first(root, best, start, edge_at, u, v, forced, piece, depth, entered, via)
        if reach < best:
            best, best_root = reach, root
            if best <= floor:
                break
    breadth_first(best_root, n, start, edge_at, u, v, forced, piece, depth, entered, via)
    chosen = np.zeros(len(u), np.bool_)
    for node in range(n):
        if via[node] >= 0:
            chosen[via[node]] = True
    return chosen, best


@njit(cache=True)
def balanced_tree(n, u, v, forced, link, link_load, broker, broker_load):
    """Return the edges of a tree grown by the least loaded edge that joins two pieces.

    The key is the link's topics, the larger of its brokers' loads, u, v. `link` and `broker` give
    the place of an edge and a node in the loads, which are written. Loads only rise, so a queue
    whose stale entries are put back in their new place is exact.
    """
    chosen = np.zeros(len(u), np.bool_)
    parent = pieces_of(n, u, v, forced)
    for i in range(len(u)):
        if forced[i]:
            chosen[i] = True
            _load(i, u, v, link, link_load, broker, broker_load)
    queue = [(np.int64(0), np.int64(0), np.int64(0)) for _ in range(0)]
    for i in range(len(u)):
        if not forced[i]:
            heappush(queue, _key(i, u, v, link, link_load, broker, broker_load))
    while len(queue) > 0:
        top = heappop(queue)
        i = top[2]
        a, b = root_of(parent, u[i]), root_of(parent, v[i])
        if a == b:
            continue
        now = _key(i, u, v, link, link_load, broker, broker_load)
        if now != top:
            heappush(queue, now)
            continue
        parent[max(a, b)] = min(a, b)
        chosen[i] = True
        _load(i, u, v, link, link_load, broker, broker_load)
    return chosen


@njit(cache=True)
def _key(i, u, v, link, link_load, broker, broker_load):
    """Return the place of an edge in the queue. Reads only."""
    load = max(broker_load[broker[u[i]]], broker_load[broker[v[i]]])
    return np.int64(link_load[link[i]]), np.int64(load), np.int64(i)


@njit(cache=True)
def _load(i, u, v, link, link_load, broker, broker_load):
    """Count one more topic on an edge and at both its ends. Writes the loads."""
    link_load[link[i]] += 1
    broker_load[broker[u[i]]] += 1
    broker_load[broker[v[i]]] += 1


@njit(cache=True)
def tree_depth(n, u, v):
    """Return the least depth of a tree, over all roots: half its longest path, rounded up."""
    start, edge_at = adjacency(n, u, v)
    free, alone = np.zeros(len(u), np.bool_), np.arange(n)
    depth, via = np.empty(n, np.int64), np.empty(n, np.int64)
    entered = np.empty(n, np.bool_)
    far, longest = 0, 0
    for _ in range(2):
        longest = breadth_first(far, n, start, edge_at, u, v, free, alone, depth, entered, via)
        far = np.argmax(depth)
    return (longest + 1) // 2


@njit(cache=True)
def edges_by_topic(indptr, topics, n_topics, edges):
    """Return as CSR the edges whose ends both want a topic: those of its sub-overlay."""
    count = np.zeros(n_topics + 1, np.int64)
    filled = np.zeros(n_topics, np.int64)
    found = np.empty(0, np.int64)
    for attempt in range(2):  # count, then fill
        for e in range(len(edges)):
            i, end_i = indptr[edges[e, 0]], indptr[edges[e, 0] + 1]
            j, end_j = indptr[edges[e, 1]], indptr[edges[e, 1] + 1]
            while i < end_i and j < end_j:
                a, b = topics[i], topics[j]
                if a == b:
                    if attempt == 0:
                        count[a + 1] += 1
                    else:
                        found[count[a] + filled[a]] = e
                        filled[a] += 1
                i += a <= b
                j += b <= a
        if attempt == 0:
            count = np.cumsum(count)
            found = np.empty(count[-1], np.int64)
    return count, found
