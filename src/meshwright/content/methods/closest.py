"""The nearest leaf in the network space, whatever the subscriber is interested in.

Yu, Agarwal, Yang (ICDE 2011), section VI: `closest` is their Closest_-b (after Aguilera et al.),
`closest-balanced` their Closest, which drops a leaf once it has its full load at beta_max. Both
ignore the boxes; filters are fitted to the subscribers that each leaf got.
"""

from typing import Any

import numpy as np

from meshwright.content.assignment import Assignment
from meshwright.content.filters import fit_filters
from meshwright.content.kernels.latency import nearest_with_room
from meshwright.content.problem import Problem
from meshwright.runtime.arrays import Ints
from meshwright.runtime.progress import OnProgress
from meshwright.runtime.threads import in_parts

STEPS = 100_000  # subscribers between two calls of on_progress
SHARE = 0.2  # of the time, about, for assigning; the rest is for the filters


def closest(problem: Problem, seed: int = 1, on_progress: OnProgress = None) -> Assignment:
    """Assign each subscriber to the nearest leaf, the smaller id of equals. `seed` is not used."""
    del seed
    leaf_of = np.empty(problem.n_subscribers, np.int32)
    places = problem.leaf_location

    def assign(first: int, last: int) -> None:
        some, loads = slice(first, last), np.zeros(len(places), np.int64)
        no_limit = np.full_like(loads, last - first)
        nearest_with_room(problem.location[some], places, no_limit, loads, leaf_of[some])

    in_parts(assign, problem.n_subscribers)
    return with_fitted_filters(problem, "closest", leaf_of, SHARE, on_progress)


def closest_balanced(problem: Problem, seed: int = 1, on_progress: OnProgress = None) -> Assignment:
    """Assign in the order of ids to the nearest leaf with room at beta_max. `seed` is not used.

    When every leaf is full (limits are rounded down), the nearest is overloaded.
    """
    del seed
    n, location, places = problem.n_subscribers, problem.location, problem.leaf_location
    leaf_of, limits = np.empty(n, np.int32), problem.load_limits(problem.beta_max)
    loads = np.zeros_like(limits)
    n_overloaded = 0
    for first in range(0, n, STEPS):
        some = slice(first, first + STEPS)
        n_overloaded += nearest_with_room(location[some], places, limits, loads, leaf_of[some])
        if on_progress:
            on_progress(SHARE * min(first + STEPS, n) / n)
    notes = {"overloaded": n_overloaded}
    return with_fitted_filters(problem, "closest-balanced", leaf_of, SHARE, on_progress, notes)


def with_fitted_filters(
    problem: Problem,
    method: str,
    leaf_of: Ints,
    share: float,
    on_progress: OnProgress,
    notes: dict[str, Any] | None = None,
) -> Assignment:
    """Return the assignment of subscribers to leaves, with filters fitted to it.

    `share` is the share of the time that finding `leaf_of` took.
    """

    def on_fitted(done: float) -> None:
        if on_progress:
            on_progress(share + (1 - share) * done)

    on_fitted(0.0)
    broker = problem.tree.leaves[leaf_of]
    filters = fit_filters(problem, broker, on_fitted)
    return Assignment(problem, method, broker, filters, notes=notes or {})
