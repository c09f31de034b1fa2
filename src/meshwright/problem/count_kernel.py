"""How many leaves serve each subscriber in time."""

from __future__ import annotations

import numpy as np
from numba import njit

from meshwright.problem.latency_kernel import TOLERANCE, latencies


@njit(cache=True, nogil=True)
def count_in_time(location, max_delay, leaf_location, leaf_down):
    """Return, for each number of leaves from 0 to all, how many subscribers have so many."""
    n_leaves = leaf_location.shape[0]
    latency = np.empty(n_leaves)
    subscribers = np.zeros(n_leaves + 1, np.int64)
    for j in range(location.shape[0]):
        least = latencies(location[j], leaf_location, leaf_down, latency)
        limit = (1.0 + max_delay[j]) * least * (1.0 + TOLERANCE)
        count = 0
        for i in range(n_leaves):
            count += latency[i] <= limit
        subscribers[count] += 1
    return subscribers


@njit(cache=True, nogil=True)
def least_latencies(location, leaf_location, leaf_down):
    """Return the least latency from the publisher to each subscriber."""
    latency = np.empty(leaf_location.shape[0])
    least = np.empty(location.shape[0])
    for j in range(location.shape[0]):
        least[j] = latencies(location[j], leaf_location, leaf_down, latency)
    return least
