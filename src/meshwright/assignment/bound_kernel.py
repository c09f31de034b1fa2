"""Loops of the lower bound on bandwidth."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def find_homes(marks, masks, above, homes):
    """Write for each row of bits the smallest cluster that has all of its leaves.

    Rows of `masks` are clusters, the leaves themselves first; `above` is the cluster around each.
    """
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


@njit(cache=True, nogil=True)
def combine(one, other):
    """Return the most room that k brokers of two families have, given the same of each."""
    best = np.zeros(len(one) + len(other) - 1, np.int64)
    for i in range(len(one)):
        for k in range(len(other)):
            best[i + k] = max(best[i + k], one[i] + other[k])
    return best


@njit(cache=True, nogil=True)
def add_boxes(first, last, members, sizes, counts):
    """Write how many boxes have each cell of a grid; `counts` is flat, and zero at the start.

    A box adds 1 at its low corner and takes it back where it ends; sums along each dimension in
    turn spread that over its cells.
    """
    d = len(sizes)
    for j in members:
        for corner in range(1 << d):
            at, sign, outside = 0, 1, False
            for k in range(d):
                end = first[k, j]
                if (corner >> k) & 1:
                    end, sign = last[k, j], -sign
                if end >= sizes[k]:
                    outside = True
                    break
                at = at * sizes[k] + end
            if not outside:
                counts[at] += sign
    step = 1
    for k in range(d - 1, -1, -1):
        block = step * sizes[k]
        for start in range(0, len(counts), block):
            for at in range(start + step, start + block):
                counts[at] += counts[at - step]
        step = block


@njit(cache=True, nogil=True)
def raise_to(needed, counts, fewest):
    """Raise what each cell needs to the fewest brokers that can serve its subscriptions."""
    for cell in range(len(counts)):
        needed[cell] = max(needed[cell], fewest[counts[cell]])
