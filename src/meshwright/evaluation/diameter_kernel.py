"""Sub-overlays: components by breadth-first search, diameters by few searches.

A search bounds the eccentricity of every node, and nodes that cannot be farther out than the
farthest found need no search of their own: Takes and Kosters, "Determining the Diameter of Small
World Networks", CIKM 2011. Nothing here is shared with the greedy engine.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
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
        place[one[i]] += 1  # at once: the ends of a bad edge may be one node
        neighbours[place[other[i]]] = one[i]
        place[other[i]] += 1
    return pointers, neighbours


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def diameter_of(pointers, neighbours, members, distance, queue):
    """Return the exact diameter of a connected component.

    `distance` holds -1 for its members before and after; `queue` is room for as many nodes.
    """
    n = len(members)
    least, most = np.zeros(n, np.int32), np.full(n, 2 * n, np.int32)
    left = np.arange(n)
    n_left, diameter = n, 0
    take_most = True
    while n_left > 0:
        # By turns the node that may be farthest out and the one that may be most central.
        best = 0
        for k in range(1, n_left):
            i, j = left[k], left[best]
            if (take_most and most[i] > most[j]) or (not take_most and least[i] < least[j]):
                best = k
        take_most = not take_most
        _, reach = breadth_first(pointers, neighbours, members[left[best]], distance, queue)
        diameter = max(diameter, reach)
        most[left[best]] = least[left[best]] = reach
        kept = 0
        for k in range(n_left):
            i = left[k]
            d = distance[members[i]]
            least[i] = max(least[i], reach - d, d)
            most[i] = min(most[i], reach + d)
            # Who cannot reach farther than the farthest found, or is known, is done with.
            if most[i] > diameter and least[i] < most[i]:
                left[kept] = i
                kept += 1
            else:
                diameter = max(diameter, least[i])
        n_left = kept
        for v in members:
            distance[v] = -1
    return diameter


@njit(cache=True, nogil=True)
def evaluate_sub_overlay(n, one, other, exact_up_to):
    """Return (components, largest, diameter at least, diameter at most) of one sub-overlay.

    The diameter is the largest over the components. Above `exact_up_to` nodes it is bounded: from
    below by the farthest found in two searches, from above by twice the lesser of their reaches. In
    a tree the second search, from the farthest that the first found, settles it.
    """
    pointers, neighbours = adjacency(n, one, other)
    seen = np.zeros(n, np.bool_)
    distance = np.full(n, -1, np.int32)
    queue = np.empty(n, np.int32)
    components = largest = low = high = 0
    for start in range(n):
        if seen[start]:
            continue
        size, far = breadth_first(pointers, neighbours, start, distance, queue)
        components += 1
        largest = max(largest, size)
        members = queue[:size].copy()
        ends = 0
        for v in members:
            seen[v] = True
            distance[v] = -1
            ends += pointers[v + 1] - pointers[v]
        is_tree = ends == 2 * (size - 1)
        if is_tree or size > exact_up_to:
            _, reach = breadth_first(pointers, neighbours, members[size - 1], distance, queue)
            for v in members:
                distance[v] = -1
            low = max(low, reach)
            high = max(high, reach if is_tree else 2 * min(far, reach))
        else:
            low = max(low, diameter_of(pointers, neighbours, members, distance, queue))
    return components, largest, low, max(low, high)
