"""Keys along a Hilbert curve: cells near each other on the curve are near each other in space.

Skilling, "Programming the Hilbert curve", AIP Conference Proceedings 707, 2004: the transpose of
the index is made in place, one bit of every axis at a time.
"""

import numpy as np

from meshwright.runtime.compile import maker

KEY_BITS = 62  # at most, per key: it stays a positive int64
AXIS_BITS = 16  # at most, per axis


@maker
def hilbert_keys(cells, bits, keys):
    """Write the key of each row of cells, uint32[n, axes] of `bits` bits, into int64[n]."""
    n, d = cells.shape
    axes = np.empty(d, np.int64)
    for row in range(n):
        for k in range(d):
            axes[k] = cells[row, k]
        bit = 1 << (bits - 1)
        while bit > 1:
            mask = bit - 1
            for k in range(d):
                if axes[k] & bit:
                    axes[0] ^= mask
                else:
                    swap = (axes[0] ^ axes[k]) & mask
                    axes[0] ^= swap
                    axes[k] ^= swap
            bit >>= 1
        for k in range(1, d):
            axes[k] ^= axes[k - 1]
        flip = 0
        bit = 1 << (bits - 1)
        while bit > 1:
            if axes[d - 1] & bit:
                flip ^= bit - 1
            bit >>= 1
        key = 0
        for level in range(bits - 1, -1, -1):
            for k in range(d):
                key = (key << 1) | (((axes[k] ^ flip) >> level) & 1)
        keys[row] = key
