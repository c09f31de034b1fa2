"""The best pair of the rows: evaluated again when it comes up, until its key holds."""

from __future__ import annotations

import numpy as np
from numba import njit

from meshwright.kernels.components import clear_away, drop_connected, gain_with, lay_out
from meshwright.overlay.bar_kernel import barred, has_bars
from meshwright.overlay.pair_kernel import (
    better,
    gain_of,
    heapify,
    pair_key,
    partner_of,
    sift,
    sift_row,
)
from meshwright.overlay.row_kernel import scan

MANY = 8  # when an eighth of a row's pairs has had an old degree, so have the others
DUE = -1  # in place of a key
STALE_COST = 64  # moving a pair and its row down their heaps, in positions scanned


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
    heap_rows(rows, degree)


@njit(cache=True)
def heap_rows(rows, degree):
    """Put all rows that take part and have something left into the heap."""
    size, cap = 0, rows.meta[1]
    for u in range(len(degree)):
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
def is_due(rows, degree, u):
    """Tell whether a row can only be scanned, at the gain that rows are scanned together at."""
    if degree[u] >= rows.meta[1] or gain_of(rows.bound_key[u]) < rows.meta[4]:
        return False
    first = rows.row[u]
    return rows.used[u] == 0 or better(
        rows.bound_key[u], rows.bound_code[u], rows.key[first], rows.code[first]
    )


@njit(cache=True, nogil=True)
def count_due(rows, degree):
    """Return how many rows are due."""
    due = 0
    for u in range(len(degree)):
        due += is_due(rows, degree, u)
    return due


@njit(cache=True, nogil=True)
def scan_due(c, rows, degree, scratch, first, last):
    """Scan the rows from `first` to `last` that are due."""
    for u in range(first, last):
        if is_due(rows, degree, u):
            scan(c, rows, degree, scratch, u)
            rows.settled[u] = -1


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
    holds, stale_degrees, some_barred = False, 0, has_bars(rows.bars)
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
        if some_barred and barred(rows.bars, u, w):
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
        if gain_of(fresh) < rows.meta[3]:
            drop_first(rows, u)
        else:
            keys[first] = fresh
            sift(keys, codes, first, 0, used[u])
    clear_away(c, own, u)
    return holds


@njit(cache=True)
def find_in_rows(c, rows, degree, scratch):
    """Return the (key, code) of the best pair of the rows, or (0, 0) when there is none.

    Or (DUE, 0): call `scan_due` and `heap_rows`, if several threads can scan, and ask again.
    """
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
            if gain_of(heap_key[0]) < rows.meta[4]:
                # A lower gain begins: all rows that wait for it can be scanned at once.
                rows.meta[0], rows.meta[4] = size, gain_of(heap_key[0])
                return DUE, np.int64(0)
            drop_connected(c, u)
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
