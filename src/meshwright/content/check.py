"""An independent check of an assignment: from the problem and the tables, not a method's state.

Each constraint is tested as it is defined. Filters nest as sets: several boxes of a parent may
cover a child's box together, and a point or a line must be covered like any other box.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from meshwright.content.kernels.check import BrokerBoxes, Served, find_faults
from meshwright.content.problem import Problem
from meshwright.content.subscribers import Leaves, SubscriberRows, leaves_of, subscribers_of
from meshwright.model.broker_tree import BrokerTree
from meshwright.model.problem import ProblemSummary
from meshwright.runtime.arrays import Longs
from meshwright.runtime.threads import in_parts

if TYPE_CHECKING:
    from meshwright.content.assignment import Assignment

N_EXAMPLES = 3  # per constraint
TOLERANCE = 1e-9  # of latencies, relative

# The constraints by name, and what is counted where one is violated.
CONSTRAINTS = {
    "boxes": "rows that are not a box of a broker",
    "strays": "rows that name no subscriber",
    "assigned": "subscribers without exactly one leaf",
    "latency": "subscribers served too late",
    "covered": "subscriptions inside no box of their leaf",
    "alpha": "brokers with too many boxes",
    "nesting": "boxes outside the filter above",
    "load": "leaves over beta_max",
}

Column = npt.NDArray[Any]  # of a table in which anything may be wrong


@dataclass(frozen=True, slots=True)
class Violation:
    """A violated constraint: how often, and the first few examples."""

    constraint: str
    count: int
    examples: tuple[str, ...]

    @property
    def summary(self) -> str:
        """The violation and its count."""
        return f"{CONSTRAINTS[self.constraint]}: {self.count:,}"

    def __str__(self) -> str:
        return f"{self.summary} ({'; '.join(self.examples)})"


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a check."""

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
        """Return the violations in the form of the manifest."""
        return {
            found.constraint: {"count": found.count, "examples": list(found.examples)}
            for found in self.violations
        }


def check(assignment: Assignment) -> Report:
    """Return the constraints that an assignment violates, with counts and examples.

    Examples
    --------
    >>> from meshwright.content.assignment import Assignment, Filters
    >>> from meshwright.content.problem import BrokerTree
    >>> tree = BrokerTree(parent=[-1, 0, 0], location=[[0.0], [1.0], [9.0]])
    >>> problem = Problem(tree, [[1.0], [9.0]], [[0.0], [4.0]], [[1.0], [6.0]], 0.5)
    >>> filters = Filters(np.array([1, 2]), np.array([[0.0], [4.0]]), np.array([[1.0], [5.0]]))
    >>> print(check(Assignment(problem, "by hand", np.array([1, 2]), filters)).violations[0])
    subscriptions inside no box of their leaf: 1 ('subscriber-1' at 'broker-2')
    """
    broker, filters = assignment.broker, assignment.filters
    boxes = filters.broker, filters.low, filters.high
    return check_tables(assignment.problem, np.arange(len(broker)), broker, *boxes)


def check_tables(
    problem: Problem,
    subscriber: Column,
    broker: Column,
    box_broker: Column,
    box_low: Column,
    box_high: Column,
) -> Report:
    """Check the rows of an assignment dataset, in any order and with any fault."""
    known = (subscriber >= 0) & (subscriber < problem.n_subscribers)
    n_rows = np.bincount(subscriber[known], minlength=problem.n_subscribers)
    claimed = np.full(problem.n_subscribers, -1, np.int32)
    named = (broker >= 0) & (broker < problem.tree.n_brokers)
    claimed[subscriber[known]] = np.where(named, broker, -1)[known]
    claimed[n_rows != 1] = -1
    attached = Attached(*(*subscribers_of(problem, claimed).columns, n_rows))
    boxes, unusable = sort_boxes(problem, box_broker, box_low, box_high)
    faults = faults_task(problem, boxes)(attached)
    strays = [f"row {row} of the assignment" for row in np.flatnonzero(~known)]
    found = {
        "boxes": (len(unusable), [f"row {row} of the filters" for row in unusable]),
        "strays": (len(strays), strays),
    }
    return report_of(problem, boxes, faults, problem.subscriber_names.__getitem__, found)


def sort_boxes(
    problem: ProblemSummary, broker: Column, low: Column, high: Column
) -> tuple[BrokerBoxes, list[int]]:
    """Return the usable boxes, sorted by broker, and the rows that are not a box of a broker."""
    tree, shape = problem.tree, (len(broker), problem.n_dimensions)
    if low.shape == shape and high.shape == shape:
        known = (broker >= 0) & (broker < tree.n_brokers) & (broker != tree.publisher)
        finite = (np.isfinite(low) & np.isfinite(high)).all(axis=1)
        usable = known & finite & (low <= high).all(axis=1)
    else:
        usable = np.zeros(len(broker), np.bool_)
    order = np.flatnonzero(usable)[np.argsort(broker[usable], kind="stable")]
    first = np.searchsorted(broker[order], np.arange(tree.n_brokers + 1))
    shape = (len(order), problem.n_dimensions)
    corners = low[order].reshape(shape), high[order].reshape(shape)
    return BrokerBoxes(first, *corners), np.flatnonzero(~usable).tolist()


@dataclass(frozen=True, slots=True, eq=False)
class Attached(SubscriberRows):
    """Subscribers with their rows of an assignment; `broker` is -1 without exactly one row."""

    n_rows: Longs  # int64[n], rows of the assignment


