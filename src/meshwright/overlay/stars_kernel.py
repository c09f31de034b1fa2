"""The loops of the star methods: rank nodes by what their open topics give them."""

from __future__ import annotations

import numpy as np
from numba import njit

NEIGHBOURS, WEIGHT, DENSITY = 0, 1, 2


@njit(cache=True)
def neighbours_of(c, closed, u, mark, found):
    """List the nodes that share an open topic with u into `found`; return how many."""
    n_found = 0
    for slot in range(c.indptr[u], c.indptr[u + 1]):
        topic = c.topics[slot]
        if closed[topic]:
            continue
        for position in range(c.topic_ptr[topic], c.topic_ptr[topic + 1]):
            w = c.nodes[position]
            if w != u and mark[w] != u:
                mark[w] = u
                found[n_found] = w
                n_found += 1
    for i in range(n_found):
        mark[found[i]] = -1
    return n_found


@njit(cache=True)
def star_edges(c, rank, most_edges):
    """Return the edges, a star per round, until no topic with two subscribers is open.

    The exact number of neighbours is counted only where it can matter: `weight` (the sum over
    open topics of the other subscribers) is kept exact, and the largest open topic gives at least
    `least` neighbours, so neighbours <= weight and density <= weight / least.
    """
    n, n_topics = len(c.indptr) - 1, len(c.topic_ptr) - 1
    closed = np.zeros(n_topics, np.bool_)
    others = np.empty(n_topics, np.int64)
    n_open = 0
    for topic in range(n_topics):
        others[topic] = c.topic_ptr[topic + 1] - c.topic_ptr[topic] - 1
        closed[topic] = others[topic] < 1
        n_open += not closed[topic]
    weight, least = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for u in range(n):
        for slot in range(c.indptr[u], c.indptr[u + 1]):
            topic = c.topics[slot]
            if not closed[topic]:
                weight[u] += others[topic]
                least[u] = max(least[u], others[topic])
    known = np.full(n, -1, np.int64)  # neighbours, when counted and not changed since
    highest = weight.copy()  # no more neighbours than that
    mark, found = np.full(n, -1, np.int32), np.empty(n, np.int32)
    edges = np.empty((most_edges, 2), np.int32)
    n_edges = 0
    while n_open > 0:
        centre, best_top, best_bottom = -1, np.int64(0), np.int64(1)
        for u in range(n):
            if weight[u] == 0:
                continue
            # Fractions a/b > c/d compare as a * d > c * b.
            if known[u] < 0:
                if rank == NEIGHBOURS:
                    top, bottom = highest[u], np.int64(1)
                elif rank == WEIGHT:
                    top, bottom = weight[u], np.int64(1)
                else:
                    top, bottom = weight[u], least[u]
                if top * best_bottom <= best_top * bottom:
                    continue
                if rank != WEIGHT:
                    known[u] = neighbours_of(c, closed, u, mark, found)
                    highest[u] = known[u]
            if rank == NEIGHBOURS:
                top, bottom = known[u], np.int64(1)
            elif rank == WEIGHT:
                top, bottom = weight[u], np.int64(1)
            else:
                top, bottom = weight[u], known[u]
            if top * best_bottom > best_top * bottom:
                centre, best_top, best_bottom = u, top, bottom
        n_found = neighbours_of(c, closed, centre, mark, found)
        around = np.sort(found[:n_found])
        for i in range(n_found):
            edges[n_edges, 0] = min(centre, around[i])
            edges[n_edges, 1] = max(centre, around[i])
            n_edges += 1
        for slot in range(c.indptr[centre], c.indptr[centre + 1]):
            topic = c.topics[slot]
            if closed[topic]:
                continue
            closed[topic] = True
            n_open -= 1
            for position in range(c.topic_ptr[topic], c.topic_ptr[topic + 1]):
                w = c.nodes[position]
                weight[w] -= others[topic]
                known[w] = -1
        for i in range(n_found):
            w = around[i]
            least[w] = 0
            for slot in range(c.indptr[w], c.indptr[w + 1]):
                if not closed[c.topics[slot]]:
                    least[w] = max(least[w], others[c.topics[slot]])
    return edges[:n_edges]
