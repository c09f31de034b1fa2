"""Boxes in the order of a Hilbert curve through their centres."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meshwright.assignment.hilbert_kernel import AXIS_BITS, KEY_BITS, hilbert_keys


def box_keys(low: npt.NDArray[np.float64], high: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return the place of each box's centre along a Hilbert curve through all centres.

    Beyond 62 dimensions only the first 62 count.

    Examples
    --------
    >>> corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    >>> sorted(range(4), key=box_keys(corners, corners).tolist().__getitem__)
    [0, 1, 2, 3]

    """
    centre = (low[:, :KEY_BITS] + high[:, :KEY_BITS]) / 2
    keys = np.zeros(len(centre), np.int64)
    if centre.size == 0:
        return keys
    bits = min(AXIS_BITS, KEY_BITS // centre.shape[1])
    least, width = centre.min(axis=0), np.ptp(centre, axis=0)
    width[width == 0] = 1.0
    cells = np.floor((centre - least) / width * ((1 << bits) - 1)).astype(np.uint32)
    hilbert_keys(cells, bits, keys)
    return keys
