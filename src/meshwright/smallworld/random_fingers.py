"""RandomL: the finger of a phase is uniform over the nodes of it.

Chen, Tock, Girdzijauskas (DEBS 2018), section 5.1. Number i of the stream of (seed, position)
decides phase i, so the fingers of a position depend on nothing else.
"""

from __future__ import annotations

import numpy as np

from meshwright.smallworld.random_kernel import random_reaches
from meshwright.smallworld.world import Ints, phase_bounds


def random_fingers(n: int, seed: int) -> Ints:
    """Return for each position and phase the position that the finger leads to.

    Examples
    --------
    >>> random_fingers(3, seed=1).tolist()  # three nodes leave no choice
    [[1, 2], [2, 0], [0, 1]]

    """
    nearest, behind = phase_bounds(n)
    here = np.arange(n, dtype=np.int64)[:, None]
    reach = random_reaches(n, nearest, behind, seed)
    fingers: Ints = ((here + reach) % max(n, 1)).astype(np.int32)
    return fingers
