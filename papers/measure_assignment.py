"""Cells of paper 5: subscribers assigned to brokers by a method."""

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from meshwright.content.assignment import Assignment
from meshwright.content.methods.registry import assign
from meshwright.content.problem import Problem
from meshwright.content.problem.synthetic import content_arguments, draw_problem

SCATTERED = 300  # subscribers whose delays a cell keeps for the scatter plot


def assigned(given: Mapping[str, Any], place: Path) -> dict[str, Any]:
    """Return the cost of an assignment and the limits it keeps.

    `settings` are those of slp, `options` those of another method.
    """
    del place  # problems are drawn, not read
    if given.get("timed"):  # load the kernels beforehand
        small = {**given["workload"], "subscribers": 500}
        assign(_problem(json.dumps(small, sort_keys=True)), method=given["method"], seed=1)
    problem = _problem(json.dumps(given["workload"], sort_keys=True))
    more: dict[str, Any] = dict(given.get("options", {}))
    if given.get("settings"):
        from meshwright.content.slp import Settings

        more["settings"] = Settings(**given["settings"])
    assignment = assign(problem, method=given["method"], seed=given["seed"], **more)
    loads = assignment.loads[problem.tree.leaves]
    least, delays = scattered(assignment)
    return {
        "bandwidth": assignment.bandwidth,
        "fractional": assignment.fractional,
        "lbf": assignment.lbf,
        "beta": problem.beta,
        "beta_max": problem.beta_max,
        "over": assignment.lbf / problem.beta_max,
        "overloaded": float(np.mean(loads > problem.load_limits(problem.beta_max))),
        "delay_rms": assignment.measures.delay_rms,
        "delay_max": assignment.measures.delay_max,
        "load_stdev": assignment.measures.load_stdev,
        "feasible": assignment.feasible,
        "violations": ", ".join(f"{v.constraint} {v.count}" for v in assignment.report.violations),
        "load_violated": assignment.lbf > problem.beta_max * (1 + 1e-9),
        "seconds": assignment.seconds,
        "loads": loads.tolist(),
        "least_latency": least,
        "delays": delays,
    }


@lru_cache(maxsize=1)
def _problem(arguments: str) -> Problem:
    return draw_problem(content_arguments(**json.loads(arguments)))


def scattered(assignment: Assignment) -> tuple[list[float], list[float]]:
    """Return the least latency and the delay of some subscribers, evenly spread over the ids."""
    from meshwright.content.kernels.latency import delays

    problem = assignment.problem
    step = max(1, problem.n_subscribers // SCATTERED)
    picked = np.arange(0, problem.n_subscribers, step)
    index = np.zeros(problem.tree.n_brokers, np.int64)
    index[problem.tree.leaves] = np.arange(len(problem.tree.leaves))
    place = problem.location[picked]
    found = np.zeros(len(picked))
    places, down = problem.leaf_location, problem.leaf_down
    delays(place, places, down, index[assignment.broker[picked]], found)
    hops = np.linalg.norm(place[:, None, :] - places[None, :, :], axis=2)
    return (hops + down).min(axis=1).tolist(), found.tolist()
