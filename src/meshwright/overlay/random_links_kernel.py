"""Links drawn uniformly among all pairs that may still be linked."""

from __future__ import annotations

import numpy as np
from numba import njit

from meshwright.kernels.random import stream, uniform

PATIENCE = 64  # draws in vain before the admissible pairs are listed


@njit(cache=True)
def pair_number(u, w, n):
    """Return the number of the pair (u, w), u < w, among all pairs of n nodes."""
    return np.int64(u) * n + w


@njit(cache=True)
def random_edges(n, max_edges, max_degree, seed):
    """Return links drawn one after the other until the budget is used or no pair is admissible.

    A draw takes two of the nodes that are not full; an inadmissible pair (the same node, or linked
    already) is passed over, which leaves the rest uniform. After PATIENCE such draws in a row the
    admissible pairs are counted and one of them is drawn by its number.
    """
    key = stream(seed, 0)
    draw = 0
    degree = np.zeros(n, np.int32)
    open_nodes = np.arange(n).astype(np.int32)
    n_open = n if max_degree > 0 else 0
    place = np.arange(n).astype(np.int32)  # where a node stands among the open ones
    linked = {np.int64(-1)}
    edges = np.empty((16, 2), np.int32)
    n_edges = 0
    while n_edges < max_edges and n_open > 1:
        u = w = np.int32(-1)
        for _ in range(PATIENCE):
            a = open_nodes[int(uniform(key, draw) * n_open)]
            b = open_nodes[int(uniform(key, draw + 1) * n_open)]
            draw += 2
            if a != b and pair_number(min(a, b), max(a, b), n) not in linked:
                u, w = min(a, b), max(a, b)
                break
        if u < 0:
            nodes = np.sort(open_nodes[:n_open])
            n_fit = 0
            for i in range(n_open):
                for j in range(i + 1, n_open):
                    n_fit += pair_number(nodes[i], nodes[j], n) not in linked
            if n_fit == 0:
                break
            wanted = int(uniform(key, draw) * n_fit)
            draw += 1
            for i in range(n_open):
                for j in range(i + 1, n_open):
                    if pair_number(nodes[i], nodes[j], n) not in linked:
                        if wanted == 0:
                            u, w = nodes[i], nodes[j]
                        wanted -= 1
        if n_edges == len(edges):
            bigger = np.empty((2 * n_edges, 2), np.int32)
            bigger[:n_edges] = edges
            edges = bigger
        edges[n_edges, 0], edges[n_edges, 1] = u, w
        n_edges += 1
        linked.add(pair_number(u, w, n))
        for v in (u, w):
            degree[v] += 1
            if degree[v] == max_degree or degree[v] == n - 1:
                n_open -= 1
                last = open_nodes[n_open]
                open_nodes[place[v]], place[last] = last, place[v]
    return edges[:n_edges]
