"""Exact volumes of boxes and of unions of a few boxes, by volume or by a density of events.

A union is added up box by box: what a box adds is its volume, less its overlaps with the boxes
before it, plus its overlaps with two of them, and so on. That is exact, and quick for the few boxes
of a filter.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _share(edges, value):
    """Return the cell a coordinate lies in and how far into it, both within the grid."""
    n = len(edges)
    if value <= edges[0]:
        return 0, 0.0
    if value >= edges[n - 1]:
        return n - 2, 1.0
    cell, beyond = 0, n - 1
    while beyond - cell > 1:  # by hand: NumPy's search takes seconds to compile wherever it is
        middle = (cell + beyond) // 2
        if edges[middle] <= value:
            cell = middle
        else:
            beyond = middle
    return cell, (value - edges[cell]) / (edges[cell + 1] - edges[cell])


@njit(cache=True, nogil=True)
def _below(point, edges, first, below):
    """Return the measure of everything below a point: linear within each cell, per dimension."""
    d = len(point)
    cells = np.empty(d, np.int64)
    shares = np.empty(d)
    for k in range(d):
        cells[k], shares[k] = _share(edges[first[k] : first[k + 1]], point[k])
    total = 0.0
    for corner in range(1 << d):
        weight, at = 1.0, 0
        for k in range(d):
            up = (corner >> k) & 1
            weight *= shares[k] if up else 1.0 - shares[k]
            at = at * (first[k + 1] - first[k]) + cells[k] + up
        if weight > 0.0:
            total += weight * below[at]
    return total


@njit(cache=True, nogil=True)
def box_volume(low, high, edges, first, below):
    """Return the volume of a box, or the share of events in it when there is a density."""
    d = len(low)
    if len(edges) == 0:
        volume = 1.0
        for k in range(d):
            volume *= high[k] - low[k]
        return volume
    total = 0.0
    point = np.empty(d)
    for corner in range(1 << d):
        sign = 1.0
        for k in range(d):
            if (corner >> k) & 1:
                point[k] = high[k]
            else:
                point[k] = low[k]
                sign = -sign
        total += sign * _below(point, edges, first, below)
    return max(total, 0.0)


@njit(cache=True, nogil=True)
def union_volume(low, high, edges, first, below):
    """Return the exact volume of the union of boxes, given as rows."""
    n, d = low.shape
    met_low, met_high = np.empty((n + 1, d)), np.empty((n + 1, d))
    following = np.empty(n + 2, np.int64)
    total = 0.0
    for i in range(n):
        for k in range(d):
            met_low[0, k] = low[i, k]
            met_high[0, k] = high[i, k]
        total += added_volume(i, low, high, met_low, met_high, following, edges, first, below)
    return total


@njit(cache=True, nogil=True)
def added_volume(n, low, high, met_low, met_high, following, edges, first, below):
    """Return what the box in the first row of `met` adds to the union of the first n boxes.

    Sets of boxes that overlap are walked depth first, `met` holding their overlap at each depth;
    it has a row more than n, and `following`, the next box to try at each depth, two.
    (No recursion: Numba cannot keep compiled code of recursive functions that others call.)
    """
    d = low.shape[1]
    total = box_volume(met_low[0], met_high[0], edges, first, below)
    depth = 1
    following[1] = 0
    while depth > 0:
        j = following[depth]
        if j >= n:
            depth -= 1
            continue
        following[depth] = j + 1
        meets = True
        for k in range(d):
            least = max(met_low[depth - 1, k], low[j, k])
            most = min(met_high[depth - 1, k], high[j, k])
            if least >= most:
                meets = False
                break
            met_low[depth, k] = least
            met_high[depth, k] = most
        if meets:
            volume = box_volume(met_low[depth], met_high[depth], edges, first, below)
            total += -volume if depth & 1 else volume
            depth += 1
            following[depth] = j + 1
    return total
