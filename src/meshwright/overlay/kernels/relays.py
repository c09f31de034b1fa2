"""Relays of topics: nodes inside a topic's tree that do not want it."""

import numpy as np

from meshwright.overlay.kernels.dependence import ONE, OTHER, RANK, links_of_topic
from meshwright.runtime.compile import maker


@maker
def count_relays(graph, rank, wants, needed, first, last):
    """Return int64[n_nodes]: in how many of the topics first..last-1 each node is a relay.

    Topics that are not `needed` are left out. A tree has the links, in the order of `rank`, that
    join two parts of the topic.
    """
    n_nodes = len(graph.owned_ptr) - 1
    times = np.zeros(n_nodes, np.int64)
    place = np.full(n_nodes, -1, np.int32)
    for t in range(first, last):
        if not needed[t]:
            continue
        begin, end = graph.topic_ptr[t], graph.topic_ptr[t + 1]
        degree = tree_degrees(end - begin, links_of_topic(graph, rank, t, place))
        for i in range(end - begin):
            if degree[i] > 1 and not wants[begin + i]:
                times[graph.members[begin + i]] += 1
    return times


@maker
def tree_degrees(n, ends):
    """Return int64[n]: the links of each place in the tree of links `ends`, [3, n_links]."""
    degree = np.zeros(n, np.int64)
    parent = np.arange(n)
    for k in np.argsort(ends[RANK]):
        u, v = ends[ONE, k], ends[OTHER, k]
        one, other = u, v
        while parent[one] != one:
            parent[one] = parent[parent[one]]
            one = parent[one]
        while parent[other] != other:
            parent[other] = parent[parent[other]]
            other = parent[other]
        if one != other:
            parent[one] = other
            degree[u] += 1
            degree[v] += 1
    return degree
