"""The four small worlds of paper 4, Table 2, each as its ring and fingers.

The letters name the links chosen by gain: S the short ones of the ring, L the long ones. Without
S the ring is random (RandomS), without L the fingers are Chord's or random (RandomL).
"""

from __future__ import annotations

from meshwright.model.instance import Instance, Ints
from meshwright.runtime.progress import ProgressCallback
from meshwright.smallworld.fingers import gswico_fingers, plain_fingers
from meshwright.smallworld.ring import gswico_ring, random_ring

RingAndFingers = tuple[Ints, Ints]  # as the modules of these names return them


def greedy_world(
    instance: Instance, *, seed: int, on_progress: ProgressCallback | None = None
) -> RingAndFingers:
    """Return the ring and fingers of `sl` (GSwicoSL), both by gain; nothing is random."""
    del seed
    ring = gswico_ring(instance, on_progress)
    return ring, gswico_fingers(instance, ring, on_progress)


def greedy_ring_world(
    instance: Instance, *, fingers: str, seed: int, on_progress: ProgressCallback | None = None
) -> RingAndFingers:
    """Return the parts of `s`: a ring by gain, fingers that ignore the interests."""
    return gswico_ring(instance, on_progress), plain_fingers(instance.n_nodes, fingers, seed)


def greedy_finger_world(
    instance: Instance, *, seed: int, on_progress: ProgressCallback | None = None
) -> RingAndFingers:
    """Return the parts of `l`: a random ring, fingers by gain."""
    ring = random_ring(instance.n_nodes, seed)
    return ring, gswico_fingers(instance, ring, on_progress)


def plain_world(instance: Instance, *, fingers: str, seed: int) -> RingAndFingers:
    """Return the parts of `none`: a random ring, fingers that ignore the interests."""
    n = instance.n_nodes
    return random_ring(n, seed), plain_fingers(n, fingers, seed)
