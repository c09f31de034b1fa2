"""The loops of the methods without an index (`naive_greedy.py`): a scan over all pairs a step."""

from __future__ import annotations

import numpy as np
from numba import njit

GM, MINMAX, LOW = 0, 1, 2
K = 2  # of low: e1 is taken when it gains at least K times what e2 gains
NONE = -1


@njit(cache=True)
def scan_and_add(indptr, topics, n_topics, rule):
    """Add the best edge of a scan over all pairs, until none gains."""
    n_nodes = len(indptr) - 1
    label = np.arange(len(topics)).astype(np.int32)  # by slot: one slot of its component
    follower = label.copy()  # by slot: the next of its component, in a circle
    mine = np.full(n_topics, NONE, np.int32)
    degree = np.zeros(n_nodes, np.int32)
    most = min(len(topics), n_nodes * (n_nodes - 1) // 2)
    found, gains = np.empty((most, 2), np.int32), np.empty(most, np.int32)
    count, max_degree = 0, 0
    while True:
        avg, low = _scan(indptr, topics, label, mine, degree, max_degree)
        if avg[1] == 0:
            return found[:count].copy(), gains[:count].copy()
        use_avg = rule == GM or (rule == LOW and avg[1] >= K * low[1])
        _, gain, _, u, v = avg if use_avg else low
        found[count, 0], found[count, 1], gains[count] = u, v, gain
        count += 1
        _join(indptr, topics, label, follower, u, v)
        degree[u] += 1
        degree[v] += 1
        max_degree = max(max_degree, degree[u], degree[v])


@njit(cache=True)
def _scan(indptr, topics, label, mine, degree, max_degree):
    """Return gm's edge and minmax's: (maximum degree after, gain, larger degree, u, v).

    Writes `mine`, and leaves it as it was.
    """
    n_nodes = len(degree)
    avg = low = (n_nodes, 0, n_nodes, NONE, NONE)
    for u in range(n_nodes):
        for i in range(indptr[u], indptr[u + 1]):
            mine[topics[i]] = label[i]
        for v in range(u + 1, n_nodes):
            gain = 0
            for j in range(indptr[v], indptr[v + 1]):
                one = mine[topics[j]]
                gain += (one != NONE) & (one != label[j])
            if gain == 0:
                continue
            larger = max(degree[u], degree[v])
            after = max(max_degree, larger + 1)
            # Pairs come in order, so only a better one replaces: ties go to the smaller.
            if gain > avg[1] or (gain == avg[1] and larger < avg[2]):
                avg = (after, gain, larger, u, v)
            if after < low[0] or (
                after == low[0] and (gain > low[1] or (gain == low[1] and larger < low[2]))
            ):
                low = (after, gain, larger, u, v)
        for i in range(indptr[u], indptr[u + 1]):
            mine[topics[i]] = NONE
    return avg, low


@njit(cache=True)
def _join(indptr, topics, label, follower, u, v):
    """Join the components of u and v in every topic that both want."""
    i, j = indptr[u], indptr[v]
    while i < indptr[u + 1] and j < indptr[v + 1]:
        if topics[i] == topics[j] and label[i] != label[j]:
            slot = j
            while label[slot] != label[i]:
                label[slot] = label[i]
                slot = follower[slot]
            # Two circles become one by exchanging their followers.
            follower[i], follower[j] = follower[j], follower[i]
        a, b = topics[i], topics[j]
        i += a <= b
        j += b <= a
