"""The rounds of the star methods: link the best node to all that share an open topic with it.

A topic is open until one of its subscribers was the centre of a star.
"""

import numpy as np

from meshwright.runtime.compile import kernel, maker

NEIGHBOURS, WEIGHT, DENSITY = range(3)


@kernel
def list_neighbours(c, is_open, u, mark, found):
    """Write to `found` the nodes that share an open topic with u; return how many.

    `c` are Components; `mark`, int32[n_nodes], is -1 between calls.
    """
    n_found = 0
    for slot in range(c.indptr[u], c.indptr[u + 1]):
        topic = c.topics[slot]
        if not is_open[topic]:
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


@kernel
def largest_open(c, is_open, others, u):
    """Return the most other subscribers of an open topic of u, 0 without one."""
    largest = np.int64(0)
    for slot in range(c.indptr[u], c.indptr[u + 1]):
        if is_open[c.topics[slot]]:
            largest = max(largest, others[c.topics[slot]])
    return largest


@kernel
def fraction(rank, weight, neighbours):
    """Return (numerator, denominator) of the quantity by which nodes are ranked."""
    if rank == NEIGHBOURS:
        return neighbours, np.int64(1)
    return weight, neighbours if rank == DENSITY else np.int64(1)


@maker
def star_edges(c, rank, most_edges):
    """Return int32[n_edges, 2]: a star per round, until no topic with two subscribers is open.

    The exact number of neighbours is counted only where it can matter: `weight` (the sum over open
    topics of the other subscribers) is kept exact, and the largest open topic gives at least
    `least` neighbours, so neighbours <= weight and density <= weight / least.
    """
    n = len(c.indptr) - 1
    others = c.topic_ptr[1:] - c.topic_ptr[:-1] - 1  # [n_topics], subscribers besides a given one
    is_open = others > 0
    n_open = np.count_nonzero(is_open)
    weight, least = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for u in range(n):
        for slot in range(c.indptr[u], c.indptr[u + 1]):
            weight[u] += max(others[c.topics[slot]], 0)
        least[u] = largest_open(c, is_open, others, u)
    known = np.full(n, -1, np.int64)  # neighbours, if counted and not changed since
    highest = weight.copy()  # an upper bound of the neighbours
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
                bound = least[u] if rank == DENSITY else highest[u]
                top, bottom = fraction(rank, weight[u], bound)
                if top * best_bottom <= best_top * bottom:
                    continue
                if rank != WEIGHT:
                    known[u] = list_neighbours(c, is_open, u, mark, found)
                    highest[u] = known[u]
            top, bottom = fraction(rank, weight[u], known[u])
            if top * best_bottom > best_top * bottom:
                centre, best_top, best_bottom = u, top, bottom
        n_found = list_neighbours(c, is_open, centre, mark, found)
        around = np.sort(found[:n_found])
        for w in around:
            edges[n_edges, 0], edges[n_edges, 1] = min(centre, w), max(centre, w)
            n_edges += 1
        for slot in range(c.indptr[centre], c.indptr[centre + 1]):
            topic = c.topics[slot]
            if not is_open[topic]:
                continue
            is_open[topic] = False
            n_open -= 1
            for position in range(c.topic_ptr[topic], c.topic_ptr[topic + 1]):
                w = c.nodes[position]
                weight[w] -= others[topic]
                known[w] = -1
        for w in around:
            least[w] = largest_open(c, is_open, others, w)
    return edges[:n_edges]
