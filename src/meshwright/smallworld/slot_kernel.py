"""The slots of GSwicoL, one for each position and phase: which edge fills which, and the rest.

Nodes are named by their ring positions here, so that a phase is a stretch of the ring.
"""

from __future__ import annotations

import numpy as np
from numba import njit

EMPTY = -1


@njit(cache=True)
def fill_slots(edges, ids, n_phases):
    """Return for each position and phase the position that its edge leads to, or EMPTY.

    Each edge, in the order picked, fills the slot of its node of the smaller id, or that of the
    other one if it is filled already. `ids` are the nodes at the positions.
    """
    n = len(ids)
    slots = np.full((n, n_phases), EMPTY, np.int32)
    for p in range(n):
        if n > 1:
            slots[p, 0] = (p + 1) % n
    for i in range(len(edges)):
        p, q = edges[i, 0], edges[i, 1]
        if ids[p] > ids[q]:
            p, q = q, p
        phase = phase_of((q - p) % n)
        if slots[p, phase] != EMPTY:
            p, q = q, p
            phase = phase_of((q - p) % n)
        slots[p, phase] = q
    return slots


@njit(cache=True)
def phase_of(distance):
    """Return the phase that a distance of 1 or more lies in."""
    phase = 0
    while distance >> (phase + 1) > 0:
        phase += 1
    return phase


@njit(cache=True, nogil=True)
def fill_rest(slots, indptr, topics, topic_ptr, wanting, first, last):
    """Fill the empty slots of some positions: greatest common interest, then the nearest.

    `indptr` and `topics` hold the interests by position, `wanting` the positions of each topic.
    """
    n, n_phases = slots.shape
    common = np.zeros(2 * n, np.int32)  # twice round, so that no phase is cut in two
    for p in range(first, last):
        if not has_empty(slots[p]):
            continue
        common[:] = 0
        for topic in topics[indptr[p] : indptr[p + 1]]:
            others = wanting[topic_ptr[topic] : topic_ptr[topic + 1]]
            for i in range(len(others)):
                common[others[i]] += 1
        common[n:] = common[:n]
        for phase in range(n_phases):
            if slots[p, phase] == EMPTY:
                nearest, behind = 1 << phase, min(2 << phase, n)
                stretch = common[p + nearest : p + behind]
                slots[p, phase] = (p + nearest + place_of_largest(stretch)) % n


@njit(cache=True, nogil=True)
def has_empty(row):
    """Tell whether a slot is empty. Reads only."""
    found = False
    for i in range(len(row)):
        found |= row[i] == EMPTY
    return found


@njit(cache=True, nogil=True)
def place_of_largest(counts):
    """Return the place of the first of the largest numbers. Reads only."""
    largest = counts[0]
    for i in range(len(counts)):
        largest = max(largest, counts[i])
    place = 0
    while counts[place] < largest:
        place += 1
    return place
