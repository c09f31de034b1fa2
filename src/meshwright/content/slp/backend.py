"""Where `slp` keeps subscribers while it moves them: the backend in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from meshwright.content.problem import Problem
from meshwright.content.slp.members import Members, frame_of_rows, members_of
from meshwright.content.subscribers import InMemory, SubscriberRows, leaves_of, subscribers_of
from meshwright.runtime.arrays import Ints, Longs

if TYPE_CHECKING:
    from meshwright.content.slp.spark_backend import SparkBackend


class MemoryBackend:
    """All subscribers, and the broker that each is at: the publisher at first, -1 for none."""

    def __init__(self, problem: Problem) -> None:
        self.broker = np.full(problem.n_subscribers, problem.tree.publisher, np.int32)
        self._problem = problem

    def count(self, broker: int) -> int:
        """Return the number of subscribers at a broker."""
        return int((self.broker == broker).sum())

    def subscribers(self, brokers: Sequence[int]) -> InMemory[SubscriberRows]:
        """Return the subscribers at some brokers."""
        rows = np.flatnonzero(np.isin(self.broker, brokers))
        return InMemory(subscribers_of(self._problem, self.broker).pick(rows))

    def members(
        self, brokers: Sequence[int], target_of_leaf: Longs, threshold: float = 0.0
    ) -> InMemory[Members]:
        """Return the subscribers at some brokers, with the targets that are in time for them.

        `target_of_leaf` gives the target that each leaf belongs to, -1 for none; `threshold` is the
        share of a target's leaves that must be in time.
        """
        rows, leaves = self.subscribers(brokers).rows, leaves_of(self._problem)
        return InMemory(members_of(rows, leaves, target_of_leaf, threshold, frame_of_rows(rows)))

    def move(self, table: Any, broker_of: Callable[[Any], Ints]) -> None:
        """Move the rows of a table of this backend to the broker that `broker_of` gives each."""
        self.broker[table.rows.ids] = broker_of(table.rows)


Backend: TypeAlias = "MemoryBackend | SparkBackend"
