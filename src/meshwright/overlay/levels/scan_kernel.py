"""Scans of rows: the gains of all pairs of a node, of which the best few are kept.

A row holds the pairs of a node with the nodes that rank behind it. Its scan walks over the open
topics of the node and counts, for each partner in another component, one. A pair that gains two or
more has a common topic besides the longest of the row, so the longest is left out, and counted
afterwards for the partners found in the others. A topic that a large share of all nodes wants then
costs them a look-up, not a walk.

Of equal gains the partners of lower degree are kept, then those that rank first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from meshwright.kernels.components import new_counters, next_slot

LOWEST = 2  # pairs that gain less are left to the last level
LOOK_UP = 16  # asking a partner for a topic, in positions walked over
WORTH = 200  # positions: a partner more is noted for as many that a scan walks over
MOST_ROOM = 2  # partners for each topic of the node
FULL_SHARE = 4  # under a degree limit a quarter of the room is for partners that are full
NO_CAP = 2**31 - 1

Ints = npt.NDArray[np.int32]
Unsigned = npt.NDArray[np.uint32]
Longs = npt.NDArray[np.int64]


class Interests(NamedTuple):
    """Who wants what, by node and by topic. Nodes are ranked; nothing here ever changes."""

    indptr: Longs  # node-major: the slots of node u are indptr[u] .. indptr[u + 1]
    topics: Unsigned  # the topic of each slot, rising within a node
    position_at: Ints  # slot -> position
    topic_ptr: Longs  # topic-major: the positions of topic t are topic_ptr[t] .. topic_ptr[t + 1]
    nodes: Unsigned  # the node of each position, rising within a topic


class Linked(NamedTuple):
    """What the edges so far have made of the topics and nodes: all that a scan asks for."""

    label: Ints  # by position: the component
    is_open: npt.NDArray[np.bool_]  # by topic: whether it has two components or more
    degree: Ints  # by node


class Found(NamedTuple):
    """What scans found, row after row: partners that take part first, then full ones."""

    row: Longs  # by row: where its room begins, and at the end where the last one's ends
    partner: Ints
    gain: Ints
    used: Ints  # by row: how many partners
    bound: Ints  # by row: the largest gain among the pairs not kept that take part
    rest: Ints  # by row: the same of those whose partner is full


class Counts(NamedTuple):
    """What a scan counts in; one for each thread."""

    gains: npt.NDArray[Any]  # by node, of 16 or 32 bits
    touched: Unsigned  # by node, and one more


def new_found(interests: Interests, rows: Ints, room: int) -> Found:
    """Return room for what scans of some rows find."""
    row = rooms(interests, rows, room)
    ints = lambda size: np.zeros(size, dtype=np.int32)  # noqa: E731
    n = len(rows)
    return Found(row, ints(row[-1]), ints(row[-1]), ints(n), ints(n), ints(n))


def rooms(interests: Interests, rows: Ints, room: int) -> Longs:
    """Return where the room of each row begins, and where that of the last one ends.

    What a row knows is asked for again and again, and a scan is worth as many questions as it walks
    over positions. A node that wants a single topic has no pair that gains two.
    """
    sizes = np.diff(interests.indptr)[rows]
    more = np.minimum(positions_behind(interests, rows) // WORTH, MOST_ROOM * sizes)
    room_of = np.where(sizes < LOWEST, 0, np.maximum(more, room))
    return np.concatenate(([0], np.cumsum(room_of)))


def new_counts(interests: Interests) -> Counts:
    """Return what a scan counts in."""
    sizes = np.diff(interests.indptr)
    gains = new_counters(len(sizes), int(sizes.max(initial=0)))
    return Counts(gains, np.zeros(len(sizes) + 1, np.uint32))


@njit(cache=True, nogil=True)
def longest_slot(i, linked, u):
    """Return the slot of u's open topic with the most partners behind u, -1 without one."""
    longest, most = np.int64(-1), np.int64(-1)
    for slot in range(i.indptr[u], i.indptr[u + 1]):
        behind = i.topic_ptr[i.topics[slot] + 1] - i.position_at[slot]
        if linked.is_open[i.topics[slot]] and behind > most:
            longest, most = slot, behind
    return longest


@njit(cache=True, nogil=True)
def row_costs(i, linked, rows):
    """Return how many positions the scan of each row walks over, and one more."""
    costs = np.ones(len(rows), np.int64)
    for k in range(len(rows)):
        left_out = longest_slot(i, linked, rows[k])
        for slot in range(i.indptr[rows[k]], i.indptr[rows[k] + 1]):
            topic = i.topics[slot]
            if slot != left_out and linked.is_open[topic]:
                costs[k] += i.topic_ptr[topic + 1] - i.position_at[slot] - 1
    return costs


@njit(cache=True, nogil=True)
def positions_behind(i, rows):
    """Return how many positions are behind each row's node in all of its topics."""
    behind = np.zeros(len(rows), np.int64)
    for k in range(len(rows)):
        for slot in range(i.indptr[rows[k]], i.indptr[rows[k] + 1]):
            behind[k] += i.topic_ptr[i.topics[slot] + 1] - i.position_at[slot] - 1
    return behind


