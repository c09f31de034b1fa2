"""Forces between nodes: all push each other away, links pull, and a weak force keeps all near."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def settle(x, y, mass, one, other, pull, steps, gravity):
    """Move the points `x`, `y` in `steps` steps of falling length. Written: x, y.

    Repulsion is mass * mass / distance, so that hubs keep room for what hangs on them; links pull
    in proportion to their length. Every step is bounded by a temperature that falls to zero.
    """
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


@njit(cache=True)
def part(x, y, radius, rounds):
    """Push discs apart until none overlap, or so many rounds have passed. Written: x, y."""
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
