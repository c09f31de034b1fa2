"""Subscribers in batches, in memory or on Spark.

A summary of all subscribers is a function of a batch, and a function that combines two results.
In memory there is one batch. On Spark (`spark_subscribers`) each task applies the same function to
its batches. So the checker, the bound and `slp` have one definition for both, and equal results.
The functions must be picklable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from meshwright.content.boxes import Boxes, fit_groups
from meshwright.content.kernels.latency import mark_in_time
from meshwright.content.methods.flow import group_rows
from meshwright.model.density import DensityTable
from meshwright.model.problem import Problem, ProblemSummary
from meshwright.runtime.arrays import Bools, Floats, Ints, Longs, Words
from meshwright.runtime.threads import in_parts

if TYPE_CHECKING:
    from meshwright.content.spark_subscribers import SparkTable

Counted = tuple[Longs, Longs]  # items, and a count of each


@dataclass(frozen=True, slots=True, eq=False)
class SubscriberRows:
    """Rows of subscribers: all of them, a batch or a sample."""

    ids: Longs  # int64[n]
    location: Floats  # float64[n, network dimensions]
    low: Floats  # float64[n, event dimensions], corners of the subscriptions
    high: Floats
    max_delay: Floats  # float64[n]
    broker: Ints  # int32[n], the broker that each is at, -1 for none

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.ids)

    @property
    def columns(self) -> tuple[npt.NDArray[Any], ...]:
        """The arrays, in the order of the fields."""
        return tuple(getattr(self, field.name) for field in fields(self))

    def pick(self, rows: npt.NDArray[np.intp] | Bools) -> Self:
        """Return some of the rows."""
        return type(self)(*(column[rows] for column in self.columns))

    def joined(self, other: Self) -> Self:
        """Return these rows followed by others."""
        return type(self)(*map(np.concatenate, zip(self.columns, other.columns, strict=True)))


S = TypeVar("S", bound=SubscriberRows)
T = TypeVar("T")


class InMemory(Generic[S]):
    """A table of subscribers in one batch; `SparkTable` offers the same for many."""

    def __init__(self, rows: S) -> None:
        self.rows = rows
        self.size = rows.size

    def reduce(self, summarize: Callable[[S], T], combine: Callable[[T, T], T]) -> T:
        """Return the summary of all rows, combined from those of batches in any order."""
        del combine
        return summarize(self.rows)

    def count(self, words_of: Callable[[S], Words]) -> tuple[Words, Longs]:
        """Return the distinct rows of words, sorted, and how many subscribers have each."""
        masks, _, counts = group_rows(words_of(self.rows))
        return masks, counts

    def sums(self, rows_of: Callable[[S], tuple[Longs, Longs, Longs]]) -> Callable[[int], Counted]:
        """Sum rows of (group, item, count); return a function that gives a group's items, sums.

        The rows of a batch are distinct and sorted.
        """
        group, item, count = rows_of(self.rows)

        def of_group(number: int) -> Counted:
            first, last = np.searchsorted(group, [number, number + 1])
            return item[first:last], count[first:last]

        return of_group

    def ids_at(self, spot_of: Callable[[S], Ints], spot: Longs, place: Longs) -> Longs:
        """Return the ids that have `place` smaller ids in the same spot.

        `spot_of` gives the spot of each row, -1 for none.
        """
        spots = spot_of(self.rows)
        order = np.lexsort((self.rows.ids, spots))
        return self.rows.ids[order[np.searchsorted(spots[order], spot) + place]]

    def fit(
        self, target_of: Callable[[S], Ints], loads: Longs, alpha: int, density: DensityTable
    ) -> tuple[Boxes, Ints]:
        """Return at most alpha boxes for each target around its rows, and the target of each box.

        `target_of` gives the target of each row, -1 for none; `loads` counts the rows by target.
        """
        boxes = Boxes(self.rows.low, self.rows.high)
        return fit_groups(boxes, target_of(self.rows), len(loads), alpha, density)


RowTable: TypeAlias = "InMemory[S] | SparkTable[S]"
PlainTable: TypeAlias = "RowTable[SubscriberRows]"


def subscribers_of(problem: Problem, broker: npt.ArrayLike = -1) -> SubscriberRows:
    """Return the subscribers of a problem in memory, at the given brokers."""
    ids = np.arange(problem.n_subscribers)
    at = np.ascontiguousarray(np.broadcast_to(np.asarray(broker, np.int32), ids.shape))
    return SubscriberRows(ids, problem.location, problem.low, problem.high, problem.max_delay, at)


class Leaves(NamedTuple):
    """The leaves as the latency test reads them, in the order of `tree.leaves`."""

    location: Floats  # float64[n_leaves, network dimensions]
    down: Floats  # float64[n_leaves], latency from the publisher
    place: Ints  # int32[n_brokers + 1], the place of each broker among the leaves, or -1

    def in_time(self, rows: SubscriberRows, least_delay: float = 0.0) -> Words:
        """Return the leaves in time of each subscriber, as bits.

        `least_delay` is allowed to every subscriber, even one whose `max_delay` is smaller.
        """
        delay = np.maximum(rows.max_delay, least_delay)
        found = np.empty((rows.size, -(-len(self.down) // 64)), np.uint64)

        def mark(first: int, last: int) -> None:
            some = slice(first, last)
            mark_in_time(rows.location[some], delay[some], self.location, self.down, found[some])

        in_parts(mark, rows.size)
        return found

    def of(self, broker: npt.NDArray[np.integer]) -> Ints:
        """Return the place of brokers among the leaves, -1 for all that are not leaves."""
        n_brokers = len(self.place) - 1
        return self.place[np.where((broker >= 0) & (broker < n_brokers), broker, n_brokers)]


def leaves_of(problem: ProblemSummary) -> Leaves:
    """Return the leaves of a problem."""
    place = np.full(problem.tree.n_brokers + 1, -1, np.int32)  # the last for unknown brokers
    place[problem.tree.leaves] = np.arange(len(problem.tree.leaves))
    return Leaves(problem.leaf_location, problem.leaf_down, place)


def unpack(words: Words, n_bits: int) -> Bools:
    """Return rows of bits as rows of booleans."""
    octets = np.ascontiguousarray(words).view(np.uint8)
    return np.unpackbits(octets, axis=1, count=n_bits, bitorder="little").view(np.bool_)


def pack(rows: Bools) -> Words:
    """Return rows of booleans as rows of bits."""
    wide = np.pad(rows, ((0, 0), (0, -rows.shape[1] % 64)))
    return np.packbits(wide, axis=1, bitorder="little").view(np.uint64)
