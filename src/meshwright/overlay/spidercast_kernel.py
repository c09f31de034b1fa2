"""The rounds of SpiderCast: each node looks for neighbours that cover its topics."""

from __future__ import annotations

import numpy as np
from numba import njit

from meshwright.kernels.bits import WORD, WORTH, add_common, bit_of
from meshwright.kernels.random import stream, uniform


@njit(cache=True)
def adjacent(last_link, link_before, edges, degree, u, w):
    """Tell whether u and w are linked: walk the links of the one that has fewer. Reads only."""
    if degree[w] < degree[u]:
        u, w = w, u
    link = last_link[u]
    while link >= 0:
        # Link 2 e + s is edge e as seen from its end s.
        if edges[link // 2, 1 - link % 2] == w:
            return True
        link = link_before[link]
    return False


@njit(cache=True)
def covering(c, wants, mask, covered, below, u, count, touched):
    """Count for each node how many topics of u, covered fewer than `below` times, it wants.

    `wants` are the interests as words, or nothing, and `mask` a word of zeros for each. List the
    nodes that want any, and return how many.
    """
    cost, n_touched = 0, 0
    for slot in range(c.indptr[u], c.indptr[u + 1]):
        if covered[slot] < below:
            cost += c.topic_ptr[c.topics[slot] + 1] - c.topic_ptr[c.topics[slot]]
    if len(wants) > 0 and cost * WORTH >= len(wants) * len(count):
        for slot in range(c.indptr[u], c.indptr[u + 1]):
            if covered[slot] < below:
                mask[c.topics[slot] // WORD] |= bit_of(c.topics[slot])
        for k in range(len(wants)):
            if mask[k] != 0:
                add_common(count, mask[k], wants[k])
                mask[k] = 0
        count[u] = 0
        for w in range(len(count)):
            if count[w] > 0:
                touched[n_touched] = w
                n_touched += 1
        return n_touched
    for slot in range(c.indptr[u], c.indptr[u + 1]):
        if covered[slot] >= below:
            continue
        topic = c.topics[slot]
        for position in range(c.topic_ptr[topic], c.topic_ptr[topic + 1]):
            w = c.nodes[position]
            if w != u:
                if count[w] == 0:
                    touched[n_touched] = w
                    n_touched += 1
                count[w] += 1
    return n_touched


@njit(cache=True)
def cover(c, covered, u, w):
    """Count the link (u, w) for each topic that both want."""
    i, j = c.indptr[u], c.indptr[w]
    while i < c.indptr[u + 1] and j < c.indptr[w + 1]:
        a, b = c.topics[i], c.topics[j]
        if a == b:
            covered[i] += 1
            covered[j] += 1
        i += a <= b
        j += b <= a


@njit(cache=True)
def spidercast_edges(c, wants, max_degree, max_edges, k_greedy, k_random, seed):
    """Return the links in the order added."""
    n = len(c.indptr) - 1
    mask = np.zeros(len(wants), np.uint64)
    covered = np.zeros(len(c.topics), np.int32)
    degree = np.zeros(n, np.int32)
    last_link = np.full(n, -1, np.int64)
    count, touched = np.zeros(n, np.int32), np.empty(n, np.int32)
    draws = np.zeros(n, np.int64)
    active = np.ones(n, np.bool_)
    edges = np.empty((max(16, n), 2), np.int32)
    link_before = np.empty(2 * len(edges), np.int64)
    n_edges, added = 0, True
    while added:
        added = False
        for u in range(n):
            if not active[u] or degree[u] >= max_degree:
                continue
            if n_edges == max_edges:
                return edges[:n_edges]
            chosen = -1
            n_touched = covering(c, wants, mask, covered, k_greedy, u, count, touched)
            most = 0
            for i in range(n_touched):
                w = touched[i]
                if (
                    (count[w] > most or (count[w] == most and w < chosen))
                    and degree[w] < max_degree
                    and not adjacent(last_link, link_before, edges, degree, u, w)
                ):
                    most, chosen = count[w], w
            for i in range(n_touched):
                count[touched[i]] = 0
            if chosen < 0:
                both = k_greedy + k_random
                n_touched = covering(c, wants, mask, covered, both, u, count, touched)
                n_fit = 0
                for i in range(n_touched):
                    w = touched[i]
                    count[w] = 0
                    if degree[w] < max_degree and not adjacent(
                        last_link, link_before, edges, degree, u, w
                    ):
                        touched[n_fit] = w
                        n_fit += 1
                if n_fit > 0:
                    fit = np.sort(touched[:n_fit])
                    chosen = fit[int(uniform(stream(seed, u), draws[u]) * n_fit)]
                    draws[u] += 1
            if chosen < 0:
                active[u] = False  # candidates only become fewer
                continue
            if n_edges == len(edges):
                bigger = np.empty((2 * n_edges, 2), np.int32)
                bigger[:n_edges] = edges
                longer = np.empty(4 * n_edges, np.int64)
                longer[: 2 * n_edges] = link_before
                edges, link_before = bigger, longer
            edges[n_edges, 0], edges[n_edges, 1] = min(u, chosen), max(u, chosen)
            for side in range(2):
                v = edges[n_edges, side]
                link_before[2 * n_edges + side] = last_link[v]
                last_link[v] = 2 * n_edges + side
                degree[v] += 1
            n_edges += 1
            cover(c, covered, u, chosen)
            added = True
    return edges[:n_edges]
