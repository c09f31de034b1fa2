"""Small worlds: a ring through all nodes, and one finger per node and phase.

Chen, Tock, Girdzijauskas, "BeaConvey" (DEBS 2018), section 3.1, Property 1. Distance is clockwise,
in ring positions. Phase i of a node holds the nodes at distances 2^i up to but not including
min(2^(i+1), n), so any number of nodes will do, where the paper takes powers of two. The finger
of phase 0 is the next node on the ring.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from meshwright.errors import InputError
from meshwright.model.instance import Instance, frozen
from meshwright.model.overlay import Overlay, distinct_edges, gains_of
from meshwright.runtime.arrays import Ints, Longs
from meshwright.storage.digest import pack


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SmallWorld(Overlay):
    """An overlay whose edges are a ring and its fingers, with Property 1."""

    ring: Ints  # the node at each position
    fingers: Ints  # n_nodes x n_phases: the node that a node's finger of a phase leads to

    def __post_init__(self) -> None:
        Overlay.__post_init__(self)  # with slots, super() would look for another class
        object.__setattr__(self, "ring", frozen(np.asarray(self.ring), np.int32, "ring"))
        fingers = np.array(self.fingers, dtype=np.int32)
        fingers.flags.writeable = False
        object.__setattr__(self, "fingers", fingers)
        _refuse(violations(self.ring, self.fingers, self.instance.node_names))
        if stray_edges(self.ring, self.fingers, self.edges, self.instance.node_names):
            raise InputError("the edges of a small world are its ring and fingers, and no others.")

    def _arrays(self) -> list[Ints]:
        return [self.edges, self.gains, self.ring, self.fingers]

    @property
    def positions(self) -> Ints:
        """The position of each node on the ring."""
        return positions_of(self.ring)

    @property
    def n_phases(self) -> int:
        """The number of fingers of each node."""
        return count_phases(len(self.ring))


def small_world(
    instance: Instance,
    ring: npt.ArrayLike,
    fingers: npt.ArrayLike,
    *,
    method: str,
    parameters: Mapping[str, Any] | None = None,
    seed: int | None = None,
) -> SmallWorld:
    """Return the small world of a ring and of fingers between its positions.

    `ring` is the node at each position, `fingers` for each position and phase the position that the
    finger leads to. Edges are in the order of the ring, then position by position, phase by phase.

    Examples
    --------
    >>> from meshwright.smallworld.methods import chord_fingers
    >>> instance = Instance.from_pairs([("a", "x"), ("b", "x"), ("c", "y"), ("d", "x")])
    >>> world = small_world(instance, [0, 2, 1, 3], chord_fingers(4), method="none")
    >>> world.fingers.tolist()  # of a, b, c and d: the next on the ring, and the one after
    [[2, 1], [3, 0], [1, 3], [0, 2]]
    >>> world.n_edges, world.support
    (6, 1.0)
    """
    order = np.asarray(ring, dtype=np.int32)
    by_position = np.asarray(fingers, dtype=np.int32)
    _refuse(_ring_violations(order, instance.node_names))
    if by_position.ndim != 2 or np.any((by_position < 0) | (by_position >= len(order))):
        raise InputError(f"fingers must be a table of positions from 0 to {len(order) - 1}.")
    if len(by_position) != len(order):
        raise InputError(f"fingers have {len(by_position)} rows for {len(order)} positions.")
    by_node = np.empty_like(by_position)
    by_node[order] = order[by_position]
    edges = _links(order, by_node)
    return SmallWorld(
        instance=instance,
        edges=edges,
        gains=gains_of(instance, edges),
        method=method,
        parameters=parameters or {},
        seed=seed,
        ring=order,
        fingers=by_node,
    )


def count_phases(n: int) -> int:
    """Return the number of phases of a ring of n nodes: the least k with 2^k >= n.

    Examples
    --------
    >>> [count_phases(n) for n in (1, 2, 3, 4, 5, 16)]
    [0, 1, 2, 2, 3, 4]
    """
    return max(n - 1, 0).bit_length()


def phase_bounds(n: int) -> tuple[Longs, Longs]:
    """Return for each phase its nearest distance, and the first one behind it."""
    nearest = np.int64(1) << np.arange(count_phases(n), dtype=np.int64)
    return nearest, np.minimum(2 * nearest, n)


def positions_of(ring: Ints) -> Ints:
    """Return the position of each node."""
    positions = np.empty(len(ring), dtype=np.int32)
    positions[ring] = np.arange(len(ring), dtype=np.int32)
    return positions


def reaches(ring: Ints, fingers: Ints) -> Ints:
    """Return for each position and phase the distance to the finger."""
    here = np.arange(len(ring), dtype=np.int32)[:, None]
    return (positions_of(ring)[fingers[ring]] - here) % np.int32(max(len(ring), 1))


def violations(ring: Ints, fingers: Ints, names: Sequence[str]) -> list[str]:
    """Return what is wrong with a ring and its fingers, in words; an empty list if nothing is.

    The ring must visit each node once, and each node have one finger in each phase.

    Examples
    --------
    >>> names = ["a", "b", "c"]
    >>> violations(np.array([0, 1, 2]), np.array([[1, 2], [2, 0], [0, 0]]), names)
    ["'c': the finger of phase 1 leads to 'a', 1 away; it must be 2 to 2 away."]
    """
    n, n_phases = len(names), count_phases(len(names))
    wrong = _ring_violations(ring, names)
    if fingers.shape != (n, n_phases):
        shape = " x ".join(map(str, fingers.shape))
        wrong.append(
            f"the fingers are {shape}; {n} nodes have {n_phases} phases each, so they "
            f"must be {n} x {n_phases}."
        )
    if wrong:
        return wrong
    for node, phase in np.argwhere((fingers < 0) | (fingers >= n)).tolist():
        wrong.append(
            f"{names[node]!r}: the finger of phase {phase} leads to {fingers[node, phase]}, "
            f"which is not a node id (0-{n - 1})."
        )
    if wrong:
        return wrong
    distance = reaches(ring, fingers)[positions_of(ring)]
    nearest, behind = phase_bounds(n)
    for node, phase in np.argwhere((distance < nearest) | (distance >= behind)).tolist():
        wrong.append(
            f"{names[node]!r}: the finger of phase {phase} leads to "
            f"{names[fingers[node, phase]]!r}, {distance[node, phase]} away; "
            f"it must be {nearest[phase]} to {behind[phase] - 1} away."
        )
    return wrong


def stray_edges(ring: Ints, fingers: Ints, edges: Ints, names: Sequence[str]) -> list[str]:
    """Return where the edges are not those of a ring and its fingers, in words."""
    own, listed = (pack(pairs[:, 0], pairs[:, 1]) for pairs in (_links(ring, fingers), edges))

    def ends(edge: int) -> str:
        both = (edge >> 32, edge & 0xFFFFFFFF)
        return " - ".join(repr(names[v]) if v < len(names) else str(v) for v in both)

    missing, extra = np.setdiff1d(own, listed).tolist(), np.setdiff1d(listed, own).tolist()
    return [
        *(f"{ends(edge)} is a link of the ring or a finger, but not an edge." for edge in missing),
        *(f"{ends(edge)} is an edge, but not a link of the ring or a finger." for edge in extra),
    ]


def _ring_violations(ring: Ints, names: Sequence[str]) -> list[str]:
    n = len(names)
    wrong = [
        f"position {at} of the ring holds {ring[at]}, which is not a node id (0-{n - 1})."
        for at in np.flatnonzero((ring < 0) | (ring >= n)).tolist()
    ]
    visits = np.bincount(ring[(ring >= 0) & (ring < n)], minlength=n)
    for node in np.flatnonzero(visits != 1).tolist():
        wrong.append(f"the ring visits {names[node]!r} {visits[node]} times, not once.")
    return wrong


def _refuse(wrong: list[str]) -> None:
    if wrong:
        more = f" And {len(wrong) - 3:,} more." if len(wrong) > 3 else ""
        raise InputError(f"this is not a small world: {' '.join(wrong[:3])}{more}")


def _links(ring: Ints, fingers: Ints) -> Ints:
    """Return the edges of the ring, then of the fingers position by position, each once."""
    after = np.roll(ring, -1)
    leaving = np.repeat(ring, fingers.shape[1])
    one, other = np.concatenate((ring, leaving)), np.concatenate((after, fingers[ring].ravel()))
    return distinct_edges(one, other)
