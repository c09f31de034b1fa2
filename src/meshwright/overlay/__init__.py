"""Instance -> Overlay: `design` runs one of the methods and adds the certificate's bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from meshwright.errors import InputError, check_choice
from meshwright.model.instance import Instance
from meshwright.model.method import choose
from meshwright.model.overlay import Bounds, Overlay
from meshwright.model.small_world import SmallWorld, small_world
from meshwright.overlay.demand import ASSUMPTIONS, assumption, make_demand
from meshwright.overlay.methods import (
    METHODS,
    MOST_BUDGET,
    SMALL_WORLDS,
    check_survive,
    fill_parameters,
)
from meshwright.runtime.arrays import Bools, Ints
from meshwright.runtime.compile import Stopwatch
from meshwright.runtime.progress import OnProgress

if TYPE_CHECKING:
    from meshwright.overlay.greedy.rule import Engine
    from meshwright.overlay.restricted import LimitsGiven, LinksGiven

PUBLISHERS_AS = ("member", "leaf")
BUDGET_COUNTS = ("all", "gaining")  # which links of minmax a budget ratio is a share of
FindBounds = Callable[[Instance, Ints], Bounds]


@overload
def design(
    instance: Instance, method: Literal["sl", "s", "l", "none"], **options: Any
) -> SmallWorld: ...


@overload
def design(instance: Instance, method: str = "gm", **options: Any) -> Overlay: ...


def design(
    instance: Instance,
    method: str = "gm",
    *,
    average_degree: float | None = None,
    budget_ratio: float | None = None,
    budget_counts: str | None = None,
    equal_edges: bool = False,
    assume_publishers: str | None = None,
    certify: bool = True,
    certify_seconds: float | None = None,
    on_progress: OnProgress = None,
    engine: Engine | None = None,
    bounds: FindBounds | None = None,
    carries: Bools | None = None,
    publishers_as: str | None = None,
    limits: LimitsGiven = None,
    links: LinksGiven = None,
    survive: int | None = None,
    **parameters: Any,
) -> Overlay:
    """Return the overlay that a method designs: for ``sl``, ``s``, ``l``, ``none`` a SmallWorld.

    Parameters
    ----------
    method
        One of `METHODS`.
    average_degree
        The budget of edges as a mean degree, instead of `max_edges`.
    budget_ratio
        Paper 1, Eq. 36: the budget as a share of what `minmax` needs for a complete overlay.
    budget_counts
        With `budget_ratio`, which links of `minmax` count: ``all`` (the default), those of gain 0
        that Alg. 3 adds included, or ``gaining``, those of our overlay.
    equal_edges
        With `budget_ratio`: stop the degree-limited methods at the same number of edges too.
    assume_publishers
        Who publishes: ``listed`` (the default if the instance has publications), ``subscribers``
        (the default otherwise) or ``anyone``; `meshwright.overlay.demand` says what that means.
    certify
        Compute the bounds; without them the overlay is the same.
    certify_seconds
        How long to improve the bounds; by default a number of rounds that depends on the instance
        alone, less than a second (docs/certificates.md).
    on_progress
        Called with the share of the joins done so far.
    engine, bounds
        What finds the edges of gm, minmax, gpa, gpm, and the bounds; by default in this process.
    carries
        One flag for each node and topic of the instance to design for (`make_demand`), in its
        order: whether the node may carry the topic for others. Where it may not, it is a leaf of
        the topic (docs/limits.md).
    publishers_as
        ``member`` (the default): a node that only publishes a topic may carry it for others;
        ``leaf``: it may not.
    limits
        The most links of nodes, and their roles: a CSV file or rows (docs/limits.md).
    links
        Pairs that may or may not be linked: a CSV file or rows (docs/limits.md).
    survive
        Keep every topic connected after the loss of any so many nodes: gm, minmax and refined
        (docs/survive.md).
    **parameters
        The method's own: ``max_edges``, ``max_degree``, ``ties``, ``k``, ``fingers``, ``seed``, ...

    Examples
    --------
    >>> pairs = [("a", "x"), ("b", "x"), ("b", "y"), ("c", "y"), ("d", "y")]
    >>> instance = Instance.from_pairs(pairs)
    >>> overlay = design(instance, method="gm")
    >>> overlay.edge_list(), overlay.support
    ([(0, 1), (2, 3), (1, 2)], 1.0)
    >>> world = design(instance, method="sl")
    >>> world.ring.tolist(), world.fingers.tolist(), world.support
    ([0, 1, 2, 3], [[1, 2], [2, 3], [3, 1], [0, 1]], 1.0)
    """
    from meshwright.overlay import losses
    from meshwright.overlay import restricted as rules

    watch = Stopwatch()
    if not isinstance(instance, Instance):
        raise InputError(
            f"design takes an Instance; got {instance!r}. For a workload on disk: "
            "design(Instance.load(path))."
        )
    assumed = assumption(instance, assume_publishers)
    instance = make_demand(instance, assumed)
    check_request(
        method,
        average_degree=average_degree,
        budget_ratio=budget_ratio,
        budget_counts=budget_counts,
        equal_edges=equal_edges,
        publishers_as=publishers_as,
        certify_seconds=certify_seconds,
        survive=survive,
        **parameters,
    )
    limits, links = rules.read_limits(limits, instance), rules.read_links(links, instance)
    restricted = rules.restrict(
        instance, carries=carries, publishers_as=publishers_as, limits=limits, links=links
    )
    target, obeyed = instance, restricted  # what the method has to connect, and within what
    if survive:
        if engine is not None:
            raise InputError("engine spark does not design for failures; choose driver.")
        remaining = losses.after_losses(instance, survive, restricted)
        target, obeyed = remaining.instance, remaining.restrictions
    if restricted.any:
        rules.check_restrictable(method, budget_ratio=budget_ratio, on_spark=engine is not None)
        if METHODS[method].budget is None:
            rules.check_possible(target, obeyed)
        engine = rules.restricted_engine(obeyed)
    options: dict[str, Any] = {} if engine is None else {"engine": engine}
    if average_degree is not None:
        parameters["max_edges"] = _budget(average_degree * instance.n_nodes / 2)
    if budget_ratio is not None:
        budget_counts = budget_counts or BUDGET_COUNTS[0]
        complete = complete_limits(instance, budget_counts, **options)
        for name in _budget_names(method, equal_edges=equal_edges):
            parameters[name] = _budget(budget_ratio * complete[name])
    if METHODS[method].searches:
        rules.refuse_costs(method, restricted)
        options = {"restrictions": obeyed}
    parameters = fill_parameters(method, parameters)
    if METHODS[method].reports_progress:
        options["on_progress"] = on_progress
    built = METHODS[method].load()(target, **parameters, **options)
    if survive:
        built = losses.keep_needed(built, remaining, instance, restricted.carries)
        built[2].update(losses.price(method, parameters, instance, restricted), survive=survive)
    seed = parameters.pop("seed", None)
    if method == "star" and instance.n_nodes:
        from meshwright.overlay.methods.baselines import hub

        parameters["hub"] = instance.node_names[hub(instance)]
    if budget_ratio is not None:
        parameters |= {
            "budget_ratio": budget_ratio,
            "budget_counts": budget_counts,
            "equal_edges": equal_edges,
        }
    if instance.workload is not None:
        parameters["assume_publishers"] = assumed
    if publishers_as is not None:
        parameters["publishers_as"] = publishers_as
    overlay: Overlay
    if method in SMALL_WORLDS:
        ring, fingers = built
        overlay = small_world(
            instance, ring, fingers, method=method, parameters=parameters, seed=seed
        )
    else:
        edges, gains, *facts = built
        parameters |= facts[0] if facts else {}
        overlay = Overlay(instance, edges, gains, method, parameters, seed)
    overlay = replace(
        overlay, seconds=watch.seconds, carries=restricted.carries, limits=limits, links=links
    )
    if restricted.pairs is not None and METHODS[method].budget is None:
        whole = replace(overlay, instance=target, carries=obeyed.carries, _components=[])
        rules.refuse_impossible(whole)
    if not certify:
        return overlay
    if bounds is None:
        from meshwright.overlay.bounds import Certify, find_bounds

        effort = Certify.within(certify_seconds) if certify_seconds is not None else None
        bounds = partial(find_bounds, restrictions=restricted, certify=effort, survive=survive or 0)
    return replace(overlay, bounds=bounds(instance, overlay.edges))


def check_request(
    method: str,
    *,
    average_degree: float | None = None,
    budget_ratio: float | None = None,
    budget_counts: str | None = None,
    equal_edges: bool = False,
    assume_publishers: str | None = None,
    publishers_as: str | None = None,
    certify_seconds: float | None = None,
    survive: int | None = None,
    **parameters: Any,
) -> None:
    """Validate the arguments of `design`, independent of the instance."""
    check_choice("publishers_as", publishers_as, PUBLISHERS_AS)
    check_choice("assume_publishers", assume_publishers, ASSUMPTIONS)
    takes = _budget_names(method, equal_edges=equal_edges)
    budget: dict[str, int] = {}  # names only: the amounts depend on the instance
    for name, value in (("average_degree", average_degree), ("budget_ratio", budget_ratio)):
        if value is None:
            continue
        if not 0 < value <= MOST_BUDGET:
            raise InputError(f"{name} is {value}; give a number above 0, {MOST_BUDGET:,} at most.")
        if not takes:
            raise InputError(f"{method} takes no budget; leave out {name}.")
        budget |= dict.fromkeys(["max_edges"] if name == "average_degree" else takes, 1)
    if equal_edges and budget_ratio is None:
        raise InputError("equal_edges goes with budget_ratio; give both or neither.")
    if budget_counts is not None and budget_ratio is None:
        raise InputError("budget_counts goes with budget_ratio; give both or neither.")
    check_choice("budget_counts", budget_counts, BUDGET_COUNTS)
    if certify_seconds is not None and not 0 <= certify_seconds <= MOST_BUDGET:
        raise InputError(f"certify_seconds is {certify_seconds}; give a number, 0 or more.")
    if survive is not None:
        check_survive(method, survive)
    twice = [name for name in budget if parameters.get(name) is not None]
    if twice or (average_degree is not None and budget_ratio is not None):
        raise InputError("give one budget: max_edges, average_degree, max_degree or budget_ratio.")
    fill_parameters(method, {**parameters, **budget})


def complete_limits(instance: Instance, counts: str, **options: Any) -> dict[str, int]:
    """Return the number of links and the maximum degree of an overlay that `minmax` designs here.

    `options` are those of the greedy methods. `counts` is one of `BUDGET_COUNTS`; with ``all``,
    links of gain 0 count in both numbers.
    """
    idle = counts == "all"
    edges, _ = METHODS["minmax"].load()(instance, idle_edges=idle, **options)
    degrees = np.bincount(edges.ravel(), minlength=1)
    return {"max_edges": len(edges), "max_degree": int(degrees.max())}


def _budget(amount: float) -> int:
    return max(1, min(math.floor(amount), MOST_BUDGET))


def _budget_names(method: str, *, equal_edges: bool) -> list[str]:
    """Return the parameters of a method that a budget ratio sets."""
    defaults = choose(METHODS, method).defaults
    names = [name for name in ("max_degree", "max_edges") if name in defaults]
    return names if equal_edges else names[:1]
