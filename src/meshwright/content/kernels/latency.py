"""Latencies from the publisher through each leaf to subscribers, and the nearest leaves.

`leaf_location` is float64[leaves, network dimensions]; `leaf_down` is float64[leaves], the latency
from the publisher down to each leaf (0 where only the last hop is bounded). `location` is
float64[subscribers, network dimensions] and `max_delay` float64[subscribers].
"""

import numpy as np

from meshwright.runtime.compile import kernel, maker

TOLERANCE = 1e-9  # relative excess of a latency over its limit that still counts as in time


@kernel
def latencies(place, leaf_location, leaf_down, out):
    """Write the latency through each leaf to one place into out[leaves]; return the least."""
    least = np.inf
    for i in range(leaf_location.shape[0]):
        square = 0.0
        for k in range(place.shape[0]):
            step = place[k] - leaf_location[i, k]
            square += step * step
        out[i] = leaf_down[i] + np.sqrt(square)
        if out[i] < least:
            least = out[i]
    return least


@maker
def mark_in_time(location, max_delay, leaf_location, leaf_down, marks):
    """Set bit i of a subscriber's row of marks (uint64 words) if leaf i serves it in time."""
    n_leaves = leaf_location.shape[0]
    latency = np.empty(n_leaves)
    for j in range(location.shape[0]):
        least = latencies(location[j], leaf_location, leaf_down, latency)
        limit = (1.0 + max_delay[j]) * least * (1.0 + TOLERANCE)
        for word in range(marks.shape[1]):
            marks[j, word] = np.uint64(0)
        for i in range(n_leaves):
            if latency[i] <= limit:
                marks[j, i >> 6] |= np.uint64(1) << np.uint64(i & 63)


@maker
def count_in_time(location, max_delay, leaf_location, leaf_down):
    """Return int64[leaves + 1]: how many subscribers have 0, 1, 2, ... leaves in time."""
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


@maker
def least_latencies(location, leaf_location, leaf_down):
    """Return float64[subscribers]: the latency to each subscriber through its best leaf."""
    latency = np.empty(leaf_location.shape[0])
    least = np.empty(location.shape[0])
    for j in range(location.shape[0]):
        least[j] = latencies(location[j], leaf_location, leaf_down, latency)
    return least


@maker
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


@kernel
def nearest_with_room(location, leaf_location, limits, loads, out):
    """Assign each subscriber in turn to the nearest leaf with room. Writes `out` and `loads`.

    Limits and loads are int64[leaves], out int32[subscribers], indices among the leaves. Ties go to
    the smaller index. Returns how many found every leaf full and went to the nearest anyway.
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
