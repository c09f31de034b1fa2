"""Gr and Gr*: each subscriber in turn goes to the leaf where filters grow least.

Yu, Agarwal, Yang (ICDE 2011), section III, and the variants of section VI. The cost of a leaf is
the growth of the filters on its path. From the leaf up, each filter takes its own cheapest way to
hold the box that changed below it, and so stays within its parent's. The load balance factor starts
at beta; when a subscriber has no leaf in time with room, it is raised by 5% for him and all after
him, up to beta_max. Who still has none goes to the cheapest leaf in time, which is overloaded then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from meshwright.assignment import greedy_kernel as kernel
from meshwright.assignment.answer import Answer, Filters
from meshwright.kernels.random import stream
from meshwright.problem import Problem
from meshwright.problem.latency import marks_in_time, n_words

Tell = Callable[[float], None]

RAISE = 1.05  # of the load balance factor, when someone has no candidate
STEPS = 20_000  # subscribers between two reports of progress
EVICTIONS = 10  # per subscriber, at most; then the rest is assigned as `gr` does


def gr(problem: Problem, seed: int = 1, progress: Tell | None = None) -> Answer:
    """Assign subscribers in the order of their ids. There is no chance in it: `seed` is not used.

    Examples
    --------
    >>> from meshwright.problem import BrokerTree
    >>> tree = BrokerTree(parent=[-1, 0, 0], location=[[0.0], [1.0], [-1.0]])
    >>> low = np.array([[0.0], [8.0], [1.0], [9.0]])
    >>> problem = Problem(tree, np.zeros((4, 1)), low, low + 2, np.array(0.5), alpha=1)
    >>> answer = gr(problem)
    >>> answer.broker.tolist(), answer.filters.low.tolist(), answer.filters.high.tolist()
    ([1, 2, 1, 2], [[0.0], [8.0]], [[3.0], [11.0]])

    """
    del seed
    return _in_order(problem, "gr", marks_in_time(problem), progress)


def gr_no_latency(problem: Problem, seed: int = 1, progress: Tell | None = None) -> Answer:
    """Assign as `gr` does, but any leaf will do: how low bandwidth goes when nobody waits."""
    del seed
    n_leaves = len(problem.tree.leaves)
    row = np.zeros(n_words(n_leaves), np.uint64)
    for i in range(n_leaves):
        row[i >> 6] |= np.uint64(1) << np.uint64(i & 63)
    marks = np.tile(row, (problem.n_subscribers, 1))
    return _in_order(problem, "gr-no-latency", marks, progress)


def gr_star(problem: Problem, seed: int = 1, progress: Tell | None = None) -> Answer:
    """Assign those with the fewest candidates first, counted anew whenever a leaf fills."""
    del seed
    run = _Run(problem, marks_in_time(problem))
    n, n_leaves = problem.n_subscribers, len(problem.tree.leaves)
    counts = np.zeros(n, np.int32)
    queue = np.zeros((n_leaves + 1, n_words(n)), np.uint64)
    cursor, size = np.zeros(n_leaves + 1, np.int64), np.zeros(n_leaves + 1, np.int64)
    kernel.count_candidates(
        run.marks, run.loads, run.limits[0], run.leaf_of, counts, queue, cursor, size
    )
    for steps in run.reports(progress):
        run.step(kernel.assign_fewest_first, steps, counts, queue, cursor, size)
    return run.answer("gr-star")


def gr_evict_now(problem: Problem, seed: int = 1, progress: Tell | None = None) -> Answer:
    """Assign as `gr` does; who finds no leaf ousts someone by chance, who is served next."""
    return _evicting(problem, "gr-evict-now", True, seed, progress)


def gr_evict_later(problem: Problem, seed: int = 1, progress: Tell | None = None) -> Answer:
    """Assign as `gr` does; who finds no leaf ousts someone by chance, who is served last."""
    return _evicting(problem, "gr-evict-later", False, seed, progress)


GREEDY = {
    "gr": gr,
    "gr-star": gr_star,
    "gr-no-latency": gr_no_latency,
    "gr-evict-now": gr_evict_now,
    "gr-evict-later": gr_evict_later,
}


def load_factors(problem: Problem) -> list[float]:
    """Return the load balance factors that are tried: beta, 5% more each, and beta_max.

    Examples
    --------
    >>> from meshwright.problem import BrokerTree
    >>> tree = BrokerTree(parent=[-1, 0], location=[[0.0], [1.0]])
    >>> box = np.zeros((1, 1))
    >>> problem = Problem(tree, box, box, box, np.array(0.0), beta=1.0, beta_max=1.1)
    >>> load_factors(problem)
    [1.0, 1.05, 1.1]

    """
    factors = [problem.beta]
    while factors[-1] * RAISE < problem.beta_max:
        factors.append(factors[-1] * RAISE)
    if factors[-1] < problem.beta_max:
        factors.append(problem.beta_max)
    return factors


def _in_order(
    problem: Problem, method: str, marks: npt.NDArray[np.uint64], progress: Tell | None
) -> Answer:
    run = _Run(problem, marks)
    for steps in run.reports(progress):
        run.step(kernel.assign_in_order, steps)
    return run.answer(method)


def _evicting(problem: Problem, method: str, now: bool, seed: int, progress: Tell | None) -> Answer:
    run = _Run(problem, marks_in_time(problem))
    n = problem.n_subscribers
    queue = np.arange(n + 1, dtype=np.int32)
    run.state[kernel.TAIL] = n
    # Until evictions end, a leaf passes its limit only by one, and only where nobody was.
    width = max(int(run.limits[-1].max()), 1)
    members = np.zeros((len(problem.tree.leaves), width), np.int32)
    most, key = EVICTIONS * n, np.uint64(stream(seed, 0))
    while run.state[kernel.HEAD] != run.state[kernel.TAIL]:
        run.step(kernel.assign_evicting, STEPS, queue, now, most, key, members)
        if progress:
            waiting = int(run.state[kernel.TAIL] - run.state[kernel.HEAD]) % (n + 1)
            progress(1 - waiting / n)
    return run.answer(method, {"seed": seed}, evictions=int(run.state[kernel.EVICTED]))


class _Run:
    """What the kernels write: loads, leaves and filters so far."""

    def __init__(self, problem: Problem, marks: npt.NDArray[np.uint64]) -> None:
        tree = problem.tree
        self.problem, self.marks = problem, marks
        self.factors = load_factors(problem)
        self.limits = np.stack([problem.load_limits(factor) for factor in self.factors])
        self.boxes = np.stack([problem.low, problem.high], axis=1)
        self.loads = np.zeros(len(tree.leaves), np.int64)
        self.leaf_of = np.full(problem.n_subscribers, -1, np.int32)
        self.state = np.zeros(kernel.N_STATE, np.int64)
        shape = (tree.n_brokers, problem.alpha, 2, problem.n_dimensions)
        self.filters = np.zeros(shape)
        self.n_boxes = np.zeros(tree.n_brokers, np.int64)
        self.tree = (tree.publisher, tree.parent, tree.leaves, problem.leaf_capacity)
        self.density = tuple(problem.density_table)

    def step(self, assign: Callable[..., None], steps: int, *more: Any) -> None:
        """Assign so many more."""
        assign(
            self.boxes, self.marks, steps, self.loads, self.limits, self.state, self.leaf_of,
            self.tree, self.filters, self.n_boxes, self.density, *more,
        )  # fmt: skip

    def reports(self, progress: Tell | None) -> Any:
        """Yield how many to assign next, and report after each."""
        n = self.problem.n_subscribers
        for first in range(0, n, STEPS):
            yield min(STEPS, n - first)
            if progress:
                progress(min(first + STEPS, n) / n)

    def answer(self, method: str, parameters: dict[str, Any] | None = None, **notes: Any) -> Answer:
        """Return what was found."""
        rows = np.arange(self.filters.shape[1]) < self.n_boxes[:, None]
        broker, _ = np.nonzero(rows)
        boxes = self.filters[rows]
        notes["load_factor"] = self.factors[self.state[kernel.LEVEL]]
        notes["overloaded"] = int(self.state[kernel.OVERLOADED])
        return Answer(
            self.problem,
            method,
            self.problem.tree.leaves[self.leaf_of],
            Filters(broker.astype(np.int32), boxes[:, 0].copy(), boxes[:, 1].copy()),
            parameters=parameters or {},
            notes=notes,
        )
