"""Groups of well-linked nodes: the local moves of the Louvain method, groups of bounded size."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def move_nodes(pointers, neighbours, weights, size, largest, rounds):
    """Return the group of each node: moved, in id order, to where modularity gains most.

    `size` counts the nodes that a point stands for; no group is joined that would pass `largest`.
    """
    n = len(pointers) - 1
    group = np.arange(n)
    strength = np.zeros(n)
    for u in range(n):
        for i in range(pointers[u], pointers[u + 1]):
            strength[u] += weights[i]
    total = strength.sum()
    if total == 0:
        return group
    held, members = strength.copy(), size.copy()
    to_group = np.zeros(n)
    seen = np.empty(n, np.int64)
    for _ in range(rounds):
        moved = 0
        for u in range(n):
            n_seen = 0
            for i in range(pointers[u], pointers[u + 1]):
                g = group[neighbours[i]]
                if neighbours[i] == u:
                    continue
                if to_group[g] == 0:
                    seen[n_seen] = g
                    n_seen += 1
                to_group[g] += weights[i]
            own = group[u]
            held[own] -= strength[u]
            members[own] -= size[u]
            best, best_gain = own, to_group[own] - strength[u] * held[own] / total
            for k in range(n_seen):
                g = seen[k]
                gain = to_group[g] - strength[u] * held[g] / total
                if members[g] + size[u] <= largest and (
                    gain > best_gain + 1e-12 or (gain > best_gain - 1e-12 and g < best)
                ):
                    best, best_gain = g, gain
            for k in range(n_seen):
                to_group[seen[k]] = 0
            group[u] = best
            held[best] += strength[u]
            members[best] += size[u]
            moved += best != own
        if moved == 0:
            break
    return group
