"""Which leaves serve a subscriber in time."""

from __future__ import annotations

import numpy as np
from numba import njit

TOLERANCE = 1e-9


@njit(cache=True, nogil=True)
def latencies(location, leaf_location, leaf_down, out):
    """Write the latency from the publisher through each leaf to one place; return the least."""
    least = np.inf
    for i in range(leaf_location.shape[0]):
        square = 0.0
        for k in range(location.shape[0]):
            step = location[k] - leaf_location[i, k]
            square += step * step
        out[i] = leaf_down[i] + np.sqrt(square)
        if out[i] < least:
            least = out[i]
    return least


@njit(cache=True, nogil=True)
def mark_in_time(location, max_delay, leaf_location, leaf_down, first, last, marks):
    """Set a bit per leaf that serves each subscriber of a range in time; rows are uint64 words."""
    n_leaves = leaf_location.shape[0]
    latency = np.empty(n_leaves)
    for j in range(first, last):
        least = latencies(location[j], leaf_location, leaf_down, latency)
        limit = (1.0 + max_delay[j]) * least * (1.0 + TOLERANCE)
        for word in range(marks.shape[1]):
            marks[j - first, word] = np.uint64(0)
        for i in range(n_leaves):
            if latency[i] <= limit:
                marks[j - first, i >> 6] |= np.uint64(1) << np.uint64(i & 63)


@njit(cache=True, nogil=True)
def delays(location, leaf_location, leaf_down, leaf_of, out):
    """Write each subscriber's delay: its latency through its leaf over the least, less one."""
    latency = np.empty(leaf_location.shape[0])
    for j in range(location.shape[0]):
        least = latencies(location[j], leaf_location, leaf_down, latency)
        at = latency[leaf_of[j]]
        if least > 0.0:
            out[j] = at / least - 1.0
        else:
            out[j] = 0.0 if at <= 0.0 else np.inf
