"""The table of assignment methods, and `assign`, which runs one of them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from meshwright.content.assignment import Assignment
from meshwright.content.problem import Problem
from meshwright.errors import InputError
from meshwright.model.method import Method, check_seed, choose
from meshwright.runtime.compile import Stopwatch
from meshwright.runtime.progress import OnProgress

HERE = "meshwright.content.methods"
GREEDY, SLP = f"{HERE}.greedy", "meshwright.content.slp"

METHODS: Mapping[str, Method] = {
    "gr": Method(f"{GREEDY}:gr"),
    "gr-star": Method(f"{GREEDY}:gr_star"),
    "gr-no-latency": Method(f"{GREEDY}:gr_no_latency"),
    "gr-evict-now": Method(f"{GREEDY}:gr_evict_now"),
    "gr-evict-later": Method(f"{GREEDY}:gr_evict_later"),
    "closest": Method(f"{HERE}.closest:closest"),
    "closest-balanced": Method(f"{HERE}.closest:closest_balanced"),
    "balance": Method(f"{HERE}.balance:balance"),
    "slp": Method(f"{SLP}:slp", on_spark=True),
    "slp-leaves": Method(f"{SLP}:slp_leaves", on_spark=True),
    "slp-paper": Method(f"{SLP}:slp_paper"),
}


def assign(
    problem: Problem,
    method: str = "slp",
    *,
    seed: int = 1,
    yardstick: bool = False,
    on_progress: OnProgress = None,
    **more: Any,
) -> Assignment:
    """Attach every subscriber to a leaf broker and give every broker its filter.

    `method` is one of `METHODS`, and `more` are parameters of its own; equal seeds give equal
    assignments. With `yardstick`, `fractional` is computed even if the method solves no linear
    program. `on_progress` is called from time to time with the share that is done. A method that
    cannot keep every limit returns its best effort: check `feasible`.

    Examples
    --------
    >>> from meshwright.content.problem import BrokerTree
    >>> tree = BrokerTree(parent=[-1, 0, 0], location=[[0.0], [1.0], [-1.0]])
    >>> low = [[0.0], [8.0], [1.0], [9.0]]
    >>> problem = Problem(tree, [[0.0]] * 4, low, [[2.0], [10.0], [3.0], [11.0]], 0.5, alpha=1)
    >>> assignment = assign(problem, method="gr-star")
    >>> assignment.broker.tolist(), assignment.bandwidth, assignment.feasible
    ([1, 2, 1, 2], 6.0, True)
    """
    chosen = choose(METHODS, method)
    check_seed(seed)
    if problem.n_subscribers == 0:
        raise InputError("the problem has no subscriber; there is nothing to assign.")
    run = chosen.load()
    watch = Stopwatch()
    found = run(problem, seed=seed, on_progress=on_progress, **more)
    parameters = {**found.parameters, "seed": seed}
    assignment = replace(found, method=method, parameters=parameters, seconds=watch.seconds)
    return with_yardstick(assignment, seed) if yardstick else assignment


def with_yardstick(assignment: Assignment, seed: int) -> Assignment:
    """Return the assignment with the value of the linear program, if it has none yet."""
    if assignment.fractional is not None:
        return assignment
    from meshwright.content.slp import yardstick

    fractional, n_boxes = yardstick(assignment.problem, seed)
    notes = {**assignment.notes, "n_candidate_boxes": n_boxes}
    return replace(assignment, fractional=fractional, notes=notes)
