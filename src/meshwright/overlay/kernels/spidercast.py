"""The rounds of SpiderCast: each node looks for neighbours that cover its topics."""

from typing import NamedTuple

import numpy as np

from meshwright.overlay.kernels.random_links import add_edge, pair_number
from meshwright.runtime.arrays import Ints
from meshwright.runtime.compile import kernel, maker
from meshwright.runtime.kernels.random import stream, uniform


class Limits(NamedTuple):
    """The parameters of SpiderCast."""

    max_degree: int
    max_edges: int
    k_greedy: int
    k_random: int


class Coverage(NamedTuple):
    """How often topics are covered, and room to count the nodes that would cover more."""

    covered: Ints  # [n_subscriptions], by slot: neighbours that want the topic
    counts: Ints  # [n], zeros between calls
    touched: Ints  # [n], the nodes with a positive count


@kernel
def count_covering(c, coverage, below, u):
    """Count for each node the topics of u it wants that are covered fewer than `below` times.

    Writes `counts`, and lists the nodes that want any in `touched`; return how many.
    """
    covered, count, touched = coverage.covered, coverage.counts, coverage.touched
    n_touched = 0
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


@kernel
def cover(c, covered, u, w):
    """Count the link (u, w) for each topic that both want. Writes `covered`."""
    i, j = c.indptr[u], c.indptr[w]
    while i < c.indptr[u + 1] and j < c.indptr[w + 1]:
        a, b = c.topics[i], c.topics[j]
        if a == b:
            covered[i] += 1
            covered[j] += 1
        i += a <= b
        j += b <= a


@maker
def spidercast_edges(c, coverage, limits, seed):
    """Return int32[n_edges, 2], the links in the order added. Writes `coverage`, zeros at first.

    `c` are the `Components` of the interests; a topic of a node is covered by each neighbour that
    wants it too.
    """
    n = len(c.indptr) - 1
    count, touched = coverage.counts, coverage.touched
    degree = np.zeros(n, np.int32)
    draws = np.zeros(n, np.int64)  # random numbers that each node has used
    active = np.ones(n, np.bool_)  # whether a node may still find a neighbour
    linked = {np.int64(-1)}
    edges = np.empty((max(16, n), 2), np.int32)
    n_edges, added = 0, True
    while added:
        added = False
        for u in range(n):
            if not active[u] or degree[u] >= limits.max_degree:
                continue
            if n_edges == limits.max_edges:
                return edges[:n_edges]
            chosen, most = -1, 0
            n_touched = count_covering(c, coverage, limits.k_greedy, u)
            for i in range(n_touched):
                w = touched[i]
                if (
                    (count[w] > most or (count[w] == most and w < chosen))
                    and degree[w] < limits.max_degree
                    and pair_number(u, w, n) not in linked
                ):
                    most, chosen = count[w], w
            for i in range(n_touched):
                count[touched[i]] = 0
            if chosen < 0:
                n_touched = count_covering(c, coverage, limits.k_greedy + limits.k_random, u)
                n_fit = 0
                for i in range(n_touched):
                    w = touched[i]
                    count[w] = 0
                    if degree[w] < limits.max_degree and pair_number(u, w, n) not in linked:
                        touched[n_fit] = w
                        n_fit += 1
                if n_fit > 0:
                    fit = np.sort(touched[:n_fit])
                    chosen = fit[int(uniform(stream(seed, u), draws[u]) * n_fit)]
                    draws[u] += 1
            if chosen < 0:
                active[u] = False  # candidates only become fewer
                continue
            edges = add_edge(edges, n_edges, u, chosen)
            linked.add(pair_number(u, chosen, n))
            degree[u] += 1
            degree[chosen] += 1
            n_edges += 1
            cover(c, coverage.covered, u, chosen)
            added = True
    return edges[:n_edges]
