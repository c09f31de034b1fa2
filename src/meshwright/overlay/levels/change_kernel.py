"""What has changed of the labels since the round before: found, and taken over, without copies."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def changes(known, now):
    """Return the positions whose label is another now, and these labels, which become known."""
    n = 0
    for position in range(len(now)):
        n += now[position] != known[position]
    positions, labels = np.empty(n, np.int32), np.empty(n, np.int32)
    n = 0
    for position in range(len(now)):
        if now[position] != known[position]:
            positions[n], labels[n] = position, now[position]
            known[position] = now[position]
            n += 1
    return positions, labels


@njit(cache=True, nogil=True)
def take_over(known, positions, labels):
    """Change the labels that another process found changed."""
    for k in range(len(positions)):
        known[positions[k]] = labels[k]
