"""Every method of assignment by name, and `assign`, which runs one."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from meshwright.assignment.answer import Answer
from meshwright.errors import InputError, unknown_choice
from meshwright.kernels.compiling import Stopwatch
from meshwright.problem import Problem


@dataclass(frozen=True, slots=True)
class Method:
    """What a method is for, and where its function is; it is loaded when it is used."""

    summary: str
    module: str
    function: str

    def load(self) -> Callable[..., Answer]:
        """Return the function."""
        module = importlib.import_module(f"meshwright.assignment.{self.module}")
        found: Callable[..., Answer] = getattr(module, self.function)
        return found


METHODS: Mapping[str, Method] = {
    "gr": Method("each subscriber in turn where filters grow least", "greedy", "gr"),
    "gr-star": Method("the same, those with the fewest choices first", "greedy", "gr_star"),
    "gr-no-latency": Method("gr without the limit on latency", "greedy", "gr_no_latency"),
    "gr-evict-now": Method(
        "gr; who finds no room ousts someone, placed next", "greedy", "gr_evict_now"
    ),
    "gr-evict-later": Method(
        "gr; who finds no room ousts someone, placed last", "greedy", "gr_evict_later"
    ),
    "closest": Method("the nearest leaf, whatever its load", "closest", "closest"),
    "closest-balanced": Method("the nearest leaf with room", "closest", "closest_balanced"),
    "balance": Method("the most even load within latency", "balance", "balance"),
    "slp": Method("linear programs, rounding and maximum flow", "slp", "slp"),
    "slp-leaves": Method("one linear program over all leaves", "slp", "slp_leaves"),
}


def assign(
    problem: Problem,
    method: str = "slp",
    *,
    seed: int = 1,
    yardstick: bool = False,
    progress: Callable[[float], None] | None = None,
    **more: Any,
) -> Answer:
    """Attach every subscriber to a leaf broker and give every broker its filter.

    Parameters
    ----------
    problem
        Subscribers, brokers and the limits to keep.
    method
        One of `METHODS`.
    seed
        Equal seeds give equal answers.
    yardstick
        Work out `fractional` too, where the method does not solve the linear program itself.
    progress
        Called with the share that is done, now and then.
    more
        Parameters of the method.

    Returns
    -------
    Answer
        Whether it is `feasible` its own checker says; a method that cannot keep every limit
        returns its best effort.

    Examples
    --------
    >>> from meshwright.problem import BrokerTree
    >>> tree = BrokerTree(parent=[-1, 0, 0], location=[[0.0], [1.0], [-1.0]])
    >>> low = [[0.0], [8.0], [1.0], [9.0]]
    >>> problem = Problem(tree, [[0.0]] * 4, low, [[2.0], [10.0], [3.0], [11.0]], 0.5, alpha=1)
    >>> answer = assign(problem, method="gr-star")
    >>> answer.broker.tolist(), answer.bandwidth, answer.bound.value, answer.feasible
    ([1, 2, 1, 2], 6.0, 6.0, True)

    """
    check_choice(method)
    check_seed(seed)
    if problem.n_subscribers == 0:
        raise InputError("the problem has no subscriber; there is nothing to assign.")
    run = METHODS[method].load()
    watch = Stopwatch()
    answer = run(problem, seed=seed, progress=progress, **more)
    answer = replace(
        answer,
        method=method,
        parameters={**answer.parameters, "seed": seed},
        seconds=watch.seconds,
    )
    return with_yardstick(answer, seed) if yardstick else answer


def with_yardstick(answer: Answer, seed: int) -> Answer:
    """Return the answer with the value of the linear program, if it has none yet."""
    if answer.fractional is not None:
        return answer
    from meshwright.assignment.slp import yardstick

    fractional, n_boxes = yardstick(answer.problem, seed)
    notes = {**answer.notes, "n_candidate_boxes": n_boxes}
    return replace(answer, fractional=fractional, notes=notes)


def check_choice(method: str) -> None:
    """Raise unless there is a method of that name."""
    if method not in METHODS:
        raise unknown_choice("method", method, METHODS)


def check_seed(seed: int) -> None:
    """Raise unless a seed is one."""
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
        raise InputError(f"seed is {seed!r}; give a whole number from 0 to 2^63 - 1.")
