"""The greedy engine: the best edge again and again, found lazily and exactly.

Nodes are ranked by their subscriptions, most first, and row u holds the pairs with the nodes that
rank behind u: the degrees that rise fastest then belong to the row itself. A scan of the row
counts, over u's open topics, how many components the edge to each w would join, keeps the best
partners with the key they have now, and remembers the best key of those it does not keep (the
bound). A key is (gain, larger degree), ties by the pair's ids as the user numbers them (its code).
Gains only fall and degrees only rise as edges are added, so an old key is never worse than the
true one. A row's partners wait in a heap by their old keys, and so do the rows by their best.
When a row comes up:

- its best is a cached partner: evaluate it again. If the key still holds, no pair anywhere can
  be better: that is the edge. Otherwise the partner gets its true key and the row waits again;
- its best is the bound: scan the row again. So too when looking at stale pairs has cost as much
  as a scan.

Degree limits are phases: under a limit `cap`, pairs with a full node do not take part. They are
parked behind the row's heap, or under `rest`, a bound on their gains, until the limit is raised.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from meshwright.kernels.components import drop_connected, edge_gain, join
from meshwright.overlay.pair_kernel import (
    NO_DEGREE,
    better,
    gain_of,
    heapify,
    keep_best,
    pair_code,
    pair_key,
    partner_of,
    sift,
    sift_row,
)

CACHE = 32  # partners that every row has room for; a row of many topics has room for as many
DENSE = 4  # a scan of at least a quarter as many positions as partners walks over all partners
STALE_COST = 64  # moving a pair and its row down their heaps, in positions scanned

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


class Queue(NamedTuple):
    """The rows, their caches and the heap of rows; `meta` is [heap size, cap, by_degree]."""

    ids: Ints  # rank -> the user's id
    rank: Ints  # the user's id -> rank
    row: Longs  # the cache of row u lies at row[u] .. row[u + 1]
    key: Longs
    code: Longs
    used: Ints  # by row: partners in its heap
    parked: Ints  # by row: partners behind the heap, full when last seen
    seen_degree: Ints  # by row: the degree of u when its keys were last made fresh
    bound_key: Longs  # the best key among the pairs not cached that take part, 0 for none
    bound_code: Longs
    rest: Ints  # the largest gain among the pairs not cached whose partner was full
    spent: Longs  # by row: what looking at stale pairs has cost since its scan
    scan_cost: Longs  # by row: what the scan cost
    heap: Ints
    heap_key: Longs
    heap_code: Longs
    meta: Longs
    gains: Ints  # scratch, by node
    touched: Ints  # scratch, by node and one more


def new_queue(indptr: Longs, ids: Ints, *, by_degree: bool, cache: int = CACHE) -> Queue:
    """Return an empty queue over ranked nodes; `scan_all` and `set_cap` make it ready."""
    n_nodes = len(indptr) - 1
    # A node that wants much is a partner of many and uses its cache up sooner.
    room = np.maximum(np.diff(indptr), cache) if cache >= CACHE else np.full(n_nodes, cache)
    room = np.minimum(room, np.arange(n_nodes)[::-1])
    row = np.concatenate(([0], np.cumsum(room))).astype(np.int64)
    rank = np.empty(n_nodes, dtype=np.int32)
    rank[ids] = np.arange(n_nodes, dtype=np.int32)
    ints = lambda size: np.zeros(size, dtype=np.int32)  # noqa: E731
    longs = lambda size: np.zeros(size, dtype=np.int64)  # noqa: E731
    return Queue(
        ids=ids,
        rank=rank,
        row=row,
        key=longs(row[-1]),
        code=longs(row[-1]),
        used=ints(n_nodes),
        parked=ints(n_nodes),
        seen_degree=ints(n_nodes),
        bound_key=longs(n_nodes),
        bound_code=longs(n_nodes),
        rest=ints(n_nodes),
        spent=longs(n_nodes),
        scan_cost=longs(n_nodes),
        heap=ints(n_nodes),
        heap_key=longs(n_nodes),
        heap_code=longs(n_nodes),
        meta=np.array([0, NO_DEGREE, by_degree], dtype=np.int64),
        gains=ints(n_nodes),
        touched=ints(n_nodes + 1),
    )


@njit(cache=True)
def row_cost(c, u):
    """Return how many positions a scan of row u looks at."""
    topics, topic_ptr, position_at = c.topics, c.topic_ptr, c.position_at
    cost = 0
    for slot in range(c.indptr[u], c.row_end[u]):
        cost += topic_ptr[topics[slot] + 1] - position_at[slot] - 1
    return cost


@njit(cache=True)
def count_dense(c, u, gains):
    """Count the gain of each partner that ranks behind u into `gains`."""
    topics, topic_ptr, position_at = c.topics, c.topic_ptr, c.position_at
    nodes, label, slot_label = c.nodes, c.label, c.slot_label
    for slot in range(c.indptr[u], c.row_end[u]):
        own = slot_label[slot]
        for position in range(position_at[slot] + 1, topic_ptr[topics[slot] + 1]):
            gains[nodes[position]] += label[position] != own


@njit(cache=True)
def count_sparse(c, u, gains, touched):
    """The same, and list the partners of positive gain in `touched`; return how many."""
    topics, topic_ptr, position_at = c.topics, c.topic_ptr, c.position_at
    nodes, label, slot_label = c.nodes, c.label, c.slot_label
    n_touched = 0
    for slot in range(c.indptr[u], c.row_end[u]):
        own = slot_label[slot]
        for position in range(position_at[slot] + 1, topic_ptr[topics[slot] + 1]):
            if label[position] != own:
                w = nodes[position]
                touched[n_touched] = w
                n_touched += gains[w] == 0
                gains[w] += 1
    return n_touched


@njit(cache=True)
def scan(c, q, degree, u):
    """Fill the row of u anew: its cache, bound and rest.

    Under a limit a quarter of the cache goes to the best pairs with a full partner: when the
    limit rises they are known already, and the row need not be scanned for them.
    """
    cap, by_degree, first = q.meta[1], q.meta[2], q.row[u]
    keys, codes, gains, touched, ids = q.key, q.code, q.gains, q.touched, q.ids
    room = q.row[u + 1] - first
    full_room = 0 if cap == NO_DEGREE else room // 4
    room -= full_room
    drop_connected(c, u)
    cost = row_cost(c, u)
    n = len(degree)
    dense = cost * DENSE >= n - u
    if dense:
        count_dense(c, u, gains)
        n_touched = n - u - 1
    else:
        n_touched = count_sparse(c, u, gains, touched)
    used, full_used = 0, 0
    bound_key, bound_code, rest = np.int64(0), np.int64(0), np.int32(0)
    least = 1  # pairs of a smaller gain change nothing: most end at this comparison
    for i in range(n_touched):
        w = np.int32(u + 1 + i) if dense else touched[i]
        gain = gains[w]
        if gain < least:
            continue
        key, code = pair_key(by_degree, degree, gain, u, w), pair_code(ids, u, w)
        if degree[w] >= cap:
            full_used, key, code = keep_best(
                keys, codes, first + room, full_used, full_room, key, code
            )
            rest = max(rest, np.int32(gain_of(key)))
        else:
            used, key, code = keep_best(keys, codes, first, used, room, key, code)
            if better(key, code, bound_key, bound_code):
                bound_key, bound_code = key, code
        least = gain_of(bound_key) if cap == NO_DEGREE else min(gain_of(bound_key), rest)
        least = max(least, 1)
    if dense:
        gains[u + 1 :] = 0
    else:
        for i in range(n_touched):
            gains[touched[i]] = 0
    for k in range(full_used):
        keys[first + used + k] = keys[first + room + k]
        codes[first + used + k] = codes[first + room + k]
    heapify(keys, codes, first, used)
    q.used[u], q.parked[u], q.seen_degree[u] = used, full_used, degree[u]
    q.bound_key[u], q.bound_code[u], q.rest[u] = bound_key, bound_code, rest
    q.spent[u], q.scan_cost[u] = 0, cost + n_touched


@njit(cache=True)
def refresh(q, degree, u):
    """Give all pairs of a row the degrees of now; their gains stay as they were."""
    keys, codes, ids, rank = q.key, q.code, q.ids, q.rank
    first, by_degree = q.row[u], q.meta[2]
    for k in range(first, first + q.used[u]):
        w = partner_of(ids, rank, codes[k], u)
        keys[k] = pair_key(by_degree, degree, gain_of(keys[k]), u, w)
    heapify(keys, codes, first, q.used[u])
    q.seen_degree[u] = degree[u]
    q.spent[u] += q.used[u]


@njit(cache=True)
def drop_first(q, u):
    """Take the best partner out of a row."""
    keys, codes, first = q.key, q.code, q.row[u]
    q.used[u] -= 1
    last = first + q.used[u]
    keys[first], codes[first] = keys[last], codes[last]
    if q.parked[u] > 0:
        end = last + q.parked[u]
        keys[last], codes[last] = keys[end], codes[end]
    sift(keys, codes, first, 0, q.used[u])


@njit(cache=True)
def park_full(q, degree, u):
    """Put the best partners of a row behind its heap while they are full."""
    keys, codes, first, cap, ids, rank = q.key, q.code, q.row[u], q.meta[1], q.ids, q.rank
    while q.used[u] > 0 and degree[partner_of(ids, rank, codes[first], u)] >= cap:
        q.used[u] -= 1
        q.parked[u] += 1
        last = first + q.used[u]
        keys[first], keys[last] = keys[last], keys[first]
        codes[first], codes[last] = codes[last], codes[first]
        sift(keys, codes, first, 0, q.used[u])


@njit(cache=True)
def best_of_row(q, u):
    """Return the best (key, code) of a row, whether cached or its bound."""
    first = q.row[u]
    key, code = q.bound_key[u], q.bound_code[u]
    if q.used[u] > 0 and better(q.key[first], q.code[first], key, code):
        key, code = q.key[first], q.code[first]
    return key, code


@njit(cache=True)
def set_cap(q, degree, cap):
    """Begin a phase under a degree limit: every row with something left takes part again."""
    raised = cap > q.meta[1]
    q.meta[1] = cap
    size = 0
    for u in range(len(degree)):
        if raised and q.rest[u] > 0:
            # Pairs left out may take part now: all that is known of them is their gain.
            key = pair_key(q.meta[2], degree, q.rest[u], u, u)
            if better(key, np.int64(0), q.bound_key[u], q.bound_code[u]):
                q.bound_key[u], q.bound_code[u] = key, 0
            q.rest[u] = 0
        if raised and q.parked[u] > 0:
            q.used[u] += q.parked[u]
            q.parked[u] = 0
            heapify(q.key, q.code, q.row[u], q.used[u])
        if degree[u] >= cap:
            continue
        park_full(q, degree, u)
        key, code = best_of_row(q, u)
        if key > 0:
            q.heap[size], q.heap_key[size], q.heap_code[size] = u, key, code
            size += 1
    q.meta[0] = size
    for at in range(size // 2 - 1, -1, -1):
        sift_row(q.heap, q.heap_key, q.heap_code, at, size)


@njit(cache=True)
def scan_all(c, q, degree):
    """Scan every row for the first time."""
    for u in range(len(degree)):
        scan(c, q, degree, u)


@njit(cache=True)
def find_best(c, q, degree):
    """Bring the best pair to the top of the heap; return its gain, 0 when there is none."""
    ids, rank, row, keys, codes, used = q.ids, q.rank, q.row, q.key, q.code, q.used
    bound_key, bound_code, seen_degree = q.bound_key, q.bound_code, q.seen_degree
    spent, scan_cost = q.spent, q.scan_cost
    heap, heap_key, heap_code = q.heap, q.heap_key, q.heap_code
    indptr, row_end, topics, label = c.indptr, c.row_end, c.topics, c.slot_label
    size, cap, by_degree = q.meta[0], q.meta[1], q.meta[2]
    while size > 0:
        u = heap[0]
        if degree[u] >= cap:
            size -= 1  # out until the limit rises
            heap[0], heap_key[0], heap_code[0] = heap[size], heap_key[size], heap_code[size]
            sift_row(heap, heap_key, heap_code, 0, size)
            continue
        first = row[u]
        if (
            used[u] == 0
            or better(bound_key[u], bound_code[u], keys[first], codes[first])
            or spent[u] > scan_cost[u]
        ):
            scan(c, q, degree, u)
        elif by_degree and seen_degree[u] != degree[u]:
            refresh(q, degree, u)
        else:
            key = keys[first]
            w = partner_of(ids, rank, codes[first], u)
            # Degrees are at hand; the gain, which costs more, is counted only if they still hold.
            fresh = pair_key(by_degree, degree, gain_of(key), u, w)
            spent[u] += STALE_COST
            if degree[w] >= cap:
                park_full(q, degree, u)
            else:
                if fresh == key:
                    gain = edge_gain(indptr, row_end, topics, label, u, w)
                    fresh = pair_key(by_degree, degree, gain, u, w)
                    if fresh == key:
                        q.meta[0] = size
                        return gain
                    spent[u] += row_end[u] - indptr[u] + row_end[w] - indptr[w]
                if gain_of(fresh) == 0:
                    drop_first(q, u)
                else:
                    keys[first] = fresh
                    sift(keys, codes, first, 0, used[u])
        heap_key[0], heap_code[0] = best_of_row(q, u)
        if heap_key[0] == 0:
            size -= 1
            heap[0], heap_key[0], heap_code[0] = heap[size], heap_key[size], heap_code[size]
        sift_row(heap, heap_key, heap_code, 0, size)
    q.meta[0] = 0
    return 0


@njit(cache=True)
def add(c, q, degree, edges, gains, n_edges):
    """Add the pair on top of the heap as the next edge."""
    u = q.heap[0]
    code = q.code[q.row[u]]
    w = partner_of(q.ids, q.rank, code, u)
    edges[n_edges, 0], edges[n_edges, 1] = code >> 32, code & 0xFFFFFFFF
    gains[n_edges] = join(c, u, w)
    degree[u] += 1
    degree[w] += 1


@njit(cache=True)
def run(c, q, degree, edges, gains, n_edges, stop):
    """Add best edges until there are `stop` of them or none is left; return their number."""
    while n_edges < stop and find_best(c, q, degree) > 0:
        add(c, q, degree, edges, gains, n_edges)
        n_edges += 1
    return n_edges


@njit(cache=True)
def run_low(c, q, capped, degree, edges, gains, n_edges, stop, numerator, denominator):
    """`low`: the best pair if its gain is at least k times that of the best capped pair.

    k is a fraction. The capped queue stands for minmax: its cap is the maximum degree, or one
    more when no pair of positive gain keeps that.
    """
    top = np.int64(0)
    for d in degree:
        top = max(top, d)
    while n_edges < stop:
        gain = find_best(c, q, degree)
        if gain == 0:
            break
        if capped.meta[1] != top and capped.meta[1] != top + 1:
            set_cap(capped, degree, max(top, 1))
        capped_gain = find_best(c, capped, degree)
        if capped_gain == 0:
            set_cap(capped, degree, top + 1)
            capped_gain = find_best(c, capped, degree)
        chosen = q if gain * denominator >= numerator * capped_gain else capped
        add(c, chosen, degree, edges, gains, n_edges)
        for node in edges[n_edges]:
            top = max(top, degree[q.rank[node]])
        n_edges += 1
    return n_edges
