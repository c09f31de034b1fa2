"""The best pair of the rows: evaluated again when it comes up, until its key holds."""

from __future__ import annotations

import numpy as np

from meshwright.kernels.compile import kernel
from meshwright.kernels.components import drop_connected, gain_with, join_with, lay_out
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
PATIENCE = 16  # scans that looking at stale pairs may cost before the row is scanned again
STALE_COST = 64  # moving a pair and its row down their heaps, in positions scanned


@kernel
def refresh(rows, degree, u):
    """Give all pairs of a row the degrees of now; their gains stay as they were."""
    keys, codes, ids, rank = rows.key, rows.code, rows.ids, rows.rank
    first, by_degree = rows.row[u], rows.meta[2]
    for k in range(first, first + rows.used[u]):
        w = partner_of(ids, rank, codes[k], u)
        keys[k] = pair_key(by_degree, degree, gain_of(keys[k]), u, w)
    heapify(keys, codes, first, rows.used[u])
    rows.spent[u] += rows.used[u]


@kernel
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


@kernel
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


@kernel
def best_of_row(rows, u):
    """Return the best (key, code) of a row, whether cached or its bound."""
    first = rows.row[u]
    key, code = rows.bound_key[u], rows.bound_code[u]
    if rows.used[u] > 0 and better(rows.key[first], rows.code[first], key, code):
        key, code = rows.key[first], rows.code[first]
    return key, code


@kernel
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


@kernel
def heap_rows(rows, degree):
    """Put all rows that take part and have something left into the heap."""
    size, cap = 0, rows.meta[1]
    for u in range(len(degree)):
        if degree[u] >= cap:
            continue
        park_full(rows, degree, u)
        rows.heap[size] = u
        rows.heap_key[size], rows.heap_code[size] = best_of_row(rows, u)
        size += 1
    rows.meta[0] = size
    order_heap(rows)


@kernel
def list_due(rows, degree):
    """List the places in the heap of the rows that can only be scanned at the gain of now.

    Return how many.
    """
    heap, heap_key, heap_code, due = rows.heap, rows.heap_key, rows.heap_code, rows.due
    size, cap, least, n_due = rows.meta[0], rows.meta[1], rows.meta[4] << 32, 0
    for at in range(size):
        if heap_key[at] >= least:
            u = heap[at]
            due[n_due] = at
            n_due += degree[u] < cap and (heap_code[at] == rows.bound_code[u] or is_spent(rows, u))
    return n_due


@kernel
def drop_due(c, rows, first, last):
    """Take the connected topics out of due rows."""
    for i in range(first, last):
        drop_connected(c, rows.heap[rows.due[i]])


@kernel
def scan_due(c, rows, degree, scratch, first, last):
    """Scan due rows, and note their best in the heap."""
    for i in range(first, last):
        at = rows.due[i]
        u = rows.heap[at]
        scan(c, rows, degree, scratch, u)
        rows.settled[u] = -1
        rows.heap_key[at], rows.heap_code[at] = best_of_row(rows, u)


@kernel
def is_spent(rows, u):
    """Tell whether looking at stale pairs of a row has cost too much. Reads only."""
    return rows.spent[u] > PATIENCE * rows.scan_cost[u]


@kernel
def order_heap(rows):
    """Put the heap of rows in order; rows with nothing left leave it."""
    heap, heap_key, heap_code = rows.heap, rows.heap_key, rows.heap_code
    size = 0
    for at in range(rows.meta[0]):
        heap[size], heap_key[size], heap_code[size] = heap[at], heap_key[at], heap_code[at]
        size += heap_key[at] > 0
    rows.meta[0] = size
    for at in range(size // 2 - 1, -1, -1):
        sift_row(heap, heap_key, heap_code, at, size)


@kernel
def ready(c, scratch, u):
    """Lay out u, unless it is; return the stamp."""
    clock = scratch.clock
    if clock[2] != u or clock[3] != clock[0]:
        clock[1] += 1
        clock[2], clock[3] = u, clock[0]
        lay_out(c, scratch.own, clock[1], u)
    return clock[1]


@kernel
def join_pair(c, scratch, u, w):
    """Add the edge (u, w); return the gain."""
    u, w = min(u, w), max(u, w)  # the pair stands in the row of u, which is laid out or large
    gain = join_with(c, scratch.own, ready(c, scratch, u), w)
    scratch.clock[0] += 1
    scratch.clock[3] = scratch.clock[0]
    return gain


@kernel
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
    stamp = ready(c, scratch, u)
    spent[u] += c.row_end[u] - c.indptr[u]
    while used[u] > 0 and not is_spent(rows, u):
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
            fresh = pair_key(by_degree, degree, gain_with(c, own, stamp, w), u, w)
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
    return holds


@kernel
def find_in_rows(c, rows, degree, scratch):
    """Return the (key, code) of the best pair of the rows, or (0, 0) when there is none.

    Or (DUE, 0): many rows are due, see `list_due`; several threads can scan them.
    """
    row, keys, codes, used, settled = rows.row, rows.key, rows.code, rows.used, rows.settled
    bound_key, bound_code = rows.bound_key, rows.bound_code
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
            or is_spent(rows, u)
        ):
            if gain_of(heap_key[0]) < rows.meta[4]:
                # A lower gain begins: all rows that wait for it can be scanned at once.
                rows.meta[0], rows.meta[4] = size, gain_of(heap_key[0])
                if list_due(rows, degree) >= rows.meta[5]:
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
