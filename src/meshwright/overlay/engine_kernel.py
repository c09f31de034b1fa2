"""The greedy engine: the best edge again and again, found lazily and exactly.

Row u holds the pairs (u, w) with w > u. A scan of the row counts, over u's open topics, how many
components the edge to each w would join, keeps the best CACHE (32) partners with the key they have
now, and remembers the best key of those it does not keep (the bound). A key is (gain, larger
degree, u, v): gains only fall and degrees only rise as edges are added, so an old key is never
worse than the true one. Rows wait in a heap by their best old key. When a row comes up:

- its best is a cached partner: evaluate it again. If the key still holds, no pair anywhere can
  be better: that is the edge. Otherwise the partner gets its true key and the row waits again;
- its best is the bound: scan the row again.

Degree limits are phases: under a limit `cap`, pairs with a full node do not take part. They stay
in the cache or under `rest`, a bound on their gains, until the limit is raised.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from meshwright.kernels.components import edge_gain, join

CACHE = 32
NO_DEGREE = 2**31 - 1
BOUND = -1  # the place of a row's best when it is the bound

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


class Queue(NamedTuple):
    """The rows, their caches and the heap; `meta` is [heap size, cap, by_degree]."""

    partner: Ints  # n x cache
    key: Longs  # n x cache: gain << 32 | (NO_DEGREE - larger degree)
    used: Ints  # cached partners of each row
    bound_key: Longs  # the best key among the pairs not cached that take part, 0 for none
    bound_partner: Ints
    rest: Ints  # the largest gain among the pairs not cached whose partner was full
    best: Ints  # where the row's best is: a place in the cache, or BOUND
    heap: Ints
    heap_key: Longs
    meta: Longs
    gains: Ints  # scratch, by node
    touched: Ints  # scratch, by node


def new_queue(n_nodes: int, *, by_degree: bool, cache: int = CACHE) -> Queue:
    """Return an empty queue; `fill` makes it ready."""
    ints = lambda *shape: np.zeros(shape, dtype=np.int32)  # noqa: E731
    longs = lambda *shape: np.zeros(shape, dtype=np.int64)  # noqa: E731
    return Queue(
        partner=ints(n_nodes, cache),
        key=longs(n_nodes, cache),
        used=ints(n_nodes),
        bound_key=longs(n_nodes),
        bound_partner=ints(n_nodes),
        rest=ints(n_nodes),
        best=ints(n_nodes),
        heap=ints(n_nodes),
        heap_key=longs(n_nodes),
        meta=np.array([0, NO_DEGREE, by_degree], dtype=np.int64),
        gains=ints(n_nodes),
        touched=ints(n_nodes),
    )


@njit(cache=True)
def pair_key(q, degree, gain, u, w):
    """Return the key of a pair: larger is better, the smaller u and then v settles a tie."""
    larger = max(degree[u], degree[w]) if q.meta[2] else 0
    return (np.int64(gain) << 32) | np.int64(NO_DEGREE - larger)


@njit(cache=True)
def gain_of(key):
    """Return the gain in a key."""
    return key >> 32


@njit(cache=True)
def better(key_a, w_a, key_b, w_b):
    """Tell whether pair a comes before pair b of the same row."""
    return key_a > key_b or (key_a == key_b and w_a < w_b)


@njit(cache=True)
def count_row(c, u, count, touched):
    """Count the gain of each partner w > u into `count`; return how many were `touched`."""
    n_touched = 0
    for slot in range(c.indptr[u], c.indptr[u + 1]):
        topic = c.topics[slot]
        if c.open_count[topic] < 2:
            continue
        own = c.slot_label[slot]
        for position in range(c.position_at[slot] + 1, c.topic_ptr[topic + 1]):
            if c.label[position] != own:
                w = c.nodes[position]
                if count[w] == 0:
                    touched[n_touched] = w
                    n_touched += 1
                count[w] += 1
    return n_touched


@njit(cache=True)
def keep_best(q, u, first, used, room, key, w):
    """Put a pair among the best `room` of row u from place `first` on.

    Return (used, key, partner), the latter of the pair that found no room: the worst so far, the
    new one, or (0, 0). The worst of a full part stands first in it.
    """
    if used < room:
        q.key[u, first + used], q.partner[u, first + used] = key, w
        used += 1
        key, w = np.int64(0), np.int32(0)
    elif room > 0 and better(key, w, q.key[u, first], q.partner[u, first]):
        out_key, out_partner = q.key[u, first], q.partner[u, first]
        q.key[u, first], q.partner[u, first] = key, w
        key, w = out_key, out_partner
    else:
        return used, key, w
    if used == room:
        worst = first
        for k in range(first + 1, first + room):
            if better(q.key[u, worst], q.partner[u, worst], q.key[u, k], q.partner[u, k]):
                worst = k
        q.key[u, first], q.key[u, worst] = q.key[u, worst], q.key[u, first]
        q.partner[u, first], q.partner[u, worst] = q.partner[u, worst], q.partner[u, first]
    return used, key, w


@njit(cache=True)
def scan(c, q, degree, u):
    """Fill the row of u anew: its cache, bound and rest.

    Under a limit a quarter of the cache goes to the best pairs with a full partner: when the
    limit rises they are known already, and the row need not be scanned for them.
    """
    cap, cache = q.meta[1], q.partner.shape[1]
    full_room = 0 if cap == NO_DEGREE else cache // 4
    room = cache - full_room
    n_touched = count_row(c, u, q.gains, q.touched)
    used, full_used = 0, 0
    bound_key, bound_partner, rest = np.int64(0), np.int32(0), np.int32(0)
    for i in range(n_touched):
        w = q.touched[i]
        key = pair_key(q, degree, q.gains[w], u, w)
        q.gains[w] = 0
        if degree[w] >= cap:
            full_used, key, w = keep_best(q, u, room, full_used, full_room, key, w)
            rest = max(rest, np.int32(gain_of(key)))
        else:
            used, key, w = keep_best(q, u, 0, used, room, key, w)
            if better(key, w, bound_key, bound_partner):
                bound_key, bound_partner = key, w
    for k in range(full_used):
        q.key[u, used + k], q.partner[u, used + k] = q.key[u, room + k], q.partner[u, room + k]
    q.used[u] = used + full_used
    q.bound_key[u], q.bound_partner[u], q.rest[u] = bound_key, bound_partner, rest


@njit(cache=True)
def drop(q, u, place):
    """Take a partner out of a row's cache."""
    q.used[u] -= 1
    last = q.used[u]
    q.key[u, place], q.partner[u, place] = q.key[u, last], q.partner[u, last]


