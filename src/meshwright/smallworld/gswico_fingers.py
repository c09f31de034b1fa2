"""GSwicoL: one finger per node and phase, the best gain first.

Chen, Tock, Girdzijauskas, "BeaConvey" (DEBS 2018), Alg. 1. The ring is there from the start. Each
edge is the best among those that fill an empty slot, a node's finger of a phase from 1 on, and
fills that slot only, even where it would do for one of its other end too.

The paper leaves open: ties (lower larger degree, smaller ids, then the slot of the smaller node;
degrees count each link once, those of the ring included), and slots in which nothing gains. These
take the node of greatest common interest, then the nearest.
"""

from __future__ import annotations

import numpy as np

from meshwright.kernels.threads import in_parts
from meshwright.overlay.engine import Tell, in_order
from meshwright.smallworld.greedy import finger_edges
from meshwright.smallworld.slot_kernel import fill_rest, fill_slots
from meshwright.smallworld.world import Ints, count_phases, positions_of
from meshwright.values import Instance, row_pointers


def gswico_fingers(instance: Instance, ring: Ints, tell: Tell | None = None) -> Ints:
    """Return for each position and phase the position that the finger leads to.

    Cost: as `gm`, and at most one scan more of all pairs that share a topic; memory in the order
    of the subscriptions and n log n.

    Examples
    --------
    >>> pairs = [("a", "x"), ("d", "x"), ("b", "y"), ("e", "y"), ("c", "z")]
    >>> gswico_fingers(Instance.from_pairs(pairs), np.arange(5, dtype=np.int32)).tolist()
    [[1, 3, 4], [2, 4, 0], [3, 4, 1], [4, 0, 2], [0, 1, 3]]

    """
    n, positions = len(ring), positions_of(ring)
    edges = finger_edges(instance, ring, tell)
    slots: Ints = fill_slots(positions[edges], ring, count_phases(n))
    fill_by_interest(instance, ring, slots)
    return slots


def fill_by_interest(instance: Instance, ring: Ints, slots: Ints) -> None:
    """Fill the empty slots by common interest, then the nearest. Writes `slots`."""
    n = len(ring)
    indptr, topics = in_order(instance, ring)
    wanting = np.repeat(np.arange(n, dtype=np.uint32), np.diff(indptr))
    topic_ptr = row_pointers(np.sort(topics), instance.n_topics)
    wanting = wanting[np.argsort(topics, kind="stable")]
    unsigned = topics.astype(np.uint32)
    in_parts(lambda *part: fill_rest(slots, indptr, unsigned, topic_ptr, wanting, *part), n)
