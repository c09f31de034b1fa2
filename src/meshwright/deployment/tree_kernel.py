"""Spanning trees of one topic's sub-overlay: nodes are 0..n-1, edges sorted by (u, v), u < v.

Edges that are forced (flag 1) have no cycle among themselves and are in every tree.
"""

from __future__ import annotations

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
def breadth_first(root, limit, start, edge_at, u, v, forced, piece, depth, entered, via, queue):
    """Grow the tree from a root; return its depth, or `limit` as soon as it is reached.

    A piece of forced edges is entered once and then walked along them. Writes `depth` (-1 where
    not reached), `entered`, `via`, the edge by which a node was reached, and `queue`, the order.
    """
    depth[:] = -1
    entered[:] = False
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
def shallow_tree(n, u, v, forced, weight):
    """Return (via, order, depths): the tree of least depth over all roots.

    Among equals the root of least weight wins, then the smallest. `via` is the edge to each node's
    parent, -1 at the root; `order` that in which nodes are reached. No tree is shallower than half
    the distance of two nodes: the search ends there.
    """
    start, edge_at = adjacency(n, u, v)
    piece = pieces_of(n, u, v, forced)
    free, alone = np.zeros(len(u), np.bool_), np.arange(n)
    depth, via, queue = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    entered = np.empty(n, np.bool_)
    far, floor = 0, 0
    for _ in range(2):  # from any node to the farthest, and from there
        reach = breadth_first(far, n, start, edge_at, u, v, free, alone, depth, entered, via, queue)
        floor = (reach + 1) // 2
        far = np.argmax(depth)
    best, best_root = n, 0
    for root in np.argsort(weight, kind="mergesort"):
        reach = breadth_first(
            root, best, start, edge_at, u, v, forced, piece, depth, entered, via, queue
        )
        if reach < best:
            best, best_root = reach, root
            if best <= floor:
                break
    breadth_first(best_root, n, start, edge_at, u, v, forced, piece, depth, entered, via, queue)
    return via, queue, depth


@njit(cache=True)
def balanced_tree(n, u, v, forced, link, link_load, broker, broker_load):
    """Return the edge to each node's parent, -1 at the root, in a tree that evens out loads.

    From the root of the shallow tree (the least loaded among equals), in its order, each node
    takes the parent with the smallest (topics on the link, load of the broker, node) among those
    reached before it that leave it no deeper than twice as deep. Nodes that the shallow tree
    reaches by forced edges keep them. `link` and `broker` give the place of an edge and a node in
    the loads, which are written.
    """
    via, order, level = shallow_tree(n, u, v, forced, broker_load[broker])
    start, edge_at = adjacency(n, u, v)
    depth = np.full(n, -1)
    depth[order[0]] = 0
    for node in order[1:]:
        best = via[node]
        if not forced[best]:
            best_key = (np.int64(0), np.int64(0))
            best = -1
            for slot in range(start[node], start[node + 1]):
                edge = edge_at[slot]
                there = u[edge] + v[edge] - node
                if depth[there] < 0 or depth[there] + 1 > 2 * level[node]:
                    continue
                key = (link_load[link[edge]], broker_load[broker[there]])
                if best < 0 or key < best_key:
                    best, best_key = edge, key
        parent = u[best] + v[best] - node
        depth[node] = depth[parent] + 1
        via[node] = best
        link_load[link[best]] += 1
        broker_load[broker[node]] += 1
        broker_load[broker[parent]] += 1
    return via


@njit(cache=True)
def tree_depth(n, u, v):
    """Return the least depth of a tree, over all roots: half its longest path, rounded up."""
    start, edge_at = adjacency(n, u, v)
    free, alone = np.zeros(len(u), np.bool_), np.arange(n)
    depth, via, queue = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    entered = np.empty(n, np.bool_)
    far, longest = 0, 0
    for _ in range(2):
        longest = breadth_first(
            far, n, start, edge_at, u, v, free, alone, depth, entered, via, queue
        )
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
