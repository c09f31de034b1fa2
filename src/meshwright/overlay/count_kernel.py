"""The gains of all pairs of a row, counted by walking over the row's open topics."""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def row_cost(c, u):
    """Return how many positions a scan of row u looks at."""
    topics, topic_ptr, position_at = c.topics, c.topic_ptr, c.position_at
    cost = 0
    for slot in range(c.indptr[u], c.row_end[u]):
        cost += topic_ptr[topics[slot] + 1] - position_at[slot] - 1
    return cost


@njit(cache=True, nogil=True)
def count_dense(c, u, gains):
    """Count the gain of each partner that ranks behind u into `gains`."""
    topics, topic_ptr, position_at = c.topics, c.topic_ptr, c.position_at
    nodes, label, slot_label = c.nodes, c.label, c.slot_label
    for slot in range(c.indptr[u], c.row_end[u]):
        own = slot_label[slot]
        first, end = position_at[slot] + 1, topic_ptr[topics[slot] + 1]
        partners, labels = nodes[first:end], label[first:end]
        for i in range(len(partners)):
            gains[partners[i]] += labels[i] != own


@njit(cache=True, nogil=True)
def count_sparse(c, u, gains, touched):
    """The same, and list the partners of positive gain in `touched`; return how many."""
    topics, topic_ptr, position_at = c.topics, c.topic_ptr, c.position_at
    nodes, label, slot_label = c.nodes, c.label, c.slot_label
    n_touched = 0
    for slot in range(c.indptr[u], c.row_end[u]):
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
