"""Random numbers of many streams at once."""

from __future__ import annotations

import numpy as np
from numba import njit

from meshwright.kernels.random import stream, uniform


@njit(cache=True, nogil=True)
def uniforms(seed, first, count, n):
    """Return the first n numbers of each of the streams first..first+count-1, a row each."""
    out = np.empty((count, n), np.float64)
    for row in range(count):
        key = stream(seed, first + row)
        for i in range(n):
            out[row, i] = uniform(key, i)
    return out
