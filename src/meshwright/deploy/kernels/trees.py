"""Spanning trees of one topic's sub-overlay, with edges that every tree must contain."""

from typing import NamedTuple

import numpy as np

from meshwright.runtime.arrays import Bools, Longs
from meshwright.runtime.compile import kernel, maker


class Graph(NamedTuple):
    """A graph of n nodes and m edges. Edges are sorted by (u, v) with u < v."""

    u: Longs  # int64[m]
    v: Longs  # int64[m]
    start: Longs  # int64[n + 1]: the edges of node i are edge_at[start[i]:start[i + 1]]
    edge_at: Longs  # int64[2m]: a node's edges, its neighbours in ascending order
    forced: Bools  # bool[m]: edges that every tree contains; they close no cycle
    group: Longs  # int64[n]: the number of the part that forced edges join a node to


class Search(NamedTuple):
    """What a breadth-first search writes."""

    depth: Longs  # int64[n]: hops from the root, -1 where not reached
    via: Longs  # int64[n]: the edge by which a node was reached, -1 at the root
    order: Longs  # int64[n]: the nodes in the order in which they were reached
    entered: Bools  # bool[n]: by group, whether one of its nodes was reached


class Loads(NamedTuple):
    """How many topics the links and brokers of the whole overlay carry, and where ours are."""

    link: Longs  # int64[m]: the place of each edge in `link_load`
    link_load: Longs
    broker: Longs  # int64[n]: the place of each node in `broker_load`
    broker_load: Longs


@kernel
def breadth_first(graph, search, root, limit):
    """Search from a root; return the depth reached, or `limit` as soon as it is reached.

    A group of forced edges is entered once and then walked along them. Writes `search`.
    """
    depth, via, order, entered = search.depth, search.via, search.order, search.entered
    depth[:] = -1
    entered[:] = False
    order[0], head, tail = root, 0, 1
    depth[root], entered[graph.group[root]], via[root] = 0, True, -1
    deepest = 0
    while head < tail:
        here = order[head]
        head += 1
        for place in range(graph.start[here], graph.start[here + 1]):
            edge = graph.edge_at[place]
            there = graph.u[edge] + graph.v[edge] - here
            if depth[there] >= 0:
                continue
            if not graph.forced[edge]:
                if entered[graph.group[there]]:
                    continue
                entered[graph.group[there]] = True
            depth[there] = depth[here] + 1
            via[there] = edge
            order[tail] = there
            tail += 1
            deepest = depth[there]
            if deepest >= limit:
                return limit
    return deepest


@maker
def shallow_tree(graph, weight):
    """Return the Search of the tree of least depth over all roots of a connected graph.

    Among equals the root of least `weight` (int64[n]) wins, then the smallest. No tree is
    shallower than half the distance of two nodes: the search ends at that depth.
    """
    n = len(graph.group)
    search = Search(
        np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.bool_)
    )
    unforced = np.zeros(len(graph.u), np.bool_)
    free = Graph(graph.u, graph.v, graph.start, graph.edge_at, unforced, np.arange(n))
    far, least = 0, 0
    for _ in range(2):  # from any node to the farthest, and from there
        least = (breadth_first(free, search, far, n) + 1) // 2
        far = np.argmax(search.depth)
    best, best_root = n, 0
    for root in np.argsort(weight, kind="mergesort"):
        reached = breadth_first(graph, search, root, best)
        if reached < best:
            best, best_root = reached, root
            if best <= least:
                break
    breadth_first(graph, search, best_root, n)
    return search


@maker
def balanced_tree(graph, loads):
    """Return int64[n], the edge to each node's parent (-1 at the root), in a tree that evens loads.

    From the root of the shallow tree (the least loaded among equals), in its order, each node
    takes the parent with the smallest (topics on the link, load of the broker, node) among those
    reached before it that leave it at most twice as deep. Nodes that the shallow tree reaches by
    forced edges keep them. Adds the tree to `loads.link_load` and `loads.broker_load`.
    """
    link, link_load, broker, broker_load = loads
    search = shallow_tree(graph, broker_load[broker])
    via, level = search.via, search.depth
    depth = np.full(len(via), -1)
    depth[search.order[0]] = 0
    for node in search.order[1:]:
        best = via[node]
        if not graph.forced[best]:
            best_key = (np.int64(0), np.int64(0))
            best = -1
            for place in range(graph.start[node], graph.start[node + 1]):
                edge = graph.edge_at[place]
                there = graph.u[edge] + graph.v[edge] - node
                if depth[there] < 0 or depth[there] + 1 > 2 * level[node]:
                    continue
                key = (link_load[link[edge]], broker_load[broker[there]])
                if best < 0 or key < best_key:
                    best, best_key = edge, key
        parent = graph.u[best] + graph.v[best] - node
        depth[node] = depth[parent] + 1
        via[node] = best
        link_load[link[best]] += 1
        broker_load[broker[node]] += 1
        broker_load[broker[parent]] += 1
    return via
