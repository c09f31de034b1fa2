"""An independent look at an answer: from the problem and the tables, not from a method's state.

Each constraint is tested as it is defined. Filters nest as sets: a child's box may lie under
several boxes of its parent together, and a point or a line must be covered as much as a box.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from meshwright.assignment.check_kernel import find_faults
from meshwright.kernels.threads import in_parts
from meshwright.problem import Problem

if TYPE_CHECKING:
    from meshwright.assignment.answer import Answer

N_EXAMPLES = 3  # per constraint: enough to look one up
TOLERANCE = 1e-9  # of latencies, relative

# The constraints by name, and what their count counts.
CONSTRAINTS = {
    "boxes": "rows that are no box of a broker",
    "strays": "rows that name no subscriber",
    "assigned": "subscribers without exactly one leaf",
    "latency": "subscribers served too late",
    "covered": "subscriptions inside no box of their leaf",
    "alpha": "brokers with too many boxes",
    "nesting": "boxes outside the filter above",
    "load": "leaves over beta_max",
}

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Violation:
    """A constraint that does not hold: how often, and the first few, by name."""

    constraint: str
    count: int
    examples: tuple[str, ...]

    @property
    def summary(self) -> str:
        """What is violated, and how often."""
        return f"{CONSTRAINTS[self.constraint]}: {self.count:,}"

    def __str__(self) -> str:
        return f"{self.summary} ({'; '.join(self.examples)})"


@dataclass(frozen=True, slots=True)
class Report:
    """What the checker found."""

    violations: tuple[Violation, ...]
    within_beta: bool  # whether the desired load balance factor holds, not just the largest

    @property
    def feasible(self) -> bool:
        """Whether every constraint holds."""
        return not self.violations

    def count(self, constraint: str) -> int:
        """Return how often a constraint is violated."""
        return sum(found.count for found in self.violations if found.constraint == constraint)

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """Return the violations as the manifest lists them."""
        return {
            found.constraint: {"count": found.count, "examples": list(found.examples)}
            for found in self.violations
        }


def check(answer: Answer) -> Report:
    """Return which constraints an answer violates, counted and exampled.

    Examples
    --------
    >>> from meshwright.assignment.answer import Answer, Filters
    >>> from meshwright.problem import BrokerTree
    >>> tree = BrokerTree(parent=[-1, 0, 0], location=[[0.0], [1.0], [9.0]])
    >>> problem = Problem(tree, [[1.0], [9.0]], [[0.0], [4.0]], [[1.0], [6.0]], 0.5)
    >>> filters = Filters(np.array([1, 2]), np.array([[0.0], [4.0]]), np.array([[1.0], [5.0]]))
    >>> print(check(Answer(problem, "by hand", np.array([1, 2]), filters)).violations[0])
    subscriptions inside no box of their leaf: 1 ('subscriber-1' at 'broker-2')

    """
    filters = answer.filters
    subscriber = np.arange(len(answer.broker))
    return check_tables(
        answer.problem, subscriber, answer.broker, filters.broker, filters.low, filters.high
    )


def check_tables(
    problem: Problem,
    subscriber: npt.NDArray[Any],
    broker: npt.NDArray[Any],
    box_broker: npt.NDArray[Any],
    box_low: Floats,
    box_high: Floats,
) -> Report:
    """Check the rows of an assignment dataset, in any order and with any fault."""
    found: list[Violation] = []

    def add(constraint: str, rows: Rows, tell: Callable[[int], str]) -> None:
        if len(rows):
            examples = tuple(tell(row) for row in rows[:N_EXAMPLES].tolist())
            found.append(Violation(constraint, len(rows), examples))

    tree, names = problem.tree, problem.subscriber_names
    usable = _usable_boxes(problem, box_broker, box_low, box_high)
    add("boxes", np.flatnonzero(~usable), lambda row: f"row {row} of the filters")
    order = np.flatnonzero(usable)[np.argsort(box_broker[usable], kind="stable")]
    # Of unusable boxes not even the number of dimensions may be right.
    shape = (len(order), problem.n_dimensions)
    boxes = _Boxes(
        np.searchsorted(box_broker[order], np.arange(tree.n_brokers + 1)),
        box_low[order].reshape(shape),
        box_high[order].reshape(shape),
    )

    strays = np.flatnonzero((subscriber < 0) | (subscriber >= problem.n_subscribers))
    add("strays", strays, lambda row: f"row {row} of the assignment")
    leaf_of, n_rows = _leaf_of(problem, subscriber, broker)
    add(
        "assigned",
        np.flatnonzero(leaf_of < 0),
        lambda row: (
            f"{names[row]!r} "
            + ("is at no leaf" if n_rows[row] == 1 else f"has {n_rows[row]} rows")
        ),
    )
    delay, outside = _faults(problem, leaf_of, boxes)

    def served(row: int) -> str:
        return f"{names[row]!r} at {tree.names[tree.leaves[leaf_of[row]]]!r}"

    add(
        "latency",
        np.flatnonzero(delay >= 0.0),
        lambda row: f"{served(row)}: delay {delay[row]:.4g}, at most {problem.max_delay[row]:.4g}",
    )
    add("covered", np.flatnonzero(outside), served)
    n_boxes = np.diff(boxes.first)
    add(
        "alpha",
        np.flatnonzero(n_boxes > problem.alpha),
        lambda row: f"{tree.names[row]!r} has {n_boxes[row]}, at most {problem.alpha}",
    )
    escapes = list(_escapes(problem, boxes))
    add("nesting", np.arange(len(escapes)), lambda row: escapes[row])
    loads = np.bincount(leaf_of[leaf_of >= 0], minlength=len(tree.leaves))
    limits = problem.load_limits(problem.beta_max)
    add(
        "load",
        np.flatnonzero(loads > limits),
        lambda i: f"{tree.names[tree.leaves[i]]!r} has {loads[i]:,}, at most {limits[i]:,}",
    )
    within_beta = bool((loads <= problem.load_limits(problem.beta)).all())
    return Report(tuple(found), within_beta)


@dataclass(frozen=True, slots=True)
class _Boxes:
    """The boxes of all brokers; those of broker b are rows first[b] to first[b + 1]."""

    first: npt.NDArray[np.int64]
    low: Floats
    high: Floats

    def of(self, broker: int) -> list[tuple[list[float], list[float]]]:
        rows = slice(self.first[broker], self.first[broker + 1])
        return list(zip(self.low[rows].tolist(), self.high[rows].tolist(), strict=True))


def _usable_boxes(
    problem: Problem, broker: npt.NDArray[Any], low: Floats, high: Floats
) -> npt.NDArray[np.bool_]:
    """Return which rows are boxes of the event space and belong to a broker."""
    shape = (len(broker), problem.n_dimensions)
    if low.shape != shape or high.shape != shape:
        return np.zeros(len(broker), np.bool_)
    known = (broker >= 0) & (broker < problem.tree.n_brokers) & (broker != problem.tree.publisher)
    finite = (np.isfinite(low) & np.isfinite(high)).all(axis=1)
    usable: npt.NDArray[np.bool_] = known & finite & (low <= high).all(axis=1)
    return usable


def _leaf_of(
    problem: Problem, subscriber: npt.NDArray[Any], broker: npt.NDArray[Any]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return each subscriber's place among the leaves, -1 without exactly one, and its rows."""
    tree, n = problem.tree, problem.n_subscribers
    index = np.full(tree.n_brokers, -1, np.int64)
    index[tree.leaves] = np.arange(len(tree.leaves))
    known = (subscriber >= 0) & (subscriber < n)
    n_rows = np.bincount(subscriber[known], minlength=n)
    leaf = np.full(len(broker), -1, np.int64)
    named = (broker >= 0) & (broker < tree.n_brokers)
    leaf[named] = index[broker[named]]
    leaf_of = np.full(n, -1, np.int64)
    leaf_of[subscriber[known]] = leaf[known]
    leaf_of[n_rows != 1] = -1
    return leaf_of, n_rows