@njit(cache=True, nogil=True)
def walk_costs(i):
    """Return how many subscribers all topics of each node have, and one more."""
    costs = np.ones(len(i.indptr) - 1, np.int64)
    for u in range(len(costs)):
        for topic in i.topics[i.indptr[u] : i.indptr[u + 1]]:
            costs[u] += i.topic_ptr[topic + 1] - i.topic_ptr[topic]
    return costs


@njit(cache=True, nogil=True)
def count_row(i, linked, u, left_out, counts):
    """Count the gain of each partner behind u but for one slot, and list them; return how many."""
    indptr, topics, position_at, topic_ptr = i.indptr, i.topics, i.position_at, i.topic_ptr
    nodes, label, is_open = i.nodes, linked.label, linked.is_open
    gains, touched, n_touched = counts.gains, counts.touched, 0
    for slot in range(indptr[u], indptr[u + 1]):
        topic = topics[slot]
        if slot == left_out or not is_open[topic]:
            continue
        position = position_at[slot]
        own, first, end = label[position], position + 1, topic_ptr[topic + 1]
        partners, labels = nodes[first:end], label[first:end]
        for k in range(len(partners)):
            if labels[k] != own:
                w = partners[k]
                touched[n_touched] = w
                n_touched += gains[w] == 0
                gains[w] += 1
    return n_touched


@njit(cache=True, nogil=True)
def count_left_out(i, linked, left_out, counts, n_touched):
    """Count the topic left out, for the partners that have a gain without it."""
    topics, position_at, label, gains = i.topics, i.position_at, linked.label, counts.gains
    topic, own = topics[left_out], label[position_at[left_out]]
    first, end = position_at[left_out] + 1, i.topic_ptr[topic + 1]
    if end - first < LOOK_UP * n_touched:
        partners, labels = i.nodes[first:end], label[first:end]
        for k in range(len(partners)):
            gains[partners[k]] += (labels[k] != own) & (gains[partners[k]] > 0)
        return
    for k in range(n_touched):
        w = counts.touched[k]
        end = i.indptr[w + 1]
        slot = next_slot(topics, i.indptr[w], end, topic)
        if slot < end and topics[slot] == topic:
            gains[w] += label[position_at[slot]] != own


@njit(cache=True, nogil=True)
def scan_rows(i, linked, cap, rows, first, last, counts, found):
    """Scan the rows from `first` to `last` of a list; what is found goes to the same places."""
    largest = 0
    for row in range(first, last):
        largest = max(largest, found.row[row + 1] - found.row[row])
    keys, partners = np.empty(largest, np.int64), np.empty(largest, np.int32)
    gains, degree = counts.gains, linked.degree
    for row in range(first, last):
        u, begin = rows[row], found.row[row]
        room = found.row[row + 1] - begin
        full_room = room // FULL_SHARE if cap < NO_CAP else 0
        key, partner = keys[: room - full_room], partners[: room - full_room]
        full_key, full = keys[room - full_room : room], partners[room - full_room : room]
        left_out = longest_slot(i, linked, u)
        n_touched = count_row(i, linked, u, left_out, counts)
        if n_touched > 0:
            count_left_out(i, linked, left_out, counts, n_touched)
        used, n_full, bound, rest = 0, 0, np.int32(0), np.int32(0)
        for k in range(n_touched):
            w = counts.touched[k]
            gain = gains[w]
            gains[w] = 0
            if gain < LOWEST:
                continue
            # Larger is better: the gain, then the lower degree.
            its = (np.int64(gain) << 32) + (NO_CAP - degree[w])
            if degree[w] >= cap:
                n_full, lost = keep(full_key, full, n_full, its, w)
                rest = max(rest, np.int32(lost >> 32))
            else:
                used, lost = keep(key, partner, used, its, w)
                bound = max(bound, np.int32(lost >> 32))
        for k in range(used):
            found.partner[begin + k], found.gain[begin + k] = partner[k], key[k] >> 32
        for k in range(n_full):
            found.partner[begin + used + k] = full[k]
            found.gain[begin + used + k] = full_key[k] >> 32
        found.used[row], found.bound[row], found.rest[row] = used + n_full, bound, rest


@njit(cache=True, nogil=True)
def keep(keys, partners, used, key, w):
    """Put a partner into a heap with the worst on top; return its size and the key not kept."""
    if used < len(keys):
        at = used
        while at > 0 and worse(key, w, keys[(at - 1) // 2], partners[(at - 1) // 2]):
            above = (at - 1) // 2
            keys[at], partners[at] = keys[above], partners[above]
            at = above
        keys[at], partners[at] = key, w
        return used + 1, np.int64(0)
    if used == 0 or worse(key, w, keys[0], partners[0]):
        return used, key
    lost, at = keys[0], 0
    while True:
        child = 2 * at + 1
        if child >= used:
            break
        right = child + 1
        if right < used and worse(keys[right], partners[right], keys[child], partners[child]):
            child = right
        if not worse(keys[child], partners[child], key, w):
            break
        keys[at], partners[at] = keys[child], partners[child]
        at = child
    keys[at], partners[at] = key, w
    return used, lost


@njit(cache=True, nogil=True)
def worse(key_a, w_a, key_b, w_b):
    """Tell whether partner b is kept before partner a."""
    return key_a < key_b or (key_a == key_b and w_a > w_b)
