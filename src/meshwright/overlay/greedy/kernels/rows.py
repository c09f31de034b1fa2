"""The rows: a few partners of each node, and a bound on all the others.

Row u holds the pairs of node u with the nodes that rank behind it. A scan counts the gains of all
its pairs, keeps the best partners with their current keys (the cache), and the best key of the
others (the bound). `row_queue` evaluates them again when they come up.

Under a degree cap, pairs with a full node (one that has reached the cap) do not take part. They are
parked behind the row's heap, or covered by `rest`, a bound on their gains, until the cap rises.
"""

from typing import NamedTuple

import numpy as np

from meshwright.model.kernels.components import Components, TopicLabels, new_topic_labels
from meshwright.overlay.greedy.kernels import counts
from meshwright.overlay.greedy.kernels import run as pairs
from meshwright.overlay.greedy.kernels.exclusions import Exclusions, is_excluded, no_exclusions
from meshwright.overlay.greedy.kernels.tuning import DENSE_SCAN, FULL_SHARE, ROW_CACHE, SCAN_STRETCH
from meshwright.runtime.arrays import Ints, Longs
from meshwright.runtime.compile import kernel

HEAP_SIZE, CAP, BATCH_GAIN, N_DUE = range(4)  # places in Rows.state


class Rows(NamedTuple):
    """The rows, their caches, and the heap of rows. Rows are numbered by rank."""

    first: Longs  # int64[n_nodes + 1], the cache of row u is at first[u] .. first[u + 1]
    key: Longs  # int64[first[-1]], keys of the cached pairs: a heap, then the parked pairs
    code: Longs  # int64[first[-1]], codes of the cached pairs
    used: Ints  # int32[n_nodes], pairs in the heap of each row
    parked: Ints  # int32[n_nodes], pairs behind the heap, whose partner was full when last seen
    bound_key: Longs  # int64[n_nodes], best key of the pairs not cached that take part, 0 for none
    bound_code: Longs  # int64[n_nodes], the code of that pair
    rest: Ints  # int32[n_nodes], largest gain of the pairs not cached whose partner was full
    spent: Longs  # int64[n_nodes], cost of evaluating stale pairs since the last scan
    scan_cost: Longs  # int64[n_nodes], cost of the last scan
    settled: Longs  # int64[n_nodes], number of edges when the best pair was last found current
    due: Ints  # int32[n_nodes], places in the heap of the N_DUE rows to scan together
    heap: Ints  # int32[n_nodes], the heap of rows
    heap_key: Longs  # int64[n_nodes], best key of the row at each place of the heap
    heap_code: Longs  # int64[n_nodes], the code of that pair
    state: Longs  # int64[4], [HEAP_SIZE, CAP, BATCH_GAIN: that rows were last batched at, N_DUE]
    lowest_gain: int  # 1 or 2; pairs that gain less are not kept
    min_batch: int  # due rows that are worth a scan on several threads, NO_LIMIT for never
    exclusions: Exclusions


class Scratch(NamedTuple):
    """The work arrays of a scan and of evaluations; one for each thread."""

    counters: counts.Counters
    key: Longs  # int64[2, ...], pairs that may be kept: [0] those that take part, [1] the full
    code: Longs  # int64[2, ...], their codes
    labels: TopicLabels  # of the node that others are compared with


def new_scratch(c: Components, cache: int) -> Scratch:
    """Return work arrays for rows that keep `cache` partners, or one per topic."""
    max_room = max(int(np.diff(c.indptr).max(initial=0)), cache)
    key, code = np.zeros((2, 2, 2 * max_room + SCAN_STRETCH), dtype=np.int64)
    return Scratch(counts.new_row_counters(c), key, code, new_topic_labels(len(c.open_count)))


def new_rows(
    indptr: Longs,
    *,
    lowest_gain: int = 1,
    cache: int = ROW_CACHE,
    min_batch: int = pairs.NO_LIMIT,
    exclusions: Exclusions | None = None,
) -> Rows:
    """Return empty rows, all due for a scan; `scan_due` and `set_row_cap` make them ready."""
    n_nodes = len(indptr) - 1
    # A node with many topics is a partner of many, and uses up its cache sooner.
    room = np.maximum(np.diff(indptr), cache) if cache >= ROW_CACHE else np.full(n_nodes, cache)
    room = np.minimum(room, np.arange(n_nodes)[::-1])
    first = np.concatenate(([0], np.cumsum(room))).astype(np.int64)
    used, parked, rest = np.zeros((3, n_nodes), dtype=np.int32)
    due, heap = np.tile(np.arange(n_nodes, dtype=np.int32), (2, 1))
    bound_key, bound_code, spent, scan_cost = np.zeros((4, n_nodes), dtype=np.int64)
    settled, heap_key, heap_code = np.zeros((3, n_nodes), dtype=np.int64)
    key, code = np.zeros((2, first[-1]), dtype=np.int64)
    state = np.array([n_nodes, pairs.NO_LIMIT, 0, n_nodes], dtype=np.int64)
    scans = (bound_key, bound_code, rest, spent, scan_cost, settled)
    arrays = (first, key, code, used, parked, *scans, due, heap, heap_key, heap_code, state)
    return Rows(*arrays, lowest_gain, min_batch, exclusions or no_exclusions())


