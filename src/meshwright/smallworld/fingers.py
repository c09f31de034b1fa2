"""Fingers: one link per node and phase of a small world, by gain, as Chord has them, or random.

Chen, Tock, Girdzijauskas, "BeaConvey" (DEBS 2018). Fingers are an array of n x n_phases ring
positions: where the finger of each position and phase leads.
"""

from __future__ import annotations

import numpy as np

from meshwright.model.instance import Instance, Ints, row_pointers
from meshwright.model.small_world import count_phases, phase_bounds, positions_of
from meshwright.overlay.greedy.rule import reorder_nodes
from meshwright.runtime.progress import ProgressCallback
from meshwright.runtime.threads import in_parts
from meshwright.smallworld.greedy import finger_edges
from meshwright.smallworld.kernels.fingers import Interests, fill_rest, fill_slots, random_reaches


def gswico_fingers(
    instance: Instance, ring: Ints, on_progress: ProgressCallback | None = None
) -> Ints:
    """Return the fingers of GSwicoL, Alg. 1: the best gain first, the ring's links given.

    Each edge is the best among those that fill an empty slot (a node's finger of a phase from 1
    on) and fills that slot only, even where it would also fit one of its other end.

    The paper leaves open: ties (lower larger degree, smaller ids, then the slot of the smaller
    node; degrees count each link once, those of the ring included), and slots in which no edge
    gains. These take the node of greatest common interest, then the nearest.

    Cost: as `gm`, and at most one scan more of all pairs that share a topic; memory proportional
    to the subscriptions and n log n.

    Examples
    --------
    >>> pairs = [("a", "x"), ("d", "x"), ("b", "y"), ("e", "y"), ("c", "z")]
    >>> gswico_fingers(Instance.from_pairs(pairs), np.arange(5, dtype=np.int32)).tolist()
    [[1, 3, 4], [2, 4, 0], [3, 4, 1], [4, 0, 2], [0, 1, 3]]

    """
    edges = finger_edges(instance, ring, on_progress)
    slots: Ints = fill_slots(positions_of(ring)[edges], ring, count_phases(len(ring)))
    fill_by_interest(instance, ring, slots)
    return slots


def fill_by_interest(instance: Instance, ring: Ints, slots: Ints) -> None:
    """Fill the empty slots by common interest, then the nearest. Writes `slots`."""
    indptr, topics = reorder_nodes(instance, ring)
    positions = np.repeat(np.arange(len(ring), dtype=np.uint32), np.diff(indptr))
    interests = Interests(
        indptr,
        topics.astype(np.uint32),
        row_pointers(np.sort(topics), instance.n_topics),
        positions[np.argsort(topics, kind="stable")],
    )

    def fill(first: int, last: int) -> None:
        fill_rest(slots, interests, first, last)

    in_parts(fill, len(ring))


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
    here = np.arange(n, dtype=np.int64)[:, None]
    return ((here + nearest) % max(n, 1)).astype(np.int32)


def random_fingers(n: int, seed: int) -> Ints:
    """Return the fingers of RandomL, section 5.1: uniform over the nodes of each phase.

    Number i of the stream of (seed, position) decides phase i, so the fingers of a position depend
    on nothing else.

    Examples
    --------
    >>> random_fingers(3, seed=1).tolist()  # three nodes leave no choice
    [[1, 2], [2, 0], [0, 1]]

    """
    here = np.arange(n, dtype=np.int64)[:, None]
    reach = random_reaches(n, *phase_bounds(n), seed)
    fingers: Ints = ((here + reach) % max(n, 1)).astype(np.int32)
    return fingers
