"""Spanning trees of topics, and flooding them. Nodes are ids.

A topic's subscribers are listed breadth-first from the smallest, so that the children of each
stand side by side. Where the sub-overlay falls apart, each part has a tree of its own. Places are
counted from the topic's first.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from meshwright.routing.tally_kernel import (
    DELIVERIES,
    MISSED,
    NO_RANGE,
    count_delivery,
    count_message,
    place_all,
    wants,
)


@njit(cache=True)
def neighbour_lists(n, edges):
    """Return the CSR (pointers, neighbours) of the overlay, neighbours in order of ids."""
    pointers = np.zeros(n + 1, np.int64)
    for i in range(len(edges)):
        pointers[edges[i, 0] + 1] += 1
        pointers[edges[i, 1] + 1] += 1
    for u in range(n):
        pointers[u + 1] += pointers[u]
    filled = pointers[:-1].copy()
    neighbours = np.empty(2 * len(edges), np.int32)
    for i in range(len(edges)):
        u, v = edges[i, 0], edges[i, 1]
        neighbours[filled[u]], neighbours[filled[v]] = v, u
        filled[u] += 1
        filled[v] += 1
    for u in range(n):
        neighbours[pointers[u] : pointers[u + 1]].sort()
    return pointers, neighbours


@njit(cache=True)
def spanning_trees(n, edges, topic_ptr, subscribers):
    """Return (nodes in tree order, parent or -1, first child, end of children) of all topics."""
    pointers, neighbours = neighbour_lists(n, edges)
    nodes, parent = np.empty_like(subscribers), np.full_like(subscribers, -1)
    first_child, end_child = np.zeros_like(subscribers), np.zeros_like(subscribers)
    place = np.zeros(n, np.int32)
    reached_in = np.full(n, -1, np.int64)  # the last topic in which a node was reached
    for topic in range(len(topic_ptr) - 1):
        start, end = topic_ptr[topic], topic_ptr[topic + 1]
        members = subscribers[start:end]
        place_all(members, place)
        tail, root = start, 0
        for head in range(start, end):
            if head == tail:  # nobody left to reach from here: the smallest of the others is next
                while reached_in[members[root]] == topic:
                    root += 1
                nodes[tail] = members[root]
                reached_in[members[root]] = topic
                tail += 1
            u = nodes[head]
            first_child[head] = tail - start
            for i in range(pointers[u], pointers[u + 1]):
                if tail == end:
                    break  # all are reached: spare the rest of a crowded overlay
                w = neighbours[i]
                if reached_in[w] != topic and wants(members, place, w):
                    nodes[tail] = w
                    parent[tail] = head - start
                    reached_in[w] = topic
                    tail += 1
            end_child[head] = tail - start
    return nodes, parent, first_child, end_child


@njit(cache=True)
def flood(nodes, parent, first_child, end_child, start, stack, tally, publication):
    """Flood one tree from place `start`. Writes the tally; `stack` has room for n places."""
    stack[0, 0], stack[0, 1], stack[0, 2] = start, -1, 0
    waiting = 1
    while waiting > 0:
        waiting -= 1
        v, sender, hops = stack[waiting, 0], stack[waiting, 1], stack[waiting, 2] + 1
        n_children = end_child[v] - first_child[v]
        for i in range(-1, n_children):
            w = parent[v] if i < 0 else first_child[v] + i
            if w == sender or w < 0:
                continue
            count_message(tally, publication, True, nodes[v], nodes[w], nodes[w], NO_RANGE, hops)
            count_delivery(tally, publication, hops)
            stack[waiting, 0], stack[waiting, 1], stack[waiting, 2] = w, v, hops
            waiting += 1


@njit(cache=True)
def flood_all(n, topic_ptr, nodes, parent, first_child, end_child, topics, publishers, tally):
    """Route publications, each over the tree of its topic. Writes the tally."""
    stack = np.empty((max(n, 1), 3), np.int64)
    for i in range(len(topics)):
        tree = slice(topic_ptr[topics[i]], topic_ptr[topics[i] + 1])
        members = nodes[tree]
        others = len(members)
        for place in range(len(members)):
            if members[place] == publishers[i]:
                others -= 1
                flood(
                    members,
                    parent[tree],
                    first_child[tree],
                    end_child[tree],
                    place,
                    stack,
                    tally,
                    i,
                )
        tally.counts[i, MISSED] = others - tally.counts[i, DELIVERIES]
