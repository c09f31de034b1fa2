"""What a report tells of assignments: bandwidth, delay and load, and filters over subscriptions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from meshwright.assignment.answer import Answer
from meshwright.datasets import Manifest
from meshwright.kernels.threads import in_parts
from meshwright.problem import Problem
from meshwright.problem.latency_kernel import delays
from meshwright.report.distributions import box, short, summary

MOST_BOXES = 1_500  # subscriptions that are drawn
CORNERS = ("bandwidth", "delay_rms", "load_stdev")  # of the triangle


def problem_facts(name: str, problem: Problem, manifest: Manifest) -> dict[str, Any]:
    """Return what is shown of a problem, some of its subscriptions among it."""
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
        "alpha": problem.alpha,
        "beta": problem.beta,
        "beta_max": problem.beta_max,
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
    label: str, answer: Answer, manifest: Manifest, drawn: list[int]
) -> dict[str, Any]:
    """Return what is shown of one answer; `drawn` are the subscribers of the picture."""
    problem, measures = answer.problem, answer.measures
    leaves = problem.tree.leaves
    delay = delays_of(answer)
    finite = delay[np.isfinite(delay)]
    loads = measures.loads[leaves]
    return {
        "label": label,
        "method": answer.method,
        "parameters": dict(answer.parameters),
        "seconds": short(answer.seconds),
        "command": manifest.command,
        "created": manifest.created,
        "feasible": manifest["feasible"],
        "violations": {k: v["count"] for k, v in manifest["violations"].items()},
        "bandwidth": _told(measures.bandwidth),
        "bound": _told(manifest["bound"]),
        "fractional": _told(manifest["fractional"]),
        "over_bound": _ratio(measures.bandwidth, manifest["bound"]),
        "over_fractional": _ratio(measures.bandwidth, manifest["fractional"]),
        "delay_rms": _told(measures.delay_rms),
        "delay_max": _told(measures.delay_max),
        "load_stdev": _told(measures.load_stdev),
        "lbf": _told(measures.lbf),
        "within_beta": manifest["within_beta"],
        "loads": loads.tolist(),
        "load_box": box(loads),
        "bandwidths": [short(b) for b in measures.bandwidths[leaves]],
        "delay": {**summary(finite.round(9)), "box": box(finite)},
        "filters": {
            "broker": answer.filters.broker.tolist(),
            "low": _rows(answer.filters.low),
            "high": _rows(answer.filters.high),
        },
        "drawn_broker": answer.broker[drawn].tolist(),
    }


def triangle(assignments: list[dict[str, Any]]) -> dict[str, Any]:
    """Return each answer's measures as shares of the largest among them: Fig. 6 of the paper."""
    largest = {
        corner: max((a[corner] for a in assignments if a[corner] is not None), default=0)
        for corner in CORNERS
    }
    shares = [
        [_ratio(a[corner], largest[corner]) if largest[corner] else 0.0 for corner in CORNERS]
        for a in assignments
    ]
    return {"corners": list(CORNERS), "largest": list(largest.values()), "shares": shares}


def delays_of(answer: Answer) -> npt.NDArray[np.float64]:
    """Return the delay of each subscriber that has a leaf: its latency over the least, less 1."""
    problem = answer.problem
    leaves = problem.tree.leaves
    place = np.clip(np.searchsorted(leaves, answer.broker), 0, len(leaves) - 1)
    served = leaves[place] == answer.broker
    location, leaf_of = problem.location[served], place[served]
    found = np.zeros(len(leaf_of))
    where = problem.leaf_location, problem.leaf_down

    def work(first: int, last: int) -> None:
        rows = slice(first, last)
        delays(location[rows], *where, leaf_of[rows], found[rows])

    in_parts(work, len(leaf_of))
    return found


def _rows(matrix: npt.NDArray[np.float64]) -> list[list[float]]:
    return [[short(value, 5) for value in row] for row in matrix.tolist()]


def _told(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else short(value, 12)


def _ratio(value: float | None, reference: float | None) -> float | None:
    return short(value / reference) if value is not None and reference else None
