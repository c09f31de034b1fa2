"""Kernels of fingers: random ones, and the slots of GSwicoL, one for each position and phase.

Nodes are ring positions here, so that a phase is a stretch of the ring.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from meshwright.runtime.compile import kernel, maker
from meshwright.runtime.kernels.random import stream, uniform

EMPTY = -1  # a slot without a finger


class Interests(NamedTuple):
    """The interests by position, and the positions by topic."""

    indptr: npt.NDArray[np.int64]  # [n + 1]
    topics: npt.NDArray[np.uint32]  # [n_subscriptions], those of position p from indptr[p] on
    topic_ptr: npt.NDArray[np.int64]  # [n_topics + 1]
    positions: npt.NDArray[np.uint32]  # [n_subscriptions], those of topic t from topic_ptr[t] on


@maker
def random_reaches(n, nearest, behind, seed):
    """Return int64[n, n_phases]: for each position and phase a distance uniform in the phase."""
    reach = np.empty((n, len(nearest)), np.int64)
    for position in range(n):
        key = stream(seed, position)
        for phase in range(len(nearest)):
            width = behind[phase] - nearest[phase]
            reach[position, phase] = nearest[phase] + int(uniform(key, phase) * width)
    return reach


@maker
def fill_slots(edges, ids, n_phases):
    """Return int32[n, n_phases]: the position that each slot's edge leads to, or EMPTY.

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


@kernel
def phase_of(distance):
    """Return the phase that a distance of 1 or more lies in."""
    phase = 0
    while distance >> (phase + 1) > 0:
        phase += 1
    return phase


@maker
def fill_rest(slots, interests, first, last):
    """Fill the empty slots of some positions: greatest common interest, then the nearest."""
    n, n_phases = slots.shape
    common = np.zeros(2 * n, np.int32)  # twice round the ring, so that no phase is cut in two
    for p in range(first, last):
        if not has_empty(slots[p]):
            continue
        common[:] = 0
        for topic in interests.topics[interests.indptr[p] : interests.indptr[p + 1]]:
            start, end = interests.topic_ptr[topic], interests.topic_ptr[topic + 1]
            others = interests.positions[start:end]
            for i in range(len(others)):
                common[others[i]] += 1
        common[n:] = common[:n]
        for phase in range(n_phases):
            if slots[p, phase] == EMPTY:
                nearest, behind = 1 << phase, min(2 << phase, n)
                stretch = common[p + nearest : p + behind]
                slots[p, phase] = (p + nearest + place_of_largest(stretch)) % n


@kernel
def has_empty(row):
    """Return whether a slot is empty."""
    found = False
    for i in range(len(row)):
        found |= row[i] == EMPTY
    return found


@kernel
def place_of_largest(counts):
    """Return the index of the first of the largest numbers."""
    largest = counts[0]
    for i in range(len(counts)):
        largest = max(largest, counts[i])
    place = 0
    while counts[place] < largest:
        place += 1
    return place
