"""Loops that place the nodes of a picture, and that find groups of well-linked nodes."""

from typing import NamedTuple

import numpy as np

from meshwright.runtime.compile import kernel, maker


class Springs(NamedTuple):
    """The links that pull points together."""

    one: np.ndarray  # int32[n_links], one end of each link
    other: np.ndarray  # int32[n_links], its other end
    pull: np.ndarray  # float64[n_links], force per unit of length


@maker
def settle(x, y, mass, springs, steps, gravity):
    """Move the points `x`, `y` in `steps` steps of falling length. Written: x, y.

    All points repel each other by mass * mass / distance, so that hubs keep room for their
    neighbours; links pull in proportion to their length; `gravity` pulls to the middle. Each step
    is bounded by a temperature that falls to zero.
    """
    one, other, pull = springs
    n = len(x)
    start = 0.1 * np.sqrt(n) + 1.0
    fx, fy = np.empty(n), np.empty(n)
    for step in range(steps):
        for i in range(n):
            far = np.sqrt(x[i] * x[i] + y[i] * y[i]) + 1e-9
            fx[i] = -gravity * mass[i] * x[i] / far
            fy[i] = -gravity * mass[i] * y[i] / far
        for i in range(n):
            xi, yi, mi = x[i], y[i], mass[i]
            ax = ay = 0.0
            for j in range(i + 1, n):
                dx, dy = xi - x[j], yi - y[j]
                push = mi * mass[j] / (dx * dx + dy * dy + 1e-4)
                ax += dx * push
                ay += dy * push
                fx[j] -= dx * push
                fy[j] -= dy * push
            fx[i] += ax
            fy[i] += ay
        for e in range(len(one)):
            u, v = one[e], other[e]
            dx, dy = (x[v] - x[u]) * pull[e], (y[v] - y[u]) * pull[e]
            fx[u] += dx
            fy[u] += dy
            fx[v] -= dx
            fy[v] -= dy
        heat = start * (1.0 - step / steps) ** 1.5
        for i in range(n):
            force = np.sqrt(fx[i] * fx[i] + fy[i] * fy[i]) + 1e-9
            move = min(heat, force / mass[i]) / force
            x[i] += fx[i] * move
            y[i] += fy[i] * move


@kernel
def separate(x, y, radius, rounds):
    """Push discs apart until none overlap, in at most `rounds` rounds. Written: x, y."""
    n = len(x)
    for _ in range(rounds):
        moved = False
        for i in range(n):
            for j in range(i + 1, n):
                dx, dy = x[j] - x[i], y[j] - y[i]
                far = np.sqrt(dx * dx + dy * dy) + 1e-9
                lack = radius[i] + radius[j] - far
                if lack > 1e-3:
                    sx, sy = dx / far * lack * 0.5, dy / far * lack * 0.5
                    x[i] -= sx
                    y[i] -= sy
                    x[j] += sx
                    y[j] += sy
                    moved = True
        if not moved:
            return


@maker
def move_nodes(pointers, neighbours, weights, size, largest, rounds):
    """Return the group of each node: the local moves of the Louvain method, in id order.

    The graph is CSR: `pointers` int32[n + 1], `neighbours` int32[n_links], `weights`
    float64[n_links]. `size` int64[n] counts the nodes that each point represents; no group grows
    beyond `largest` of them. Reads only.
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
