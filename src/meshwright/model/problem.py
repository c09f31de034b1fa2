"""Assignment problems: the boxes that subscribers want, and the brokers that may serve them.

The digest of a problem, like that of a workload (`meshwright.storage.digest`), hashes blocks of
consecutive ids, so any partitioning whose parts hold whole blocks gives the same:

- names of subscribers and brokers, as for a workload;
- a block of subscribers: location, low, high and max_delay of each in id order (8 bytes a number,
  little-endian);
- brokers: parent (-1 for the publisher), location and capacity of each in id order;
- the whole: the counts, the limits and the density, then the four digests.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from meshwright.errors import InputError
from meshwright.model.broker_tree import BrokerTree
from meshwright.model.density import Density, DensityTable, no_density
from meshwright.model.names import NumberedNames, arrow_names
from meshwright.runtime.arrays import Floats, Longs
from meshwright.storage.digest import BLOCK, BLOCK_BITS, combine, names_digest

_FORMAT = b"meshwright problem 1\n"
MOST_BOXES = 10_000  # per filter: the greedy methods hold as many for every broker


def check_limits(alpha: int, beta: float, beta_max: float, max_delay: float = 0.0) -> None:
    """Raise InputError if a limit of an assignment is out of range."""
    if not 0 <= max_delay < np.inf:
        raise InputError(f"max_delay is {max_delay}; give 0 or more (the paper uses 0.3).")
    if not 1 <= alpha <= MOST_BOXES:
        raise InputError(f"alpha is {alpha}; give 1 to {MOST_BOXES:,} boxes per filter.")
    if not 1 <= beta <= beta_max < np.inf:
        raise InputError(f"beta is {beta} and beta_max {beta_max}; give 1 <= beta <= beta_max.")


class ProblemSummary:
    """The brokers, limits and counts: all of a problem whose subscribers stay on disk."""

    __slots__ = ()

    tree: BrokerTree
    n_subscribers: int
    n_dimensions: int  # of the event space
    delay_range: tuple[float, float]  # the smallest and the largest `max_delay` of a subscriber
    alpha: int
    beta: float
    beta_max: float
    last_hop: bool
    density: Density | None

    def check_limits(self, max_delay: float = 0.0) -> None:
        """Raise InputError if a limit is out of range or the density has other dimensions."""
        check_limits(self.alpha, self.beta, self.beta_max, max_delay)
        if self.density is not None and len(self.density.edges) != self.n_dimensions:
            raise InputError(
                f"the density has {len(self.density.edges)} dimensions, "
                f"the boxes {self.n_dimensions}."
            )

    @property
    def density_table(self) -> DensityTable:
        """The density in the form that kernels read."""
        return self.density.table if self.density else no_density(self.n_dimensions)

    @property
    def leaf_location(self) -> Floats:
        """The locations of the leaves, in the order of `tree.leaves`."""
        return self.tree.location[self.tree.leaves]

    @property
    def leaf_down(self) -> Floats:
        """The latency from the publisher to each leaf; 0 when only the last hop is bounded."""
        down = self.tree.down[self.tree.leaves]
        return np.zeros_like(down) if self.last_hop else down

    @property
    def leaf_capacity(self) -> Floats:
        """The capacity fractions of the leaves, in the order of `tree.leaves`."""
        return self.tree.capacity[self.tree.leaves]

    def load_limits(self, factor: float) -> Longs:
        """Return how many subscribers each leaf may take at a load balance factor."""
        exact = factor * self.leaf_capacity * self.n_subscribers
        return np.floor(np.minimum(exact * (1 + 1e-12), 2.0**40)).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Problem(ProblemSummary):
    """Subscribers with their boxes, the tree of brokers, and the limits an assignment must keep.

    Latencies may exceed the least possible by the factor `max_delay`, given as one number or many.
    """

    tree: BrokerTree
    location: Floats  # [subscribers, network dimensions], the places in the network space
    low: Floats  # [subscribers, event dimensions], with `high` the corners of the boxes they want
    high: Floats
    max_delay: Floats  # [subscribers]
    alpha: int = 3  # boxes per filter, at most
    beta: float = 1.5  # the desired load balance factor
    beta_max: float = 1.8  # the largest load balance factor
    last_hop: bool = False  # bound the last hop, from leaf to subscriber, not the whole path
    density: Density | None = None  # where events fall; uniform if None
    subscriber_names: Sequence[str] = ()
    read_digest: str = ""  # of the dataset that it was read from, whatever limits were replaced
    n_subscribers: int = field(init=False)
    n_dimensions: int = field(init=False)
    delay_range: tuple[float, float] = field(init=False)
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
        _set(self, "n_subscribers", len(self.location))
        _set(self, "n_dimensions", int(self.low.shape[1]))
        most = self.max_delay.max(initial=0.0)
        _set(self, "delay_range", (float(self.max_delay.min(initial=most)), float(most)))
        if not self.subscriber_names:
            _set(self, "subscriber_names", NumberedNames("subscriber", self.n_subscribers))
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
    def digest(self) -> str:
        """The SHA-256 of the content, equal to that of a dataset with the same content."""
        if not self._digest:
            rows = self.location, self.low, self.high, self.max_delay
            names = names_digest(arrow_names(self.subscriber_names))
            self._digest.append(problem_digest(self, combine(subscriber_blocks(0, *rows)), names))
        return self._digest[0]

    def with_limits(self, **limits: Any) -> Problem:
        """Return the problem with other alpha, beta, beta_max, max_delay or last_hop."""
        return replace(self, **limits)


def _read_only(values: npt.ArrayLike) -> Floats:
    """Return the values as a read-only array; a read-only array is not copied."""
    array = np.asarray(values, dtype=np.float64)
    if array.flags.writeable or not array.flags.c_contiguous:
        array = np.array(array, order="C")
        array.flags.writeable = False
    return array


def _set(problem: Problem, name: str, value: object) -> None:
    object.__setattr__(problem, name, value)


def subscriber_blocks(
    first: int, location: Floats, low: Floats, high: Floats, max_delay: Floats
) -> Iterator[tuple[int, bytes]]:
    """Yield the digest of each block of the subscribers from `first` on; no block may be split."""
    for start in range(0, len(location), BLOCK):
        some = slice(start, start + BLOCK)
        rows = np.column_stack((location[some], low[some], high[some], max_delay[some]))
        yield (first + start) >> BLOCK_BITS, hashlib.sha256(_bytes(rows)).digest()


def problem_digest(problem: ProblemSummary, subscribers: str, subscriber_names: str) -> str:
    """Return the digest of a problem; `subscribers` and `subscriber_names` are table digests."""
    whole, tree = hashlib.sha256(_FORMAT), problem.tree
    sizes = problem.n_subscribers, tree.n_brokers, tree.location.shape[1], problem.n_dimensions
    whole.update(np.array([*sizes, problem.alpha, problem.last_hop], "<i8").tobytes())
    whole.update(_bytes(np.array([problem.beta, problem.beta_max])))
    if problem.density is not None:
        for values in (*problem.density.edges, problem.density.values):
            whole.update(np.array(values.shape, "<i8").tobytes() + _bytes(values))
    brokers = np.column_stack((tree.parent, tree.location, tree.capacity))
    whole.update(hashlib.sha256(_bytes(brokers)).digest())
    whole.update(bytes.fromhex(names_digest(arrow_names(tree.names))))
    whole.update(bytes.fromhex(subscribers) + bytes.fromhex(subscriber_names))
    return whole.hexdigest()


def _bytes(values: npt.NDArray[Any]) -> bytes:
    # Adding 0 turns -0 into 0: the two are equal and must have equal hashes.
    return bytes((values + 0.0).astype("<f8", copy=False).tobytes())
