"""Topic-connected components: for each topic, which of its nodes are joined so far.

A subscription has two places: its slot in the node-major arrays (a node's topics in order) and
its position in the topic-major ones (a topic's nodes in order). The label of its component is
the position of one member and is kept at both, so that a scan over a topic and a comparison of
two nodes both read along memory. The smaller component takes the label of the larger, so a
subscription is relabelled at most log2 |V(t)| times.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from meshwright.kernels.compile import kernel, maker
from meshwright.kernels.threads import in_parts

Ints = npt.NDArray[np.int32]
Unsigned = npt.NDArray[np.uint32]  # an index that cannot be negative saves the check for it
Longs = npt.NDArray[np.int64]

BLOCK = 1 << 22  # positions that are filled together: they stay in the processor's cache


class Components(NamedTuple):
    """The arrays of all components. Everything from `slot_label` on changes as edges are added."""

    indptr: Longs  # node-major: the slots of node u are indptr[u] .. row_end[u]
    row_end: Longs  # indptr[u + 1] at first; less when slots of connected topics are dropped
    topics: Unsigned  # the topic of each slot
    topic_ptr: Longs  # topic-major: the positions of topic t are topic_ptr[t] .. topic_ptr[t + 1]
    nodes: Unsigned  # the node of each position
    slot_at: Ints  # position -> slot
    position_at: Ints  # slot -> position
    slot_label: Ints
    label: Ints  # by position
    follower: Ints  # by position: the next member of its component, in a circle
    size: Ints  # by label: the members
    open_count: Ints  # by topic: its components


def new_components(indptr: Longs, topics: Ints, n_topics: int) -> Components:
    """Return the components of an overlay without edges: one per subscription."""
    counts = count_subscribers(topics, n_topics)
    topic_ptr = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
    slot_at = np.empty(len(topics), dtype=np.int32)
    position_at = np.empty(len(topics), dtype=np.int32)
    nodes = np.empty(len(topics), dtype=np.uint32)
    place = topic_ptr[:-1].copy()
    n_blocks = -(-len(topics) // BLOCK) or 1
    ends = np.searchsorted(topic_ptr, np.linspace(0, len(topics), n_blocks + 1), side="right") - 1

    def put(first: int, last: int) -> None:
        for block in range(first, last):
            part = ends[block], ends[block + 1]
            _put_in_topics(indptr, topics, place, nodes, slot_at, position_at, *part)

    in_parts(put, n_blocks, smallest=1)
    return Components(
        indptr=indptr,
        row_end=indptr[1:].copy(),
        topics=topics.astype(np.uint32),
        topic_ptr=topic_ptr,
        nodes=nodes,
        slot_at=slot_at,
        position_at=position_at,
        slot_label=position_at.copy(),
        label=np.arange(len(topics), dtype=np.int32),
        follower=np.arange(len(topics), dtype=np.int32),
        size=np.ones(len(topics), dtype=np.int32),
        open_count=counts,
    )


def count_subscribers(topics: Ints, n_topics: int) -> Ints:
    """Return how many slots each topic has."""
    counts = np.zeros(n_topics, dtype=np.int32)
    _count(topics, counts)
    return counts


def new_counters(size: int, most: int) -> npt.NDArray[Any]:
    """Return zeros that can count up to `most`: small numbers stay in the processor's cache."""
    return np.zeros(size, dtype=np.uint16 if most < 2**16 else np.int32)


@kernel
def copy_rows(indptr, topics, order, out):
    """Copy the rows of nodes, in an order."""
    to = 0
    for k in range(len(order)):
        for slot in range(indptr[order[k]], indptr[order[k] + 1]):
            out[to] = topics[slot]
            to += 1


@kernel
def _count(topics, counts):
    """Count each topic."""
    for slot in range(len(topics)):
        counts[topics[slot]] += 1


@kernel
def _put_in_topics(indptr, topics, place, nodes, slot_at, position_at, first, last):
    """Give each slot of the topics from `first` to `last` its position, in the order of nodes.

    `place` begins at each topic's first.
    """
    for u in range(len(indptr) - 1):
        for slot in range(indptr[u], indptr[u + 1]):
            topic = topics[slot]
            if first <= topic < last:
                position = place[topic]
                place[topic] += 1
                nodes[position], slot_at[position], position_at[slot] = u, slot, position