@njit(cache=True)
def choose_best(q, degree, u):
    """Set the row's best and return its key, 0 when nothing of it takes part."""
    cap = q.meta[1]
    if degree[u] >= cap:
        return np.int64(0)
    best_key, best_partner, best = q.bound_key[u], q.bound_partner[u], BOUND
    for place in range(q.used[u]):
        w, key = q.partner[u, place], q.key[u, place]
        if degree[w] < cap and better(key, w, best_key, best_partner):
            best_key, best_partner, best = key, w, place
    q.best[u] = best
    return best_key


@njit(cache=True)
def sift_down(q, at):
    """Move a row down the heap to where it belongs."""
    size = q.meta[0]
    row, key = q.heap[at], q.heap_key[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        right = child + 1
        if right < size and better(
            q.heap_key[right], q.heap[right], q.heap_key[child], q.heap[child]
        ):
            child = right
        if not better(q.heap_key[child], q.heap[child], key, row):
            break
        q.heap[at], q.heap_key[at] = q.heap[child], q.heap_key[child]
        at = child
    q.heap[at], q.heap_key[at] = row, key


@njit(cache=True)
def settle_top(q, key):
    """Give the row on top its new key, or take it off when the key is 0."""
    if key > 0:
        q.heap_key[0] = key
    else:
        q.meta[0] -= 1
        q.heap[0], q.heap_key[0] = q.heap[q.meta[0]], q.heap_key[q.meta[0]]
    if q.meta[0] > 0:
        sift_down(q, 0)


@njit(cache=True)
def set_cap(q, degree, cap):
    """Begin a phase under a degree limit: every row with something left takes part again."""
    raised = cap > q.meta[1]
    q.meta[1] = cap
    size = 0
    for u in range(len(degree)):
        if raised and q.rest[u] > 0:
            # Pairs left out may take part now: all that is known of them is their gain.
            key = pair_key(q, degree, q.rest[u], u, u)
            if better(key, u, q.bound_key[u], q.bound_partner[u]):
                q.bound_key[u], q.bound_partner[u] = key, u
            q.rest[u] = 0
        key = choose_best(q, degree, u)
        if key > 0:
            q.heap[size], q.heap_key[size] = u, key
            size += 1
    q.meta[0] = size
    for at in range(size // 2 - 1, -1, -1):
        sift_down(q, at)


@njit(cache=True)
def scan_all(c, q, degree):
    """Scan every row for the first time."""
    for u in range(len(degree)):
        scan(c, q, degree, u)


@njit(cache=True)
def find_best(c, q, degree):
    """Bring the best pair to the top of the heap; return its gain, 0 when there is none."""
    while q.meta[0] > 0:
        u = q.heap[0]
        best = q.best[u]
        if degree[u] >= q.meta[1]:
            settle_top(q, np.int64(0))
        elif best == BOUND:
            scan(c, q, degree, u)
            settle_top(q, choose_best(q, degree, u))
        elif degree[q.partner[u, best]] >= q.meta[1]:
            settle_top(q, choose_best(q, degree, u))
        else:
            w = q.partner[u, best]
            gain = edge_gain(c, u, w)
            key = pair_key(q, degree, gain, u, w)
            if key == q.key[u, best]:
                return gain
            if gain == 0:
                drop(q, u, best)
            else:
                q.key[u, best] = key
            settle_top(q, choose_best(q, degree, u))
    return 0


@njit(cache=True)
def add(c, q, degree, edges, gains, n_edges):
    """Add the pair on top of the heap as the next edge."""
    u = q.heap[0]
    w = q.partner[u, q.best[u]]
    edges[n_edges, 0], edges[n_edges, 1] = u, w
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
        top = max(top, degree[edges[n_edges, 0]], degree[edges[n_edges, 1]])
        n_edges += 1
    return n_edges
