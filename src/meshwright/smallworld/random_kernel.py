"""The draws of random small worlds: number 0 of a stream orders the ring, i is for phase i."""

from __future__ import annotations

import numpy as np
from numba import njit

from meshwright.kernels.random import stream, uniform


@njit(cache=True)
def random_keys(n, seed):
    """Return a number for each node, by which the ring is sorted."""
    keys = np.empty(n, np.float64)
    for node in range(n):
        keys[node] = uniform(stream(seed, node), 0)
    return keys


@njit(cache=True)
def random_reaches(n, nearest, behind, seed):
    """Return for each position and phase a distance, uniform within the phase."""
    reach = np.empty((n, len(nearest)), np.int64)
    for position in range(n):
        key = stream(seed, position)
        for phase in range(len(nearest)):
            width = behind[phase] - nearest[phase]
            reach[position, phase] = nearest[phase] + int(uniform(key, phase) * width)
    return reach
