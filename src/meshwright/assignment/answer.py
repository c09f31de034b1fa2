"""An answer to a problem: a leaf for every subscriber and a filter for every broker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from meshwright.assignment.bound import Bound, lower_bound
from meshwright.assignment.check import Report, check
from meshwright.assignment.limits import Obstacle, find_obstacle
from meshwright.assignment.measures import Measures, measure
from meshwright.errors import InputError
from meshwright.problem import Problem


@dataclass(frozen=True, slots=True, eq=False)
class Filters:
    """The boxes of every broker: rows sorted by broker."""

    broker: npt.NDArray[np.int32]
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        if (np.diff(self.broker) < 0).any():
            raise InputError("the boxes of filters must be sorted by broker.")

    def of(self, broker: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return the low and the high corners of a broker's boxes."""
        first, last = np.searchsorted(self.broker, [broker, broker + 1])
        return self.low[first:last], self.high[first:last]


@dataclass(frozen=True, eq=False)
class Answer:
    """What a method found: `broker` is each subscriber's leaf, by id of the tree.

    Measures, the checker's report and the bound are worked out when first asked for.
    """

    problem: Problem
    method: str
    broker: npt.NDArray[np.int32]
    filters: Filters
    parameters: Mapping[str, Any] = field(default_factory=dict)
    fractional: float | None = None  # the value of the linear program, where one was solved
    notes: Mapping[str, Any] = field(default_factory=dict)  # what the method counted on its way
    seconds: float = 0.0

    @cached_property
    def measures(self) -> Measures:
        """Bandwidths, loads and delays."""
        return measure(self.problem, self.broker, self.filters)

    @cached_property
    def report(self) -> Report:
        """What the independent checker says."""
        return check(self)

    @cached_property
    def bound(self) -> Bound:
        """What no feasible answer to the problem can stay below."""
        return lower_bound(self.problem)

    @cached_property
    def obstacle(self) -> Obstacle | None:
        """What keeps the problem from having any feasible answer; looked for if this is none."""
        return None if self.feasible else find_obstacle(self.problem)

    @property
    def feasible(self) -> bool:
        """Whether the checker finds no violated constraint."""
        return self.report.feasible

    @property
    def bandwidth(self) -> float:
        """The volume of the filters, summed over all brokers but the publisher."""
        return self.measures.bandwidth

    @property
    def lbf(self) -> float:
        """The load balance factor."""
        return self.measures.lbf

    @property
    def loads(self) -> npt.NDArray[np.int64]:
        """How many subscribers each broker has, by id."""
        return self.measures.loads
