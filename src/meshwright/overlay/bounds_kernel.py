"""What each node could gain at most, counted row by row: the numbers behind the certificate."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def count_all_partners(c, u, count, touched):
    """Count the gain of each partner of u, smaller and larger; return how many were touched."""
    n_touched = 0
    for slot in range(c.indptr[u], c.row_end[u]):
        topic = c.topics[slot]
        if c.open_count[topic] < 2:
            continue
        own = c.slot_label[slot]
        for position in range(c.topic_ptr[topic], c.topic_ptr[topic + 1]):
            if c.label[position] != own:
                w = c.nodes[position]
                if count[w] == 0:
                    touched[n_touched] = w
                    n_touched += 1
                count[w] += 1
    return n_touched


@njit(cache=True)
def gain_profile(c, max_degree):
    """Return the histogram of the gains of all pairs, and the sum of each node's best few.

    The second is summed over the nodes: of each the `max_degree` largest gains.
    """
    n = len(c.indptr) - 1
    largest = 0
    for u in range(n):
        largest = max(largest, c.indptr[u + 1] - c.indptr[u])
    histogram = np.zeros(largest + 1, np.int64)
    row = np.zeros(largest + 1, np.int64)
    count = np.zeros(n, np.int32)
    touched = np.empty(n, np.int32)
    best_sum = 0
    for u in range(n):
        n_touched = count_all_partners(c, u, count, touched)
        for i in range(n_touched):
            w = touched[i]
            row[count[w]] += 1
            histogram[count[w]] += w > u
            count[w] = 0
        left = np.int64(max_degree)
        for gain in range(c.indptr[u + 1] - c.indptr[u], 0, -1):
            best_sum += gain * min(left, row[gain])
            left -= min(left, row[gain])
            row[gain] = 0
    return histogram, best_sum


@njit(cache=True)
def neighbours_needed(c):
    """Return for each node how many neighbours it needs at least in any complete overlay.

    The larger of two bounds: the fewest partners whose common topics could cover its shared ones,
    and the sum over its shared topics of 1 / (the most topics shared with a subscriber of it).
    """
    n = len(c.indptr) - 1
    needed = np.zeros(n, np.int64)
    count = np.zeros(n, np.int32)
    touched = np.empty(n, np.int32)
    largest = 0
    for u in range(n):
        largest = max(largest, c.indptr[u + 1] - c.indptr[u])
    row = np.zeros(largest + 1, np.int64)
    for u in range(n):
        n_touched = count_all_partners(c, u, count, touched)
        shared, by_topic = 0, 0.0
        for slot in range(c.indptr[u], c.row_end[u]):
            topic = c.topics[slot]
            start, end = c.topic_ptr[topic], c.topic_ptr[topic + 1]
            if end - start < 2:
                continue
            shared += 1
            most = 1
            for position in range(start, end):
                most = max(most, count[c.nodes[position]])
            by_topic += 1.0 / most
        for i in range(n_touched):
            row[count[touched[i]]] += 1
            count[touched[i]] = 0
        covered, fewest = 0, 0
        for gain in range(c.indptr[u + 1] - c.indptr[u], 0, -1):
            while row[gain] > 0 and covered < shared:
                take = min(row[gain], (shared - covered + gain - 1) // gain)
                covered += take * gain
                fewest += take
                row[gain] -= take
            row[gain] = 0
        # A sum of fractions may come out a hair above the whole number it is.
        needed[u] = max(fewest, np.int64(np.ceil(by_topic - 1e-9)))
    return needed