def _faults(
    problem: Problem, leaf_of: npt.NDArray[np.int64], boxes: _Boxes
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return the delays that are too long (-1 elsewhere) and whose subscription is uncovered."""
    n = problem.n_subscribers
    leaves = problem.tree.leaves
    # The boxes of the leaves alone, one leaf after the other.
    rows = [np.arange(boxes.first[leaf], boxes.first[leaf + 1]) for leaf in leaves]
    ptr = np.concatenate(([0], np.cumsum([len(part) for part in rows]))).astype(np.int64)
    taken = np.concatenate(rows).astype(np.int64)
    low, high = boxes.low[taken], boxes.high[taken]
    limit = (1.0 + problem.max_delay) * (1.0 + TOLERANCE)
    places, down = problem.leaf_location, problem.leaf_down
    delay, outside = np.empty(n), np.empty(n, np.bool_)

    def work(first: int, last: int) -> None:
        find_faults(
            problem.location, problem.low, problem.high, limit, places, down, leaf_of,
            ptr, low, high, first, last, delay, outside,
        )  # fmt: skip

    in_parts(work, n)
    return delay, outside


def _escapes(problem: Problem, boxes: _Boxes) -> Iterator[str]:
    """Yield the boxes that are not inside the filter of the broker above."""
    tree = problem.tree
    for broker in tree.order[1:].tolist():
        above = int(tree.parent[broker])
        if above == tree.publisher:
            continue
        around = boxes.of(above)
        for i, (low, high) in enumerate(boxes.of(broker)):
            if not is_covered(low, high, around):
                yield f"box {i + 1} of {tree.names[broker]!r} under {tree.names[above]!r}"


def is_covered(
    low: list[float], high: list[float], around: list[tuple[list[float], list[float]]]
) -> bool:
    """Whether a closed box lies in the union of closed boxes; points and lines are boxes too.

    What sticks out of the first box that meets it is cut off side by side. A cut-off part is
    open where it was cut, but the others are closed and few: they cover it just when they cover
    its closure.

    Examples
    --------
    >>> is_covered([0, 0], [2, 1], [([0, 0], [1, 1]), ([1, 0], [2, 3])])
    True
    >>> is_covered([0.5], [0.5], [([0.0], [0.4])])
    False

    """
    low, high = list(low), list(high)
    for i, (box_low, box_high) in enumerate(around):
        sides = range(len(low))
        if any(high[k] < box_low[k] or low[k] > box_high[k] for k in sides):
            continue
        rest = around[i + 1 :]
        for k in sides:
            if low[k] < box_low[k]:
                if not is_covered(low, [*high[:k], box_low[k], *high[k + 1 :]], rest):
                    return False
                low[k] = box_low[k]
            if high[k] > box_high[k]:
                if not is_covered([*low[:k], box_high[k], *low[k + 1 :]], high, rest):
                    return False
                high[k] = box_high[k]
        return True
    return False