class Faults(NamedTuple):
    """The result of checking some subscribers."""

    loads: Longs  # int64[n_leaves], subscribers at each leaf
    n_rows: int  # rows of the assignment that name one of the subscribers
    # By constraint: how many are wrong, and of the smallest ids, the id and what is wrong.
    found: dict[str, tuple[int, list[tuple[int, str]]]]

    def joined(self, other: Faults) -> Faults:
        """Return the faults of both."""
        found = dict(self.found)
        for constraint, (more, examples) in other.found.items():
            count, first = found.get(constraint, (0, []))
            found[constraint] = count + more, sorted([*first, *examples])[:N_EXAMPLES]
        return Faults(self.loads + other.loads, self.n_rows + other.n_rows, found)


def faults_task(problem: ProblemSummary, boxes: BrokerBoxes) -> Callable[[Attached], Faults]:
    """Return the function that finds the faults of a batch of subscribers."""
    names = [problem.tree.names[leaf] for leaf in problem.tree.leaves]
    return partial(_find_faults, leaves=leaves_of(problem), boxes=boxes, names=names)


def _find_faults(rows: Attached, leaves: Leaves, boxes: BrokerBoxes, names: list[str]) -> Faults:
    leaf = leaves.of(rows.broker)
    limit = (1.0 + rows.max_delay) * (1.0 + TOLERANCE)
    served = Served(rows.location, rows.low, rows.high, limit, rows.broker, leaf)
    delay, outside = np.empty(rows.size), np.empty(rows.size, np.bool_)

    def work(first: int, last: int) -> None:
        find_faults(served, leaves.location, leaves.down, boxes, (first, last), (delay, outside))

    in_parts(work, rows.size)

    def rows_of(row: int) -> str:
        return "is at no leaf" if rows.n_rows[row] == 1 else f"has {rows.n_rows[row]} rows"

    def at_leaf(row: int) -> str:
        return f"at {names[leaf[row]]!r}"

    def too_late(row: int) -> str:
        return f"{at_leaf(row)}: delay {delay[row]:.4g}, at most {rows.max_delay[row]:.4g}"

    found = {}
    for constraint, wrong, describe in (
        ("assigned", leaf < 0, rows_of),
        ("latency", delay >= 0.0, too_late),
        ("covered", outside, at_leaf),
    ):
        at = np.flatnonzero(wrong)
        if len(at):
            first = at[np.argsort(rows.ids[at])[:N_EXAMPLES]].tolist()
            found[constraint] = len(at), [(int(rows.ids[row]), describe(row)) for row in first]
    loads = np.bincount(leaf[leaf >= 0], minlength=len(names))
    return Faults(loads, int(rows.n_rows.sum()), found)


def report_of(
    problem: ProblemSummary,
    boxes: BrokerBoxes,
    faults: Faults,
    name_of: Callable[[int], str],
    found: dict[str, tuple[int, list[str]]],
) -> Report:
    """Return the report of an assignment.

    `name_of` gives the name of a subscriber; `found` has the counts and examples of rows of the
    tables that violate a constraint.
    """
    tree, n_boxes, loads = problem.tree, np.diff(boxes.first), faults.loads
    limits = problem.load_limits(problem.beta_max)
    for constraint, (count, first) in faults.found.items():
        found[constraint] = count, [f"{name_of(id_)!r} {text}" for id_, text in first]
    lists = {
        "alpha": [
            f"{tree.names[broker]!r} has {n_boxes[broker]}, at most {problem.alpha}"
            for broker in np.flatnonzero(n_boxes > problem.alpha).tolist()
        ],
        "nesting": list(_escapes(tree, boxes)),
        "load": [
            f"{tree.names[tree.leaves[i]]!r} has {loads[i]:,}, at most {limits[i]:,}"
            for i in np.flatnonzero(loads > limits).tolist()
        ],
    }
    found |= {name: (len(examples), examples) for name, examples in lists.items()}
    ordered = ((name, *found.get(name, (0, []))) for name in CONSTRAINTS)
    violations = tuple(
        Violation(name, count, tuple(examples[:N_EXAMPLES]))
        for name, count, examples in ordered
        if count
    )
    return Report(violations, bool((loads <= problem.load_limits(problem.beta)).all()))


def _escapes(tree: BrokerTree, boxes: BrokerBoxes) -> Iterator[str]:
    """Yield the boxes that are not inside the filter of the parent."""

    def of(broker: int) -> list[tuple[list[float], list[float]]]:
        rows = slice(boxes.first[broker], boxes.first[broker + 1])
        return list(zip(boxes.low[rows].tolist(), boxes.high[rows].tolist(), strict=True))

    for broker in tree.order[1:].tolist():
        above = int(tree.parent[broker])
        if above == tree.publisher:
            continue
        around = of(above)
        for i, (low, high) in enumerate(of(broker)):
            if not is_covered(low, high, around):
                yield f"box {i + 1} of {tree.names[broker]!r} under {tree.names[above]!r}"


def is_covered(
    low: list[float], high: list[float], around: list[tuple[list[float], list[float]]]
) -> bool:
    """Return whether a closed box lies in the union of closed boxes; a point or line is a box too.

    The parts outside the first box that meets it are cut off, side by side, and checked against
    the rest. Such a part is open where it was cut; finitely many closed boxes cover it if and
    only if they cover its closure.

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
