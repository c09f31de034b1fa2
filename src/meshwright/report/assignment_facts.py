"""The facts of problems and assignments that a report shows."""

import math
from typing import Any

import numpy as np

from meshwright.content.assignment import Assignment
from meshwright.content.dataset import MEASURES
from meshwright.content.measures import delays_of_served
from meshwright.content.problem import Problem
from meshwright.content.subscribers import leaves_of, subscribers_of
from meshwright.report.distributions import box, short, summary
from meshwright.runtime.arrays import Floats
from meshwright.storage import Manifest

MOST_BOXES = 1_500  # subscriptions that are drawn
CORNERS = ("bandwidth", "delay_rms", "load_stdev")  # of the triangle


def problem_facts(name: str, problem: Problem, manifest: Manifest) -> dict[str, Any]:
    """Return the facts of a problem, with a sample of its subscriptions to draw."""
    tree = problem.tree
    every = max(1, -(-problem.n_subscribers // MOST_BOXES))
    drawn = np.arange(0, problem.n_subscribers, every)
    return {
        "name": name,
        "digest": manifest["digest"],
        "n_subscribers": problem.n_subscribers,
        "n_brokers": tree.n_brokers - 1,
        "n_leaves": len(tree.leaves),
        "n_levels": int(tree.depth.max()),
        "n_dimensions": problem.n_dimensions,
        **{limit: getattr(problem, limit) for limit in ("alpha", "beta", "beta_max")},
        "brokers": list(tree.names),
        "leaves": tree.leaves.tolist(),
        "fair_loads": [short(c * problem.n_subscribers) for c in problem.leaf_capacity],
        "drawn": {
            "every": every,
            "subscriber": drawn.tolist(),
            "low": _rows(problem.low[drawn]),
            "high": _rows(problem.high[drawn]),
        },
    }


def assignment_facts(
    label: str, assignment: Assignment, manifest: Manifest, drawn: list[int]
) -> dict[str, Any]:
    """Return the facts of an assignment; `drawn` are the subscribers in the picture."""
    problem, measures = assignment.problem, assignment.measures
    leaves = problem.tree.leaves
    delay = delays_of_served(subscribers_of(problem, assignment.broker), leaves_of(problem))
    finite = delay[np.isfinite(delay)]
    loads = measures.loads[leaves]
    return {
        "label": label,
        "method": assignment.method,
        "parameters": dict(assignment.parameters),
        "seconds": short(assignment.seconds),
        "command": manifest.command,
        "created": manifest.created,
        "feasible": manifest["feasible"],
        "violations": {k: v["count"] for k, v in manifest["violations"].items()},
        "bound": _finite(manifest["bound"]),
        "fractional": _finite(manifest["fractional"]),
        "over_bound": _ratio(measures.bandwidth, manifest["bound"]),
        "over_fractional": _ratio(measures.bandwidth, manifest["fractional"]),
        **{name: _finite(getattr(measures, name)) for name in MEASURES},
        "within_beta": manifest["within_beta"],
        "loads": loads.tolist(),
        "load_box": box(loads),
        "bandwidths": [short(b) for b in measures.bandwidths[leaves]],
        "delay": {**summary(finite.round(9)), "box": box(finite)},
        "filters": {
            "broker": assignment.filters.broker.tolist(),
            "low": _rows(assignment.filters.low),
            "high": _rows(assignment.filters.high),
        },
        "drawn_broker": assignment.broker[drawn].tolist(),
    }


def triangle(assignments: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the measures of each assignment as shares of the largest: Fig. 6 of the paper."""
    largest = {
        corner: max((a[corner] for a in assignments if a[corner] is not None), default=0)
        for corner in CORNERS
    }
    shares = [
        [_ratio(a[corner], largest[corner]) if largest[corner] else 0.0 for corner in CORNERS]
        for a in assignments
    ]
    return {"corners": list(CORNERS), "largest": list(largest.values()), "shares": shares}


def _rows(matrix: Floats) -> list[list[float]]:
    return [[short(value, 5) for value in row] for row in matrix.tolist()]


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else short(value, 12)


def _ratio(value: float | None, reference: float | None) -> float | None:
    return short(value / reference) if value is not None and reference else None
