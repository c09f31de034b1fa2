"""Instance -> Overlay: one algorithm per file, one engine for the greedy ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from meshwright.errors import InputError
from meshwright.kernels.compiling import Stopwatch
from meshwright.overlay.bounds import find_bounds
from meshwright.overlay.engine import Engine, Tell, greedy_edges
from meshwright.overlay.methods import (
    METHODS,
    check_average,
    check_choice,
    choose,
    edges_of_average,
    noted,
)
from meshwright.overlay.minmax import minmax
from meshwright.values import Bounds, Instance, Overlay

__all__ = ["METHODS", "check_asked", "design"]

FindBounds = Callable[[Instance, npt.NDArray[np.int32]], Bounds]


def design(
    instance: Instance,
    method: str = "gm",
    *,
    average_degree: float | None = None,
    budget_ratio: float | None = None,
    equal_edges: bool = False,
    certify: bool = True,
    tell: Tell | None = None,
    engine: Engine | None = None,
    bounds: FindBounds = find_bounds,
    **parameters: Any,
) -> Overlay:
    """Return the overlay that a method designs.

    Parameters
    ----------
    method
        One of `METHODS`.
    average_degree
        The budget of edges as a mean degree, instead of `max_edges`.
    budget_ratio
        Paper 1, Eq. 36: the budget as a share of what `minmax` needs for a complete overlay.
    equal_edges
        With `budget_ratio`: stop the degree-limited methods at the same number of edges too.
    certify
        Compute the bounds; without them the overlay is the same.
    tell
        Called with the share of the joins done so far.
    engine
        What finds the edges of gm, minmax, gpa and gpm; this process when not given.
    bounds
        What finds the bounds.
    **parameters
        The method's own: ``max_edges``, ``max_degree``, ``ties``, ``k``, ``seed``, ...

    Examples
    --------
    >>> instance = Instance.from_pairs([("a", "x"), ("b", "x"), ("b", "y"), ("c", "y")])
    >>> overlay = design(instance, method="gm")
    >>> overlay.edge_list(), overlay.support
    ([(0, 1), (1, 2)], 1.0)

    """
    watch = Stopwatch()
    check_asked(
        method,
        average_degree=average_degree,
        budget_ratio=budget_ratio,
        equal_edges=equal_edges,
        **parameters,
    )
    budget: dict[str, Any] = {}
    if average_degree is not None:
        budget["max_edges"] = edges_of_average(instance, average_degree)
    if budget_ratio is not None:
        budget |= _budget_of_ratio(
            instance, method, budget_ratio, engine or greedy_edges, equal_edges=equal_edges
        )
    chosen, filled = choose(method, {**parameters, **budget})
    report = {"tell": tell} if chosen.tells else {}
    by = {"engine": engine} if engine is not None else {}
    edges, gains = chosen.build(instance, **filled, **report, **by)
    told = noted(instance, method, filled)
    if budget_ratio is not None:
        told |= {"budget_ratio": budget_ratio, "equal_edges": equal_edges}
    seconds = watch.seconds
    return Overlay(
        instance=instance,
        edges=edges,
        gains=gains,
        method=method,
        parameters=told,
        seed=filled.get("seed"),
        bounds=bounds(instance, edges) if certify else None,
        seconds=seconds,
    )


def check_asked(
    method: str,
    *,
    average_degree: float | None = None,
    budget_ratio: float | None = None,
    equal_edges: bool = False,
    **parameters: Any,
) -> None:
    """Raise unless `design` can be asked so; what it is asked of has no part in it."""
    check_choice(method)
    budget: dict[str, int] = {}  # which ones are given; how much is not known yet
    if average_degree is not None:
        check_average(average_degree)
        budget["max_edges"] = 1
    if budget_ratio is not None:
        if not (math.isfinite(budget_ratio) and budget_ratio > 0):
            raise InputError(
                f"budget_ratio is {budget_ratio}; give a number above 0, at most 1 as a rule."
            )
        takes = [name for name in ("max_degree", "max_edges") if name in METHODS[method].defaults]
        if not takes:
            raise InputError(f"{method} takes no budget; leave out budget_ratio.")
        budget |= dict.fromkeys(takes[: 2 if equal_edges else 1], 1)
    elif equal_edges:
        raise InputError("equal_edges goes with budget_ratio; give both or neither.")
    twice = [name for name in budget if parameters.get(name) is not None]
    if twice or (average_degree is not None and budget_ratio is not None):
        raise InputError("give one budget: max_edges, average_degree, max_degree or budget_ratio.")
    choose(method, {**parameters, **budget})


def _budget_of_ratio(
    instance: Instance, method: str, ratio: float, engine: Engine, *, equal_edges: bool
) -> dict[str, int]:
    """Return the budget of paper 1: a share of the edges and of the maximum degree of minmax."""
    takes = METHODS[method].defaults
    edges, gains = minmax(instance, engine=engine)
    overlay = Overlay(instance, edges, gains, "minmax")
    m = max(1, math.floor(ratio * overlay.n_edges))
    d = max(1, math.floor(ratio * overlay.max_degree))
    if "max_degree" not in takes:
        return {"max_edges": m}
    return {"max_degree": d, "max_edges": m} if equal_edges else {"max_degree": d}
