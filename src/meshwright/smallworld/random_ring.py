"""RandomS: the nodes on the ring in a random order, each order as likely as any other.

Chen, Tock, Girdzijauskas (DEBS 2018), section 5.1. Nodes are sorted by number 0 of their stream
of (seed, node).
"""

from __future__ import annotations

import numpy as np

from meshwright.smallworld.random_kernel import random_keys
from meshwright.smallworld.world import Ints


def random_ring(n: int, seed: int) -> Ints:
    """Return the node at each position.

    Examples
    --------
    >>> sorted(random_ring(6, seed=1).tolist())
    [0, 1, 2, 3, 4, 5]

    """
    return np.argsort(random_keys(n, seed), kind="stable").astype(np.int32)
