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

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from meshwright.kernels.compile import kernel
from meshwright.kernels.components import new_counters
from meshwright.overlay.bar_kernel import Bars, barred, has_bars, new_bars
from meshwright.overlay.count_kernel import (
    count_dense,
    count_left_out,
    count_sparse,
    longest_slot,
    look_up_left_out,
    row_cost,
)
from meshwright.overlay.pair_kernel import (
    NO_DEGREE,
    better,
    gain_of,
    heapify,
    largest_of,
    pair_code,
    pair_key,
    shrink,
)

CACHE = 32  # partners that every row has room for; a row of many topics has room for as many
DENSE = 4  # a scan of at least a quarter as many positions as partners walks over all partners
STRETCH = 64  # partners whose gains are compared at once
LOOK_UP = 16  # asking a partner for a topic, in positions scanned

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


class Rows(NamedTuple):
    """The rows, their caches and the heap of rows.

    `meta` is [heap size, cap, by_degree, lowest gain kept, gain at which to scan rows together, how
    many rows are worth that].
    """

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
    due: Ints  # places in the heap, see `list_due`
    heap: Ints
    heap_key: Longs
    heap_code: Longs
    meta: Longs
    bars: Bars


class Scratch(NamedTuple):
    """What a scan counts in; one for each thread that scans."""

    gains: npt.NDArray[Any]  # by node, of 16 or 32 bits
    touched: npt.NDArray[np.uint32]  # by node, and one more
    key: Longs  # pairs that may be among the best of a row: those that take part, those that do not
    code: Longs
    own: Longs  # by topic: stamp << 32 | the label of the node that is laid out
    clock: Longs  # [edges added so far, stamp, node laid out, edges when it was]


def new_scratch(n_nodes: int, n_topics: int, room: int) -> Scratch:
    """Return a scratch for scans of rows with so much room at most, and for evaluations."""
    pairs = (2, 2 * room + STRETCH)
    return Scratch(
        gains=new_counters(n_nodes, room),  # no gain exceeds the room of a row
        touched=np.zeros(n_nodes + 1, dtype=np.uint32),
        key=np.zeros(pairs, dtype=np.int64),
        code=np.zeros(pairs, dtype=np.int64),
        own=np.zeros(n_topics, dtype=np.int64),
        clock=np.array([0, 0, -1, 0], dtype=np.int64),
    )


def new_rows(
    indptr: Longs,
    ids: Ints,
    rank: Ints,
    *,
    by_degree: bool,
    lowest: int = 1,
    cache: int = CACHE,
    bars: Bars | None = None,
) -> Rows:
    """Return empty rows over ranked nodes; `scan_rows` and `set_row_cap` make them ready.

    Pairs that gain less than `lowest`, 1 or 2, are not kept.
    """
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
        due=ints(n_nodes),
        heap=ints(n_nodes),
        heap_key=longs(n_nodes),
        heap_code=longs(n_nodes),
        meta=np.array([0, NO_DEGREE, by_degree, lowest, 0, 0], dtype=np.int64),
        bars=bars or new_bars(ids),
    )


@kernel
def list_from(gains, first, end, least, listed):
    """List the nodes from `first` to `end` whose gain is `least` or more; return how many."""
    stretch = gains[first:end]
    n_listed = 0
    # Most stretches hold no gain that matters, and are passed over quickly.
    if largest_of(stretch) >= least:
        for i in range(len(stretch)):
            listed[n_listed] = first + i
            n_listed += stretch[i] >= least
    return n_listed


@kernel
def scan(c, rows, degree, scratch, u):
    """Fill the row of u anew: its cache, bound and rest. Connected topics are dropped before.

    Under a limit a quarter of the cache goes to the best pairs with a full partner: when the
    limit rises they are known already, and the row need not be scanned for them.
    """
    cap, by_degree, first = rows.meta[1], rows.meta[2], rows.row[u]
    keys, codes, gains, touched, ids = rows.key, rows.code, scratch.gains, scratch.touched, rows.ids
    some_barred, room = has_bars(rows.bars), rows.row[u + 1] - first
    full_room = 0 if cap == NO_DEGREE else room // 4
    room -= full_room
    lowest = rows.meta[3]
    left_out = longest_slot(c, u) if lowest > 1 else -1
    cost = row_cost(c, u, left_out)
    behind = u + 1
    dense = cost * DENSE >= len(degree) - behind
    if dense:
        count_dense(c, u, left_out, gains)
        n_touched = len(degree) - behind
    else:
        n_touched = count_sparse(c, u, left_out, gains, touched)
    if left_out >= 0:
        longest = c.topic_ptr[c.topics[left_out] + 1] - c.position_at[left_out]
        if dense or longest < LOOK_UP * n_touched:
            count_left_out(c, left_out, gains)
            cost += longest
        else:
            look_up_left_out(c, left_out, gains, touched, n_touched)
            cost += LOOK_UP * n_touched
    some_keys, some_codes = scratch.key[0], scratch.code[0]
    full_keys, full_codes = scratch.key[1], scratch.code[1]
    used, full_used = 0, 0
    bound_key, bound_code, rest = np.int64(0), np.int64(0), np.int32(0)
    least = lowest  # pairs of a smaller gain change nothing
    for begin in range(0, n_touched, STRETCH):
        end = min(begin + STRETCH, n_touched)
        at, listed = begin, end - begin
        if dense:
            at, listed = 0, list_from(gains, behind + begin, behind + end, least, touched)
        for i in range(at, at + listed):
            w = touched[i]
            gain = gains[w]
            if gain < least or (some_barred and barred(rows.bars, u, w)):
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
            least = max(least, lowest)
    if dense:
        gains[behind:] = 0
    else:
        for i in range(n_touched):
            gains[touched[i]] = 0
    for i in range(used):
        keys[first + i], codes[first + i] = some_keys[i], some_codes[i]
    for i in range(full_used):
        keys[first + used + i], codes[first + used + i] = full_keys[i], full_codes[i]
    heapify(keys, codes, first, used)
    rows.used[u], rows.parked[u] = used, full_used
    rows.bound_key[u], rows.bound_code[u], rows.rest[u] = bound_key, bound_code, rest
    rows.spent[u], rows.scan_cost[u] = 0, cost + n_touched


@kernel
def scan_rows(c, rows, degree, scratch, first, last):
    """Scan the rows from `first` to `last`."""
    for u in range(first, last):
        scan(c, rows, degree, scratch, u)
