"""Boxes in the order of a Hilbert curve through their centres."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from meshwright.content.kernels.hilbert import AXIS_BITS, KEY_BITS, hilbert_keys

Floats = npt.NDArray[np.float64]


class Frame(NamedTuple):
    """The smallest and largest coordinates of the centres that a curve passes through."""

    least: Floats
    most: Floats


def frame_of(low: Floats, high: Floats) -> Frame:
    """Return the frame of the centres of one or more boxes."""
    centre = (low[:, :KEY_BITS] + high[:, :KEY_BITS]) / 2
    return Frame(centre.min(axis=0), centre.max(axis=0))


def key_bits(n_dimensions: int) -> int:
    """Return the number of bits in the keys of boxes."""
    used = min(n_dimensions, KEY_BITS)
    return used * min(AXIS_BITS, KEY_BITS // used) if used else 0


def box_keys(low: Floats, high: Floats, frame: Frame | None = None) -> npt.NDArray[np.int64]:
    """Return the key of each box's centre along a Hilbert curve through all centres.

    Only the first 62 dimensions count. If the boxes are only part of all boxes, `frame` is the
    frame of all.

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
    least, most = frame or frame_of(low, high)
    width = most - least
    width[width == 0] = 1.0
    cells = np.floor((centre - least) / width * ((1 << bits) - 1)).astype(np.uint32)
    hilbert_keys(cells, bits, keys)
    return keys
