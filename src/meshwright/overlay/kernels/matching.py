"""Compare the interests of two instances, and take some topics of one."""

from typing import NamedTuple

import numpy as np

from meshwright.runtime.arrays import Bools, Ints, Longs
from meshwright.runtime.compile import kernel


class Taking(NamedTuple):
    """Who takes part in what, and who carries it."""

    indptr: Longs  # int64[n_nodes + 1]
    topics: Ints  # int32[n], rising within a node
    carries: Bools  # bool[n], or bool[0] if all carry


class Places(NamedTuple):
    """What became of nodes and topics, -1 for what is not there. Both orders are those of names."""

    node_before: Longs  # int64[nodes now], the id before of each node
    topic_now: Longs  # int64[topics before]


class Changes(NamedTuple):
    """What changed, by the ids of now."""

    topic: Bools  # bool[topics now], whether a member came, went, or carries otherwise
    node: Bools  # bool[nodes now], whether its topics changed, or what it carries
    total: Longs  # int64[1], incidences of these nodes that came or went


@kernel
def mark_changes(before, now, places, changes):
    """Compare the topics of the nodes that are there now. Writes `changes`."""
    for v in range(len(now.indptr) - 1):
        u = places.node_before[v]
        i, end_i = np.int64(0), np.int64(0)
        if u >= 0:
            i, end_i = before.indptr[u], before.indptr[u + 1]
        j, end_j = now.indptr[v], now.indptr[v + 1]
        if len(before.carries) == 0 and len(now.carries) == 0:  # most rows are as they were
            while i < end_i and j < end_j and places.topic_now[before.topics[i]] == now.topics[j]:
                i += 1
                j += 1
        while i < end_i or j < end_j:
            old = np.int64(-1)
            if i < end_i:
                old = places.topic_now[before.topics[i]]
                if old < 0:  # the topic is gone
                    changes.node[v] = True
                    changes.total[0] += 1
                    i += 1
                    continue
            if j < end_j and old == now.topics[j]:
                carried = len(before.carries) == 0 or before.carries[i]
                if carried != (len(now.carries) == 0 or now.carries[j]):
                    changes.topic[old], changes.node[v] = True, True
                i += 1
                j += 1
                continue
            changes.node[v] = True
            changes.total[0] += 1
            if j == end_j or (i < end_i and old < now.topics[j]):
                changes.topic[old] = True
                i += 1
            else:
                changes.topic[now.topics[j]] = True
                j += 1


@kernel
def count_wanted(topics, is_wanted):
    """Return how many topics somebody wants. Marks them in `is_wanted`, where none is before."""
    count = 0
    for k in range(len(topics)):
        count += not is_wanted[topics[k]]
        is_wanted[topics[k]] = True
    return count


@kernel
def mark_topics(indptr, topics, nodes, chosen):
    """Mark the topics of some nodes. Writes `chosen`."""
    for k in range(len(nodes)):
        for slot in range(indptr[nodes[k]], indptr[nodes[k] + 1]):
            chosen[topics[slot]] = True


@kernel
def mark_common(indptr, topics, edges, chosen):
    """Mark the common topics of the nodes of each edge. Writes `chosen`."""
    for k in range(len(edges)):
        u, v = edges[k, 0], edges[k, 1]
        i, j = indptr[u], indptr[v]
        while i < indptr[u + 1] and j < indptr[v + 1]:
            a, b = topics[i], topics[j]
            if a == b:
                chosen[a] = True
            i += a <= b
            j += b <= a


@kernel
def copy_part(topics, number, part, slots):
    """Write the chosen topics (number >= 0), by their numbers, to `part`; return how many.

    Their slots go to `slots`.
    """
    to = 0
    for slot in range(len(topics)):
        if number[topics[slot]] >= 0:
            part[to], slots[to] = number[topics[slot]], slot
            to += 1
    return to
