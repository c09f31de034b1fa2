"""The candidates of level order: the best pairs of each row, and a bound on the others.

A row holds the pairs of a node with the nodes that rank behind it. Its scan counts the gains of all
pairs and keeps the best: of equal gains the partners of lower degree, then those that rank first.
"""

from typing import NamedTuple

import numpy as np

from meshwright.model.kernels.components import Components
from meshwright.overlay.greedy.kernels import counts, tuning
from meshwright.overlay.greedy.kernels.run import LOWEST_GAIN, NO_LIMIT, better, sift
from meshwright.runtime.arrays import Ints, Longs
from meshwright.runtime.compile import kernel, maker


class Candidates(NamedTuple):
    """The candidates of some rows: partners, and gains that they do not exceed."""

    first: Longs  # int64[n_rows + 1], row k has room for candidates at first[k] .. first[k + 1]
    partner: Ints  # int32[first[-1]]
    gain: Ints  # int32[first[-1]]
    used: Ints  # int32[n_rows], candidates of each row
    top: Ints  # int32[n_rows], no candidate that takes part gains more
    bound: Ints  # int32[n_rows], no other pair that takes part gains more
    rest: Ints  # int32[n_rows], no other pair with a full partner gains more


class Level(NamedTuple):
    """The pairs to add next."""

    gain: int  # at least what they gain
    cap: int  # nodes with as many links are full: their pairs do not take part
    rows: Ints  # int32[...], the rows that may hold one


class ScanRequest(NamedTuple):
    """The rows to scan."""

    rows: Ints  # int32[n_rows]
    degree: Ints  # int32[n_nodes]
    cap: int


def new_candidates(room: Longs) -> Candidates:
    """Return candidates of rows with the given room; nothing is known of the rows."""
    first = np.concatenate(([0], np.cumsum(room)))
    partner, gain = np.zeros((2, first[-1]), dtype=np.int32)
    used, top, bound, rest = np.zeros((4, len(room)), dtype=np.int32)
    bound[:] = NO_LIMIT
    return Candidates(first, partner, gain, used, top, bound, rest)


def candidate_room(c: Components, rows: Ints, min_candidates: int) -> Longs:
    """Return how many candidates to keep of each row, int64[n_rows], before the first edge.

    The longer the scan of a row, the more; a node with a single topic has no pair that gains two.
    """
    sizes = np.diff(c.indptr)[rows]
    more = positions_behind(c, rows) // tuning.POSITIONS_PER_CANDIDATE
    room = np.maximum(np.minimum(more, tuning.CANDIDATES_PER_TOPIC * sizes), min_candidates)
    return np.where(sizes < LOWEST_GAIN, 0, room)


@maker
def positions_behind(c, rows):
    """Return how many positions are behind each row's node in all of its topics. Reads only."""
    behind = np.zeros(len(rows), np.int64)
    for k in range(len(rows)):
        for slot in range(c.indptr[rows[k]], c.indptr[rows[k] + 1]):
            behind[k] += c.topic_ptr[c.topics[slot] + 1] - c.position_at[slot] - 1
    return behind


@maker
def scan_costs(c, rows):
    """Return the cost of the scan of each row: the positions it reads, plus one. Reads only."""
    costs = np.ones(len(rows), np.int64)
    for k in range(len(rows)):
        costs[k] += counts.row_cost(c, rows[k], counts.longest_slot(c, rows[k]))
    return costs


@maker
def profile_costs(c):
    """Return the cost of the gain profile of each node: the subscribers of its topics, plus one."""
    costs = np.ones(len(c.indptr) - 1, np.int64)
    for u in range(len(costs)):
        for slot in range(c.indptr[u], c.indptr[u + 1]):
            costs[u] += c.topic_ptr[c.topics[slot] + 1] - c.topic_ptr[c.topics[slot]]
    return costs


