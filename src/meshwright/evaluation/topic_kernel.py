"""Sub-overlays of topics: components and diameters by breadth-first search.

Nothing here is shared with the greedy engine: this is the second opinion.
"""

from __future__ import annotations

import numpy as np
from numba import njit

EXACT_UP_TO = 20_000  # subscribers; above that a search from every one would take too long


@njit(cache=True)
def breadth_first(pointers, neighbours, start, distance, queue):
    """Fill `distance` from `start`; return (how many were reached, the farthest's distance)."""
    distance[start] = 0
    queue[0] = start
    head, tail = 0, 1
    while head < tail:
        u = queue[head]
        head += 1
        for i in range(pointers[u], pointers[u + 1]):
            w = neighbours[i]
            if distance[w] < 0:
                distance[w] = distance[u] + 1
                queue[tail] = w
                tail += 1
    return tail, distance[queue[tail - 1]]


@njit(cache=True)
def adjacency(n, one, other):
    """Return the CSR (pointers, neighbours) of an undirected graph."""
    pointers = np.zeros(n + 1, np.int64)
    for i in range(len(one)):
        pointers[one[i] + 1] += 1
        pointers[other[i] + 1] += 1
    for u in range(n):
        pointers[u + 1] += pointers[u]
    place = pointers[:-1].copy()
    neighbours = np.empty(2 * len(one), np.int32)
    for i in range(len(one)):
        neighbours[place[one[i]]] = other[i]
        neighbours[place[other[i]]] = one[i]
        place[one[i]] += 1
        place[other[i]] += 1
    return pointers, neighbours


@njit(cache=True)
def evaluate_topic(n, one, other, exact_up_to):
    """Return (components, largest, diameter at least, diameter at most) of one sub-overlay.

    The diameter is the largest over the components. Above `exact_up_to` nodes it is bounded: from
    below by the farthest found in two sweeps, from above by twice the last node's distance.
    """
    pointers, neighbours = adjacency(n, one, other)
    component = np.full(n, -1, np.int32)
    distance = np.full(n, -1, np.int32)
    queue = np.empty(n, np.int32)
    components = largest = low = high = 0
    for start in range(n):
        if component[start] >= 0:
            continue
        size, far = breadth_first(pointers, neighbours, start, distance, queue)
        members = queue[:size].copy()
        for u in members:
            component[u] = components
            distance[u] = -1
        components += 1
        largest = max(largest, size)
        if size <= exact_up_to:
            for u in members:
                _, reach = breadth_first(pointers, neighbours, u, distance, queue)
                low = max(low, reach)
                for w in members:
                    distance[w] = -1
            high = max(high, low)
        else:
            _, reach = breadth_first(pointers, neighbours, members[size - 1], distance, queue)
            for w in members:
                distance[w] = -1
            low = max(low, reach)
            high = max(high, 2 * min(far, reach))
    return components, largest, low, max(low, high)


@njit(cache=True)
def evaluate_topics(topic, node, edge_topic, one, other, exact_up_to):
    """Evaluate many topics: subscriptions and edges sorted by topic, then node.

    Return for each topic (topic, subscribers, components, largest, diameter low and high).
    """
    rows = np.empty((len(topic), 6), np.int64)
    n_rows = 0
    at = edge_at = 0
    while at < len(topic):
        end = at
        while end < len(topic) and topic[end] == topic[at]:
            end += 1
        edge_end = edge_at
        while edge_end < len(edge_topic) and edge_topic[edge_end] == topic[at]:
            edge_end += 1
        members = node[at:end]
        first = np.searchsorted(members, one[edge_at:edge_end]).astype(np.int32)
        second = np.searchsorted(members, other[edge_at:edge_end]).astype(np.int32)
        components, largest, low, high = evaluate_topic(end - at, first, second, exact_up_to)
        rows[n_rows, 0], rows[n_rows, 1], rows[n_rows, 2] = topic[at], end - at, components
        rows[n_rows, 3], rows[n_rows, 4], rows[n_rows, 5] = largest, low, high
        n_rows += 1
        at, edge_at = end, edge_end
    return rows[:n_rows]
