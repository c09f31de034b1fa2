"""Chord: the finger of a phase is the first node of it, 2^i away.

Stoica, Morris, Karger, Kaashoek, Balakrishnan, "Chord", SIGCOMM 2001; Chen, Tock, Girdzijauskas
(DEBS 2018), section 5.1.
"""

from __future__ import annotations

import numpy as np

from meshwright.smallworld.world import Ints, phase_bounds


def chord_fingers(n: int) -> Ints:
    """Return for each position and phase the position that the finger leads to.

    Examples
    --------
    >>> chord_fingers(5).tolist()
    [[1, 2, 4], [2, 3, 0], [3, 4, 1], [4, 0, 2], [0, 1, 3]]

    """
    nearest, _ = phase_bounds(n)
    here = np.arange(n, dtype=np.int64)[:, None]
    return ((here + nearest) % max(n, 1)).astype(np.int32)