@kernel
def list_from(gains, first, end, least, listed):
    """List the nodes from `first` to `end` that gain `least` or more; return how many."""
    stretch = gains[first:end]
    n_listed = 0
    if pairs.largest_of(stretch) >= least:
        for i in range(len(stretch)):
            listed[n_listed] = first + i
            n_listed += stretch[i] >= least
    return n_listed


@kernel
def scan_row(run, rows, scratch, u):
    """Fill the cache, bound and rest of row u; its connected topics have been dropped before.

    Under a cap a share of the cache is for the best pairs with a full partner: when the cap rises
    they are known, and the row need not be scanned for them.
    """
    c, degree = run.components, run.degree
    counters, cap = scratch.counters, rows.state[CAP]
    gains, touched = counters.gains, counters.touched
    room = rows.first[u + 1] - rows.first[u]
    full_room = 0 if cap == pairs.NO_LIMIT else room // FULL_SHARE
    room -= full_room
    left_out = counts.longest_slot(c, u) if rows.lowest_gain > 1 else -1
    cost = counts.row_cost(c, u, left_out)
    behind = u + 1
    dense = cost * DENSE_SCAN >= len(degree) - behind
    if dense:
        counts.count_dense(c, u, left_out, counters)
        n_touched = len(degree) - behind
    else:
        n_touched = counts.count_sparse(c, u, left_out, counters)
    if left_out >= 0:
        cost += counts.count_left_out(c, left_out, counters, n_touched, dense)
    keys, codes = scratch.key[0], scratch.code[0]
    full_keys, full_codes = scratch.key[1], scratch.code[1]
    used, n_full = 0, 0
    bound_key, bound_code, rest = np.int64(0), np.int64(0), np.int32(0)
    least = rows.lowest_gain  # pairs that gain less would not be kept
    for begin in range(0, n_touched, SCAN_STRETCH):
        end = min(begin + SCAN_STRETCH, n_touched)
        at, n_listed = begin, end - begin
        if dense:
            at, n_listed = 0, list_from(gains, behind + begin, behind + end, least, touched)
        for i in range(at, at + n_listed):
            w = touched[i]
            if gains[w] < least or is_excluded(rows.exclusions, u, w):
                continue
            key, code = pairs.pair_key(run, gains[w], u, w), pairs.pair_code(run, u, w)
            if degree[w] >= cap:
                full_keys[n_full], full_codes[n_full] = key, code
                n_full += 1
            else:
                keys[used], codes[used] = key, code
                used += 1
        if used > 2 * room or n_full > 2 * full_room or end == n_touched:
            used, key, code = pairs.shrink(keys, codes, used, room)
            if pairs.better(key, code, bound_key, bound_code):
                bound_key, bound_code = key, code
            n_full, key, code = pairs.shrink(full_keys, full_codes, n_full, full_room)
            rest = max(rest, np.int32(pairs.gain_of(key)))
            least = (
                pairs.gain_of(bound_key)
                if cap == pairs.NO_LIMIT
                else min(pairs.gain_of(bound_key), rest)
            )
            least = max(least, rows.lowest_gain)
    if dense:
        gains[behind:] = 0
    else:
        for i in range(n_touched):
            gains[touched[i]] = 0
    first = rows.first[u]
    for i in range(used):
        rows.key[first + i], rows.code[first + i] = keys[i], codes[i]
    for i in range(n_full):
        rows.key[first + used + i], rows.code[first + used + i] = full_keys[i], full_codes[i]
    pairs.heapify(rows.key, rows.code, first, used)
    rows.used[u], rows.parked[u] = used, n_full
    rows.bound_key[u], rows.bound_code[u], rows.rest[u] = bound_key, bound_code, rest
    rows.spent[u], rows.scan_cost[u] = 0, cost + n_touched
