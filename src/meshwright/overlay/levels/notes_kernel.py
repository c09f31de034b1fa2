"""What is noted of each row: the pairs that its last scan found best, and a bound on the others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from meshwright.overlay.levels.scan_kernel import LOWEST

UNKNOWN = 2**31 - 1  # in place of a gain: the row was never scanned

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


class Notes(NamedTuple):
    """What is known of the pairs of each row: partners, and gains that they do not exceed."""

    row: Longs  # where the room of each row begins, and at the end where the last one's ends
    partner: Ints
    gain: Ints
    used: Ints  # by row: how many partners
    top: Ints  # by row: no pair noted that takes part gains more
    bound: Ints  # by row: no other pair that takes part gains more
    rest: Ints  # by row: no other pair with a full partner gains more


def new_notes(row: Longs) -> Notes:
    """Return notes that know nothing, with room as given for each row."""
    n = len(row) - 1
    ints = lambda size: np.zeros(size, dtype=np.int32)  # noqa: E731
    bound = np.full(n, UNKNOWN, dtype=np.int32)
    return Notes(row, ints(row[-1]), ints(row[-1]), ints(n), ints(n), bound, ints(n))


@njit(cache=True, nogil=True)
def take_notes(notes, found, rows, degree, cap):
    """Write down what scans of some rows found."""
    for k in range(len(rows)):
        u, used, to, source = rows[k], found.used[k], notes.row[rows[k]], found.row[k]
        notes.partner[to : to + used] = found.partner[source : source + used]
        notes.gain[to : to + used] = found.gain[source : source + used]
        notes.used[u], notes.bound[u], notes.rest[u] = used, found.bound[k], found.rest[k]
        find_top(notes, degree, cap, u)


@njit(cache=True, nogil=True)
def find_top(notes, degree, cap, u):
    """Note the largest gain of the pairs of a row that take part; forget those of no use."""
    top, first = np.int32(0), notes.row[u]
    kept = first
    for k in range(first, first + notes.used[u]):
        w, gain = notes.partner[k], notes.gain[k]
        if gain < LOWEST:
            continue
        notes.partner[kept], notes.gain[kept] = w, gain
        kept += 1
        if degree[w] < cap:
            top = max(top, gain)
    notes.used[u], notes.top[u] = kept - first, top


@njit(cache=True, nogil=True)
def raise_cap(notes, degree, cap):
    """Begin a phase under a higher degree limit: pairs with a full partner may take part again."""
    for u in range(len(degree)):
        notes.bound[u] = max(notes.bound[u], notes.rest[u])
        notes.rest[u] = 0
        find_top(notes, degree, cap, u)


@njit(cache=True, nogil=True)
def rows_above(notes, degree, cap, floor):
    """Return the rows with a pair that may gain as much as `floor` or more.

    Gains only fall, so other rows will not have one under the same degree limit.
    """
    rows, n = np.empty(len(degree), np.int32), 0
    for u in range(len(degree)):
        rows[n] = u
        n += degree[u] < cap and max(notes.top[u], notes.bound[u]) >= floor
    return rows[:n].copy()


@njit(cache=True, nogil=True)
def find_level(notes, degree, cap, rows):
    """Return the largest gain that a pair noted may have, and that any other may have."""
    noted, other = np.int32(0), np.int32(0)
    for u in rows:
        if degree[u] < cap:
            noted, other = max(noted, notes.top[u]), max(other, notes.bound[u])
    return noted, other


@njit(cache=True, nogil=True)
def due_rows(notes, degree, cap, level, rows):
    """Return the rows with pairs not noted that may gain as much as the level."""
    due, n = np.empty(len(rows), np.int32), 0
    for u in rows:
        due[n] = u
        n += notes.bound[u] >= level and degree[u] < cap
    return due[:n].copy()


@njit(cache=True, nogil=True)
def noted_pairs(notes, degree, cap, level, rows):
    """Return the rows of the pairs noted with the gain of the level that take part, and where."""
    n = 0
    for fill in range(2):
        owners, places = np.empty(n, np.int32), np.empty(n, np.int64)
        n = 0
        for u in rows:
            if notes.top[u] < level or degree[u] >= cap:
                continue
            for k in range(notes.row[u], notes.row[u] + notes.used[u]):
                if notes.gain[k] >= level and degree[notes.partner[k]] < cap:
                    if fill:
                        owners[n], places[n] = u, k
                    n += 1
    return owners, places
