"""The gains of all pairs of a row, counted by walking over the row's open topics.

A pair that gains two or more has a common topic besides the longest of the row. So where pairs of
gain 1 are not asked for, the longest topic is left out, which is often most of the way, and counted
afterwards for the partners found in the others.
"""

from __future__ import annotations

import numpy as np

from meshwright.kernels.compile import kernel
from meshwright.kernels.components import next_slot


@kernel
def row_cost(c, u, left_out):
    """Return how many positions a scan of row u looks at, but for the slot left out."""
    topics, topic_ptr, position_at = c.topics, c.topic_ptr, c.position_at
    cost = 0
    for slot in range(c.indptr[u], c.row_end[u]):
        if slot != left_out:
            cost += topic_ptr[topics[slot] + 1] - position_at[slot] - 1
    return cost


@kernel
def longest_slot(c, u):
    """Return the slot of u's topic with the most partners behind u, -1 when u wants none."""
    longest, most = -1, np.int64(-1)
    for slot in range(c.indptr[u], c.row_end[u]):
        behind = c.topic_ptr[c.topics[slot] + 1] - c.position_at[slot]
        if behind > most:
            longest, most = slot, behind
    return longest


@kernel
def count_dense(c, u, left_out, gains):
    """Count the gain of each partner that ranks behind u into `gains`."""
    topics, topic_ptr, position_at = c.topics, c.topic_ptr, c.position_at
    nodes, label, slot_label = c.nodes, c.label, c.slot_label
    for slot in range(c.indptr[u], c.row_end[u]):
        if slot == left_out:
            continue
        own = slot_label[slot]
        first, end = position_at[slot] + 1, topic_ptr[topics[slot] + 1]
        partners, labels = nodes[first:end], label[first:end]
        for i in range(len(partners)):
            gains[partners[i]] += labels[i] != own


@kernel
def count_sparse(c, u, left_out, gains, touched):
    """The same, and list the partners of positive gain in `touched`; return how many."""
    topics, topic_ptr, position_at = c.topics, c.topic_ptr, c.position_at
    nodes, label, slot_label = c.nodes, c.label, c.slot_label
    n_touched = 0
    for slot in range(c.indptr[u], c.row_end[u]):
        if slot == left_out:
            continue
        own = slot_label[slot]
        first, end = position_at[slot] + 1, topic_ptr[topics[slot] + 1]
        partners, labels = nodes[first:end], label[first:end]
        for i in range(len(partners)):
            if labels[i] != own:
                w = partners[i]
                touched[n_touched] = w
                n_touched += gains[w] == 0
                gains[w] += 1
    return n_touched


@kernel
def count_left_out(c, slot, gains):
    """Count the topic left out, for the partners that have a gain without it."""
    topic, own = c.topics[slot], c.slot_label[slot]
    first, end = c.position_at[slot] + 1, c.topic_ptr[topic + 1]
    partners, labels = c.nodes[first:end], c.label[first:end]
    for i in range(len(partners)):
        gains[partners[i]] += (labels[i] != own) & (gains[partners[i]] > 0)


@kernel
def look_up_left_out(c, slot, gains, touched, n_touched):
    """The same by asking each of these partners for the topic."""
    topics, topic, own = c.topics, c.topics[slot], c.slot_label[slot]
    for i in range(n_touched):
        w = touched[i]
        found = next_slot(topics, c.indptr[w], c.row_end[w], topic)
        if found < c.row_end[w] and topics[found] == topic:
            gains[w] += c.slot_label[found] != own
