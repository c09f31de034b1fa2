"""Topic-connected components: for each topic, which of its nodes are joined so far.

A subscription has two places: its slot in the node-major arrays (a node's topics in order) and
its position in the topic-major ones (a topic's nodes in order). The label of its component is
the position of one member and is kept at both, so that a scan over a topic and a comparison of
two nodes both read along memory. The smaller component takes the label of the larger, so a
subscription is relabelled at most log2 |V(t)| times.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from meshwright.runtime.arrays import Ints, Longs, Unsigned
from meshwright.runtime.compile import kernel, maker
from meshwright.runtime.threads import in_parts

BLOCK = 1 << 22  # positions that are filled together: they stay in the processor's cache


class Components(NamedTuple):
    """The components of all topics. Arrays from `slot_label` on change as edges are added.

    `topics`, `position_at`, `slot_at` and `row_end` change when connected topics are dropped.
    """

    indptr: Longs  # int64[n_nodes + 1], the slots of node u are indptr[u] .. row_end[u]
    row_end: Longs  # int64[n_nodes], indptr[u + 1] at first, less when slots were dropped
    topics: Unsigned  # uint32[n_subscriptions], the topic of each slot, rising within a node
    topic_ptr: Longs  # int64[n_topics + 1], topic t has the positions topic_ptr[t] .. [t + 1]
    nodes: Unsigned  # uint32[n_subscriptions], the node of each position, rising within a topic
    slot_at: Ints  # int32[n_subscriptions], position -> slot
    position_at: Ints  # int32[n_subscriptions], slot -> position
    slot_label: Ints  # int32[n_subscriptions], the label of each slot
    label: Ints  # int32[n_subscriptions], the label of each position
    follower: Ints  # int32[n_subscriptions], the next position in the same component, in a circle
    size: Ints  # int32[n_subscriptions], the members of the component with this label
    open_count: Ints  # int32[n_topics], the components of each topic; open if 2 or more


LOADED_NODE, STAMP = 0, 1  # places in TopicLabels.state


class TopicLabels(NamedTuple):
    """The labels of one node by topic: other nodes are compared with it along their own topics."""

    label: Longs  # int64[n_topics], stamp << 32 | label; an entry with an older stamp is void
    state: Longs  # int64[2], [LOADED_NODE (-1 for none), STAMP]


def new_topic_labels(n_topics: int) -> TopicLabels:
    """Return room for the labels of one node; none is loaded."""
    return TopicLabels(np.zeros(n_topics, dtype=np.int64), np.array([-1, 0], dtype=np.int64))


def new_components(indptr: Longs, topics: Ints, n_topics: int) -> Components:
    """Return the components of an overlay without edges: one per subscription."""
    n, counts = len(topics), count_subscribers(topics, n_topics)
    position_at = np.empty(n, dtype=np.int32)
    c = Components(
        indptr=indptr,
        row_end=indptr[1:].copy(),
        topics=topics.astype(np.uint32),
        topic_ptr=np.concatenate(([0], np.cumsum(counts, dtype=np.int64))),
        nodes=np.empty(n, dtype=np.uint32),
        slot_at=np.empty(n, dtype=np.int32),
        position_at=position_at,
        slot_label=position_at,
        label=np.arange(n, dtype=np.int32),
        follower=np.arange(n, dtype=np.int32),
        size=np.ones(n, dtype=np.int32),
        open_count=counts,
    )
    next_position = c.topic_ptr[:-1].copy()
    n_blocks = -(-n // BLOCK) or 1
    ends = np.searchsorted(c.topic_ptr, np.linspace(0, n, n_blocks + 1), side="right") - 1

    def place(first: int, last: int) -> None:
        for block in range(first, last):
            _place_slots(c, next_position, ends[block], ends[block + 1])

    in_parts(place, n_blocks, smallest=1)
    return c._replace(slot_label=position_at.copy())  # a component is labelled by its position


def count_subscribers(topics: Ints, n_topics: int) -> Ints:
    """Return the number of subscribers of each topic, int32[n_topics]."""
    return np.bincount(topics, minlength=n_topics).astype(np.int32)


def new_counters(size: int, most: int) -> npt.NDArray[Any]:
    """Return zeros that can count up to `most`: small numbers stay in the processor's cache."""
    return np.zeros(size, dtype=np.uint16 if most < 2**16 else np.int32)


