"""Random numbers of many streams at once."""

from __future__ import annotations

import numpy as np

from meshwright.runtime.compile import maker
from meshwright.runtime.kernels.random import stream, uniform


@maker
def uniforms(seed, first, count, n):
    """Return float64[count, n]: the first n numbers of the streams first..first+count-1."""
    out = np.empty((count, n), np.float64)
    for row in range(count):
        key = stream(seed, first + row)
        for i in range(n):
            out[row, i] = uniform(key, i)
    return out
