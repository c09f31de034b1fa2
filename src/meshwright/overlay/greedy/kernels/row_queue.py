"""The best pair of the rows: evaluated again when it comes up, until its key is current.

Old keys are never worse than current ones. The pairs of a row wait in a heap by their old keys, and
the rows by their best pair. When a row comes up, its pairs are evaluated, best first, until the key
of the best is current: the row is settled. If its best is the bound, or evaluating stale pairs has
cost as much as `RESCAN_COST` scans, it is scanned again. A settled row that is still on top holds
the best pair of all. Excluded pairs are dropped when they come up and left out of scans.
"""

import numpy as np

from meshwright.model.kernels.components import drop_connected, gain_with, load_labels
from meshwright.overlay.greedy.kernels import run as pairs
from meshwright.overlay.greedy.kernels.exclusions import is_excluded
from meshwright.overlay.greedy.kernels.rows import BATCH_GAIN, CAP, HEAP_SIZE, N_DUE, scan_row
from meshwright.overlay.greedy.kernels.tuning import REFRESH_SHARE, RESCAN_COST, STALE_PAIR_COST
from meshwright.runtime.compile import kernel

ROWS_DUE = -1  # in place of a key or gain: many rows are due for a scan, see `list_due`


@kernel
def refresh_degrees(run, rows, u):
    """Compute all keys of a row from the current degrees; their gains stay as they were."""
    keys, codes, first = rows.key, rows.code, rows.first[u]
    for k in range(first, first + rows.used[u]):
        w = pairs.partner_of(run, codes[k], u)
        keys[k] = pairs.pair_key(run, pairs.gain_of(keys[k]), u, w)
    pairs.heapify(keys, codes, first, rows.used[u])
    rows.spent[u] += rows.used[u]


@kernel
def drop_best(rows, u):
    """Remove the best pair of a row from its cache."""
    keys, codes, first = rows.key, rows.code, rows.first[u]
    rows.used[u] -= 1
    last = first + rows.used[u]
    keys[first], codes[first] = keys[last], codes[last]
    if rows.parked[u] > 0:
        end = last + rows.parked[u]
        keys[last], codes[last] = keys[end], codes[end]
    pairs.sift(keys, codes, first, 0, rows.used[u])


@kernel
def park_full(run, rows, u):
    """Move the best pairs of a row behind its heap while their partner is full."""
    keys, codes, first, cap = rows.key, rows.code, rows.first[u], rows.state[CAP]
    while rows.used[u] > 0 and run.degree[pairs.partner_of(run, codes[first], u)] >= cap:
        rows.used[u] -= 1
        rows.parked[u] += 1
        last = first + rows.used[u]
        pairs.swap(keys, codes, first, last)
        pairs.sift(keys, codes, first, 0, rows.used[u])


@kernel
def best_of_row(rows, u):
    """Return the best (key, code) of a row: that of a cached pair, or the bound. Reads only."""
    first = rows.first[u]
    key, code = rows.bound_key[u], rows.bound_code[u]
    if rows.used[u] > 0 and pairs.better(rows.key[first], rows.code[first], key, code):
        key, code = rows.key[first], rows.code[first]
    return key, code


@kernel
def set_row_cap(run, rows, cap):
    """Set the degree cap: rebuild the heap of rows. Parked pairs return."""
    degree, raised = run.degree, cap > rows.state[CAP]
    rows.state[CAP], rows.state[BATCH_GAIN] = cap, pairs.NO_LIMIT
    rows.settled[:] = -1
    size = 0
    for u in range(len(degree)):
        if raised and rows.rest[u] > 0:
            # Nothing but a bound on their gain is known of the pairs that were left out.
            key = pairs.pair_key(run, rows.rest[u], u, u)
            if pairs.better(key, np.int64(0), rows.bound_key[u], rows.bound_code[u]):
                rows.bound_key[u], rows.bound_code[u] = key, 0
            rows.rest[u] = 0
        if raised and rows.parked[u] > 0:
            rows.used[u] += rows.parked[u]
            rows.parked[u] = 0
            pairs.heapify(rows.key, rows.code, rows.first[u], rows.used[u])
        if degree[u] < cap:
            park_full(run, rows, u)
            rows.heap[size] = u
            rows.heap_key[size], rows.heap_code[size] = best_of_row(rows, u)
            size += 1
    rows.state[HEAP_SIZE] = size
    order_heap(rows)


@kernel
def list_due(run, rows):
    """List the places in the heap of the rows to scan at the gain of the batch; count them.

    Drops their connected topics: a scan reads the topics of other rows, which must not change then.
    """
    heap, heap_key, heap_code, degree = rows.heap, rows.heap_key, rows.heap_code, run.degree
    cap, least, n_due = rows.state[CAP], rows.state[BATCH_GAIN] << 32, 0
    for at in range(rows.state[HEAP_SIZE]):
        u = heap[at]
        if heap_key[at] < least or degree[u] >= cap:
            continue
        if heap_code[at] == rows.bound_code[u] or is_spent(rows, u):
            drop_connected(run.components, u)
            rows.due[n_due] = at
            n_due += 1
    rows.state[N_DUE] = n_due


