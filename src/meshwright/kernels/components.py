"""Topic-connected components: for each topic, which of its nodes are joined so far.

A subscription has two places: its slot in the node-major arrays (a node's topics in order) and
its position in the topic-major ones (a topic's nodes in order). The label of its component is
the position of one member and is kept at both, so that a scan over a topic and a comparison of
two nodes both read along memory. The smaller component takes the label of the larger, so a
subscription is relabelled at most log2 |V(t)| times.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


class Components(NamedTuple):
    """The arrays of all components. Everything from `slot_label` on changes as edges are added."""

    indptr: Longs  # node-major: the slots of node u are indptr[u] .. indptr[u + 1]
    topics: Ints  # the topic of each slot
    topic_ptr: Longs  # topic-major: the positions of topic t are topic_ptr[t] .. topic_ptr[t + 1]
    nodes: Ints  # the node of each position
    slot_at: Ints  # position -> slot
    position_at: Ints  # slot -> position
    slot_label: Ints
    label: Ints  # by position
    follower: Ints  # by position: the next member of its component, in a circle
    size: Ints  # by label: the members
    open_count: Ints  # by topic: its components


def new_components(indptr: Longs, topics: Ints, n_topics: int) -> Components:
    """Return the components of an overlay without edges: one per subscription."""
    slot_at = np.argsort(topics, kind="stable").astype(np.int32)
    position_at = np.empty_like(slot_at)
    position_at[slot_at] = np.arange(len(topics), dtype=np.int32)
    owner = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))
    counts = np.bincount(topics, minlength=n_topics)
    return Components(
        indptr=indptr,
        topics=topics,
        topic_ptr=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        nodes=owner[slot_at],
        slot_at=slot_at,
        position_at=position_at,
        slot_label=position_at.copy(),
        label=np.arange(len(topics), dtype=np.int32),
        follower=np.arange(len(topics), dtype=np.int32),
        size=np.ones(len(topics), dtype=np.int32),
        open_count=counts.astype(np.int32),
    )


@njit(cache=True)
def edge_gain(c, u, v):
    """Return how many topics have components that the edge (u, v) would join. Reads only."""
    i, end_i = c.indptr[u], c.indptr[u + 1]
    j, end_j = c.indptr[v], c.indptr[v + 1]
    gain = 0
    if (end_i - i) * 16 < end_j - j:
        return _gain_by_search(c, i, end_i, j, end_j)
    if (end_j - j) * 16 < end_i - i:
        return _gain_by_search(c, j, end_j, i, end_i)
    while i < end_i and j < end_j:
        a, b = c.topics[i], c.topics[j]
        if a == b:
            gain += c.slot_label[i] != c.slot_label[j]
        i += a <= b
        j += b <= a
    return gain


@njit(cache=True)
def _gain_by_search(c, i, end_i, j, end_j):
    """The same for a short list against a long one: look up each topic of the short."""
    gain = 0
    while i < end_i:
        topic = c.topics[i]
        low, high = j, end_j
        while low < high:
            middle = (low + high) // 2
            if c.topics[middle] < topic:
                low = middle + 1
            else:
                high = middle
        if low < end_j and c.topics[low] == topic:
            gain += c.slot_label[i] != c.slot_label[low]
        j = low
        i += 1
    return gain


@njit(cache=True)
def join(c, u, v):
    """Add the edge (u, v): join the components of each common topic. Return the gain."""
    i, end_i = c.indptr[u], c.indptr[u + 1]
    j, end_j = c.indptr[v], c.indptr[v + 1]
    gain = 0
    while i < end_i and j < end_j:
        a, b = c.topics[i], c.topics[j]
        if a == b and c.slot_label[i] != c.slot_label[j]:
            _merge(c, c.slot_label[i], c.slot_label[j])
            c.open_count[a] -= 1
            gain += 1
        i += a <= b
        j += b <= a
    return gain


@njit(cache=True)
def _merge(c, one, other):
    """Give the members of the smaller component the label of the larger."""
    if c.size[one] < c.size[other]:
        one, other = other, one
    c.size[one] += c.size[other]
    position = other
    while True:
        c.label[position] = one
        c.slot_label[c.slot_at[position]] = one
        position = c.follower[position]
        if position == other:
            break
    # Two circles become one by exchanging their followers.
    c.follower[one], c.follower[other] = c.follower[other], c.follower[one]


@njit(cache=True)
def join_all(c, edges):
    """Add the edges in order; return the gain of each."""
    gains = np.empty(len(edges), np.int32)
    for i in range(len(edges)):
        gains[i] = join(c, edges[i, 0], edges[i, 1])
    return gains


@njit(cache=True)
def largest_components(c):
    """Return the members of each topic's largest component. Reads only."""
    n_topics = len(c.topic_ptr) - 1
    largest = np.zeros(n_topics, np.int32)
    for topic in range(n_topics):
        for position in range(c.topic_ptr[topic], c.topic_ptr[topic + 1]):
            largest[topic] = max(largest[topic], c.size[c.label[position]])
    return largest
