"""Loops of the lower bound on bandwidth."""

import numpy as np

from meshwright.runtime.compile import kernel, maker


@maker
def find_homes(marks, masks, above):
    """Return the smallest cluster that has all leaves of each row of bits in `marks`.

    Rows of `masks` are clusters, the leaves first; `above` is the cluster that each is a part of.
    """
    homes = np.empty(len(marks), np.int64)
    for j in range(len(marks)):
        at = 0
        while (marks[j, at >> 6] >> np.uint64(at & 63)) & np.uint64(1) == 0:
            at += 1
        while True:
            inside = True
            for word in range(marks.shape[1]):
                if marks[j, word] & ~masks[at, word]:
                    inside = False
                    break
            if inside:
                break
            at = above[at]
        homes[j] = at
    return homes


@maker
def combine(one, other):
    """Return the most room that 0, 1, ... brokers of two sets have, given the same of each set."""
    best = np.zeros(len(one) + len(other) - 1, np.int64)
    for i in range(len(one)):
        for k in range(len(other)):
            best[i + k] = max(best[i + k], one[i] + other[k])
    return best


@kernel
def sum_corners(sizes, counts):
    """Sum changes at the corners of boxes along each dimension: the number of boxes at each cell.

    `counts` is the grid, int32[product of sizes], the last dimension varying fastest.
    """
    step = 1
    for k in range(len(sizes) - 1, -1, -1):
        block = step * sizes[k]
        for start in range(0, len(counts), block):
            for at in range(start + step, start + block):
                counts[at] += counts[at - step]
        step = block
