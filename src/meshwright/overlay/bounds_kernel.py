"""What each node could gain at most, counted row by row: the numbers behind the certificate."""

from __future__ import annotations

import numpy as np
from numba import njit

from meshwright.kernels.bits import WORTH, add_common

DENSE = 4  # a row of at least a quarter as many positions as nodes is read as a whole


@njit(cache=True, nogil=True)
def gain_profile(c, wants, max_degree, count, needed, first, last):
    """Return the histogram of the gains of all pairs, and the sum of each node's best few.

    Of the pairs of the nodes from `first` to `last`, each pair at its smaller node; the second is
    summed over these nodes: of each the `max_degree` largest gains. `count` holds a zero for each
    node. Unless `needed` is empty, no edge has been added yet, and it gets for each node how many
    neighbours it needs at least in any complete overlay; `wants` are then the interests as words,
    or nothing.
    """
    n, is_first = len(c.indptr) - 1, len(needed) > 0
    largest = 0
    for u in range(first, last):
        largest = max(largest, c.indptr[u + 1] - c.indptr[u])
    histogram = np.zeros(largest + 1, np.int64)
    row = np.zeros(largest + 1, np.int64)
    touched = np.empty(n + 1, np.uint32)
    best_sum = 0
    for u in range(first, last):
        cost = 0
        for slot in range(c.indptr[u], c.row_end[u]):
            cost += c.topic_ptr[c.topics[slot] + 1] - c.topic_ptr[c.topics[slot]]
        n_touched, is_dense = 0, cost * DENSE >= n
        if is_dense:
            if is_first and len(wants) > 0 and cost * WORTH >= len(wants) * n:
                for k in range(len(wants)):
                    add_common(count, wants[k, u], wants[k])
                count[u] = 0
            elif is_first:
                count_common(c, u, count)
            else:
                count_gains(c, u, count)
            tally(count[:u], row)
            before = row.copy()
            tally(count[u + 1 :], row)
            histogram += row - before
            row[0] = 0
        else:
            if is_first:
                n_touched = list_common(c, u, count, touched)
            else:
                n_touched = list_gains(c, u, count, touched)
            for i in range(n_touched):
                gain = count[touched[i]]
                row[gain] += 1
                histogram[gain] += touched[i] > u
        if is_first:
            needed[u] = neighbours_needed(c, u, count, row)
        left = np.int64(max_degree)
        for gain in range(c.indptr[u + 1] - c.indptr[u], 0, -1):
            best_sum += gain * min(left, row[gain])
            left -= min(left, row[gain])
            row[gain] = 0
        if is_dense:
            count[:] = 0
        for i in range(n_touched):
            count[touched[i]] = 0
    histogram[0] = 0
    return histogram, best_sum


@njit(cache=True, nogil=True)
def count_gains(c, u, count):
    """Count the gain of each partner of u, smaller and larger."""
    for slot in range(c.indptr[u], c.row_end[u]):
        own, topic = c.slot_label[slot], c.topics[slot]
        nodes = c.nodes[c.topic_ptr[topic] : c.topic_ptr[topic + 1]]
        labels = c.label[c.topic_ptr[topic] : c.topic_ptr[topic + 1]]
        for i in range(len(nodes)):
            count[nodes[i]] += labels[i] != own


@njit(cache=True, nogil=True)
def list_gains(c, u, count, touched):
    """The same, and list the partners of positive gain; return how many."""
    n_touched = 0
    for slot in range(c.indptr[u], c.row_end[u]):
        own, topic = c.slot_label[slot], c.topics[slot]
        nodes = c.nodes[c.topic_ptr[topic] : c.topic_ptr[topic + 1]]
        labels = c.label[c.topic_ptr[topic] : c.topic_ptr[topic + 1]]
        for i in range(len(nodes)):
            if labels[i] != own:
                touched[n_touched] = nodes[i]
                n_touched += count[nodes[i]] == 0
                count[nodes[i]] += 1
    return n_touched


@njit(cache=True, nogil=True)
def count_common(c, u, count):
    """Count the topics that each other node has in common with u: its gain without any edge."""
    for topic in c.topics[c.indptr[u] : c.row_end[u]]:
        for w in c.nodes[c.topic_ptr[topic] : c.topic_ptr[topic + 1]]:
            count[w] += 1
    count[u] = 0


@njit(cache=True, nogil=True)
def list_common(c, u, count, touched):
    """The same, and list the nodes that have any; return how many."""
    n_touched = 0
    for topic in c.topics[c.indptr[u] : c.row_end[u]]:
        for w in c.nodes[c.topic_ptr[topic] : c.topic_ptr[topic + 1]]:
            touched[n_touched] = w
            n_touched += (count[w] == 0) & (w != u)
            count[w] += 1
    count[u] = 0
    return n_touched


@njit(cache=True, nogil=True)
def tally(count, row):
    """Add to `row` how often each gain occurs."""
    for i in range(len(count)):
        row[count[i]] += 1


@njit(cache=True, nogil=True)
def neighbours_needed(c, u, count, row):
    """Return how many neighbours u needs at least in any complete overlay.

    The larger of two bounds: the fewest partners whose common topics could cover its shared ones,
    and the sum over its shared topics of 1 / (the most topics shared with a subscriber of it).
    `row` holds how many partners share so many topics with u.
    """
    shared, by_topic = 0, 0.0
    for slot in range(c.indptr[u], c.row_end[u]):
        topic = c.topics[slot]
        nodes = c.nodes[c.topic_ptr[topic] : c.topic_ptr[topic + 1]]
        if len(nodes) < 2:
            continue
        shared += 1
        most = np.int32(1)
        for i in range(len(nodes)):
            most = max(most, np.int32(count[nodes[i]]))
        by_topic += 1.0 / most
    covered, fewest = 0, 0
    for gain in range(c.indptr[u + 1] - c.indptr[u], 0, -1):
        if covered < shared and row[gain] > 0:
            take = min(row[gain], (shared - covered + gain - 1) // gain)
            covered += take * gain
            fewest += take
    # A sum of fractions may come out a hair above the whole number it is.
    return max(fewest, np.int64(np.ceil(by_topic - 1e-9)))
