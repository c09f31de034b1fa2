"""The nearest leaf of each subscriber, with and without limits on the loads.

`location` is float64[subscribers, network dimensions], `leaf_location` float64[leaves, network
dimensions]; loads and limits are int64[leaves]. Results go into out, int32[subscribers].
"""

from __future__ import annotations

import numpy as np

from meshwright.runtime.compile import kernel


@kernel
def squared_distance(one, other):
    """Return the squared distance of two places."""
    square = 0.0
    for k in range(len(one)):
        step = one[k] - other[k]
        square += step * step
    return square


@kernel
def nearest_leaf(place, leaf_location):
    """Return the nearest leaf, the smaller id of equal ones."""
    best, least = -1, np.inf
    for i in range(leaf_location.shape[0]):
        square = squared_distance(place, leaf_location[i])
        if square < least:
            best, least = i, square
    return best


@kernel
def nearest_leaves(location, leaf_location, out):
    """Write the nearest leaf of each subscriber."""
    for j in range(len(location)):
        out[j] = nearest_leaf(location[j], leaf_location)


@kernel
def nearest_with_room(location, leaf_location, limits, loads, out):
    """Write the nearest leaf with room of each subscriber in turn, and add to the loads.

    Returns how many subscribers found every leaf full and went to the nearest all the same.
    """
    n_overloaded = 0
    for j in range(len(location)):
        leaf, least = -1, np.inf
        for i in range(leaf_location.shape[0]):
            square = squared_distance(location[j], leaf_location[i])
            if square < least and loads[i] < limits[i]:
                leaf, least = i, square
        if leaf < 0:
            leaf = nearest_leaf(location[j], leaf_location)
            n_overloaded += 1
        out[j] = leaf
        loads[leaf] += 1
    return n_overloaded
