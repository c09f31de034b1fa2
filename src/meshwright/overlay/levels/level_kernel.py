"""One level: the pairs noted with its gain, and those that still have it become edges.

The pairs stand in buckets by the larger degree of their nodes. Degrees only rise, so a pair whose
degree has risen since goes to a later bucket; the buckets are emptied in order, the lowest first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from meshwright.kernels.components import (
    drop_connected,
    gain_with,
    join_two,
    join_with,
    lay_out,
    next_slot,
)
from meshwright.overlay.levels.scan_kernel import LOWEST

AHEAD = 3  # a node is laid out when the pair so many places on is its too
SEARCH = 16  # a list so many times longer than another is searched, not walked over
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


class Laid(NamedTuple):
    """The labels of one node by topic: a partner is then compared along its own topics alone."""

    own: Longs  # see `lay_out`
    clock: Longs  # [the node or -1, its stamp]


def new_laid(n_topics: int) -> Laid:
    """Return room for a node, which is yet to be laid out."""
    return Laid(np.zeros(n_topics, dtype=np.int64), np.array([-1, 0], dtype=np.int64))


@njit(cache=True)
def take_notes(notes, found, rows, degree, cap):
    """Write down what scans of some rows found."""
    for k in range(len(rows)):
        u, used, to, source = rows[k], found.used[k], notes.row[rows[k]], found.row[k]
        notes.partner[to : to + used] = found.partner[source : source + used]
        notes.gain[to : to + used] = found.gain[source : source + used]
        notes.used[u], notes.bound[u], notes.rest[u] = used, found.bound[k], found.rest[k]
        find_top(notes, degree, cap, u)


@njit(cache=True)
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


@njit(cache=True)
def raise_cap(notes, degree, cap):
    """Begin a phase under a higher degree limit: pairs with a full partner may take part again."""
    for u in range(len(degree)):
        notes.bound[u] = max(notes.bound[u], notes.rest[u])
        notes.rest[u] = 0
        find_top(notes, degree, cap, u)


@njit(cache=True)
def rows_above(notes, degree, cap, floor):
    """Return the rows with a pair that may gain as much as `floor` or more.

    Gains only fall, so other rows will not have one under the same degree limit.
    """
    rows, n = np.empty(len(degree), np.int32), 0
    for u in range(len(degree)):
        rows[n] = u
        n += degree[u] < cap and max(notes.top[u], notes.bound[u]) >= floor
    return rows[:n].copy()


@njit(cache=True)
def find_level(notes, degree, cap, rows):
    """Return the largest gain that a pair noted may have, and that any other may have."""
    noted, other = np.int32(0), np.int32(0)
    for u in rows:
        if degree[u] < cap:
            noted, other = max(noted, notes.top[u]), max(other, notes.bound[u])
    return noted, other


@njit(cache=True)
def due_rows(notes, degree, cap, level, rows):
    """Return the rows with pairs not noted that may gain as much as the level."""
    due, n = np.empty(len(rows), np.int32), 0
    for u in rows:
        due[n] = u
        n += notes.bound[u] >= level and degree[u] < cap
    return due[:n].copy()


@njit(cache=True)
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


@njit(cache=True)
def link(c, u, w, least):
    """Join the components of each common topic if that gains `least` or more; return the gain.

    A pair that gains less than LOWEST may be said to gain nothing.
    """
    topics, slot_label = c.topics, c.slot_label
    i, end_i = c.indptr[u], c.row_end[u]
    first, end_j = c.indptr[w], c.row_end[w]
    if end_i - i < end_j - first:
        i, end_i, first, end_j = first, end_j, i, end_i
    begin, search = i, end_i - i > SEARCH * (end_j - first)
    gain = 0
    for joins in range(2):
        i, j = begin, first
        while i < end_i and j < end_j:
            if not joins and gain + end_j - j < LOWEST:
                return 0
            b = topics[j]
            if search:
                i = next_slot(topics, i, end_i, b)
                if i == end_i:
                    break
            a = topics[i]
            if a == b and slot_label[i] != slot_label[j]:
                if joins:
                    join_two(c, a, slot_label[i], slot_label[j])
                else:
                    gain += 1
            i += a <= b
            j += b <= a
        if gain < least:
            break
    return gain


@njit(cache=True)
def link_laid(c, laid, u, w, least):
    """Do the same by u laid out: less work for several partners in turn."""
    if laid.clock[0] != u:
        laid.clock[0] = u
        laid.clock[1] += 1
        lay_out(c, laid.own, laid.clock[1], u)
    gain = gain_with(c, laid.own, laid.clock[1], w)
    if gain >= least:
        join_with(c, laid.own, laid.clock[1], w)
    return gain


@njit(cache=True)
def longer(heads, degree):
    """Return the first pairs of the buckets with room for one more degree."""
    more = np.full(2 * degree + 64, -1, np.int64)
    more[: len(heads)] = heads
    return more


@njit(cache=True)
def empty_bucket(last, before, queue):
    """List the pairs of a bucket, first come first; return the list and how many there are."""
    n, pair = 0, last
    while pair >= 0:
        n, pair = n + 1, before[pair]
    if n > len(queue):
        queue = np.empty(2 * n, np.int64)
    pair = last
    for k in range(n - 1, -1, -1):
        queue[k], pair = pair, before[pair]
    return queue, n


@njit(cache=True)
def run_level(c, notes, rows, laid, degree, by_degree, cap, level, edges, gains, n_edges, stop):
    """Add the pairs noted of some rows that gain as much as the level, up to `stop` edges.

    When there are fewer, no pair that takes part is noted with as much any more. Return how many.
    """
    partners, noted = notes.partner, notes.gain
    owners, places = noted_pairs(notes, degree, cap, level, rows)
    before = np.empty(len(places), np.int64)  # the pair that came into the bucket before
    heads, queue = np.full(64, -1, np.int64), np.empty(64, np.int64)
    for pair in range(len(places)):
        u, w = owners[pair], partners[places[pair]]
        d = max(degree[u], degree[w]) if by_degree else 0
        if d >= len(heads):
            heads = longer(heads, d)
        before[pair], heads[d] = heads[d], pair
    laid.clock[0] = -1
    d = 0
    while d < len(heads):
        queue, n = empty_bucket(heads[d], before, queue)
        for k in range(n):
            pair = queue[k]
            place = places[pair]
            u, w = owners[pair], partners[place]
            if degree[u] >= cap or degree[w] >= cap:
                continue
            now = max(degree[u], degree[w]) if by_degree else 0
            if now > d:
                if now >= len(heads):
                    heads = longer(heads, now)
                before[pair], heads[now] = heads[now], pair
                continue
            if n_edges == stop:
                return n_edges
            if laid.clock[0] == u or (k + AHEAD < n and owners[queue[k + AHEAD]] == u):
                gain = link_laid(c, laid, u, w, level)
            else:
                gain = link(c, u, w, level)
                if gain >= level:  # labels have changed, not in what is laid out
                    laid.clock[0] = -1
            noted[place] = 0 if gain >= level else gain
            if gain >= level:
                edges[n_edges, 0], edges[n_edges, 1] = u, w
                gains[n_edges] = gain
                n_edges += 1
                degree[u] += 1
                degree[w] += 1
        d += 1
    for u in rows:
        if notes.top[u] >= level:
            drop_connected(c, u)
            find_top(notes, degree, cap, u)
    return n_edges
