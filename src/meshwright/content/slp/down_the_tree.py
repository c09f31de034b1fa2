"""SLP down a tree of brokers, level by level (section V), and the methods by name.

At each broker, its subscribers are divided among its children. A child is in time for a subscriber
if a leaf below it is (or a share of its leaves, `Settings.threshold`), and has the capacity of all
its leaves. One maximum flow over all leaves then
finds a place for subscribers that a subtree had no room for.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from meshwright.content.assignment import Assignment, Filters
from meshwright.content.filters import with_inner_brokers
from meshwright.content.problem import Problem
from meshwright.content.slp.as_printed import AsPrinted
from meshwright.content.slp.backend import Backend, MemoryBackend
from meshwright.content.slp.members import Members, Partition
from meshwright.content.slp.one_level import OneLevel, Settings, Solved
from meshwright.content.slp.repair import repair
from meshwright.content.subscribers import SubscriberRows
from meshwright.errors import InputError
from meshwright.model.broker_tree import BrokerTree
from meshwright.model.problem import ProblemSummary
from meshwright.runtime.arrays import Floats, Ints, Longs
from meshwright.runtime.kernels.random import stream
from meshwright.runtime.progress import OnProgress, ProgressCallback, no_progress


def assign_in_memory(
    method: str,
    problem: Problem,
    seed: int = 1,
    on_progress: OnProgress = None,
    settings: Settings | None = None,
) -> Assignment:
    """Assign by slp, slp-leaves or slp-paper; filters of inner brokers are built bottom-up."""
    backend = MemoryBackend(problem)
    report = on_progress or no_progress().update
    fractional, notes = run(method, problem, backend, seed, report, settings)
    filters = fit_to_leaves(problem, backend)
    return Assignment(
        problem,
        method,
        backend.broker,
        filters,
        parameters=parameters_of(settings),
        fractional=fractional,
        notes=notes,
    )


def parameters_of(settings: Settings | None) -> dict[str, Any]:
    """Return the parameters that an assignment records: the threshold, if one was given."""
    return {"threshold": settings.threshold} if settings and settings.threshold else {}


# From the publisher down, linear programs for each broker with several children.
slp = partial(assign_in_memory, "slp")
# Over all leaves at once. For comparison with `slp`, which it equals on a tree of one level.
slp_leaves = partial(assign_in_memory, "slp-leaves")


def slp_paper(problem: Problem, seed: int = 1, on_progress: OnProgress = None) -> Assignment:
    """Assign by the paper's algorithm as printed, on a tree of one level."""
    depth = int(problem.tree.depth.max())
    if depth > 1:
        raise InputError(
            f"slp-paper is for one level of brokers, and this tree has {depth}: the paper leaves "
            "several levels to a report that is not public. Use slp."
        )
    return assign_in_memory("slp-paper", problem, seed, on_progress)


def yardstick(problem: Problem, seed: int = 1) -> tuple[float, int]:
    """Return the value of the linear program over all leaves, and its number of boxes.

    In a tree of several levels it is the value of the leaves' filters alone.
    """
    leaves = np.arange(len(problem.tree.leaves))
    members = MemoryBackend(problem).members([problem.tree.publisher], leaves)
    fair, silent = fair_loads(problem, leaves), no_progress().update
    relaxed = OneLevel(problem, members, fair, Settings(), seed, silent).relax()
    return relaxed.fraction.value, relaxed.boxes.size


def run(
    method: str,
    problem: ProblemSummary,
    backend: Backend,
    seed: int,
    on_progress: ProgressCallback,
    settings: Settings | None,
) -> tuple[float | None, dict[str, Any]]:
    """Move all subscribers of a backend to leaves, by slp, slp-leaves or slp-paper.

    Return the value of the linear programs, None if there was none, and counts.
    """
    tree, chosen = problem.tree, settings or Settings()
    level_of = AsPrinted if method == "slp-paper" else OneLevel
    solved: list[Solved] = []
    n_levels = int(tree.depth.max()) if method == "slp" else 1
    whole, done, size = problem.n_subscribers * n_levels, 0, 0

    def part_done(share: float) -> None:
        on_progress(min((done + size * share) / whole, 0.99))

    for broker, children, target_of_leaf in STEPS[method](tree):
        size = backend.count(broker)
        if len(children) == 1 and size:
            backend.move(backend.subscribers([broker]), partial(_constant, broker=children[0]))
        elif size:
            members = backend.members([broker], target_of_leaf, chosen.threshold)
            fair, own_seed = fair_loads(problem, target_of_leaf), int(stream(seed, broker)) >> 1
            level = level_of(problem, members, fair, chosen, own_seed, part_done)
            partition, programs = level.divide()
            solved.append(programs)
            brokers = np.array([*children, -1], np.int32)
            backend.move(members, partial(_child, partition=partition, brokers=brokers))
        done += size
    n_stuck = backend.count(-1)
    counts = {**_counts(solved), "repaired": n_stuck, "overloaded": repair(problem, backend)}
    return sum(one.value for one in solved) if solved else None, counts


def _counts(solved: Sequence[Solved]) -> dict[str, Any]:
    """Sum up the linear programs of a run."""
    return {
        "n_linear_programs": sum(one.n_programs for one in solved),
        "n_divisions": len(solved),
        "n_cover_rows": sum(one.n_cover_rows for one in solved),
        "n_candidate_boxes": max((one.n_boxes for one in solved), default=0),
        "sample_overload": sum(one.overload for one in solved),
    }


Step = tuple[int, list[int], Longs]  # a broker, the targets of its subscribers, target of each leaf


def _level_by_level(tree: BrokerTree) -> Iterator[Step]:
    """Yield every broker with children, each before those below it."""
    todo = [tree.publisher]
    while todo:
        broker = todo.pop()
        children = tree.children[broker].tolist()
        if children:
            target_of_leaf = np.full(len(tree.leaves), -1, np.int64)
            for number, child in enumerate(children):
                target_of_leaf[np.isin(tree.leaves, tree.leaves_below(child))] = number
            yield broker, children, target_of_leaf
            todo += children


def _all_at_once(tree: BrokerTree) -> Iterator[Step]:
    """Yield the publisher with all leaves."""
    yield tree.publisher, tree.leaves.tolist(), np.arange(len(tree.leaves))


STEPS = {"slp": _level_by_level, "slp-leaves": _all_at_once, "slp-paper": _all_at_once}


def _constant(rows: SubscriberRows, broker: int) -> Ints:
    return np.full(rows.size, broker, np.int32)


def _child(members: Members, partition: Partition, brokers: Ints) -> Ints:
    """Return the broker of each member's target; the last of `brokers` is for members without."""
    return brokers[partition.target_of(members)]


def fair_loads(problem: ProblemSummary, target_of_leaf: Longs) -> Floats:
    """Return the load of each target at load factor 1, by the capacity of all its leaves."""
    below = target_of_leaf >= 0
    capacity = np.bincount(target_of_leaf[below], weights=problem.leaf_capacity[below])
    return np.asarray(capacity, np.float64) * problem.n_subscribers


def fit_to_leaves(problem: ProblemSummary, backend: Backend) -> Filters:
    """Return filters of all brokers, fitted to the subscribers at each leaf."""
    leaves = problem.tree.leaves.tolist()
    loads = np.zeros(problem.tree.n_brokers, np.int64)
    loads[leaves] = [backend.count(leaf) for leaf in leaves]
    table = backend.subscribers(leaves)
    fitted = table.fit(attrgetter("broker"), loads, problem.alpha, problem.density_table)
    return with_inner_brokers(problem, *fitted)
