"""The gains of all pairs of a row, counted by walking over the open topics of its node.

Row u holds the pairs of node u with the nodes that rank behind it. Both orders scan rows with
these kernels.

A pair that gains two or more has a common topic besides the longest topic of the row. Where pairs
of gain 1 are not needed, the longest topic, often most of the work, is left out, and counted
afterwards for the partners found in the other topics.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from meshwright.model.kernels.components import Components, new_counters, next_slot
from meshwright.overlay.greedy.kernels.tuning import LOOK_UP_COST
from meshwright.runtime.arrays import Unsigned
from meshwright.runtime.compile import kernel


class Counters(NamedTuple):
    """The work arrays of a scan; one for each thread."""

    gains: npt.NDArray[Any]  # uint16 or int32[n_nodes], zeros between scans
    touched: Unsigned  # uint32[n_nodes + 1], partners that gain


def new_row_counters(c: Components) -> Counters:
    """Return the work arrays of a scan."""
    n_nodes, largest = len(c.row_end), int(np.diff(c.indptr).max(initial=0))
    return Counters(new_counters(n_nodes, largest), np.zeros(n_nodes + 1, np.uint32))


@kernel
def row_cost(c, u, left_out):
    """Return how many positions a scan of row u reads without the slot left out. Reads only."""
    cost = np.int64(0)
    for slot in range(c.indptr[u], c.row_end[u]):
        topic = c.topics[slot]
        if slot != left_out and c.open_count[topic] > 1:
            cost += c.topic_ptr[topic + 1] - c.position_at[slot] - 1
    return cost


@kernel
def longest_slot(c, u):
    """Return the slot of u's open topic with the most partners, -1 if there is none. Reads only."""
    longest, most = np.int64(-1), np.int64(-1)
    for slot in range(c.indptr[u], c.row_end[u]):
        topic = c.topics[slot]
        partners = c.topic_ptr[topic + 1] - c.position_at[slot]
        if partners > most and c.open_count[topic] > 1:
            longest, most = slot, partners
    return longest


@kernel
def count_dense(c, u, left_out, counters):
    """Count the gains of the pairs of row u without the slot left out. Writes `gains`."""
    nodes, label, gains = c.nodes, c.label, counters.gains
    for slot in range(c.indptr[u], c.row_end[u]):
        if slot == left_out:
            continue
        own, first = label[c.position_at[slot]], c.position_at[slot] + 1
        end = c.topic_ptr[c.topics[slot] + 1]
        partners, labels = nodes[first:end], label[first:end]
        for i in range(len(partners)):
            gains[partners[i]] += labels[i] != own


@kernel
def count_sparse(c, u, left_out, counters):
    """Count the same, list the partners that gain in `touched`, and return how many there are."""
    nodes, label, gains, touched = c.nodes, c.label, counters.gains, counters.touched
    n_touched = 0
    for slot in range(c.indptr[u], c.row_end[u]):
        topic = c.topics[slot]
        if slot == left_out or c.open_count[topic] < 2:
            continue
        own, first = label[c.position_at[slot]], c.position_at[slot] + 1
        end = c.topic_ptr[topic + 1]
        partners, labels = nodes[first:end], label[first:end]
        for i in range(len(partners)):
            if labels[i] != own:
                w = partners[i]
                touched[n_touched] = w
                n_touched += gains[w] == 0
                gains[w] += 1
    return n_touched


@kernel
def count_left_out(c, slot, counters, n_touched, dense):
    """Count the slot left out for the partners that gain without it, listed unless `dense`.

    Writes `gains`; return the cost.
    """
    topics, label, gains, touched = c.topics, c.label, counters.gains, counters.touched
    topic, own = topics[slot], label[c.position_at[slot]]
    first, end = c.position_at[slot] + 1, c.topic_ptr[topic + 1]
    if dense or end - first < LOOK_UP_COST * n_touched:
        partners, labels = c.nodes[first:end], label[first:end]
        for i in range(len(partners)):
            gains[partners[i]] += (labels[i] != own) & (gains[partners[i]] > 0)
        return np.int64(end - first)
    for i in range(n_touched):
        w = touched[i]
        found = next_slot(topics, c.indptr[w], c.row_end[w], topic)
        if found < c.row_end[w] and topics[found] == topic:
            gains[w] += label[c.position_at[found]] != own
    return np.int64(LOOK_UP_COST * n_touched)
