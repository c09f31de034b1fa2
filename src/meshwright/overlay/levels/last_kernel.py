"""The last level, topic by topic: every pair left gains one, so any tree of components will do.

When no pair gains more than one, an edge joins two components of one topic and changes no other:
how many edges are left does not depend on which they are. The degrees do. So the topics with the
fewest subscribers, which have the least choice, come first. A topic takes its subscribers by
their degrees, the lowest first, and links each new component it meets to the subscriber that has
waited longest among those in the tree.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from meshwright.kernels.components import join_two


@njit(cache=True, nogil=True)
def eligible(c, topic, degree, by_degree, cap, keys):
    """List the positions of a topic whose nodes are not full, the lowest degree first."""
    n = 0
    for position in range(c.topic_ptr[topic], c.topic_ptr[topic + 1]):
        links = degree[c.nodes[position]]
        if links < cap:
            keys[n] = ((np.int64(links) if by_degree else np.int64(0)) << 32) | position
            n += 1
    if by_degree:
        keys[:n].sort()
    return n


@njit(cache=True, nogil=True)
def join_topic(c, topic, degree, by_degree, cap, keys, queue, edges, gains, n_edges, stop):
    """Join the components of one topic as far as nodes are not full; return how many edges."""
    nodes, label = c.nodes, c.label
    n = eligible(c, topic, degree, by_degree, cap, keys)
    tree, first, waiting = np.int64(-1), 0, 0  # those in the tree wait in a circle
    for k in range(n):
        position = keys[k] & 0xFFFFFFFF
        while waiting > 0 and degree[nodes[queue[first]]] >= cap:
            first, waiting = (first + 1) % len(queue), waiting - 1
        if waiting == 0:
            tree = position  # the first, or all that are in the tree are full
        elif label[position] != label[tree]:
            if n_edges == stop:
                return n_edges
            other = queue[first]
            u, w = nodes[other], nodes[position]
            edges[n_edges, 0], edges[n_edges, 1] = u, w
            gains[n_edges] = 1
            n_edges += 1
            degree[u] += 1
            degree[w] += 1
            join_two(c, topic, label[position], label[other])
            queue[(first + waiting) % len(queue)] = other
            first = (first + 1) % len(queue)
        if c.open_count[topic] < 2:
            break
        queue[(first + waiting) % len(queue)] = position
        waiting += 1
    return n_edges


@njit(cache=True, nogil=True)
def join_topics(c, order, degree, by_degree, cap, edges, gains, n_edges, stop):
    """Join the components of topics in an order, until there are `stop` edges; return how many."""
    longest = 0
    for topic in order:
        longest = max(longest, c.topic_ptr[topic + 1] - c.topic_ptr[topic])
    keys, queue = np.empty(longest, np.int64), np.empty(longest + 1, np.int32)
    for topic in order:
        if c.open_count[topic] > 1:
            n_edges = join_topic(
                c, topic, degree, by_degree, cap, keys, queue, edges, gains, n_edges, stop
            )
            if n_edges == stop:
                break
    return n_edges
