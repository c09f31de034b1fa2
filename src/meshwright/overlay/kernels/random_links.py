"""Links drawn uniformly among all pairs that may still be linked."""

import numpy as np

from meshwright.runtime.compile import kernel, maker
from meshwright.runtime.kernels.random import stream, uniform

MOST_REJECTED = 64  # draws in a row that are rejected before the admissible pairs are listed


@kernel
def pair_number(u, w, n):
    """Return the number of the pair of u and w among all pairs of n nodes, in either order."""
    return np.int64(min(u, w)) * n + max(u, w)


@maker
def add_edge(edges, n_edges, u, w):
    """Write u and w as edge number `n_edges`; return the edges, a larger array if it was full."""
    if n_edges == len(edges):
        larger = np.empty((2 * n_edges, 2), np.int32)
        larger[:n_edges] = edges
        edges = larger
    edges[n_edges, 0], edges[n_edges, 1] = min(u, w), max(u, w)
    return edges


@maker
def random_edges(n, max_edges, max_degree, seed):
    """Return int32[n_edges, 2]: links drawn until the budget is used or no pair is admissible.

    A draw takes two of the nodes that are not full; if they are the same or linked it is rejected,
    which leaves the rest uniform. After MOST_REJECTED such draws one of the admissible pairs is
    drawn by its number.
    """
    key = stream(seed, 0)
    draw = 0
    degree = np.zeros(n, np.int32)
    open_nodes = np.arange(n).astype(np.int32)  # the first n_open entries: nodes that are not full
    n_open = n if max_degree > 0 else 0
    place = np.arange(n).astype(np.int32)  # [n], the index of a node in `open_nodes`
    linked = {np.int64(-1)}
    edges = np.empty((16, 2), np.int32)
    n_edges = 0
    while n_edges < max_edges and n_open > 1:
        u = w = np.int32(-1)
        for _ in range(MOST_REJECTED):
            a = open_nodes[int(uniform(key, draw) * n_open)]
            b = open_nodes[int(uniform(key, draw + 1) * n_open)]
            draw += 2
            if a != b and pair_number(a, b, n) not in linked:
                u, w = a, b
                break
        if u < 0:
            nodes = np.sort(open_nodes[:n_open])
            n_admissible = 0
            for i in range(n_open):
                for j in range(i + 1, n_open):
                    n_admissible += pair_number(nodes[i], nodes[j], n) not in linked
            if n_admissible == 0:
                break
            chosen = int(uniform(key, draw) * n_admissible)
            draw += 1
            for i in range(n_open):
                for j in range(i + 1, n_open):
                    if pair_number(nodes[i], nodes[j], n) not in linked:
                        if chosen == 0:
                            u, w = nodes[i], nodes[j]
                        chosen -= 1
        edges = add_edge(edges, n_edges, u, w)
        n_edges += 1
        linked.add(pair_number(u, w, n))
        for v in (min(u, w), max(u, w)):
            degree[v] += 1
            if degree[v] == max_degree or degree[v] == n - 1:
                n_open -= 1
                last = open_nodes[n_open]
                open_nodes[place[v]], place[last] = last, place[v]
    return edges[:n_edges]
