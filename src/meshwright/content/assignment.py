"""Assignments: a leaf for every subscriber of a problem and a filter for every broker."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from meshwright.content.bound import Bound, lower_bound
from meshwright.content.check import Report, check
from meshwright.content.measures import Measures, measure
from meshwright.content.obstacle import Obstacle, find_obstacle
from meshwright.content.problem import Problem
from meshwright.errors import InputError
from meshwright.runtime.arrays import Floats, Ints, Longs


@dataclass(frozen=True, slots=True, eq=False)
class Filters:
    """The boxes of all brokers: rows sorted by broker."""

    broker: Ints  # int32[boxes]
    low: Floats  # float64[boxes, d]
    high: Floats  # float64[boxes, d]

    def __post_init__(self) -> None:
        if (np.diff(self.broker) < 0).any():
            raise InputError("the boxes of filters must be sorted by broker.")

    def of(self, broker: int) -> tuple[Floats, Floats]:
        """Return the low and the high corners of a broker's boxes."""
        first, last = np.searchsorted(self.broker, [broker, broker + 1])
        return self.low[first:last], self.high[first:last]


@dataclass(frozen=True, eq=False)
class Assignment:
    """The result of a method.

    Measures, the checker's report and the bound are computed on first use.
    """

    problem: Problem
    method: str
    broker: Ints  # int32[subscribers], each one's leaf by its id in the tree
    filters: Filters
    parameters: Mapping[str, Any] = field(default_factory=dict)
    fractional: float | None = None  # the value of the linear program, where one was solved
    notes: Mapping[str, Any] = field(default_factory=dict)  # counts that the method made
    seconds: float = 0.0

    @cached_property
    def measures(self) -> Measures:
        """Bandwidths, loads and delays."""
        return measure(self.problem, self.broker, self.filters)

    @cached_property
    def report(self) -> Report:
        """The findings of the independent checker."""
        return check(self)

    @cached_property
    def bound(self) -> Bound:
        """A lower bound of the bandwidth of every feasible assignment."""
        return lower_bound(self.problem)

    @cached_property
    def obstacle(self) -> Obstacle | None:
        """Why no assignment is feasible; computed only if this one is not."""
        return None if self.feasible else find_obstacle(self.problem)

    @property
    def feasible(self) -> bool:
        """Whether the checker finds no violated constraint."""
        return self.report.feasible

    @property
    def bandwidth(self) -> float:
        """The volume of the filters, summed over all brokers except the publisher."""
        return self.measures.bandwidth

    @property
    def lbf(self) -> float:
        """The load balance factor."""
        return self.measures.lbf

    @property
    def loads(self) -> Longs:
        """The number of subscribers of each broker, by id."""
        return self.measures.loads
