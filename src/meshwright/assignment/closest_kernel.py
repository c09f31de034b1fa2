"""The nearest leaf of each subscriber, with and without limits on the loads."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def nearest_leaf(place, leaf_location, loads, limits):
    """Return the nearest leaf below its limit, the smaller id of equal ones; -1 for none."""
    best, least = -1, np.inf
    for i in range(leaf_location.shape[0]):
        if loads[i] >= limits[i]:
            continue
        square = 0.0
        for k in range(len(place)):
            step = place[k] - leaf_location[i, k]
            square += step * step
        if square < least:
            best, least = i, square
    return best


@njit(cache=True, nogil=True)
def nearest_leaves(location, leaf_location, first, last, out):
    """Write the nearest leaf of each subscriber of a range."""
    loads = np.zeros(leaf_location.shape[0], np.int64)
    limits = np.ones(leaf_location.shape[0], np.int64)
    for j in range(first, last):
        out[j] = nearest_leaf(location[j], leaf_location, loads, limits)


@njit(cache=True, nogil=True)
def nearest_with_room(location, leaf_location, limits, first, last, loads, out):
    """Write the nearest leaf with room of each, in turn; return how many found none with room."""
    anywhere = np.full(len(limits), np.iinfo(np.int64).max)
    n_overloaded = 0
    for j in range(first, last):
        leaf = nearest_leaf(location[j], leaf_location, loads, limits)
        if leaf < 0:
            leaf = nearest_leaf(location[j], leaf_location, loads, anywhere)
            n_overloaded += 1
        out[j] = leaf
        loads[leaf] += 1
    return n_overloaded