@kernel
def lay_out(c, own, stamp, u):
    """Write the labels of u by topic into `own`, marked by a stamp never used before."""
    topics, labels = c.topics[c.indptr[u] : c.row_end[u]], c.slot_label[c.indptr[u] : c.row_end[u]]
    mark = np.int64(stamp) << 32
    for i in range(len(topics)):
        own[topics[i]] = mark | np.int64(labels[i])


@kernel
def gain_with(c, own, stamp, v):
    """Return how many topics have components that an edge to v would join. Reads only.

    The edge is that between v and the node laid out in `own`.
    """
    topics, labels = c.topics[c.indptr[v] : c.row_end[v]], c.slot_label[c.indptr[v] : c.row_end[v]]
    mark = np.int64(stamp) << 32
    gain = 0
    for i in range(len(topics)):
        # The difference is 0 for one component, and 2^32 or more where the other node has none.
        apart = own[topics[i]] ^ (mark | np.int64(labels[i]))
        gain += (apart > 0) & (apart <= 0xFFFFFFFF)
    return gain


@kernel
def join_with(c, own, stamp, v):
    """Add the edge between v and the node laid out in `own`, which is kept up to date.

    Return the gain.
    """
    topics, slot_label = c.topics, c.slot_label
    mark = np.int64(stamp) << 32
    gain = 0
    for slot in range(c.indptr[v], c.row_end[v]):
        topic = topics[slot]
        apart = own[topic] ^ (mark | np.int64(slot_label[slot]))
        if 0 < apart <= 0xFFFFFFFF:
            join_two(c, topic, np.int32(own[topic] & 0xFFFFFFFF), slot_label[slot])
            own[topic] = mark | np.int64(slot_label[slot])
            gain += 1
    return gain


@kernel
def next_slot(topics, low, high, topic):
    """Return the first slot from `low` to `high` whose topic is not before the given one."""
    while low < high:
        middle = (low + high) // 2
        if topics[middle] < topic:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def join(c, u, v):
    """Add the edge (u, v): join the components of each common topic. Return the gain."""
    topics, slot_label = c.topics, c.slot_label
    i, end_i = c.indptr[u], c.row_end[u]
    j, end_j = c.indptr[v], c.row_end[v]
    gain = 0
    while i < end_i and j < end_j:
        a, b = topics[i], topics[j]
        if a == b and slot_label[i] != slot_label[j]:
            join_two(c, a, slot_label[i], slot_label[j])
            gain += 1
        i += a <= b
        j += b <= a
    return gain


@kernel
def join_two(c, topic, one, other):
    """Join two components of a topic, given by their labels."""
    slot_label, label, follower, size, slot_at = (
        c.slot_label, c.label, c.follower, c.size, c.slot_at
    )  # fmt: skip
    # The members of the smaller component take the label of the larger.
    if size[one] < size[other]:
        one, other = other, one
    size[one] += size[other]
    position = other
    while True:
        label[position] = one
        slot_label[slot_at[position]] = one
        position = follower[position]
        if position == other:
            break
    # Two circles become one by exchanging their followers.
    follower[one], follower[other] = follower[other], follower[one]
    c.open_count[topic] -= 1


@kernel
def drop_connected(c, u):
    """Take u's connected topics out of its row: nothing can be gained there any more."""
    topics, slot_label, open_count = c.topics, c.slot_label, c.open_count
    position_at, slot_at = c.position_at, c.slot_at
    kept = c.indptr[u]
    for slot in range(c.indptr[u], c.row_end[u]):
        topic = topics[slot]
        if open_count[topic] < 2:
            continue
        if kept != slot:
            topics[kept] = topic
            slot_label[kept] = slot_label[slot]
            position_at[kept] = position_at[slot]
            slot_at[position_at[slot]] = kept
        kept += 1
    c.row_end[u] = kept


@kernel
def drop_all_connected(c, first, last):
    """The same for the nodes from `first` to `last`."""
    for u in range(first, last):
        drop_connected(c, u)


@maker
def join_all(c, edges):
    """Add the edges in order; return the gain of each."""
    gains = np.empty(len(edges), np.int32)
    for i in range(len(edges)):
        gains[i] = join(c, edges[i, 0], edges[i, 1])
    return gains


@maker
def largest_components(c):
    """Return the members of each topic's largest component. Reads only."""
    n_topics = len(c.topic_ptr) - 1
    largest = np.zeros(n_topics, np.int32)
    for topic in range(n_topics):
        for position in range(c.topic_ptr[topic], c.topic_ptr[topic + 1]):
            largest[topic] = max(largest[topic], c.size[c.label[position]])
    return largest
