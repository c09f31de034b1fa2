"""SLP down a tree of brokers, level by level (section V), and the methods by name.

At each broker, the subscribers it got are divided among its children: a child is in time for
whoever has a leaf in time below it, and has the capacity of all its leaves. One maximum flow over
all leaves then finds a place for those that a subtree turned out to have no room for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from meshwright.assignment.answer import Answer
from meshwright.assignment.filters import fit_filters
from meshwright.assignment.greedy import marks_in_time
from meshwright.assignment.slp.audience import Audience
from meshwright.assignment.slp.audience_kernel import join_marks
from meshwright.assignment.slp.one_level import Division, Limits, Settings, divide, relax
from meshwright.assignment.slp.repair import repair
from meshwright.kernels.random import stream
from meshwright.problem import Problem

Ints = npt.NDArray[np.int32]
Tell = Callable[[float], None]


def slp(
    problem: Problem,
    seed: int = 1,
    progress: Tell | None = None,
    settings: Settings | None = None,
) -> Answer:
    """Assign by linear programs from the publisher down, one for each broker that has children."""
    return _Run(problem, seed, progress, settings).down()


def slp_leaves(
    problem: Problem,
    seed: int = 1,
    progress: Tell | None = None,
    settings: Settings | None = None,
) -> Answer:
    """Assign by one linear program over all leaves; filters above them are built bottom-up.

    For comparison with `slp`, the same on a tree of one level.
    """
    return _Run(problem, seed, progress, settings).across()


def yardstick(problem: Problem, seed: int = 1) -> tuple[float, int]:
    """Return the value of the linear program over all leaves, and its number of boxes.

    With several levels it is that of the leaves' filters alone.
    """
    run = _Run(problem, seed, None, None)
    audience, limits = run.audience(run.everyone, np.arange(len(problem.tree.leaves)))
    relaxed = relax(audience, limits, problem.density_table, run.settings, seed, run.tell)
    return relaxed.fraction.value, len(relaxed.boxes.low)


def _silent(share: float) -> None:
    del share


class _Run:
    """One run: everyone's bits of leaves, and what the divisions came to."""

    def __init__(
        self, problem: Problem, seed: int, progress: Tell | None, settings: Settings | None
    ) -> None:
        self.problem = problem
        self.settings = settings or Settings()
        self.everyone = np.arange(problem.n_subscribers)
        self.tell: Tell = progress or _silent
        self._seed = seed
        self._marks = marks_in_time(problem)
        self._divisions: list[Division] = []
        self._leaf_of = np.full(problem.n_subscribers, -1, np.int32)

    def down(self) -> Answer:
        """Divide everyone from the publisher down."""
        tree = self.problem.tree
        index = {leaf: i for i, leaf in enumerate(tree.leaves.tolist())}
        todo = [(tree.publisher, self.everyone)]
        done = 0
        while todo:
            broker, members = todo.pop()
            children = tree.children[broker].tolist()
            if not children:
                self._leaf_of[members] = index[broker]
                done += len(members)
                continue
            target_of_leaf = np.full(len(index), -1, np.int64)
            for number, child in enumerate(children):
                for leaf in tree.leaves_below(child).tolist():
                    target_of_leaf[index[leaf]] = number
            start, width = done / len(self.everyone), len(members) / len(self.everyone)
            part = 1.0 if tree.is_one_level else 0.5
            target = self._divide(
                members,
                target_of_leaf,
                int(stream(self._seed, broker)) >> 1,
                partial(self._tell_part, start, width * part),
            )
            todo += [(child, members[target == n]) for n, child in enumerate(children)]
        return self._answer("slp")

    def _tell_part(self, start: float, width: float, share: float) -> None:
        self.tell(min(start + width * share, 0.99))

    def across(self) -> Answer:
        """Divide everyone among all leaves at once."""
        tree = self.problem.tree
        leaves = np.arange(len(tree.leaves))
        seed = int(stream(self._seed, tree.publisher)) >> 1
        self._leaf_of = self._divide(self.everyone, leaves, seed, self.tell)
        return self._answer("slp-leaves")

    def audience(
        self, members: npt.NDArray[np.int64], target_of_leaf: npt.NDArray[np.int64]
    ) -> tuple[Audience, Limits]:
        """Return members with their bits of targets, and the limits of the targets."""
        problem = self.problem
        n_targets = int(target_of_leaf.max()) + 1
        marks = np.zeros((len(members), -(-n_targets // 64)), np.uint64)
        join_marks(self._marks[members], target_of_leaf, marks)
        below = target_of_leaf >= 0
        capacity = np.bincount(
            target_of_leaf[below], weights=problem.leaf_capacity[below], minlength=n_targets
        )
        fair = np.asarray(capacity, np.float64) * problem.n_subscribers
        limits = Limits(fair, problem.alpha, problem.beta, problem.beta_max)
        location, low, high = problem.location[members], problem.low[members], problem.high[members]
        return Audience(members, location, low, high, marks), limits

    def _divide(
        self,
        members: npt.NDArray[np.int64],
        target_of_leaf: npt.NDArray[np.int64],
        seed: int,
        tell: Tell,
    ) -> Ints:
        """Return the target of each member, -1 for those without a place."""
        n_targets = int(target_of_leaf.max()) + 1
        if len(members) == 0 or n_targets == 1:
            return np.zeros(len(members), np.int32)
        audience, limits = self.audience(members, target_of_leaf)
        division = divide(audience, limits, self.problem.density_table, self.settings, seed, tell)
        self._divisions.append(division)
        return audience.settle(division.choice, division.placement)

    def _answer(self, method: str) -> Answer:
        """Return the answer: everyone at a leaf, filters adjusted to what leaves got."""
        n_stuck = int((self._leaf_of < 0).sum())
        leaf_of, n_over = repair(self.problem, self._marks, self._leaf_of)
        broker = self.problem.tree.leaves[leaf_of]
        done = [division.relaxed for division in self._divisions if division.relaxed]
        return Answer(
            problem=self.problem,
            method=method,
            broker=broker,
            filters=fit_filters(self.problem, broker),
            fractional=sum(relaxed.fraction.value for relaxed in done) if done else None,
            notes={
                "n_linear_programs": sum(relaxed.program.n_solved for relaxed in done),
                "n_divisions": len(done),
                "n_cover_rows": sum(relaxed.program.n_cover_rows for relaxed in done),
                "n_candidate_boxes": max((len(relaxed.boxes.low) for relaxed in done), default=0),
                "sample_overload": sum(relaxed.fraction.overload for relaxed in done),
                "repaired": n_stuck,
                "overloaded": n_over,
            },
        )
