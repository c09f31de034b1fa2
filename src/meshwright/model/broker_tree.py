"""Broker trees: the publisher is the root, and subscribers attach to the leaves."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from meshwright.errors import InputError
from meshwright.model.names import NumberedNames
from meshwright.runtime.arrays import Floats, Ints

CAPACITY_TOLERANCE = 1e-6  # how far from 1 the capacities may sum


@dataclass(frozen=True, eq=False)
class BrokerTree:
    """Brokers by id; the one whose parent is -1 is the publisher.

    Examples
    --------
    >>> tree = BrokerTree(parent=[-1, 0, 0], location=[[0.0], [1.0], [4.0]])
    >>> tree.publisher, tree.leaves.tolist(), tree.capacity.tolist(), tree.down.tolist()
    (0, [1, 2], [0.0, 0.5, 0.5], [0.0, 1.0, 4.0])
    """

    parent: Ints  # int32[brokers]
    location: Floats  # float64[brokers, network dimensions]
    # float64[brokers], fractions that sum to 1 over the leaves; empty for equal ones
    capacity: Floats = field(default_factory=lambda: np.zeros(0))
    names: Sequence[str] = ()

    def __post_init__(self) -> None:
        parent = np.array(self.parent, np.int32)
        location = np.array(self.location, np.float64)
        object.__setattr__(self, "parent", parent)
        object.__setattr__(self, "location", location)
        if location.ndim != 2 or len(location) != len(parent):
            raise InputError("each broker needs one location, all of the same dimensions.")
        if not np.isfinite(location).all():
            raise InputError("a broker's location is not a finite number.")
        object.__setattr__(self, "names", tuple(self.names or NumberedNames("broker", len(parent))))
        self._check_shape()
        capacity = np.array(self.capacity, np.float64)
        if len(capacity) == 0:
            capacity = np.full(len(parent), 1.0 / len(self.leaves))
        elif len(capacity) != len(parent):
            raise InputError("each broker needs a capacity; that of the publisher is ignored.")
        capacity[self.parent[self.parent >= 0]] = 0.0
        object.__setattr__(self, "capacity", capacity)
        if not np.isfinite(capacity).all() or (capacity < 0).any():
            raise InputError("a broker's capacity is not a number of 0 or more.")
        if abs(capacity.sum() - 1.0) > CAPACITY_TOLERANCE:
            raise InputError(
                f"the capacities of the leaves sum to {capacity.sum():.6g}; scale them to sum to 1."
            )
        for array in (parent, location, capacity):
            array.flags.writeable = False

    def _check_shape(self) -> None:
        roots = np.flatnonzero(self.parent < 0)
        if len(roots) != 1:
            raise InputError(
                f"the broker tree has {len(roots)} rows without a parent; "
                "exactly one, the publisher, has none."
            )
        if (self.parent >= len(self.parent)).any():
            raise InputError("a broker's parent is not among the brokers.")
        lost = np.setdiff1d(np.arange(self.n_brokers), self.order).tolist()
        if lost:
            raise InputError(f"the broker tree has a cycle through {self.names[lost[0]]!r}.")
        if self.n_brokers < 2:
            raise InputError("there is no broker besides the publisher; add one.")

    @property
    def n_brokers(self) -> int:
        """The number of brokers, including the publisher."""
        return len(self.parent)

    @cached_property
    def publisher(self) -> int:
        """The id of the root."""
        return int(np.flatnonzero(self.parent < 0)[0])

    @cached_property
    def children(self) -> tuple[Ints, ...]:
        """The children of each broker, by id."""
        by_parent = np.argsort(self.parent, kind="stable").astype(np.int32)
        first = np.searchsorted(self.parent[by_parent], np.arange(self.n_brokers))
        return tuple(np.split(by_parent, first)[1:])

    @cached_property
    def order(self) -> Ints:
        """The brokers from the publisher down, each after its parent."""
        return np.array(self._subtree(self.publisher), np.int32)

    @cached_property
    def leaves(self) -> Ints:
        """The ids of the brokers that subscribers attach to."""
        return np.setdiff1d(np.arange(self.n_brokers, dtype=np.int32), self.parent)

    @cached_property
    def down(self) -> Floats:
        """The latency from the publisher down the tree to each broker."""
        latency = np.zeros(len(self.parent))
        for broker in self.order[1:].tolist():
            above = int(self.parent[broker])
            hop = float(np.linalg.norm(self.location[broker] - self.location[above]))
            latency[broker] = latency[above] + hop
        return latency

    @cached_property
    def depth(self) -> Ints:
        """The number of hops from the publisher to each broker."""
        depth = np.zeros(len(self.parent), np.int32)
        for broker in self.order[1:].tolist():
            depth[broker] = depth[self.parent[broker]] + 1
        return depth

    def leaves_below(self, broker: int) -> Ints:
        """Return the ids of the leaves in a broker's subtree; a leaf's subtree is itself."""
        return np.intersect1d(self._subtree(broker), self.leaves).astype(np.int32)

    def _subtree(self, broker: int) -> list[int]:
        reached = [broker]
        for at in reached:
            reached.extend(self.children[at].tolist())
        return reached
