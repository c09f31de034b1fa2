"""Pairs that may never be linked, in small worlds.

A ring through all nodes grows from paths: the two ends of a path must not be linked. Fingers fill
slots, one for each node and phase: a pair is excluded when the slot of either node towards the
other is filled. An excluded pair stays excluded, so a queue that evaluates pairs lazily is exact.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from meshwright.runtime.arrays import Ints, Unsigned
from meshwright.runtime.compile import kernel

NO_EXCLUSIONS, PATH_ENDS, FILLED_SLOTS = 0, 1, 2  # kinds


class Exclusions(NamedTuple):
    """The excluded pairs of one kind; the arrays of the other kinds have no elements."""

    kind: int
    other_end: Ints  # PATH_ENDS: int32[n_nodes], the other end of the path that a node ends
    position: Ints  # FILLED_SLOTS: int32[n_nodes], the position of a node on the ring
    phase: npt.NDArray[np.uint8]  # FILLED_SLOTS: uint8[n_nodes], the phase of each distance
    filled: Unsigned  # FILLED_SLOTS: uint32[n_nodes], bit i: slot i is filled


def no_exclusions() -> Exclusions:
    """Return the exclusions of an overlay that is not a small world."""
    ints = np.empty(0, dtype=np.int32)
    return Exclusions(NO_EXCLUSIONS, ints, ints, np.empty(0, np.uint8), np.empty(0, np.uint32))


def exclude_path_ends(n_nodes: int) -> Exclusions:
    """Return the exclusions of a ring before its first edge: every node is a path of its own."""
    other_end = np.arange(n_nodes, dtype=np.int32)
    return no_exclusions()._replace(kind=PATH_ENDS, other_end=other_end)


def exclude_filled_slots(ids: Ints, ring: Ints) -> Exclusions:
    """Return the exclusions of the fingers of a ring before the first finger."""
    distances = np.arange(len(ids), dtype=np.float64)  # exponents below 2^53 are exact
    return no_exclusions()._replace(
        kind=FILLED_SLOTS,
        position=np.argsort(ring).astype(np.int32)[ids],
        phase=np.maximum(np.frexp(distances)[1] - 1, 0).astype(np.uint8),
        filled=np.ones(len(ids), dtype=np.uint32),  # phase 0 is the ring
    )


@kernel
def is_excluded(exclusions, u, w):
    """Return whether a pair may never be linked. Reads only."""
    if exclusions.kind == PATH_ENDS:
        return exclusions.other_end[u] == w
    if exclusions.kind == FILLED_SLOTS:
        return slot_filled(exclusions, u, w) and slot_filled(exclusions, w, u)
    return False


@kernel
def slot_filled(exclusions, u, w):
    """Return whether the slot of u that w would fill is filled. Reads only."""
    return (exclusions.filled[u] >> exclusions.phase[distance(exclusions, u, w)]) & 1 > 0


@kernel
def distance(exclusions, u, w):
    """Return the clockwise distance from u to w. Reads only."""
    clockwise = exclusions.position[w] - exclusions.position[u]
    return clockwise if clockwise >= 0 else clockwise + len(exclusions.position)


@kernel
def exclude_after_edge(exclusions, u, w):
    """Update the exclusions for an edge that was added; u is the node of the smaller id."""
    if exclusions.kind == PATH_ENDS:
        a, b = exclusions.other_end[u], exclusions.other_end[w]
        exclusions.other_end[a], exclusions.other_end[b] = b, a
    elif exclusions.kind == FILLED_SLOTS:
        if slot_filled(exclusions, u, w):
            u, w = w, u
        phase = exclusions.phase[distance(exclusions, u, w)]
        exclusions.filled[u] |= np.uint32(1) << phase
