"""The nearest leaf of each subscriber."""

import numpy as np

from meshwright.runtime.compile import kernel


@kernel
def nearest_with_room(location, leaf_location, limits, loads, out):
    """Write the nearest leaf with room of each subscriber in turn, and add to the loads.

    `location` is float64[subscribers, network dimensions], `leaf_location` float64[leaves, network
    dimensions]; limits and loads are int64[leaves], out int32[subscribers]. Of equally near leaves
    the smaller id counts. Returns how many found all full and went to the nearest all the same.
    """
    n_overloaded = 0
    for j in range(len(location)):
        nearest, least = -1, np.inf
        leaf, least_with_room = -1, np.inf
        for i in range(leaf_location.shape[0]):
            square = 0.0
            for k in range(location.shape[1]):
                step = location[j, k] - leaf_location[i, k]
                square += step * step
            if square < least:
                nearest, least = i, square
            if square < least_with_room and loads[i] < limits[i]:
                leaf, least_with_room = i, square
        if leaf < 0:
            leaf = nearest
            n_overloaded += 1
        out[j] = leaf
        loads[leaf] += 1
    return n_overloaded
