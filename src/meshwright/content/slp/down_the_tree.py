"""SLP down a tree of brokers, level by level (section V), and the methods by name.

At each broker, its subscribers are divided among its children. A child is in time for a subscriber
if a leaf below it is, and has the capacity of all its leaves. One maximum flow over all leaves then
finds a place for subscribers that a subtree had no room for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from meshwright.content.assignment import Assignment, Filters
from meshwright.content.filters import with_inner_brokers
from meshwright.content.problem import Problem
from meshwright.content.slp.backend import Backend, MemoryBackend
from meshwright.content.slp.members import Members, Partition
from meshwright.content.slp.one_level import Division, Limits, OneLevel, Settings
from meshwright.content.slp.repair import repair
from meshwright.content.subscribers import Ints, SubscriberRows, Targets
from meshwright.model.broker_tree import BrokerTree
from meshwright.model.problem_summary import ProblemSummary
from meshwright.runtime.kernels.random import stream
from meshwright.runtime.progress import ProgressCallback


def slp(
    problem: Problem,
    seed: int = 1,
    on_progress: ProgressCallback | None = None,
    settings: Settings | None = None,
) -> Assignment:
    """Assign by linear programs from the publisher down, one for each broker with children."""
    return _in_memory("slp", problem, seed, on_progress, settings)


def slp_leaves(
    problem: Problem,
    seed: int = 1,
    on_progress: ProgressCallback | None = None,
    settings: Settings | None = None,
) -> Assignment:
    """Assign by one linear program over all leaves; filters above them are built bottom-up.

    For comparison with `slp`, which it equals on a tree of one level.
    """
    return _in_memory("slp-leaves", problem, seed, on_progress, settings)


def yardstick(problem: Problem, seed: int = 1) -> tuple[float, int]:
    """Return the value of the linear program over all leaves, and its number of boxes.

    In a tree of several levels it is the value of the leaves' filters alone.
    """
    leaves = np.arange(len(problem.tree.leaves))
    members = MemoryBackend(problem).members([problem.tree.publisher], leaves)
    limits, density = limits_of(problem, leaves), problem.density_table
    relaxed = OneLevel(members, limits, density, Settings(), seed, _silent).relax()
    return relaxed.fraction.value, relaxed.boxes.size


def _silent(share: float) -> None:
    del share


def _in_memory(
    method: str,
    problem: Problem,
    seed: int,
    on_progress: ProgressCallback | None,
    settings: Settings | None,
) -> Assignment:
    backend = MemoryBackend(problem)
    outcome = run(method, problem, backend, seed, on_progress or _silent, settings)
    filters = fit_to_leaves(problem, backend)
    return Assignment(
        problem=problem,
        method=method,
        broker=backend.broker,
        filters=filters,
        fractional=outcome.fractional,
        notes=outcome.counts,
    )


class Outcome(NamedTuple):
    """What a run reports in addition to the broker of each subscriber."""

    fractional: float | None  # the value of the linear programs
    counts: dict[str, Any]


def run(
    method: str,
    problem: ProblemSummary,
    backend: Backend,
    seed: int,
    on_progress: ProgressCallback,
    settings: Settings | None = None,
) -> Outcome:
    """Move all subscribers of a backend to leaves, by slp or slp-leaves."""
    tree, divisions = problem.tree, []
    steps = STEPS[method](tree)
    n_levels = int(tree.depth.max()) if method == "slp" else 1
    whole, done = problem.n_subscribers * n_levels, 0
    for broker, children, target_of_leaf in steps:
        size = backend.count(broker)
        if len(children) == 1 and size:
            backend.move(backend.subscribers([broker]), partial(_constant, broker=children[0]))
        elif size:
            members = backend.members([broker], target_of_leaf)
            division = OneLevel(
                members,
                limits_of(problem, target_of_leaf),
                problem.density_table,
                settings or Settings(),
                int(stream(seed, broker)) >> 1,
                partial(_part_done, on_progress, done / whole, size / whole),
            ).divide()
            divisions.append(division)
            brokers = np.array([*children, -1], np.int32)
            backend.move(members, partial(_child, partition=division.partition, brokers=brokers))
        done += size
    n_stuck = backend.count(-1)
    return _outcome(divisions, n_stuck, repair(problem, backend))


Step = tuple[int, list[int], Ints]  # a broker, the targets of its subscribers, target of each leaf


def _level_by_level(tree: BrokerTree) -> Iterator[Step]:
    """Yield every broker with children, each before those below it."""
    index = {leaf: i for i, leaf in enumerate(tree.leaves.tolist())}
    todo = [tree.publisher]
    while todo:
        broker = todo.pop()
        children = tree.children[broker].tolist()
        if children:
            target_of_leaf = np.full(len(index), -1, np.int64)
            for number, child in enumerate(children):
                below = [index[leaf] for leaf in tree.leaves_below(child).tolist()]
                target_of_leaf[below] = number
            yield broker, children, target_of_leaf
            todo += children


def _all_at_once(tree: BrokerTree) -> Iterator[Step]:
    """Yield the publisher with all leaves."""
    yield tree.publisher, tree.leaves.tolist(), np.arange(len(tree.leaves))


STEPS = {"slp": _level_by_level, "slp-leaves": _all_at_once}


def _part_done(on_progress: ProgressCallback, start: float, width: float, share: float) -> None:
    on_progress(min(start + width * share, 0.99))


def _constant(rows: SubscriberRows, broker: int) -> Targets:
    return np.full(rows.size, broker, np.int32)


def _child(members: Members, partition: Partition, brokers: Targets) -> Targets:
    """Return the broker of each member's target; the last of `brokers` is for members without."""
    return brokers[partition.target_of(members)]


def limits_of(problem: ProblemSummary, target_of_leaf: Ints) -> Limits:
    """Return the limits of the targets: each has the capacity of all its leaves."""
    n_targets = int(target_of_leaf.max()) + 1
    below = target_of_leaf >= 0
    capacity = np.bincount(
        target_of_leaf[below], weights=problem.leaf_capacity[below], minlength=n_targets
    )
    fair = np.asarray(capacity, np.float64) * problem.n_subscribers
    return Limits(fair, problem.alpha, problem.beta, problem.beta_max)


def fit_to_leaves(problem: ProblemSummary, backend: Backend) -> Filters:
    """Return filters of all brokers, fitted to the subscribers at each leaf."""
    leaves = problem.tree.leaves.tolist()
    loads = np.zeros(problem.tree.n_brokers, np.int64)
    loads[leaves] = [backend.count(leaf) for leaf in leaves]
    table = backend.subscribers(leaves)
    fitted = table.fit(_present_broker, loads, problem.alpha, problem.density_table)
    return with_inner_brokers(problem, *fitted)


def _present_broker(rows: SubscriberRows) -> Targets:
    return rows.broker


def _outcome(divisions: Sequence[Division], n_stuck: int, n_over: int) -> Outcome:
    """Sum up the divisions of a run."""
    done = [division.relaxed for division in divisions if division.relaxed]
    counts = {
        "n_linear_programs": sum(relaxed.program.n_solved for relaxed in done),
        "n_divisions": len(done),
        "n_cover_rows": sum(relaxed.program.n_cover_rows for relaxed in done),
        "n_candidate_boxes": max((relaxed.boxes.size for relaxed in done), default=0),
        "sample_overload": sum(relaxed.fraction.overload for relaxed in done),
        "repaired": n_stuck,
        "overloaded": n_over,
    }
    return Outcome(sum(one.fraction.value for one in done) if done else None, counts)
