"""The last level: no pair gains more than one.

Then every pair across two components of a topic gains exactly one, an edge joins two components
of one topic and changes no other, and what is left of the order is (larger degree, code). At a
degree d the nodes of at most d links are eligible, and fewer and fewer as links are added. So one
sweep over the nodes in the order of their ids, each with its partners in theirs, meets all pairs
of a degree in their order.

What a node has to read of a topic is little. While the sweep is at u, every eligible node of the
topic before u has found no partner behind it in another component, so there is none for u either;
or no node before u is eligible any more. Hence the members that a topic's sweep has passed, if
eligible, are all in one component, and no member is read twice at one degree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from meshwright.kernels.compile import kernel
from meshwright.kernels.components import Components, drop_connected, join_two
from meshwright.overlay.pair_kernel import NO_DEGREE

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


class LastLevel(NamedTuple):
    """Where the sweep is; `meta` is [degree, next id, edges when this degree began, by_degree]."""

    members: Ints  # the positions of each topic, in the order of the user's ids
    member_at: Ints  # position -> its place among the members
    place: Longs  # by topic: the next member to read
    meta: Longs


def new_last_level(c: Components, rank: Ints, *, by_degree: bool) -> LastLevel:
    """Return a sweep before its first degree."""
    level = LastLevel(
        members=np.empty(len(c.nodes), dtype=np.int32),
        member_at=np.empty(len(c.nodes), dtype=np.int32),
        place=c.topic_ptr[:-1].copy(),
        meta=np.array([-1, len(rank), -1, by_degree], dtype=np.int64),
    )
    _put_in_order(c, rank, level)
    return level


@kernel
def _put_in_order(c, rank, level):
    """List the members of the open topics by the user's ids."""
    place = level.place
    for node in rank:
        drop_connected(c, node)
        for slot in range(c.indptr[node], c.row_end[node]):
            topic, position = c.topics[slot], c.position_at[slot]
            level.members[place[topic]] = position
            level.member_at[position] = place[topic]
            place[topic] += 1


@kernel
def least_degree(c, level, degree):
    """Return the least degree at which a topic has a pair, NO_DEGREE when there is none."""
    members, nodes, label = level.members, c.nodes, c.label
    least = NO_DEGREE
    for topic in range(len(c.open_count)):
        if c.open_count[topic] < 2:
            continue
        # The lowest degree of two components: that of the one that holds the lowest, the other.
        own, lowest, second = np.int32(-1), NO_DEGREE, NO_DEGREE
        for i in range(c.topic_ptr[topic], c.topic_ptr[topic + 1]):
            links, its = degree[nodes[members[i]]], label[members[i]]
            if links < lowest:
                if its != own:
                    second = lowest
                own, lowest = its, links
            elif its != own:
                second = min(second, links)
        least = min(least, second)
    return least


@kernel
def next_degree(c, level, degree, last, n_edges):
    """Begin the sweep of the next degree with a pair, at most `last`; tell whether there is one."""
    meta = level.meta
    if meta[3] == 0:
        if meta[2] >= 0:
            return False
        meta[0] = NO_DEGREE  # degrees play no part: all nodes are eligible at once
    elif n_edges > meta[2] >= 0:
        meta[0] += 1
    else:
        meta[0] = least_degree(c, level, degree)
    meta[1], meta[2] = 0, n_edges
    for topic in range(len(level.place)):
        level.place[topic] = c.topic_ptr[topic]
    return meta[3] == 0 or meta[0] <= last


@kernel
def first_partner(c, level, degree, ids, u):
    """Return the place of the partner of u with the smallest id, and the slot of the topic.

    Without one the place is -1.
    """
    members, nodes, label, place = level.members, c.nodes, c.label, level.place
    highest, found, at = level.meta[0], np.int64(-1), np.int64(-1)
    for slot in range(c.indptr[u], c.row_end[u]):
        topic, own = c.topics[slot], c.slot_label[slot]
        end = c.topic_ptr[topic + 1]
        i = max(place[topic], level.member_at[c.position_at[slot]] + 1)
        while i < end and (label[members[i]] == own or degree[nodes[members[i]]] > highest):
            i += 1
        place[topic] = i
        if i < end and (found < 0 or ids[nodes[members[i]]] < ids[nodes[members[found]]]):
            found, at = i, slot
    return found, at


@kernel
def run_last_level(c, level, degree, ids, rank, last, edges, gains, n_edges, stop):
    """Add best edges until there are `stop` or no pair of degrees up to `last` is left."""
    meta = level.meta
    while True:
        while meta[1] < len(rank):
            u = rank[meta[1]]
            if degree[u] <= meta[0]:
                drop_connected(c, u)
            while degree[u] <= meta[0]:
                if n_edges == stop:
                    return n_edges
                found, slot = first_partner(c, level, degree, ids, u)
                if found < 0:
                    break
                position = level.members[found]
                w = c.nodes[position]
                edges[n_edges, 0], edges[n_edges, 1] = ids[u], ids[w]
                gains[n_edges] = 1
                n_edges += 1
                degree[u] += 1
                degree[w] += 1
                join_two(c, c.topics[slot], c.slot_label[slot], c.label[position])
            meta[1] += 1
        if not next_degree(c, level, degree, last, n_edges):
            return n_edges
