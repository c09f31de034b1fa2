"""The last level: no pair gains more than one. Each order has its own way to finish.

Then every pair across two components of a topic gains exactly one, and an edge joins two components
of one topic and changes no other. The number of edges left is settled; the degrees are not.

Key order: at degree d the nodes of at most d links are eligible, and one sweep over the nodes by
id, each with its partners by id, visits all pairs of a degree in their order. No member of a topic
is read twice at one degree (docs/engine.md).

Level order: topic by topic, those with the fewest subscribers first, as they have the least choice.
A topic takes its subscribers by degree, lowest first, and links each new component to the
subscriber in the tree that has waited longest.
"""

from typing import NamedTuple

import numpy as np

from meshwright.model.kernels.components import drop_connected, join_two
from meshwright.overlay.greedy.kernels.run import N_EDGES, NO_LIMIT, Run, add_edge, at_stop
from meshwright.runtime.arrays import Ints, Longs
from meshwright.runtime.compile import compile_for, kernel, maker

DEGREE, NEXT_ID, EDGES_BEFORE = 0, 1, 2  # places in LastLevel.state


class LastLevel(NamedTuple):
    """Where the sweep of key order is."""

    members: Ints  # int32[n_subscriptions], the positions of each topic by node id
    member_at: Ints  # int32[n_subscriptions], position -> its place in `members`
    place: Longs  # int64[n_topics], the place of the next member to read
    state: Longs  # int64[3], [DEGREE, NEXT_ID, EDGES_BEFORE: edges when DEGREE began, or -1]


def new_last_level(run: Run) -> LastLevel:
    """Return a sweep before its first degree."""
    members, member_at = np.empty((2, len(run.components.nodes)), dtype=np.int32)
    state = np.array([-1, len(run.rank), -1], dtype=np.int64)
    level = LastLevel(members, member_at, run.components.topic_ptr[:-1].copy(), state)
    list_by_id(run, level)
    return level


def compile_last_level(run: Run) -> None:
    """Compile the last level, which small runs do not reach, so that later runs compile nothing."""
    level = LastLevel(run.rank[:0], run.rank[:0], np.empty(0, np.int64), np.empty(3, np.int64))
    compile_for(list_by_id, run, level)
    compile_for(run_last_level, run, level, NO_LIMIT)


@kernel
def list_by_id(run, level):
    """List the members of the open topics by node id."""
    c, place = run.components, level.place
    for node in run.rank:
        drop_connected(c, node)
        for slot in range(c.indptr[node], c.row_end[node]):
            topic, position = c.topics[slot], c.position_at[slot]
            level.members[place[topic]] = position
            level.member_at[position] = place[topic]
            place[topic] += 1


@kernel
def least_degree(c, level, degree):
    """Return the lowest degree at which a topic has a pair, NO_LIMIT if none has. Reads only."""
    members, nodes, label = level.members, c.nodes, c.label
    least = NO_LIMIT
    for topic in range(len(c.open_count)):
        if c.open_count[topic] < 2:
            continue
        # The lowest degree of all members, and the lowest in any other component.
        own, lowest, second = np.int32(-1), NO_LIMIT, NO_LIMIT
        for i in range(c.topic_ptr[topic], c.topic_ptr[topic + 1]):
            links, component = degree[nodes[members[i]]], label[members[i]]
            if links < lowest:
                if component != own:
                    second = lowest
                own, lowest = component, links
            elif component != own:
                second = min(second, links)
        least = min(least, second)
    return least


@kernel
def next_degree(run, level, cap):
    """Begin the sweep of the next degree that has a pair; return whether one is below the cap."""
    state, topic_ptr, n_edges = level.state, run.components.topic_ptr, run.counts[N_EDGES]
    if not run.by_degree:
        if state[EDGES_BEFORE] >= 0:
            return False
        state[DEGREE] = NO_LIMIT  # all nodes are eligible at once
    elif n_edges > state[EDGES_BEFORE] >= 0:
        state[DEGREE] += 1
    else:
        state[DEGREE] = least_degree(run.components, level, run.degree)
    state[NEXT_ID], state[EDGES_BEFORE] = 0, n_edges
    for topic in range(len(level.place)):
        level.place[topic] = topic_ptr[topic]
    return not run.by_degree or state[DEGREE] < cap


@kernel
def first_partner(run, level, u):
    """Return the place of u's partner of smallest id, or -1, and the slot of their topic."""
    c, degree, ids, highest = run.components, run.degree, run.ids, level.state[DEGREE]
    members, nodes, label, place = level.members, c.nodes, c.label, level.place
    found, at = np.int64(-1), np.int64(-1)
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
def run_last_level(run, level, cap):
    """Add best edges, up to STOP or until no pair has both degrees below the cap."""
    c, degree, state = run.components, run.degree, level.state
    while True:
        while state[NEXT_ID] < len(run.rank):
            u = run.rank[state[NEXT_ID]]
            if degree[u] <= state[DEGREE]:
                drop_connected(c, u)
            while degree[u] <= state[DEGREE]:
                if at_stop(run):
                    return
                found, slot = first_partner(run, level, u)
                if found < 0:
                    break
                position = level.members[found]
                add_edge(run, u, c.nodes[position], 1)
                join_two(c, c.topics[slot], c.slot_label[slot], c.label[position])
            state[NEXT_ID] += 1
        if not next_degree(run, level, cap):
            return


@maker
def join_topics(run, order, cap):
    """Join the components of topics in the given order, up to STOP: the way of level order."""
    c = run.components
    longest = 0
    for topic in order:
        longest = max(longest, c.topic_ptr[topic + 1] - c.topic_ptr[topic])
    keys = np.empty(longest, np.int64)  # degree << 32 | position, of the eligible subscribers
    waiting = np.empty(longest + 1, np.int32)  # a circular queue of the positions in the tree
    for topic in order:
        if c.open_count[topic] > 1:
            join_topic(run, topic, cap, keys, waiting)
            if at_stop(run):
                break


@maker
def join_topic(run, topic, cap, keys, waiting):
    """Join the components of one topic, as far as its subscribers are below the cap."""
    c, degree = run.components, run.degree
    nodes, label, n = c.nodes, c.label, 0
    for position in range(c.topic_ptr[topic], c.topic_ptr[topic + 1]):
        links = degree[nodes[position]]
        if links < cap:
            keys[n] = ((np.int64(links) if run.by_degree else np.int64(0)) << 32) | position
            n += 1
    if run.by_degree:
        keys[:n].sort()
    tree, first, n_waiting = np.int64(-1), 0, 0
    for k in range(n):
        position = keys[k] & 0xFFFFFFFF
        while n_waiting > 0 and degree[nodes[waiting[first]]] >= cap:
            first, n_waiting = (first + 1) % len(waiting), n_waiting - 1
        if n_waiting == 0:
            tree = position  # the first one, or all in the tree are full
        elif label[position] != label[tree]:
            if at_stop(run):
                return
            other = waiting[first]
            add_edge(run, nodes[other], nodes[position], 1)
            join_two(c, topic, label[position], label[other])
            waiting[(first + n_waiting) % len(waiting)] = other
            first = (first + 1) % len(waiting)
        if c.open_count[topic] < 2:
            break
        waiting[(first + n_waiting) % len(waiting)] = position
        n_waiting += 1