@kernel
def scan_due(run, rows, scratch, first, last):
    """Scan due rows and update their best in the heap; `order_heap` comes afterwards."""
    for i in range(first, last):
        at = rows.due[i]
        u = rows.heap[at]
        scan_row(run, rows, scratch, u)
        rows.settled[u] = -1
        rows.heap_key[at], rows.heap_code[at] = best_of_row(rows, u)


@kernel
def is_spent(rows, u):
    """Return whether evaluating stale pairs of a row has cost too much. Reads only."""
    return rows.spent[u] > RESCAN_COST * rows.scan_cost[u]


@kernel
def order_heap(rows):
    """Restore the heap of rows; rows with nothing left leave it."""
    heap, heap_key, heap_code = rows.heap, rows.heap_key, rows.heap_code
    size = 0
    for at in range(rows.state[HEAP_SIZE]):
        heap[size], heap_key[size], heap_code[size] = heap[at], heap_key[at], heap_code[at]
        size += heap_key[at] > 0
    rows.state[HEAP_SIZE] = size
    for at in range(size // 2 - 1, -1, -1):
        pairs.sift_row(heap, heap_key, heap_code, at, size)


@kernel
def settle(run, rows, scratch, u):
    """Evaluate the best pairs of a row; return whether the key of the best is current."""
    c, degree, labels = run.components, run.degree, scratch.labels
    keys, codes, used = rows.key, rows.code, rows.used
    bound_key, bound_code, spent = rows.bound_key[u], rows.bound_code[u], rows.spent
    first, cap, old_degrees = rows.first[u], rows.state[CAP], 0
    load_labels(c, labels, u)
    spent[u] += c.row_end[u] - c.indptr[u]
    while used[u] > 0 and not is_spent(rows, u):
        key = keys[first]
        if pairs.better(bound_key, bound_code, key, codes[first]):
            return False
        w = pairs.partner_of(run, codes[first], u)
        if degree[w] >= cap:
            park_full(run, rows, u)
            continue
        if is_excluded(rows.exclusions, u, w):
            drop_best(rows, u)
            continue
        # Degrees are cheap to check; the gain is counted only if they have not changed.
        current = pairs.pair_key(run, pairs.gain_of(key), u, w)
        spent[u] += STALE_PAIR_COST
        if current == key:
            current = pairs.pair_key(run, gain_with(c, labels, w), u, w)
            if current == key:
                return True
            spent[u] += c.row_end[w] - c.indptr[w]
        else:
            old_degrees += 1
            if old_degrees * REFRESH_SHARE > used[u]:
                refresh_degrees(run, rows, u)
                old_degrees = 0
                continue
        if pairs.gain_of(current) < rows.lowest_gain:
            drop_best(rows, u)
        else:
            keys[first] = current
            pairs.sift(keys, codes, first, 0, used[u])
    return False


@kernel
def find_in_rows(run, rows, scratch):
    """Return the (key, code) of the best pair of the rows, or (0, 0) if there is none.

    Return (ROWS_DUE, 0) if many rows are due: several threads can scan them. Writes `rows` and
    `scratch`: rows that come up with an old key are scanned again.
    """
    degree, keys, codes, used = run.degree, rows.key, rows.code, rows.used
    heap, heap_key, heap_code = rows.heap, rows.heap_key, rows.heap_code
    size, cap, n_edges = rows.state[HEAP_SIZE], rows.state[CAP], run.counts[pairs.N_EDGES]
    while size > 0:
        u = heap[0]
        if degree[u] >= cap:
            size -= 1  # out until the cap rises
            heap[0], heap_key[0], heap_code[0] = heap[size], heap_key[size], heap_code[size]
            pairs.sift_row(heap, heap_key, heap_code, 0, size)
            continue
        first = rows.first[u]
        if rows.settled[u] == n_edges and used[u] > 0 and heap_code[0] == codes[first]:
            rows.state[HEAP_SIZE] = size
            return keys[first], codes[first]
        if (
            used[u] == 0
            or pairs.better(rows.bound_key[u], rows.bound_code[u], keys[first], codes[first])
            or is_spent(rows, u)
        ):
            if (
                rows.min_batch < pairs.NO_LIMIT
                and pairs.gain_of(heap_key[0]) < rows.state[BATCH_GAIN]
            ):
                # A lower gain begins: all rows that are due at it can be scanned together.
                rows.state[HEAP_SIZE], rows.state[BATCH_GAIN] = size, pairs.gain_of(heap_key[0])
                list_due(run, rows)
                if rows.state[N_DUE] >= rows.min_batch:
                    return np.int64(ROWS_DUE), np.int64(0)
            drop_connected(run.components, u)
            scan_row(run, rows, scratch, u)
            rows.settled[u] = n_edges
        elif settle(run, rows, scratch, u):
            rows.settled[u] = n_edges
        heap_key[0], heap_code[0] = best_of_row(rows, u)
        if heap_key[0] == 0:
            size -= 1
            heap[0], heap_key[0], heap_code[0] = heap[size], heap_key[size], heap_code[size]
        pairs.sift_row(heap, heap_key, heap_code, 0, size)
    rows.state[HEAP_SIZE] = 0
    return np.int64(0), np.int64(0)
