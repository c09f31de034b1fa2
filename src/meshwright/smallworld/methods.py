"""The four small worlds of paper 4, Table 2, each as its ring and fingers.

Chen, Tock, Girdzijauskas, "BeaConvey" (DEBS 2018). A ring is int32[n], the node at each position;
fingers are int32[n, n_phases], the position that the finger of each position and phase leads to.
The letters name the links chosen by gain: S the short ones of the ring, L the long ones. Without
S the ring is random (RandomS), without L the fingers are Chord's or random (RandomL).

Alg. 1 chooses long fingers by gain and says nothing of the slots in which no link gains, which are
40 to 84% of them on social graphs. `fill` decides: ``random`` draws such a finger as RandomL does,
which is how we read the paper; ``interest`` takes the node of greatest common interest, then the
nearest, which is ours and has less overhead.
"""

from functools import partial

import numpy as np

from meshwright.model.instance import Instance
from meshwright.model.small_world import phase_bounds
from meshwright.runtime.arrays import Ints, Longs
from meshwright.runtime.progress import OnProgress
from meshwright.smallworld.greedy import fill_by_interest, gswico_fingers, gswico_ring
from meshwright.smallworld.kernels.worlds import EMPTY, random_numbers


def make_world(
    instance: Instance,
    *,
    by_gain: str,
    fingers: str = "chord",
    fill: str = "interest",
    seed: int = 1,
    on_progress: OnProgress = None,
) -> tuple[Ints, Ints]:
    """Return the ring and the fingers of a small world; `by_gain` holds the letters of its name."""
    n = instance.n_nodes
    ring = gswico_ring(instance, on_progress) if "s" in by_gain else random_ring(n, seed)
    if "l" not in by_gain:
        return ring, plain_fingers(n, fingers, seed)
    slots = gswico_fingers(instance, ring, on_progress)
    return ring, filled(instance, ring, slots, fill, seed)


def filled(instance: Instance, ring: Ints, slots: Ints, fill: str, seed: int) -> Ints:
    """Return the fingers with every empty slot filled, at random or by interest."""
    if fill == "random":
        return np.where(slots == EMPTY, random_fingers(len(ring), seed), slots)
    fill_by_interest(instance, ring, slots)
    return slots


world_sl = partial(make_world, by_gain="sl")
world_s = partial(make_world, by_gain="s")
world_l = partial(make_world, by_gain="l")
world_none = partial(make_world, by_gain="")


def random_ring(n: int, seed: int) -> Ints:
    """Return the ring of RandomS, section 5.1: a random order, every order equally likely.

    Nodes are sorted by number 0 of the stream of (seed, node).

    Examples
    --------
    >>> sorted(random_ring(6, seed=1).tolist())
    [0, 1, 2, 3, 4, 5]
    """
    return np.argsort(random_numbers(n, 1, seed)[:, 0], kind="stable").astype(np.int32)


def plain_fingers(n: int, kind: str, seed: int) -> Ints:
    """Return fingers that ignore the interests, of the kind "chord" or "random"."""
    return chord_fingers(n) if kind == "chord" else random_fingers(n, seed)


def chord_fingers(n: int) -> Ints:
    """Return the fingers of Chord: the first node of each phase, 2^i away.

    Stoica, Morris, Karger, Kaashoek, Balakrishnan, "Chord", SIGCOMM 2001.

    Examples
    --------
    >>> chord_fingers(5).tolist()
    [[1, 2, 4], [2, 3, 0], [3, 4, 1], [4, 0, 2], [0, 1, 3]]
    """
    nearest, _ = phase_bounds(n)
    return _at_distances(n, nearest)


def random_fingers(n: int, seed: int) -> Ints:
    """Return the fingers of RandomL, section 5.1: uniform over the nodes of each phase.

    Number i of the stream of (seed, position) decides phase i, and nothing else does.

    Examples
    --------
    >>> random_fingers(3, seed=1).tolist()  # three nodes leave no choice
    [[1, 2], [2, 0], [0, 1]]
    """
    nearest, behind = phase_bounds(n)
    beyond = random_numbers(n, len(nearest), seed) * (behind - nearest)
    return _at_distances(n, nearest + beyond.astype(np.int64))


def _at_distances(n: int, distances: Longs) -> Ints:
    """Return the position at a distance from each; `distances` are [n_phases] or [n, n_phases]."""
    return ((np.arange(n)[:, None] + distances) % max(n, 1)).astype(np.int32)
