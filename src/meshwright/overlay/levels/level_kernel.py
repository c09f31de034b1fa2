"""One level: the pairs noted with its gain, and those that still have it become edges.

The pairs stand in buckets by the larger degree of their nodes. Degrees only rise, so a pair whose
degree has risen since goes to a later bucket; the buckets are emptied in order, the lowest first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from meshwright.kernels.components import drop_connected, join
from meshwright.overlay.levels.scan_kernel import LOWEST

UNKNOWN = 2**31 - 1  # in place of a gain: the row was never scanned

Ints = npt.NDArray[np.int32]


class Notes(NamedTuple):
    """What is known of the pairs of each row: partners, and gains that they do not exceed."""

    partner: Ints  # rows x room
    gain: Ints
    used: Ints  # by row: how many partners
    top: Ints  # by row: no pair noted that takes part gains more
    bound: Ints  # by row: no other pair that takes part gains more
    rest: Ints  # by row: no other pair with a full partner gains more


def new_notes(n_nodes: int, room: int) -> Notes:
    """Return notes that know nothing."""
    ints = lambda *shape: np.zeros(shape, dtype=np.int32)  # noqa: E731
    wide = (n_nodes, room)
    bound = np.full(n_nodes, UNKNOWN, dtype=np.int32)
    return Notes(ints(*wide), ints(*wide), ints(n_nodes), ints(n_nodes), bound, ints(n_nodes))


@njit(cache=True)
def take_notes(notes, found, rows, degree, cap):
    """Write down what scans of some rows found."""
    for k in range(len(rows)):
        u, used = rows[k], found.used[k]
        notes.partner[u, :used] = found.partner[k, :used]
        notes.gain[u, :used] = found.gain[k, :used]
        notes.used[u], notes.bound[u], notes.rest[u] = used, found.bound[k], found.rest[k]
        find_top(notes, degree, cap, u)


@njit(cache=True)
def find_top(notes, degree, cap, u):
    """Note the largest gain of the pairs of a row that take part; forget those of no use."""
    top, kept = np.int32(0), 0
    for k in range(notes.used[u]):
        w, gain = notes.partner[u, k], notes.gain[u, k]
        if gain < LOWEST:
            continue
        notes.partner[u, kept], notes.gain[u, kept] = w, gain
        kept += 1
        if degree[w] < cap:
            top = max(top, gain)
    notes.used[u], notes.top[u] = kept, top


@njit(cache=True)
def raise_cap(notes, degree, cap):
    """Begin a phase under a higher degree limit: pairs with a full partner may take part again."""
    for u in range(len(degree)):
        notes.bound[u] = max(notes.bound[u], notes.rest[u])
        notes.rest[u] = 0
        find_top(notes, degree, cap, u)


@njit(cache=True)
def find_level(notes, degree, cap):
    """Return the largest gain that a pair noted may have, and that any other may have."""
    noted, other = np.int32(0), np.int32(0)
    for u in range(len(degree)):
        if degree[u] < cap:
            noted, other = max(noted, notes.top[u]), max(other, notes.bound[u])
    return noted, other


@njit(cache=True)
def due_rows(notes, degree, cap, level):
    """Return the rows with pairs not noted that may gain as much as the level."""
    due, n = np.empty(len(degree), np.int32), 0
    for u in range(len(degree)):
        due[n] = u
        n += notes.bound[u] >= level and degree[u] < cap
    return due[:n].copy()


@njit(cache=True)
def noted_pairs(notes, degree, cap, level):
    """Return where the pairs are that are noted with the gain of the level and take part."""
    room, n = notes.partner.shape[1], 0
    for fill in range(2):
        places = np.empty(n, np.int64)
        n = 0
        for u in range(len(degree)):
            if notes.top[u] < level or degree[u] >= cap:
                continue
            for k in range(notes.used[u]):
                if notes.gain[u, k] >= level and degree[notes.partner[u, k]] < cap:
                    if fill:
                        places[n] = u * room + k
                    n += 1
    return places


@njit(cache=True)
def gains_as_much(c, u, w, level):
    """Tell whether a pair gains as much as the level, and a gain that it does not exceed."""
    topics, slot_label = c.topics, c.slot_label
    i, end_i = c.indptr[u], c.row_end[u]
    j, end_j = c.indptr[w], c.row_end[w]
    gain = 0
    while i < end_i and j < end_j:
        if gain + min(end_i - i, end_j - j) < level:
            return False, level - 1
        a, b = topics[i], topics[j]
        gain += a == b and slot_label[i] != slot_label[j]
        i += a <= b
        j += b <= a
    return gain >= level, gain


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
def run_level(c, notes, degree, by_degree, cap, level, edges, gains, n_edges, stop):
    """Add the pairs noted that gain as much as the level, until there are `stop` edges.

    When there are fewer, no pair that takes part is noted with as much any more. Return how many.
    """
    room = notes.partner.shape[1]
    partners, noted = notes.partner.ravel(), notes.gain.ravel()
    places = noted_pairs(notes, degree, cap, level)
    before = np.empty(len(places), np.int64)  # the pair that came into the bucket before
    heads, queue = np.full(64, -1, np.int64), np.empty(64, np.int64)
    for pair in range(len(places)):
        u, w = places[pair] // room, partners[places[pair]]
        d = max(degree[u], degree[w]) if by_degree else 0
        if d >= len(heads):
            heads = longer(heads, d)
        before[pair], heads[d] = heads[d], pair
    d = 0
    while d < len(heads):
        queue, n = empty_bucket(heads[d], before, queue)
        for pair in queue[:n]:
            place = places[pair]
            u, w = place // room, partners[place]
            if degree[u] >= cap or degree[w] >= cap:
                continue
            now = max(degree[u], degree[w]) if by_degree else 0
            if now > d:
                if now >= len(heads):
                    heads = longer(heads, now)
                before[pair], heads[now] = heads[now], pair
                continue
            holds, gain = gains_as_much(c, u, w, level)
            if holds and n_edges == stop:
                return n_edges
            noted[place] = 0 if holds else gain
            if holds:
                edges[n_edges, 0], edges[n_edges, 1] = u, w
                gains[n_edges] = join(c, u, w)
                n_edges += 1
                degree[u] += 1
                degree[w] += 1
        d += 1
    for u in range(len(degree)):
        if notes.top[u] >= level:
            drop_connected(c, u)
            find_top(notes, degree, cap, u)
    return n_edges
