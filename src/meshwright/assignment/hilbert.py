"""Boxes in the order of a Hilbert curve through their centres."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from meshwright.assignment.hilbert_kernel import AXIS_BITS, KEY_BITS, hilbert_keys

Floats = npt.NDArray[np.float64]


class Frame(NamedTuple):
    """The least and the largest coordinates of the centres that a curve goes through."""

    least: Floats
    most: Floats


def frame_of(low: Floats, high: Floats) -> Frame:
    """Return the frame of the centres of boxes; there must be one."""
    centre = (low[:, :KEY_BITS] + high[:, :KEY_BITS]) / 2
    return Frame(centre.min(axis=0), centre.max(axis=0))


def key_bits(n_dimensions: int) -> int:
    """Return how many bits the keys of boxes have."""
    used = min(n_dimensions, KEY_BITS)
    return used * min(AXIS_BITS, KEY_BITS // used) if used else 0


def box_keys(low: Floats, high: Floats, frame: Frame | None = None) -> npt.NDArray[np.int64]:
    """Return the place of each box's centre along a Hilbert curve through all centres.

    Beyond 62 dimensions only the first 62 count. Where these boxes are only some of all, `frame`
    is that of all.

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
