"""Candidate boxes for filters: a few hundred that hold every subscription somewhere (IV-A.3).

Subscribers are clustered in the joint space of network and events; the box around a cluster is a
super-subscription. Along each axis of the event space a short list of intervals holds every
super-subscription's own with little to spare; candidates are the products of these intervals,
shrunk to what they hold.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SMALLEST = 1 / 4096  # the shortest interval, of the whole axis
OVERLAP = 0.5  # eta: two intervals of a length overlap by at most this share of it


class Boxes(NamedTuple):
    """Boxes as rows of corners."""

    low: Floats
    high: Floats

    def expanded(self, share: float) -> Boxes:
        """Return the boxes longer by a share along each axis, about their middles."""
        more = (self.high - self.low) * (share / 2)
        return Boxes(self.low - more, self.high + more)


def distinct(boxes: Boxes) -> Boxes:
    """Return the boxes sorted, equal ones once."""
    return Boxes(*np.hsplit(np.unique(np.hstack(boxes), axis=0), 2))


def intervals(low: Floats, high: Floats) -> Floats:
    """Return intervals that hold each of the given ones, the shortest at most four times as long.

    Lengths double from the shortest to the whole axis. For a length, intervals at most half as
    long are gone through by their left ends: one of the full length begins at the first, and
    those that begin in its first half are held by it.

    Examples
    --------
    >>> intervals(np.array([0.0, 1.0, 7.0]), np.array([1.0, 2.0, 8.0])).tolist()
    [[0.0, 2.0], [0.0, 8.0], [7.0, 8.0]]

    """
    whole = high.max() - low.min()
    lengths = high - low
    found = {(low.min(), high.max())}
    length = max(lengths.min(), whole * SMALLEST)
    while 0.0 < 2 * length <= whole:
        length *= 2
        short = lengths <= length / 2
        left, right = low[short], high[short]
        begin = np.sort(left)
        at = 0
        while at < len(begin):
            first = begin[at]
            held = (left >= first) & (right <= first + length)
            found.add((left[held].min(), right[held].max()))
            at = int(np.searchsorted(begin, first + (1 - OVERLAP) * length, side="right"))
    return np.array(sorted(found))


def candidate_boxes(supers: Boxes) -> Boxes:
    """Return the products of the axes' intervals, shrunk to the super-subscriptions they hold."""
    n_supers, n_axes = supers.low.shape
    held = np.ones((1, n_supers), np.bool_)
    for axis in range(n_axes):
        low, high = supers.low[:, axis], supers.high[:, axis]
        lists = intervals(low, high)
        inside = (low >= lists[:, :1]) & (high <= lists[:, 1:])
        both = (held[:, None, :] & inside[None, :, :]).reshape(-1, n_supers)
        held = np.unique(both[both.any(axis=1)], axis=0)
    low = np.array([supers.low[row].min(axis=0) for row in held])
    high = np.array([supers.high[row].max(axis=0) for row in held])
    return distinct(Boxes(low, high))
