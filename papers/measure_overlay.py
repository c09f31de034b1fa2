"""Cells of papers 1 and 2: an overlay by a method, its support, degrees and diameter."""

import json
import math
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from meshwright.model.instance import Instance
from meshwright.model.overlay import Overlay
from meshwright.overlay import complete_limits, design
from meshwright.overlay.methods.greedy import minmax
from papers.workloads import instance_of

EDGE_BUDGET = ("gpa", "random-average")


def overlay(given: Mapping[str, Any], place: Path) -> dict[str, Any]:
    """Return the measures of an overlay.

    The budget is `ratio`, or `degree` and `edges`; without one the overlay is complete. With
    `equal` the methods with a degree budget stop at the same number of edges too. A method with
    the suffix -printed uses up its budget, as paper 1 prints it.
    """
    instance = instance_of(given["workload"], place)
    method = given["method"]
    budget = _budget(given, place)
    if method == "gpm-printed":
        found = _gpm_as_printed(instance, budget["max_degree"])
    else:
        found = design(instance, _name(method), certify=False, **_options(given), **budget)
    row = {
        "subscriptions": instance.n_subscriptions,
        "support": found.support,
        "edges": found.n_edges,
        "average_degree": found.average_degree,
        "max_degree": found.max_degree,
        "budget_degree": budget.get("max_degree"),
        "budget_edges": budget.get("max_edges"),
        "seconds": found.seconds,
    }
    if given.get("diameter"):
        row["diameter"] = largest_diameter(found)
    return row


def refined_and_bound(given: Mapping[str, Any], place: Path) -> dict[str, Any]:
    """Return the links of `refined` beside those of gm and minmax, and the bound on links.

    `capped_edges` are those of `refined` within the maximum degree of minmax.
    """
    instance = instance_of(given["workload"], place)
    gm, least_degree = design(instance, "gm"), design(instance, "minmax", certify=False)
    limit = least_degree.max_degree
    free, capped = (
        design(instance, "refined", certify=False, rounds=given["rounds"], max_degree=most)
        for most in (None, limit)
    )
    if not (free.connected and capped.connected):
        raise AssertionError(f"refined is not complete on {given['workload']}")
    assert gm.bounds is not None
    return {
        "subscriptions": instance.n_subscriptions,
        "edges": free.n_edges,
        "capped_edges": capped.n_edges,
        "gm_edges": gm.n_edges,
        "minmax_edges": least_degree.n_edges,
        "max_degree": limit,
        "bound": gm.bounds.edges,
    }


def _name(method: str) -> str:
    """Return the name by which `design` knows the method of a cell."""
    return method.removesuffix("-id").removesuffix("-printed")


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a cell's method besides its budget."""
    method = given["method"]
    options: dict[str, Any] = {}
    if method.endswith("-id"):
        options["ties"] = "id"
    if method == "spidercast-printed":
        options["until"] = "full"
    if _name(method) in ("random-average", "random-max", "spidercast"):
        options["seed"] = given["seed"]
    if given.get("k") is not None:
        options["k"] = given["k"]
    return options


def _gpm_as_printed(instance: Instance, max_degree: int) -> Overlay:
    """Return the overlay of Alg. 3 of paper 1, with the edges of gain 0 that fill up each phase."""
    edges, gains = minmax(instance, idle_edges=True, max_degree=max_degree)
    return Overlay(instance, edges, gains, "gpm")


def _budget(given: Mapping[str, Any], place: Path) -> dict[str, Any]:
    """Return the budget of a cell: by Eq. 36 of paper 1, or as given."""
    by_edges = _name(given["method"]) in EDGE_BUDGET
    if given.get("ratio") is not None:
        edges, degree = _complete(json.dumps(given["workload"], sort_keys=True), str(place))
        budget_edges = max(1, math.floor(given["ratio"] * edges))
        budget_degree = max(1, math.floor(given["ratio"] * degree))
    elif given.get("degree") is not None:
        budget_edges, budget_degree = given["edges"], given["degree"]
    else:
        return {}
    if by_edges:
        return {"max_edges": budget_edges}
    more = {"max_edges": budget_edges} if given.get("equal") else {}
    return {"max_degree": budget_degree, **more}


@lru_cache(maxsize=1)
def _complete(workload: str, place: str) -> tuple[int, int]:
    """Return the edges and the maximum degree of the complete overlay by minmax, as Eq. 36 has it.

    Edges of gain 0, which Alg. 3 adds too, count in both.
    """
    instance = instance_of(json.loads(workload), Path(place))
    limits = complete_limits(instance, "all")
    return limits["max_edges"], limits["max_degree"]


def largest_diameter(found: Overlay) -> int:
    """Return the largest diameter of a topic's sub-overlay."""
    from meshwright.overlay.topics import topic_rows

    return int(topic_rows(found).diameter_high.max(initial=0))


def spread(given: Mapping[str, Any], place: Path) -> dict[str, Any]:
    """Return the distributions of topics per node and of nodes per topic."""
    instance = instance_of(given["workload"], place)
    topics_of_nodes = np.diff(instance.indptr)
    nodes_of_topics = np.bincount(instance.topics, minlength=instance.n_topics)
    row: dict[str, Any] = {}
    for name, values in (("followees", topics_of_nodes), ("followers", nodes_of_topics)):
        distinct, counts = np.unique(values[values > 0], return_counts=True)
        row[name] = distinct.tolist()
        # The share with at least this value.
        row[f"{name}_share"] = (counts[::-1].cumsum()[::-1] / counts.sum()).tolist()
    return row
