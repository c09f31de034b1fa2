"""Sub-overlays of topics: how many links are inside each, its components and its diameter."""

from __future__ import annotations

import numpy as np
from numba import njit

from meshwright.report.diameter_kernel import evaluate_sub_overlay


@njit(cache=True, nogil=True)
def count_links(topic_ptr, members, pointers, neighbours, first, last, links):
    """Write into `links` the links inside the topics first..last-1."""
    inside = np.zeros(len(pointers) - 1, np.bool_)
    for t in range(first, last):
        nodes = members[topic_ptr[t] : topic_ptr[t + 1]]
        for u in nodes:
            inside[u] = True
        count = 0
        for u in nodes:
            for i in range(pointers[u], pointers[u + 1]):
                count += inside[neighbours[i]]
        for u in nodes:
            inside[u] = False
        links[t] = count // 2


@njit(cache=True, nogil=True)
def evaluate(topic_ptr, members, pointers, neighbours, links, exact, first, last, rows):
    """Write into `rows` of the topics first..last-1: components, largest, diameter low and high.

    `exact` is the number of nodes up to which a diameter is worked out and not only bounded.
    """
    place = np.full(len(pointers) - 1, -1, np.int32)
    for t in range(first, last):
        nodes = members[topic_ptr[t] : topic_ptr[t + 1]]
        for i in range(len(nodes)):
            place[nodes[i]] = i
        one = np.empty(links[t], np.int32)
        other = np.empty(links[t], np.int32)
        n = 0
        for u in nodes:
            for i in range(pointers[u], pointers[u + 1]):
                w = neighbours[i]
                if w > u and place[w] >= 0:
                    one[n] = place[u]
                    other[n] = place[w]
                    n += 1
        for u in nodes:
            place[u] = -1
        components, largest, low, high = evaluate_sub_overlay(len(nodes), one, other, exact)
        rows[t, 0], rows[t, 1], rows[t, 2], rows[t, 3] = components, largest, low, high
