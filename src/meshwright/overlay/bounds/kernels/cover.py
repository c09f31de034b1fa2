"""Prices of needs: what links pay for the neighbours that each node needs in each topic."""

from typing import NamedTuple

import numpy as np

from meshwright.runtime.arrays import Ints, Longs
from meshwright.runtime.compile import maker

UNIT = 1 << 20  # a whole link


class Needs(NamedTuple):
    """How many neighbours each node needs in each of its topics."""

    indptr: Longs  # int64[n_nodes + 1], the slots of node u are indptr[u] .. indptr[u + 1]
    topics: Ints  # int32[n_slots]
    topic_ptr: Longs  # int64[n_topics + 1]
    nodes: Ints  # int32[n_slots], the members of each topic, rising
    slot_at: Ints  # int32[n_slots], the slot of each member
    need: Longs  # int64[n_slots]


@maker
def excess_of(needs, price, used):
    """Return by how much pairs are paid above a whole link, in units of `UNIT`, summed.

    `price` int64[n_slots] is what a node pays for each neighbour in a topic. Writes into `used` how
    many neighbours each slot has among the pairs that are paid more than a link.
    """
    n = len(needs.indptr) - 1
    paid = np.zeros(n, np.int64)
    touched = np.empty(n, np.int64)
    used[:] = 0
    excess = np.int64(0)
    for u in range(n):
        count = 0
        for slot in range(needs.indptr[u], needs.indptr[u + 1]):
            t = needs.topics[slot]
            for at in range(needs.topic_ptr[t + 1] - 1, needs.topic_ptr[t] - 1, -1):
                v = needs.nodes[at]
                if v <= u:
                    break
                both = price[slot] + price[needs.slot_at[at]]
                if both > 0:
                    if paid[v] == 0:
                        touched[count] = v
                        count += 1
                    paid[v] += both
        some = False
        for i in range(count):
            above = paid[touched[i]] - UNIT
            excess += max(above, 0)
            some |= above > 0
        if some:
            for slot in range(needs.indptr[u], needs.indptr[u + 1]):
                t = needs.topics[slot]
                for at in range(needs.topic_ptr[t + 1] - 1, needs.topic_ptr[t] - 1, -1):
                    v = needs.nodes[at]
                    if v <= u:
                        break
                    if paid[v] > UNIT:
                        used[slot] += 1
                        used[needs.slot_at[at]] += 1
        for i in range(count):
            paid[touched[i]] = 0
    return excess


@maker
def count_partners(needs):
    """Return (fewest int64[n_nodes], most int64[n_slots]) by the topics that pairs share.

    The fewest neighbours of each node whose common topics with it add up to all that it needs, and
    for each slot the most topics that its node shares with another member. Reads only.
    """
    n = len(needs.indptr) - 1
    common = np.zeros(n, np.int64)
    fewest = np.zeros(n, np.int64)
    most = np.zeros(len(needs.topics), np.int64)
    touched = np.empty(n, np.int64)
    for u in range(n):
        count, total = 0, np.int64(0)
        for slot in range(needs.indptr[u], needs.indptr[u + 1]):
            total += needs.need[slot]
            t = needs.topics[slot]
            for at in range(needs.topic_ptr[t], needs.topic_ptr[t + 1]):
                v = needs.nodes[at]
                if v != u:
                    if common[v] == 0:
                        touched[count] = v
                        count += 1
                    common[v] += 1
        for slot in range(needs.indptr[u], needs.indptr[u + 1]):
            t = needs.topics[slot]
            for at in range(needs.topic_ptr[t], needs.topic_ptr[t + 1]):
                v = needs.nodes[at]
                if v != u:
                    most[slot] = max(most[slot], common[v])
        shared = np.sort(common[touched[:count]])
        for i in range(count - 1, -1, -1):
            if total <= 0:
                break
            total -= shared[i]
            fewest[u] += 1
        for i in range(count):
            common[touched[i]] = 0
    return fewest, most
