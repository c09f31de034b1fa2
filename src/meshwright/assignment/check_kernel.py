"""What the checker asks of every subscriber. It shares no code with the methods it checks."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def find_faults(
    location, low, high, limit, leaf_location, leaf_down, leaf_of, box_ptr, box_low, box_high,
    first, last, delay, outside,
):  # fmt: skip
    """Write the delay of each subscriber of a range where it is too long, and who is uncovered.

    `limit` is the longest latency allowed over the least; `delay` gets -1 where all is well.
    """
    for j in range(first, last):
        delay[j] = -1.0
        outside[j] = False
        leaf = leaf_of[j]
        if leaf < 0:
            continue
        own, least = np.inf, np.inf
        for i in range(len(leaf_down)):
            square = 0.0
            for k in range(location.shape[1]):
                square += (leaf_location[i, k] - location[j, k]) ** 2
            latency = np.sqrt(square) + leaf_down[i]
            least = min(least, latency)
            if i == leaf:
                own = latency
        if own > limit[j] * least:
            delay[j] = own / least - 1.0 if least > 0.0 else np.inf
        outside[j] = True
        for b in range(box_ptr[leaf], box_ptr[leaf + 1]):
            inside = True
            for k in range(low.shape[1]):
                if low[j, k] < box_low[b, k] or high[j, k] > box_high[b, k]:
                    inside = False
                    break
            if inside:
                outside[j] = False
                break
