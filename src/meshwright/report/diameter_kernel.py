"""Diameters by few searches: bounds on the eccentricity of every node, tightened by each search.

Takes and Kosters, "Determining the Diameter of Small World Networks", CIKM 2011. The checker
(`evaluation.topic_kernel`) searches from every node instead and is the second opinion.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from meshwright.evaluation.topic_kernel import adjacency, breadth_first


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

    The diameter is the largest over the components. Above `exact_up_to` nodes it is bounded by two
    searches, as the checker does.
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
        members = queue[:size].copy()
        for v in members:
            seen[v] = True
            distance[v] = -1
        components += 1
        largest = max(largest, size)
        if size <= exact_up_to:
            low = max(low, diameter_of(pointers, neighbours, members, distance, queue))
        else:
            _, reach = breadth_first(pointers, neighbours, members[size - 1], distance, queue)
            for v in members:
                distance[v] = -1
            low = max(low, reach)
            high = max(high, 2 * min(far, reach))
    return components, largest, low, max(low, high)
