"""Instance -> SmallWorld: nodes on a ring, and one finger per node and phase."""

from __future__ import annotations

from meshwright.smallworld.chord_fingers import chord_fingers
from meshwright.smallworld.dataset import load_overlay, write_overlay
from meshwright.smallworld.gswico_fingers import gswico_fingers
from meshwright.smallworld.gswico_ring import gswico_ring
from meshwright.smallworld.methods import ALL_METHODS, WORLDS, design
from meshwright.smallworld.random_fingers import random_fingers
from meshwright.smallworld.random_ring import random_ring
from meshwright.smallworld.world import SmallWorld, count_phases, small_world, violations

__all__ = [
    "ALL_METHODS",
    "WORLDS",
    "SmallWorld",
    "chord_fingers",
    "count_phases",
    "design",
    "gswico_fingers",
    "gswico_ring",
    "load_overlay",
    "random_fingers",
    "random_ring",
    "small_world",
    "violations",
    "write_overlay",
]
