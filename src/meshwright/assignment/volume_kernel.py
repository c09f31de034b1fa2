"""Exact volumes of boxes and of unions of a few boxes, by volume or by a density of events.

A union is added up box by box: what a box adds is its volume less that of the union of its
overlaps with the boxes before it, which is the same question about fewer boxes. That is exact, and
quick for the few boxes of a filter.
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
    cell = np.searchsorted(edges, value, side="right") - 1
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
    total = 0.0
    for i in range(n):
        total += box_volume(low[i], high[i], edges, first, below)
        if i == 0:
            continue
        met_low = np.empty((i, d))
        met_high = np.empty((i, d))
        count = 0
        for j in range(i):
            meets = True
            for k in range(d):
                met_low[count, k] = max(low[i, k], low[j, k])
                met_high[count, k] = min(high[i, k], high[j, k])
                if met_low[count, k] >= met_high[count, k]:
                    meets = False
                    break
            if meets:
                count += 1
        if count:
            total -= union_volume(met_low[:count], met_high[:count], edges, first, below)
    return total
