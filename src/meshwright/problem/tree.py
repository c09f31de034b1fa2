"""The tree of brokers that events go down: the publisher at its root, subscribers at its leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from meshwright.errors import InputError
from meshwright.names import NumberedNames

CAPACITY_TOLERANCE = 1e-6  # how far from 1 the capacities may sum


@dataclass(frozen=True, eq=False)
class BrokerTree:
    """Brokers by id, the publisher among them; the row whose parent is -1 is the publisher.

    Examples
    --------
    >>> tree = BrokerTree(parent=[-1, 0, 0], location=[[0.0], [1.0], [4.0]])
    >>> tree.publisher, tree.leaves.tolist(), tree.capacity.tolist(), tree.down.tolist()
    (0, [1, 2], [0.0, 0.5, 0.5], [0.0, 1.0, 4.0])

    """

    parent: npt.NDArray[np.int32]
    location: npt.NDArray[np.float64]  # rows are points of the network space
    # Shares of the leaves, summing to 1; all alike when none are given.
    capacity: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
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
        names = self.names or NumberedNames("broker", len(parent))
        object.__setattr__(self, "names", tuple(names))
        self._check_shape()
        capacity = np.array(self.capacity, np.float64)
        if len(capacity) == 0:
            capacity = np.full(len(parent), 1.0 / len(self.leaves))
        elif len(capacity) != len(parent):
            raise InputError("each broker needs a capacity; the publisher's counts for nothing.")
        capacity[self._is_inner] = 0.0
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
        if len(self.order) != len(self.parent):
            lost = sorted(set(range(len(self.parent))) - set(self.order.tolist()))
            raise InputError(f"the broker tree has a cycle through {self.names[lost[0]]!r}.")
        if len(self.parent) < 2:
            raise InputError("there is no broker beside the publisher; add one.")

    @property
    def n_brokers(self) -> int:
        """The number of rows, the publisher included."""
        return len(self.parent)

    @cached_property
    def publisher(self) -> int:
        """The root."""
        return int(np.flatnonzero(self.parent < 0)[0])

    @cached_property
    def children(self) -> tuple[npt.NDArray[np.int32], ...]:
        """The children of each broker, by id."""
        below: list[list[int]] = [[] for _ in range(len(self.parent))]
        for broker, parent in enumerate(self.parent.tolist()):
            if parent >= 0:
                below[parent].append(broker)
        return tuple(np.array(ids, np.int32) for ids in below)

    @cached_property
    def order(self) -> npt.NDArray[np.int32]:
        """The brokers from the publisher down, each after its parent."""
        reached = [self.publisher]
        for broker in reached:
            reached.extend(self.children[broker].tolist())
        return np.array(reached, np.int32)

    @cached_property
    def _is_inner(self) -> npt.NDArray[np.bool_]:
        inner = np.zeros(len(self.parent), np.bool_)
        inner[self.parent[self.parent >= 0]] = True
        inner[self.publisher] = True
        return inner

    @cached_property
    def leaves(self) -> npt.NDArray[np.int32]:
        """The brokers that subscribers attach to, by id."""
        return np.flatnonzero(~self._is_inner).astype(np.int32)

    @cached_property
    def down(self) -> npt.NDArray[np.float64]:
        """The latency from the publisher down the tree to each broker."""
        latency = np.zeros(len(self.parent))
        for broker in self.order[1:].tolist():
            above = int(self.parent[broker])
            hop = float(np.linalg.norm(self.location[broker] - self.location[above]))
            latency[broker] = latency[above] + hop
        return latency

    @cached_property
    def depth(self) -> npt.NDArray[np.int32]:
        """How many hops each broker is from the publisher."""
        depth = np.zeros(len(self.parent), np.int32)
        for broker in self.order[1:].tolist():
            depth[broker] = depth[self.parent[broker]] + 1
        return depth

    @cached_property
    def is_one_level(self) -> bool:
        """Whether every broker hangs on the publisher itself."""
        return len(self.leaves) == len(self.parent) - 1

    def leaves_below(self, broker: int) -> npt.NDArray[np.int32]:
        """Return the leaves of a broker's subtree, by id; a leaf is its own."""
        found, todo = [], [broker]
        while todo:
            at = todo.pop()
            below = self.children[at].tolist()
            if below:
                todo.extend(below)
            elif at != self.publisher:
                found.append(at)
        return np.array(sorted(found), np.int32)

    def path(self, broker: int) -> list[int]:
        """Return the brokers from just below the publisher down to this one."""
        path = []
        while broker != self.publisher:
            path.append(broker)
            broker = int(self.parent[broker])
        return path[::-1]

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("parent", "location", "capacity", "names")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
