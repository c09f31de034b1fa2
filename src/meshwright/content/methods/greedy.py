"""Gr and Gr*: each subscriber in turn goes to the leaf where filters grow least.

Yu, Agarwal, Yang (ICDE 2011), section III, and the variants of section VI. The cost of a leaf is
the growth of the filters on its path. From the leaf up, each filter takes its own cheapest way to
hold the box that changed below it, and so stays within its parent's. The load balance factor starts
at beta; when a subscriber has no leaf in time with room, it is raised by 5% for this and all later
subscribers, up to beta_max. A subscriber that still has none goes to the cheapest leaf in time,
which is then overloaded.
"""

from functools import partial
from typing import Any

import numpy as np

from meshwright.content.assignment import Assignment, Filters
from meshwright.content.kernels import greedy as kernel
from meshwright.content.kernels.growth import FilterTree, new_scratch
from meshwright.content.problem import Problem
from meshwright.content.subscribers import leaves_of, pack, subscribers_of
from meshwright.runtime.kernels.random import stream
from meshwright.runtime.progress import OnProgress

RAISE = 1.05  # factor on the load balance factor when a subscriber has no candidate
STEPS = 20_000  # subscribers between two calls of on_progress
EVICTIONS = 10  # per subscriber, at most; the rest is then assigned as `gr` does


def gr(
    problem: Problem,
    seed: int = 1,
    on_progress: OnProgress = None,
    *,
    method: str = "gr",
    any_leaf: bool = False,
    evictions: int = 0,
    evicted_next: bool = False,
) -> Assignment:
    """Assign subscribers in the order of their ids, to leaves in time or to any leaf.

    With `evictions`, the most per subscriber, one without a leaf evicts another at random, who is
    then served next or last. Without, nothing is random.

    Examples
    --------
    >>> from meshwright.content.problem import BrokerTree
    >>> tree = BrokerTree(parent=[-1, 0, 0], location=[[0.0], [1.0], [-1.0]])
    >>> low = np.array([[0.0], [8.0], [1.0], [9.0]])
    >>> problem = Problem(tree, np.zeros((4, 1)), low, low + 2, np.array(0.5), alpha=1)
    >>> assignment = gr(problem)
    >>> assignment.broker.tolist(), assignment.filters.low.tolist()
    ([1, 2, 1, 2], [[0.0], [8.0]])
    """
    run, n = new_run(problem, any_leaf=any_leaf), problem.n_subscribers
    # Until evictions end, a leaf exceeds its limit by one at most, and only if it was empty.
    width = max(int(run.limits[-1].max()), 1) if evictions else 0
    queue = kernel.Queue(
        ring=np.arange(n + 1, dtype=np.int32),
        members=np.zeros((len(run.leaves), width), np.int32),
        evicted_next=evicted_next,
        most=evictions * n,
        key=np.uint64(stream(seed, 0)),
    )
    run.state[kernel.TAIL] = n
    while run.state[kernel.HEAD] != run.state[kernel.TAIL]:
        kernel.assign_in_turn(run, STEPS, queue)
        if on_progress:
            waiting = int(run.state[kernel.TAIL] - run.state[kernel.HEAD]) % (n + 1)
            on_progress(1 - waiting / n)
    notes = {"evictions": int(run.state[kernel.EVICTED])} if evictions else {}
    return _assignment(problem, method, run, **notes)


# The bandwidth possible without limits on latency.
gr_no_latency = partial(gr, method="gr-no-latency", any_leaf=True)
gr_evict_now = partial(gr, method="gr-evict-now", evictions=EVICTIONS, evicted_next=True)
gr_evict_later = partial(gr, method="gr-evict-later", evictions=EVICTIONS)


def gr_star(problem: Problem, seed: int = 1, on_progress: OnProgress = None) -> Assignment:
    """Assign those with the fewest candidates first; candidates are leaves in time with room."""
    del seed
    run = new_run(problem)
    n, n_counts = problem.n_subscribers, len(run.leaves) + 1
    waiting = kernel.Waiting(
        counts=np.zeros(n, np.int32),
        members=np.zeros((n_counts, -(-n // 64)), np.uint64),
        cursor=np.zeros(n_counts, np.int64),
        size=np.zeros(n_counts, np.int64),
    )
    kernel.count_candidates(run, waiting)
    for first in range(0, n, STEPS):
        kernel.assign_fewest_first(run, min(STEPS, n - first), waiting)
        if on_progress:
            on_progress(min(first + STEPS, n) / n)
    return _assignment(problem, "gr-star", run)


def load_factors(problem: Problem) -> list[float]:
    """Return the load balance factors to try: beta, 5% more each time, and beta_max.

    Examples
    --------
    >>> from meshwright.content.problem import BrokerTree
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


def new_run(problem: Problem, *, any_leaf: bool = False) -> kernel.Run:
    """Return the arrays of the kernels before any assignment; leaves in time may serve, or any."""
    tree, n, d = problem.tree, problem.n_subscribers, problem.n_dimensions
    if any_leaf:
        marks = np.tile(pack(np.ones((1, len(tree.leaves)), np.bool_)), (n, 1))
    else:
        marks = leaves_of(problem).in_time(subscribers_of(problem))
    filters = FilterTree(
        publisher=tree.publisher,
        parent=tree.parent,
        boxes=np.zeros((tree.n_brokers, problem.alpha, 2, d)),
        n_boxes=np.zeros(tree.n_brokers, np.int64),
        density=problem.density_table,
        scratch=new_scratch(problem.alpha, d),
    )
    return kernel.Run(
        boxes=np.stack([problem.low, problem.high], axis=1),
        marks=marks,
        leaves=tree.leaves,
        capacity=problem.leaf_capacity,
        limits=np.stack([problem.load_limits(factor) for factor in load_factors(problem)]),
        loads=np.zeros(len(tree.leaves), np.int64),
        leaf_of=np.full(n, -1, np.int32),
        filters=filters,
        state=np.zeros(kernel.N_STATE, np.int64),
    )


def _assignment(problem: Problem, method: str, run: kernel.Run, **notes: Any) -> Assignment:
    used = np.arange(problem.alpha) < run.filters.n_boxes[:, None]
    broker, _ = np.nonzero(used)
    boxes = run.filters.boxes[used]
    filters = Filters(broker.astype(np.int32), boxes[:, 0].copy(), boxes[:, 1].copy())
    notes["load_factor"] = load_factors(problem)[run.state[kernel.FACTOR]]
    notes["overloaded"] = int(run.state[kernel.OVERLOADED])
    return Assignment(problem, method, run.leaves[run.leaf_of], filters, notes=notes)
