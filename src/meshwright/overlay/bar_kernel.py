"""Pairs that are out for good: what the rows of small worlds leave aside.

A circle through all nodes grows from paths: the two ends of a path must not be linked. Fingers
fill slots, one for each node and phase: a pair is out when both of its slots are filled, that of
either node towards the other. A pair that is out stays out, so a queue that is looked at lazily
stays exact. Overlays that are no small worlds have no bars, and their arrays are empty.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from meshwright.kernels.compile import kernel

Ints = npt.NDArray[np.int32]


class Bars(NamedTuple):
    """The arrays of both kinds, by rank where nothing else is said."""

    other_end: Ints  # the other end of the path that a node ends, or itself
    position: Ints  # on the ring
    phase: npt.NDArray[np.uint8]  # by clockwise distance
    filled: npt.NDArray[np.uint32]  # bit i: the slot of phase i is filled


def new_bars(ids: Ints, *, circle: bool = False, ring: Ints | None = None) -> Bars:
    """Return the bars of a circle to be, or of the fingers of a ring, before the first edge."""
    n = len(ids)
    position = np.empty(0, dtype=np.int32)
    if ring is not None:
        position = np.argsort(ring).astype(np.int32)[ids]
    distances = np.arange(len(position), dtype=np.float64)
    # The exponent of a number below 2^53 is exact.
    phase = np.maximum(np.frexp(distances)[1] - 1, 0).astype(np.uint8)
    return Bars(
        other_end=np.arange(n if circle else 0, dtype=np.int32),
        position=position,
        phase=phase,
        filled=np.ones(len(position), dtype=np.uint32),  # phase 0 is the ring
    )


@kernel
def has_bars(bars):
    """Tell whether pairs can be out for good: ask once, above a loop. Reads only."""
    return len(bars.other_end) + len(bars.position) > 0


@kernel
def barred(bars, u, w):
    """Tell whether a pair is out for good. Reads only."""
    if len(bars.other_end) > 0:
        return bars.other_end[u] == w
    if len(bars.position) > 0:
        return slot_filled(bars, u, w) and slot_filled(bars, w, u)
    return False


@kernel
def slot_filled(bars, u, w):
    """Tell whether the slot of u that could take w is filled. Reads only."""
    return (bars.filled[u] >> bars.phase[distance(bars, u, w)]) & 1 > 0


@kernel
def distance(bars, u, w):
    """Return the clockwise distance from u to w. Reads only."""
    away = bars.position[w] - bars.position[u]
    return away if away >= 0 else away + len(bars.position)


@kernel
def note_edge(bars, u, w):
    """Write down an edge that was added; u is the node of the smaller id."""
    if len(bars.other_end) > 0:
        a, b = bars.other_end[u], bars.other_end[w]
        bars.other_end[a], bars.other_end[b] = b, a
    if len(bars.position) > 0:
        if slot_filled(bars, u, w):
            u, w = w, u
        bars.filled[u] |= np.uint32(1) << bars.phase[distance(bars, u, w)]
