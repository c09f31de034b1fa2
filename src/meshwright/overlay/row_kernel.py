"""The best pair by rows: a few partners of each node, looked at again when they come up.

Nodes are ranked by their subscriptions, most first, and row u holds the pairs with the nodes that
rank behind u: the degrees that rise fastest then belong to the row itself. A scan of the row
counts, over u's open topics, how many components the edge to each w would join, keeps the best
partners with the key they have now, and remembers the best key of those it does not keep (the
bound). A key is (gain, larger degree), ties by the pair's ids as the user numbers them (its code).
Gains only fall and degrees only rise as edges are added, so an old key is never worse than the
true one. A row's partners wait in a heap by their old keys, and so do the rows by their best.
When a row comes up:

- its best is a cached partner: evaluate its partners, the best first, until the key of the best
  holds: the row is settled. When a settled row is still the best, no pair anywhere can be better;
- its best is the bound: scan the row again. So too when looking at stale pairs has cost as much
  as a scan.

Pairs that are out for good (`bar_kernel`) are dropped when they come up and left out of scans.
Degree limits are phases: under a limit `cap`, pairs with a full node do not take part. They are
parked behind the row's heap, or under `rest`, a bound on their gains, until the limit is raised.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from meshwright.kernels.components import clear_away, drop_connected, gain_with, lay_out
from meshwright.overlay.bar_kernel import Bars, barred, new_bars
from meshwright.overlay.count_kernel import count_dense, count_sparse, row_cost
from meshwright.overlay.pair_kernel import (
    NO_DEGREE,
    better,
    gain_of,
    heapify,
    largest_of,
    pair_code,
    pair_key,
    partner_of,
    shrink,
    sift,
    sift_row,
)

CACHE = 32  # partners that every row has room for; a row of many topics has room for as many
DENSE = 4  # a scan of at least a quarter as many positions as partners walks over all partners
STRETCH = 64  # partners whose gains are compared at once
MANY = 8  # when an eighth of a row's pairs has had an old degree, so have the others
STALE_COST = 64  # moving a pair and its row down their heaps, in positions scanned

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


class Rows(NamedTuple):
    """The rows, their caches and the heap of rows; `meta` is [heap size, cap, by_degree]."""

    ids: Ints  # rank -> the user's id
    rank: Ints  # the id of the user -> rank
    row: Longs  # the cache of row u lies at row[u] .. row[u + 1]
    key: Longs
    code: Longs
    used: Ints  # by row: partners in its heap
    parked: Ints  # by row: partners behind the heap, full when last seen
    bound_key: Longs  # the best key among the pairs not cached that take part, 0 for none
    bound_code: Longs
    rest: Ints  # the largest gain among the pairs not cached whose partner was full
    spent: Longs  # by row: what looking at stale pairs has cost since its scan
    scan_cost: Longs  # by row: what the scan cost
    settled: Longs  # by row: the clock when the key of its best partner was last known to hold
    heap: Ints
    heap_key: Longs
    heap_code: Longs
    meta: Longs
    bars: Bars


class Scratch(NamedTuple):
    """What a scan counts in; one for each thread that scans."""

    gains: Ints  # by node
    touched: npt.NDArray[np.uint32]  # by node, and one more
    key: Longs  # pairs that may be among the best of a row: those that take part, those that do not
    code: Longs
    own: Ints  # by topic: the label of the node whose pairs are evaluated, or -1
    clock: Longs  # one number: the edges added so far


def new_scratch(n_nodes: int, n_topics: int, room: int) -> Scratch:
    """Return a scratch for scans of rows with so much room at most, and for evaluations."""
    pairs = (2, 2 * room + STRETCH)
    return Scratch(
        gains=np.zeros(n_nodes, dtype=np.int32),
        touched=np.zeros(n_nodes + 1, dtype=np.uint32),
        key=np.zeros(pairs, dtype=np.int64),
        code=np.zeros(pairs, dtype=np.int64),
        own=np.full(n_topics, -1, dtype=np.int32),
        clock=np.zeros(1, dtype=np.int64),
    )


def new_rows(
    indptr: Longs,
    ids: Ints,
    rank: Ints,
    *,
    by_degree: bool,
    cache: int = CACHE,
    bars: Bars | None = None,
) -> Rows:
    """Return empty rows over ranked nodes; `scan_rows` and `set_row_cap` make them ready."""
    n_nodes = len(indptr) - 1
    # A node that wants much is a partner of many and uses its cache up sooner.
    room = np.maximum(np.diff(indptr), cache) if cache >= CACHE else np.full(n_nodes, cache)
    room = np.minimum(room, np.arange(n_nodes)[::-1])
    row = np.concatenate(([0], np.cumsum(room))).astype(np.int64)
    ints = lambda size: np.zeros(size, dtype=np.int32)  # noqa: E731
    longs = lambda size: np.zeros(size, dtype=np.int64)  # noqa: E731
    return Rows(
        ids=ids,
        rank=rank,
        row=row,
        key=longs(row[-1]),
        code=longs(row[-1]),
        used=ints(n_nodes),
        parked=ints(n_nodes),
        bound_key=longs(n_nodes),
        bound_code=longs(n_nodes),
        rest=ints(n_nodes),
        spent=longs(n_nodes),
        scan_cost=longs(n_nodes),
        settled=longs(n_nodes),
        heap=ints(n_nodes),
        heap_key=longs(n_nodes),
        heap_code=longs(n_nodes),
        meta=np.array([0, NO_DEGREE, by_degree], dtype=np.int64),
        bars=bars or new_bars(ids),
    )


@njit(cache=True, nogil=True)
def scan(c, rows, degree, scratch, u):
    """Fill the row of u anew: its cache, bound and rest.

    Under a limit a quarter of the cache goes to the best pairs with a full partner: when the
    limit rises they are known already, and the row need not be scanned for them.
    """
    cap, by_degree, first = rows.meta[1], rows.meta[2], rows.row[u]
    keys, codes, gains, touched, ids = rows.key, rows.code, scratch.gains, scratch.touched, rows.ids
    bars, room = rows.bars, rows.row[u + 1] - first
    full_room = 0 if cap == NO_DEGREE else room // 4
    room -= full_room
    drop_connected(c, u)
    cost = row_cost(c, u)
    behind = u + 1
    dense = cost * DENSE >= len(degree) - behind
    if dense:
        count_dense(c, u, gains)
        n_touched = len(degree) - behind
    else:
        n_touched = count_sparse(c, u, gains, touched)
    some_keys, some_codes = scratch.key[0], scratch.code[0]
    full_keys, full_codes = scratch.key[1], scratch.code[1]
    used, full_used = 0, 0
    bound_key, bound_code, rest = np.int64(0), np.int64(0), np.int32(0)
    least = 1  # pairs of a smaller gain change nothing
    for begin in range(0, n_touched, STRETCH):
        end = min(begin + STRETCH, n_touched)
        # Most stretches of a dense row hold no gain that matters, and are passed over quickly.
        if dense and largest_of(gains[behind + begin : behind + end]) < least:
            begin = end
        for i in range(begin, end):
            w = np.uint32(behind + i) if dense else touched[i]
            gain = gains[w]
            if gain < least or barred(bars, u, w):
                continue
            key, code = pair_key(by_degree, degree, gain, u, w), pair_code(ids, u, w)
            if degree[w] >= cap:
                full_keys[full_used], full_codes[full_used] = key, code
                full_used += 1
            else:
                some_keys[used], some_codes[used] = key, code
                used += 1
        if used > 2 * room or full_used > 2 * full_room or end == n_touched:
            used, key, code = shrink(some_keys, some_codes, used, room)
            if better(key, code, bound_key, bound_code):
                bound_key, bound_code = key, code
            full_used, key, code = shrink(full_keys, full_codes, full_used, full_room)
            rest = max(rest, np.int32(gain_of(key)))
            least = gain_of(bound_key) if cap == NO_DEGREE else min(gain_of(bound_key), rest)
            least = max(least, 1)
    if dense:
        gains[behind:] = 0
    else:
        for i in range(n_touched):
            gains[touched[i]] = 0
    keys[first : first + used], codes[first : first + used] = some_keys[:used], some_codes[:used]
    parked = slice(first + used, first + used + full_used)
    keys[parked], codes[parked] = full_keys[:full_used], full_codes[:full_used]
    heapify(keys, codes, first, used)
    rows.used[u], rows.parked[u] = used, full_used
    rows.bound_key[u], rows.bound_code[u], rows.rest[u] = bound_key, bound_code, rest
    rows.spent[u], rows.scan_cost[u] = 0, cost + n_touched


@njit(cache=True)
def refresh(rows, degree, u):
    """Give all pairs of a row the degrees of now; their gains stay as they were."""
    keys, codes, ids, rank = rows.key, rows.code, rows.ids, rows.rank
    first, by_degree = rows.row[u], rows.meta[2]
    for k in range(first, first + rows.used[u]):
        w = partner_of(ids, rank, codes[k], u)
        keys[k] = pair_key(by_degree, degree, gain_of(keys[k]), u, w)
    heapify(keys, codes, first, rows.used[u])
    rows.spent[u] += rows.used[u]


@njit(cache=True)
def drop_first(rows, u):
    """Take the best partner out of a row."""
    keys, codes, first = rows.key, rows.code, rows.row[u]
    rows.used[u] -= 1
    last = first + rows.used[u]
    keys[first], codes[first] = keys[last], codes[last]
    if rows.parked[u] > 0:
        end = last + rows.parked[u]
        keys[last], codes[last] = keys[end], codes[end]
    sift(keys, codes, first, 0, rows.used[u])


@njit(cache=True)
def park_full(rows, degree, u):
    """Put the best partners of a row behind its heap while they are full."""
    keys, codes, first, cap, ids, rank = (
        rows.key,
        rows.code,
        rows.row[u],
        rows.meta[1],
        rows.ids,
        rows.rank,
    )
    while rows.used[u] > 0 and degree[partner_of(ids, rank, codes[first], u)] >= cap:
        rows.used[u] -= 1
        rows.parked[u] += 1
        last = first + rows.used[u]
        keys[first], keys[last] = keys[last], keys[first]
        codes[first], codes[last] = codes[last], codes[first]
        sift(keys, codes, first, 0, rows.used[u])


@njit(cache=True)
def best_of_row(rows, u):
    """Return the best (key, code) of a row, whether cached or its bound."""
    first = rows.row[u]
    key, code = rows.bound_key[u], rows.bound_code[u]
    if rows.used[u] > 0 and better(rows.key[first], rows.code[first], key, code):
        key, code = rows.key[first], rows.code[first]
    return key, code


@njit(cache=True)
def set_row_cap(rows, degree, cap):
    """Begin a phase under a degree limit: every row with something left takes part again."""
    raised = cap > rows.meta[1]
    rows.meta[1] = cap
    rows.settled[:] = -1
    size = 0
    for u in range(len(degree)):
        if raised and rows.rest[u] > 0:
            # Pairs left out may take part now: all that is known of them is their gain.
            key = pair_key(rows.meta[2], degree, rows.rest[u], u, u)
            if better(key, np.int64(0), rows.bound_key[u], rows.bound_code[u]):
                rows.bound_key[u], rows.bound_code[u] = key, 0
            rows.rest[u] = 0
        if raised and rows.parked[u] > 0:
            rows.used[u] += rows.parked[u]
            rows.parked[u] = 0
            heapify(rows.key, rows.code, rows.row[u], rows.used[u])
        if degree[u] >= cap:
            continue
        park_full(rows, degree, u)
        key, code = best_of_row(rows, u)
        if key > 0:
            rows.heap[size], rows.heap_key[size], rows.heap_code[size] = u, key, code
            size += 1
    rows.meta[0] = size
    for at in range(size // 2 - 1, -1, -1):
        sift_row(rows.heap, rows.heap_key, rows.heap_code, at, size)


@njit(cache=True, nogil=True)
def scan_rows(c, rows, degree, scratch, first, last):
    """Scan the rows from `first` to `last`."""
    for u in range(first, last):
        scan(c, rows, degree, scratch, u)


@njit(cache=True)
def settle(c, rows, degree, scratch, u):
    """Evaluate the best partner of a row until its key holds; tell whether one does.

    If not, the row must be scanned, or has nothing left.
    """
    ids, rank, keys, codes, used = rows.ids, rows.rank, rows.key, rows.code, rows.used
    bound_key, bound_code, spent, own = (
        rows.bound_key[u],
        rows.bound_code[u],
        rows.spent,
        scratch.own,
    )
    first, cap, by_degree = rows.row[u], rows.meta[1], rows.meta[2]
    holds, stale_degrees = False, 0
    lay_out(c, own, u)
    spent[u] += 2 * (c.row_end[u] - c.indptr[u])
    while used[u] > 0 and spent[u] <= rows.scan_cost[u]:
        key = keys[first]
        if better(bound_key, bound_code, key, codes[first]):
            break
        w = partner_of(ids, rank, codes[first], u)
        if degree[w] >= cap:
            park_full(rows, degree, u)
            continue
        if barred(rows.bars, u, w):
            drop_first(rows, u)
            continue
        # Degrees are at hand; the gain, which costs more, is counted only if they still hold.
        fresh = pair_key(by_degree, degree, gain_of(key), u, w)
        spent[u] += STALE_COST
        if fresh == key:
            fresh = pair_key(by_degree, degree, gain_with(c, own, w), u, w)
            if fresh == key:
                holds = True
                break
            spent[u] += c.row_end[w] - c.indptr[w]
        else:
            stale_degrees += 1
            if stale_degrees * MANY > used[u]:
                refresh(rows, degree, u)
                stale_degrees = 0
                continue
        if gain_of(fresh) == 0:
            drop_first(rows, u)
        else:
            keys[first] = fresh
            sift(keys, codes, first, 0, used[u])
    clear_away(c, own, u)
    return holds


@njit(cache=True)
def find_in_rows(c, rows, degree, scratch):
    """Return the (key, code) of the best pair of the rows, or (0, 0) when there is none."""
    row, keys, codes, used, settled = rows.row, rows.key, rows.code, rows.used, rows.settled
    bound_key, bound_code, spent, scan_cost = (
        rows.bound_key,
        rows.bound_code,
        rows.spent,
        rows.scan_cost,
    )
    heap, heap_key, heap_code = rows.heap, rows.heap_key, rows.heap_code
    size, cap, clock = rows.meta[0], rows.meta[1], scratch.clock[0]
    while size > 0:
        u = heap[0]
        if degree[u] >= cap:
            size -= 1  # out until the limit rises
            heap[0], heap_key[0], heap_code[0] = heap[size], heap_key[size], heap_code[size]
            sift_row(heap, heap_key, heap_code, 0, size)
            continue
        first = row[u]
        if settled[u] == clock and used[u] > 0 and heap_code[0] == codes[first]:
            rows.meta[0] = size
            return keys[first], codes[first]
        if (
            used[u] == 0
            or better(bound_key[u], bound_code[u], keys[first], codes[first])
            or spent[u] > scan_cost[u]
        ):
            scan(c, rows, degree, scratch, u)
            settled[u] = clock
        elif settle(c, rows, degree, scratch, u):
            settled[u] = clock
        heap_key[0], heap_code[0] = best_of_row(rows, u)
        if heap_key[0] == 0:
            size -= 1
            heap[0], heap_key[0], heap_code[0] = heap[size], heap_key[size], heap_code[size]
        sift_row(heap, heap_key, heap_code, 0, size)
    rows.meta[0] = 0
    return np.int64(0), np.int64(0)
