"""A problem of assignment: who wants which box of the event space, and who may serve it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from meshwright.datasets.digest import names_digest
from meshwright.errors import InputError
from meshwright.names import NumberedNames, arrow_names
from meshwright.problem.density import Density, DensityTable, no_density
from meshwright.problem.digest import problem_digest, subscribers_digest
from meshwright.problem.tree import BrokerTree

TOLERANCE = 1e-9  # of latencies: how much a limit may be passed, relative


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Subscribers with their boxes, the tree of brokers, and the limits an answer must keep.

    Parameters
    ----------
    location
        Where each subscriber is in the network space.
    low, high
        The box each subscriber wants.
    max_delay
        How much longer than the least possible each subscriber's latency may be, relative.
    alpha
        Boxes per filter, at most.
    beta, beta_max
        The desired and the largest load balance factor.
    last_hop
        Bound the last hop (from leaf to subscriber) instead of the whole path.
    density
        Where events fall; uniform when not given.

    """

    tree: BrokerTree
    location: npt.NDArray[np.float64]
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]
    max_delay: npt.NDArray[np.float64]
    alpha: int = 3
    beta: float = 1.5
    beta_max: float = 1.8
    last_hop: bool = False
    density: Density | None = None
    subscriber_names: Sequence[str] = ()
    _digest: list[str] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("location", "low", "high"):
            array = _read_only(getattr(self, name))
            if array.ndim != 2:
                raise InputError(f"{name} must have one row per subscriber.")
            _set(self, name, array)
        delay = np.asarray(self.max_delay, dtype=np.float64)
        if delay.ndim == 0:
            delay = np.full(len(self.location), float(delay))
        _set(self, "max_delay", _read_only(delay))
        if not self.subscriber_names:
            _set(self, "subscriber_names", NumberedNames("subscriber", len(self.location)))
        self._check()

    def _check(self) -> None:
        rows = {len(self.location), len(self.low), len(self.high), len(self.max_delay)}
        if len(rows) != 1 or self.low.shape != self.high.shape:
            raise InputError("location, low, high and max_delay must have a row per subscriber.")
        if self.location.shape[1] != self.tree.location.shape[1]:
            raise InputError(
                f"subscribers are located in {self.location.shape[1]} dimensions, brokers in "
                f"{self.tree.location.shape[1]}; they must share one network space."
            )
        for name in ("location", "low", "high", "max_delay"):
            if not np.isfinite(getattr(self, name)).all():
                raise InputError(f"{name} has a value that is no finite number.")
        if (self.low > self.high).any():
            row = int(np.flatnonzero((self.low > self.high).any(axis=1))[0])
            raise InputError(f"the box of {self.subscriber_names[row]!r} has low > high.")
        if (self.max_delay < 0).any():
            raise InputError("max_delay must be 0 or more.")
        if self.alpha < 1:
            raise InputError(f"alpha is {self.alpha}; a filter needs at least one box.")
        if not 1.0 <= self.beta <= self.beta_max:
            raise InputError(
                f"beta is {self.beta} and beta_max {self.beta_max}; give 1 <= beta <= beta_max."
            )
        if self.density is not None and len(self.density.edges) != self.low.shape[1]:
            raise InputError(
                f"the density has {len(self.density.edges)} dimensions, "
                f"the boxes {self.low.shape[1]}."
            )

    @property
    def n_subscribers(self) -> int:
        """The number of subscribers."""
        return len(self.location)

    @property
    def n_dimensions(self) -> int:
        """The dimensions of the event space."""
        return int(self.low.shape[1])

    @property
    def digest(self) -> str:
        """The SHA-256 of the content: equal to that of a dataset with the same content."""
        if not self._digest:
            rows = self.location, self.low, self.high, self.max_delay
            self._digest.append(
                problem_digest(
                    tree=self.tree,
                    n_subscribers=self.n_subscribers,
                    n_dimensions=self.n_dimensions,
                    alpha=self.alpha,
                    beta=self.beta,
                    beta_max=self.beta_max,
                    last_hop=self.last_hop,
                    density=self.density,
                    subscribers=subscribers_digest(*rows),
                    subscriber_names=names_digest(arrow_names(self.subscriber_names)),
                )
            )
        return self._digest[0]

    @property
    def density_table(self) -> DensityTable:
        """The density as kernels read it."""
        return self.density.table if self.density else no_density(self.n_dimensions)

    @property
    def leaf_location(self) -> npt.NDArray[np.float64]:
        """Where the leaves are, in the order of `tree.leaves`."""
        return self.tree.location[self.tree.leaves]

    @property
    def leaf_down(self) -> npt.NDArray[np.float64]:
        """The latency down to each leaf that counts: none when only the last hop is bounded."""
        down = self.tree.down[self.tree.leaves]
        return np.zeros_like(down) if self.last_hop else down

    @property
    def leaf_capacity(self) -> npt.NDArray[np.float64]:
        """The capacity fractions of the leaves, in the order of `tree.leaves`."""
        return self.tree.capacity[self.tree.leaves]

    def load_limits(self, factor: float) -> npt.NDArray[np.int64]:
        """Return how many subscribers each leaf may take at a load balance factor."""
        exact = factor * self.leaf_capacity * self.n_subscribers
        return np.floor(exact * (1 + 1e-12)).astype(np.int64)

    def with_limits(self, **limits: Any) -> Problem:
        """Return the problem with other alpha, beta, beta_max, max_delay or last_hop."""
        return replace(self, **limits)


def _read_only(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the values as a read-only array; one that is so already is not copied."""
    array = np.asarray(values, dtype=np.float64)
    if array.flags.writeable or not array.flags.c_contiguous:
        array = np.array(array, order="C")
        array.flags.writeable = False
    return array


def _set(problem: Problem, name: str, value: object) -> None:
    object.__setattr__(problem, name, value)
