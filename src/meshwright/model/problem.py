"""Assignment problems: the boxes that subscribers want, and the brokers that may serve them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from meshwright.errors import InputError
from meshwright.model.broker_tree import BrokerTree
from meshwright.model.density import Density
from meshwright.model.names import NumberedNames, arrow_names
from meshwright.model.problem_digest import problem_digest, subscriber_blocks
from meshwright.model.problem_summary import ProblemSummary
from meshwright.storage.digest import combine, names_digest


@dataclass(frozen=True, slots=True, eq=False)
class Problem(ProblemSummary):
    """Subscribers with their boxes, the tree of brokers, and the limits an assignment must keep.

    Parameters
    ----------
    location
        float64[subscribers, network dimensions], the places in the network space.
    low, high
        float64[subscribers, event dimensions], the corners of the boxes they want.
    max_delay
        float64[subscribers], or one number: latencies may exceed the least possible by this factor.
    alpha
        Maximum number of boxes per filter.
    beta, beta_max
        The desired and the largest load balance factor.
    last_hop
        Whether to bound the last hop, from leaf to subscriber, instead of the whole path.
    density
        Where events fall; uniform if not given.

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
                raise InputError(f"{name} has a value that is not a finite number.")
        if (self.low > self.high).any():
            row = int(np.flatnonzero((self.low > self.high).any(axis=1))[0])
            raise InputError(f"the box of {self.subscriber_names[row]!r} has low > high.")
        if (self.max_delay < 0).any():
            raise InputError("max_delay must be 0 or more.")
        self.check_limits()

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
        """The SHA-256 of the content, equal to that of a dataset with the same content."""
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
                    subscribers=combine(subscriber_blocks(0, *rows)),
                    subscriber_names=names_digest(arrow_names(self.subscriber_names)),
                )
            )
        return self._digest[0]

    @property
    def delay_range(self) -> tuple[float, float]:
        """The smallest and the largest `max_delay` of a subscriber."""
        return float(self.max_delay.min(initial=np.inf)), float(self.max_delay.max(initial=0.0))

    def with_limits(self, **limits: Any) -> Problem:
        """Return the problem with other alpha, beta, beta_max, max_delay or last_hop."""
        return replace(self, **limits)


def _read_only(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the values as a read-only array; a read-only array is not copied."""
    array = np.asarray(values, dtype=np.float64)
    if array.flags.writeable or not array.flags.c_contiguous:
        array = np.array(array, order="C")
        array.flags.writeable = False
    return array


def _set(problem: Problem, name: str, value: object) -> None:
    object.__setattr__(problem, name, value)
