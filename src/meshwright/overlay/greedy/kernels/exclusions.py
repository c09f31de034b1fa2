"""Pairs that may not be linked any more, in small worlds and under limits.

A ring through all nodes grows from paths: the two ends of a path must not be linked. Fingers fill
slots, one for each node and phase: a pair is excluded when the slot of either node towards the
other is filled. Under limits, a pair is excluded when it is forbidden, or when one of its nodes has
as many links as it may have. An excluded pair stays excluded, so a queue that evaluates pairs
lazily is exact.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from meshwright.runtime.arrays import Ints, Longs, Unsigned
from meshwright.runtime.compile import kernel

NO_EXCLUSIONS, PATH_ENDS, FILLED_SLOTS, LIMITS = range(4)  # kinds


class Exclusions(NamedTuple):
    """The excluded pairs of one kind; the arrays of the other kinds have no elements."""

    kind: int
    other_end: Ints  # PATH_ENDS: int32[n_nodes], the other end of the path that a node ends
    position: Ints  # FILLED_SLOTS: int32[n_nodes], the position of a node on the ring
    phase: npt.NDArray[np.uint8]  # FILLED_SLOTS: uint8[n_nodes], the phase of each distance
    filled: Unsigned  # FILLED_SLOTS: uint32[n_nodes], bit i: slot i is filled
    degree: Ints  # LIMITS: int32[n_nodes], the links of each node so far: that of the run itself
    most: Ints  # LIMITS: int32[n_nodes], the most links of each node
    pair_ptr: Longs  # LIMITS: int64[n_nodes + 1], the listed partners of u are from pair_ptr[u] on
    partner: Ints  # LIMITS: int32[2 * n_pairs], rising within a node
    only_listed: bool  # LIMITS: whether the listed pairs are the only ones allowed, or forbidden


def no_exclusions() -> Exclusions:
    """Return the exclusions of an overlay that is not a small world and has no limits."""
    ints, longs = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64)
    world = (ints, ints, np.empty(0, np.uint8), np.empty(0, np.uint32))
    return Exclusions(NO_EXCLUSIONS, *world, ints, ints, longs, ints, only_listed=False)


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


def exclude_by_limits(degree: Ints, most: Ints, pairs: Ints, *, only_listed: bool) -> Exclusions:
    """Return the exclusions of a run by the most links of each node, and listed pairs.

    `degree` is the array of the run, which changes. `pairs` are int32[n, 2], of nodes numbered as
    in the run; they are the only ones allowed, or forbidden.
    """
    one, other = np.concatenate((pairs, pairs[:, ::-1])).T
    order = np.lexsort((other, one))
    counts = np.bincount(one, minlength=len(degree))
    return no_exclusions()._replace(
        kind=LIMITS,
        degree=degree,
        most=most,
        pair_ptr=np.concatenate(([0], np.cumsum(counts, dtype=np.int64))),
        partner=other[order].astype(np.int32),
        only_listed=only_listed,
    )


@kernel
def is_excluded(exclusions, u, w):
    """Return whether a pair may not be linked any more. Reads only."""
    if exclusions.kind == LIMITS:
        degree, most = exclusions.degree, exclusions.most
        if degree[u] >= most[u] or degree[w] >= most[w]:
            return True
        return is_listed(exclusions, u, w) != exclusions.only_listed
    if exclusions.kind == PATH_ENDS:
        return exclusions.other_end[u] == w
    if exclusions.kind == FILLED_SLOTS:
        return slot_filled(exclusions, u, w) and slot_filled(exclusions, w, u)
    return False


@kernel
def is_listed(exclusions, u, w):
    """Return whether a pair is listed. Reads only."""
    low, high = exclusions.pair_ptr[u], exclusions.pair_ptr[u + 1]
    end = high
    while low < high:
        middle = (low + high) // 2
        if exclusions.partner[middle] < w:
            low = middle + 1
        else:
            high = middle
    return low < end and exclusions.partner[low] == w


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
