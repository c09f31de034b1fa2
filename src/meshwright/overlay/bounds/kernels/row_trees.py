"""Minimum spanning trees of all topics under equal shares, without a table of all pairs.

A pair with k common topics gives each of them the share 1 / k, so a tree prefers pairs with many
common topics. The trees grow by Boruvka's rounds: each component of a topic but the largest picks
its best pair, found by a walk over the rows of its nodes, and components are joined along the
picks. Picks of equal weight may close a circle; the pair that would close it is left out.
"""

from typing import NamedTuple

import numpy as np

from meshwright.model.kernels.components import join_two
from meshwright.overlay.kernels.plan import count_bits
from meshwright.runtime.arrays import Ints
from meshwright.runtime.compile import kernel, maker

NO_PICK = -1
DENSE = 4  # counts of a row that reads a quarter as many positions as nodes are cleared as a whole


class Picks(NamedTuple):
    """The best pair of each slot in this round, and which components look for one."""

    common: Ints  # int32[n_slots], the common topics of the pair
    position: Ints  # int32[n_slots], the position of the partner, or NO_PICK
    largest: Ints  # int32[n_topics], the label of the largest component


@kernel
def pick_partners(c, picks, counts, first, last):
    """Pick the best partner in another component for the slots of the nodes first..last.

    Of equal ones the smallest node. Only for components that are not the largest of their topic.
    Writes `common` and `position`; `counts` int[n] is zeros before and after. Return the number
    of nodes that had to look.
    """
    looked = 0
    for u in range(first, last):
        if not begin_row(c, picks, u):
            continue
        looked += 1
        cost = np.int64(0)
        for slot in range(c.indptr[u], c.indptr[u + 1]):
            nodes = c.nodes[c.topic_ptr[c.topics[slot]] : c.topic_ptr[c.topics[slot] + 1]]
            cost += len(nodes)
            for i in range(len(nodes)):
                counts[nodes[i]] += 1
        pick_row(c, picks, counts, u)
        if cost * DENSE >= len(counts):
            counts[:] = 0
            continue
        for slot in range(c.indptr[u], c.indptr[u + 1]):
            nodes = c.nodes[c.topic_ptr[c.topics[slot]] : c.topic_ptr[c.topics[slot] + 1]]
            for i in range(len(nodes)):
                counts[nodes[i]] = 0
    return looked


@kernel
def pick_partners_by_words(c, picks, counts, words, first, last):
    """Pick as `pick_partners`, with common topics counted 64 at a time. Leaves `counts` as it is.

    `words` uint64[n, n_words] has a bit for each topic of each node.
    """
    for u in range(first, last):
        if begin_row(c, picks, u):
            for w in range(len(counts)):
                common = 0
                for k in range(words.shape[1]):
                    common += count_bits(words[u, k] & words[w, k])
                counts[w] = common
            pick_row(c, picks, counts, u)


@kernel
def write_words(c, words):
    """Set the bits of the topics of every node. Writes `words` uint64[n, n_words], zeros before."""
    for u in range(len(c.indptr) - 1):
        for slot in range(c.indptr[u], c.indptr[u + 1]):
            topic = c.topics[slot]
            words[u, topic >> 6] |= np.uint64(1) << np.uint64(topic & 63)


@kernel
def begin_row(c, picks, u):
    """Clear the picks of a node; return whether one of its slots looks for a partner."""
    is_due = False
    for slot in range(c.indptr[u], c.indptr[u + 1]):
        picks.position[slot] = NO_PICK
        is_due |= looks(c, picks, slot)
    return is_due


@kernel
def pick_row(c, picks, counts, u):
    """Pick partners for the slots of a node that look for one."""
    for slot in range(c.indptr[u], c.indptr[u + 1]):
        if looks(c, picks, slot):
            pick_partner(c, picks, counts, slot)


@maker
def pick_costs(c, picks):
    """Return how many positions each node reads to pick partners; 0: it does not look."""
    costs = np.zeros(len(c.indptr) - 1, np.int64)
    for u in range(len(costs)):
        is_due, cost = False, 0
        for slot in range(c.indptr[u], c.indptr[u + 1]):
            is_due |= looks(c, picks, slot)
            cost += c.topic_ptr[c.topics[slot] + 1] - c.topic_ptr[c.topics[slot]]
        if is_due:
            costs[u] = cost
    return costs


@kernel
def pick_partner(c, picks, counts, slot):
    """Pick the best partner for a slot. Writes `common` and `position`."""
    first, end = c.topic_ptr[c.topics[slot]], c.topic_ptr[c.topics[slot] + 1]
    nodes, labels, own = c.nodes[first:end], c.label[first:end], c.slot_label[slot]
    best, best_at = counts[0] * 0, NO_PICK
    for i in range(len(nodes)):
        common = counts[nodes[i]]
        if common > best and labels[i] != own:
            best, best_at = common, first + i
    picks.common[slot], picks.position[slot] = best, best_at


@kernel
def looks(c, picks, slot):
    """Return whether the component of a slot looks for a partner. Reads only."""
    topic = c.topics[slot]
    return c.open_count[topic] > 1 and c.slot_label[slot] != picks.largest[topic]


@maker
def join_picks(c, picks, histogram):
    """Join components along their best picks, topic by topic; return how many joins were made.

    Adds to `histogram` int64[most topics of a node + 1] the tree edges by common topics. Writes
    the components and `largest`.
    """
    joins = 0
    most = 0
    for topic in range(len(c.open_count)):
        most = max(most, c.topic_ptr[topic + 1] - c.topic_ptr[topic])
    best_slot = np.empty(most, np.int32)  # of each component of a topic, at its label
    for topic in range(len(c.open_count)):
        if c.open_count[topic] < 2:
            continue
        first, last = c.topic_ptr[topic], c.topic_ptr[topic + 1]
        best_slot[: last - first] = NO_PICK
        for at in range(first, last):
            slot = c.slot_at[at]
            if picks.position[slot] == NO_PICK or not looks(c, picks, slot):
                continue
            kept = best_slot[c.label[at] - first]
            if kept == NO_PICK or picks.common[slot] > picks.common[kept]:
                best_slot[c.label[at] - first] = slot
        for slot in best_slot[: last - first]:
            if slot == NO_PICK:
                continue
            one, other = c.slot_label[slot], c.label[picks.position[slot]]
            if one != other:
                join_two(c, topic, one, other)
                histogram[picks.common[slot]] += 1
                joins += 1
        picks.largest[topic] = largest_label(c, first, last)
    return joins


@kernel
def largest_label(c, first, last):
    """Return the label of the largest component among the positions first..last. Reads only."""
    best = c.label[first]
    for at in range(first, last):
        if c.size[c.label[at]] > c.size[best]:
            best = c.label[at]
    return best