@maker
def scan_candidates(c, request, counters, found, first, last):
    """Scan the rows from `first` to `last` of a request. Writes their candidates to `found`."""
    room = 0
    for k in range(first, last):
        room = max(room, found.first[k + 1] - found.first[k])
    keys, partners = np.empty(room, np.int64), np.empty(room, np.int32)
    gains, degree, cap = counters.gains, request.degree, request.cap
    for k in range(first, last):
        begin = found.first[k]
        room = found.first[k + 1] - begin
        full_room = room // tuning.FULL_SHARE if cap < NO_LIMIT else 0
        key, partner = keys[: room - full_room], partners[: room - full_room]
        full_key, full = keys[room - full_room : room], partners[room - full_room : room]
        left_out = counts.longest_slot(c, request.rows[k])
        n_touched = counts.count_sparse(c, request.rows[k], left_out, counters)
        if n_touched > 0:
            counts.count_left_out(c, left_out, counters, n_touched, False)
        used, n_full, top, bound, rest = 0, 0, np.int32(0), np.int32(0), np.int32(0)
        for i in range(n_touched):
            w = counters.touched[i]
            gain = gains[w]
            gains[w] = 0
            if gain < LOWEST_GAIN:
                continue
            # Larger is better: the gain, then the lower degree.
            new_key = (np.int64(gain) << 32) + (NO_LIMIT - degree[w])
            if degree[w] >= cap:
                n_full, lost = keep_best(full_key, full, n_full, new_key, w)
                rest = max(rest, np.int32(lost >> 32))
            else:
                used, lost = keep_best(key, partner, used, new_key, w)
                bound = max(bound, np.int32(lost >> 32))
        for i in range(used):
            found.partner[begin + i], found.gain[begin + i] = -partner[i], -key[i] >> 32
            top = max(top, found.gain[begin + i])
        for i in range(n_full):
            found.partner[begin + used + i] = -full[i]
            found.gain[begin + used + i] = -full_key[i] >> 32
        found.used[k], found.top[k] = used + n_full, top
        found.bound[k], found.rest[k] = bound, rest


@kernel
def keep_best(keys, partners, used, key, w):
    """Put a partner into a heap, worst on top; return its size and the key that was not kept.

    `sift` has the best on top: keys and partners are kept with a minus sign.
    """
    key, w = -key, -np.int64(w)
    if used < len(keys):
        at = used
        while at > 0 and better(key, w, keys[(at - 1) // 2], partners[(at - 1) // 2]):
            above = (at - 1) // 2
            keys[at], partners[at] = keys[above], partners[above]
            at = above
        keys[at], partners[at] = key, w
        return used + 1, np.int64(0)
    if used == 0 or better(key, w, keys[0], partners[0]):
        return used, -key
    lost = -keys[0]
    keys[0], partners[0] = key, w
    sift(keys, partners, 0, 0, used)
    return used, lost


@kernel
def take_found(candidates, found, rows):
    """Replace the candidates of some rows by those that scans found."""
    for k in range(len(rows)):
        u, to, source = rows[k], candidates.first[rows[k]], found.first[k]
        for i in range(found.used[k]):
            candidates.partner[to + i] = found.partner[source + i]
            candidates.gain[to + i] = found.gain[source + i]
        candidates.used[u], candidates.top[u] = found.used[k], found.top[k]
        candidates.bound[u], candidates.rest[u] = found.bound[k], found.rest[k]


@kernel
def update_top(candidates, degree, cap, u):
    """Find the largest gain of a row's candidates that take part; drop those of gain 1 or 0."""
    top, first = np.int32(0), candidates.first[u]
    kept = first
    for k in range(first, first + candidates.used[u]):
        w, gain = candidates.partner[k], candidates.gain[k]
        if gain < LOWEST_GAIN:
            continue
        candidates.partner[kept], candidates.gain[kept] = w, gain
        kept += 1
        if degree[w] < cap:
            top = max(top, gain)
    candidates.used[u], candidates.top[u] = kept - first, top


@kernel
def raise_cap(candidates, degree, cap):
    """Raise the degree cap: pairs with a full partner may take part again."""
    for u in range(len(degree)):
        candidates.bound[u] = max(candidates.bound[u], candidates.rest[u])
        candidates.rest[u] = 0
        update_top(candidates, degree, cap, u)


@kernel
def largest_gains(candidates, degree, cap, rows):
    """Return the largest gain that a candidate of the rows may have, and that of other pairs."""
    top, bound = np.int32(0), np.int32(0)
    for u in rows:
        if degree[u] < cap:
            top, bound = max(top, candidates.top[u]), max(bound, candidates.bound[u])
    return top, bound


@maker
def candidates_of(candidates, degree, level):
    """Return the candidates of a level that take part: their rows and their places."""
    n = 0
    for fill in range(2):
        rows, places = np.empty(n, np.int32), np.empty(n, np.int64)
        n = 0
        for u in level.rows:
            if candidates.top[u] < level.gain or degree[u] >= level.cap:
                continue
            for k in range(candidates.first[u], candidates.first[u] + candidates.used[u]):
                if candidates.gain[k] >= level.gain and degree[candidates.partner[k]] < level.cap:
                    if fill:
                        rows[n], places[n] = u, k
                    n += 1
    return rows, places
