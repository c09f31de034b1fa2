"""SLP down a tree of brokers, level by level (section V), and the methods by name.

At each broker, the subscribers it got are divided among its children: a child is in time for
whoever has a leaf in time below it, and has the capacity of all its leaves. One maximum flow over
all leaves then finds a place for those that a subtree turned out to have no room for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from meshwright.assignment.answer import Answer
from meshwright.assignment.filters import fit_filters
from meshwright.assignment.slp.audience import Audience
from meshwright.assignment.slp.audience_kernel import join_marks
from meshwright.assignment.slp.one_level import Division, Everyone, Limits, Settings, divide, relax
from meshwright.assignment.slp.repair import repair
from meshwright.kernels.random import stream
from meshwright.problem import Problem
from meshwright.problem.latency import marks_in_time

Targets = npt.NDArray[np.int64]  # the target of each leaf, -1 for none
Tell = Callable[[float], None]


def slp(
    problem: Problem,
    seed: int = 1,
    progress: Tell | None = None,
    settings: Settings | None = None,
) -> Answer:
    """Assign by linear programs from the publisher down, one for each broker that has children."""
    crowd = _InMemory(problem)
    return crowd.answer("slp", down(problem, crowd, seed, progress, settings))


def slp_leaves(
    problem: Problem,
    seed: int = 1,
    progress: Tell | None = None,
    settings: Settings | None = None,
) -> Answer:
    """Assign by one linear program over all leaves; filters above them are built bottom-up.

    For comparison with `slp`, the same on a tree of one level.
    """
    crowd = _InMemory(problem)
    return crowd.answer("slp-leaves", across(problem, crowd, seed, progress, settings))


def yardstick(problem: Problem, seed: int = 1) -> tuple[float, int]:
    """Return the value of the linear program over all leaves, and its number of boxes.

    With several levels it is that of the leaves' filters alone.
    """
    leaves = np.arange(len(problem.tree.leaves))
    everyone = _InMemory(problem).gather(problem.tree.publisher, leaves)
    limits = limits_of(problem, leaves)
    relaxed = relax(everyone, limits, problem.density_table, Settings(), seed, _silent)
    return relaxed.fraction.value, len(relaxed.boxes.low)


def _silent(share: float) -> None:
    del share


class Crowd(Protocol):
    """All subscribers, in memory or on Spark, and the broker that each has come down to."""

    def count(self, broker: int) -> int:
        """Return how many have come down to a broker."""

    def gather(self, broker: int, target_of_leaf: Targets) -> Everyone:
        """Return those at a broker, with the targets that are in time for them."""

    def move(self, broker: int, members: Any, division: Division, children: list[int]) -> None:
        """Move those at a broker down to its children, as they are divided."""

    def move_all(self, broker: int, child: int) -> None:
        """Move all at a broker down to one child."""


def down(
    problem: Problem,
    crowd: Crowd,
    seed: int,
    progress: Tell | None = None,
    settings: Settings | None = None,
) -> list[Division]:
    """Divide everyone from the publisher down; return the divisions."""
    run = _Run(problem, crowd, settings or Settings())
    tree, tell = problem.tree, progress or _silent
    index = {leaf: i for i, leaf in enumerate(tree.leaves.tolist())}
    todo = [tree.publisher]
    done = 0
    while todo:
        broker = todo.pop()
        children = tree.children[broker].tolist()
        if not children:
            done += crowd.count(broker)
            continue
        target_of_leaf = np.full(len(index), -1, np.int64)
        for number, child in enumerate(children):
            for leaf in tree.leaves_below(child).tolist():
                target_of_leaf[index[leaf]] = number
        start = done / problem.n_subscribers
        width = crowd.count(broker) / problem.n_subscribers * (1.0 if tree.is_one_level else 0.5)
        part = partial(_tell_part, tell, start, width)
        run.divide(broker, children, target_of_leaf, int(stream(seed, broker)) >> 1, part)
        todo += children
    return run.divisions


def across(
    problem: Problem,
    crowd: Crowd,
    seed: int,
    progress: Tell | None = None,
    settings: Settings | None = None,
) -> list[Division]:
    """Divide everyone among all leaves at once; return the one division, or none."""
    run = _Run(problem, crowd, settings or Settings())
    publisher, leaves = problem.tree.publisher, problem.tree.leaves.tolist()
    seed = int(stream(seed, publisher)) >> 1
    run.divide(publisher, leaves, np.arange(len(leaves)), seed, progress or _silent)
    return run.divisions


def _tell_part(tell: Tell, start: float, width: float, share: float) -> None:
    tell(min(start + width * share, 0.99))


class _Run:
    """One run: what the divisions came to."""

    def __init__(self, problem: Problem, crowd: Crowd, settings: Settings) -> None:
        self.divisions: list[Division] = []
        self._problem = problem
        self._crowd = crowd
        self._settings = settings

    def divide(
        self, broker: int, children: list[int], target_of_leaf: Targets, seed: int, tell: Tell
    ) -> None:
        """Divide those at a broker among its children."""
        problem, crowd = self._problem, self._crowd
        if crowd.count(broker) == 0:
            return
        if len(children) == 1:
            crowd.move_all(broker, children[0])
            return
        members = crowd.gather(broker, target_of_leaf)
        limits = limits_of(problem, target_of_leaf)
        division = divide(members, limits, problem.density_table, self._settings, seed, tell)
        self.divisions.append(division)
        crowd.move(broker, members, division, children)


def limits_of(problem: Problem, target_of_leaf: Targets) -> Limits:
    """Return the limits of the targets: each has the capacity of all its leaves."""
    n_targets = int(target_of_leaf.max()) + 1
    below = target_of_leaf >= 0
    capacity = np.bincount(
        target_of_leaf[below], weights=problem.leaf_capacity[below], minlength=n_targets
    )
    fair = np.asarray(capacity, np.float64) * problem.n_subscribers
    return Limits(fair, problem.alpha, problem.beta, problem.beta_max)


def notes_of(
    divisions: Sequence[Division], n_stuck: int, n_over: int
) -> tuple[float | None, dict[str, Any]]:
    """Return the value of the linear programs of all divisions, and what they counted."""
    done = [division.relaxed for division in divisions if division.relaxed]
    notes = {
        "n_linear_programs": sum(relaxed.program.n_solved for relaxed in done),
        "n_divisions": len(done),
        "n_cover_rows": sum(relaxed.program.n_cover_rows for relaxed in done),
        "n_candidate_boxes": max((len(relaxed.boxes.low) for relaxed in done), default=0),
        "sample_overload": sum(relaxed.fraction.overload for relaxed in done),
        "repaired": n_stuck,
        "overloaded": n_over,
    }
    return sum(relaxed.fraction.value for relaxed in done) if done else None, notes


class _InMemory:
    """A crowd in memory: the bits of leaves of each subscriber, and its broker (-1 for none)."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._marks = marks_in_time(problem)
        self._at = np.full(problem.n_subscribers, problem.tree.publisher, np.int32)

    def count(self, broker: int) -> int:
        return int((self._at == broker).sum())

    def gather(self, broker: int, target_of_leaf: Targets) -> Audience:
        problem, members = self._problem, np.flatnonzero(self._at == broker)
        n_targets = int(target_of_leaf.max()) + 1
        marks = np.zeros((len(members), -(-n_targets // 64)), np.uint64)
        join_marks(self._marks[members], target_of_leaf, marks)
        location, low, high = problem.location[members], problem.low[members], problem.high[members]
        return Audience(members, location, low, high, marks)

    def move(self, broker: int, members: Audience, division: Division, children: list[int]) -> None:
        del broker
        target = members.settle(division.choice, division.placement)
        self._at[members.ids] = np.array([*children, -1], np.int32)[target]

    def move_all(self, broker: int, child: int) -> None:
        self._at[self._at == broker] = child

    def answer(self, method: str, divisions: list[Division]) -> Answer:
        """Return the answer: everyone at a leaf, filters adjusted to what leaves got."""
        tree = self._problem.tree
        index = np.full(tree.n_brokers + 1, -1, np.int32)  # the last for those without
        index[tree.leaves] = np.arange(len(tree.leaves))
        leaf_of = index[self._at]
        n_stuck = int((leaf_of < 0).sum())
        leaf_of, n_over = repair(self._problem, self._marks, leaf_of)
        broker = tree.leaves[leaf_of]
        fractional, notes = notes_of(divisions, n_stuck, n_over)
        return Answer(
            problem=self._problem,
            method=method,
            broker=broker,
            filters=fit_filters(self._problem, broker),
            fractional=fractional,
            notes=notes,
        )
