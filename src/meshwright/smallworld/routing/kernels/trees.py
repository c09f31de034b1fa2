"""Spanning trees of topics, and flooding them. Nodes are ids.

A topic's subscribers are listed breadth-first from the smallest, so that the children of each
stand side by side. Each component of a disconnected topic has its own tree. A place is an index
among the subscribers of one topic.
"""

from __future__ import annotations

import numpy as np

from meshwright.model.kernels.graphs import adjacency
from meshwright.runtime.compile import kernel, maker
from meshwright.smallworld.routing.kernels.publications import (
    NO_RANGE,
    count_delivery,
    count_message,
    count_missed,
    new_publication,
    wants,
)

NO_PARENT = -1
# The columns of a stack: a place, the place it got the message from, the hops to it.
PLACE, SENDER, HOPS = range(3)


@maker
def spanning_trees(n, edges, topic_ptr, subscribers):
    """Return int32 arrays like `subscribers`: (nodes, parent, first child, end of children).

    Topic by topic, in tree order; the last three are places.
    """
    pointers, neighbours = adjacency(n, edges[:, 0], edges[:, 1])
    for u in range(n):
        neighbours[pointers[u] : pointers[u + 1]].sort()
    nodes, parent = np.empty_like(subscribers), np.full_like(subscribers, NO_PARENT)
    first_child, end_child = np.zeros_like(subscribers), np.zeros_like(subscribers)
    is_open = np.zeros(n, np.bool_)  # whether a node is a subscriber not reached yet
    for topic in range(len(topic_ptr) - 1):
        start, end = topic_ptr[topic], topic_ptr[topic + 1]
        members = subscribers[start:end]
        is_open[members] = True
        tail, root = start, 0
        for head in range(start, end):
            if head == tail:  # a component is complete: go on from the smallest open subscriber
                while not is_open[members[root]]:
                    root += 1
                nodes[tail] = members[root]
                is_open[members[root]] = False
                tail += 1
            u = nodes[head]
            first_child[head] = tail - start
            for i in range(pointers[u], pointers[u + 1]):
                if tail == end:
                    break  # all are reached: skip the other links of a dense overlay
                w = neighbours[i]
                if is_open[w]:
                    nodes[tail] = w
                    parent[tail] = head - start
                    is_open[w] = False
                    tail += 1
            end_child[head] = tail - start
    return nodes, parent, first_child, end_child


@kernel
def flood(trees, first, p, stack):
    """Flood one tree from the publisher. Writes the tally.

    `first` is the index of the topic's first subscriber; `stack` is int64[n, 3].
    """
    stack[0, PLACE], stack[0, SENDER], stack[0, HOPS] = p.place[p.publisher], NO_PARENT, 0
    waiting = 1
    while waiting > 0:
        waiting -= 1
        v, sender, hops = stack[waiting, PLACE], stack[waiting, SENDER], stack[waiting, HOPS] + 1
        child = trees.first_child[first + v]
        for i in range(-1, trees.end_child[first + v] - child):
            w = trees.parent[first + v] if i < 0 else child + i
            if w in (sender, NO_PARENT):
                continue
            count_message(p, p.members[v], p.members[w], p.members[w], NO_RANGE, hops)
            count_delivery(p, hops)
            stack[waiting, PLACE], stack[waiting, SENDER], stack[waiting, HOPS] = w, v, hops
            waiting += 1


@maker
def flood_all(trees, topics, publishers, tally):
    """Route publications, each over the tree of its topic. Writes the tally."""
    n = len(tally.sent)
    place = np.zeros(n, np.int32)
    stack = np.empty((max(n, 1), 3), np.int64)
    for i in range(len(topics)):
        p = new_publication(i, topics, publishers, trees.subscribers, place, tally)
        if wants(p, p.publisher):
            flood(trees, trees.subscribers.pointers[topics[i]], p, stack)
        count_missed(p)