@kernel
def copy_rows(indptr, topics, order, out):
    """Copy the topics of the nodes, in the given order of nodes, into `out`."""
    to = 0
    for k in range(len(order)):
        for slot in range(indptr[order[k]], indptr[order[k] + 1]):
            out[to] = topics[slot]
            to += 1


@kernel
def _place_slots(c, next_position, first, last):
    """Give each slot of the topics from `first` to `last` its position, in the order of nodes.

    Writes `nodes`, `slot_at`, `position_at`, and the next free position of each topic.
    """
    indptr, topics = c.indptr, c.topics
    for u in range(len(indptr) - 1):
        for slot in range(indptr[u], indptr[u + 1]):
            topic = topics[slot]
            if first <= topic < last:
                position = next_position[topic]
                next_position[topic] += 1
                c.nodes[position], c.slot_at[position], c.position_at[slot] = u, slot, position


@kernel
def load_labels(c, loaded, u):
    """Load the labels of u by topic, unless they are loaded. Writes `loaded`."""
    if loaded.state[LOADED_NODE] == u:
        return
    loaded.state[LOADED_NODE] = u
    loaded.state[STAMP] += 1
    topics, labels = c.topics[c.indptr[u] : c.row_end[u]], c.slot_label[c.indptr[u] : c.row_end[u]]
    label, mark = loaded.label, loaded.state[STAMP] << 32
    for i in range(len(topics)):
        label[topics[i]] = mark | np.int64(labels[i])


@kernel
def forget_labels(loaded):
    """Mark the loaded labels as out of date: edges of other nodes were added."""
    loaded.state[LOADED_NODE] = -1


@kernel
def gain_with(c, loaded, v):
    """Return the gain of the edge between v and the loaded node. Reads only."""
    topics, labels = c.topics[c.indptr[v] : c.row_end[v]], c.slot_label[c.indptr[v] : c.row_end[v]]
    label, mark = loaded.label, loaded.state[STAMP] << 32
    gain = 0
    for i in range(len(topics)):
        # 0 within one component; 2^32 or more if the loaded node does not want the topic.
        difference = label[topics[i]] ^ (mark | np.int64(labels[i]))
        gain += (difference > 0) & (difference <= 0xFFFFFFFF)
    return gain


@kernel
def join_with(c, loaded, v):
    """Add the edge between v and the loaded node, whose labels stay current. Return the gain."""
    topics, slot_label = c.topics, c.slot_label
    label, mark = loaded.label, loaded.state[STAMP] << 32
    gain = 0
    for slot in range(c.indptr[v], c.row_end[v]):
        topic = topics[slot]
        difference = label[topic] ^ (mark | np.int64(slot_label[slot]))
        if 0 < difference <= 0xFFFFFFFF:
            join_two(c, topic, np.int32(label[topic] & 0xFFFFFFFF), slot_label[slot])
            label[topic] = mark | np.int64(slot_label[slot])
            gain += 1
    return gain


@kernel
def next_slot(topics, low, high, topic):
    """Return the first slot from `low` to `high` whose topic is `topic` or a later one."""
    while low < high:
        middle = (low + high) // 2
        if topics[middle] < topic:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def join(c, u, v):
    """Add the edge (u, v): join the components of each common topic. Return the gain.

    Writes what `join_two` writes. The slots of both nodes are walked together, by rising topic.
    """
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
    """Join two different components of a topic, given by their labels.

    Writes label, slot_label, follower, size and open_count.
    """
    slot_label, label, slot_at = c.slot_label, c.label, c.slot_at
    follower, size = c.follower, c.size
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
    # Two circles become one when a member of each exchanges followers with the other.
    follower[one], follower[other] = follower[other], follower[one]
    c.open_count[topic] -= 1


@kernel
def drop_connected(c, u):
    """Drop the connected topics of u from its slots: nothing can be gained there any more."""
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
    """Drop the connected topics of the nodes from `first` to `last`."""
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
    """Return the size of each topic's largest component. Reads only."""
    n_topics = len(c.topic_ptr) - 1
    largest = np.zeros(n_topics, np.int32)
    for topic in range(n_topics):
        for position in range(c.topic_ptr[topic], c.topic_ptr[topic + 1]):
            largest[topic] = max(largest[topic], c.size[c.label[position]])
    return largest
