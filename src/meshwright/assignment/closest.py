"""The nearest leaf in the network space, whatever the subscriber wants.

Yu, Agarwal, Yang (ICDE 2011), section VI: `closest` is their Closest_-b (after Aguilera et al.),
`closest-balanced` their Closest, which drops a leaf once it has all it may at beta_max. Both
ignore what is subscribed to; filters are fitted to whatever each leaf got.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from meshwright.assignment.answer import Answer
from meshwright.assignment.closest_kernel import nearest_leaves, nearest_with_room
from meshwright.assignment.filters import fit_filters, share_from
from meshwright.kernels.threads import in_parts
from meshwright.problem import Problem

Tell = Callable[[float], None]

STEPS = 100_000  # subscribers between two reports of progress
SHARE = 0.2  # of the time, about, that assigning takes; the rest goes to the filters


def closest(problem: Problem, seed: int = 1, progress: Tell | None = None) -> Answer:
    """Assign everyone to the nearest leaf, the smaller id of equal ones. `seed` is not used."""
    del seed
    leaf_of = np.empty(problem.n_subscribers, np.int32)
    places = problem.leaf_location

    def assign(first: int, last: int) -> None:
        nearest_leaves(problem.location, places, first, last, leaf_of)

    in_parts(assign, problem.n_subscribers)
    if progress:
        progress(SHARE)
    broker = problem.tree.leaves[leaf_of]
    return Answer(
        problem, "closest", broker, fit_filters(problem, broker, share_from(SHARE, progress))
    )


def closest_balanced(problem: Problem, seed: int = 1, progress: Tell | None = None) -> Answer:
    """Assign in the order of ids to the nearest leaf with room at beta_max. `seed` is not used.

    When every leaf is full (limits are rounded down), the nearest is overloaded.
    """
    del seed
    n = problem.n_subscribers
    leaf_of = np.empty(n, np.int32)
    places, limits = problem.leaf_location, problem.load_limits(problem.beta_max)
    loads = np.zeros(len(limits), np.int64)
    n_overloaded = 0
    for first in range(0, n, STEPS):
        last = min(first + STEPS, n)
        n_overloaded += nearest_with_room(
            problem.location, places, limits, first, last, loads, leaf_of
        )
        if progress:
            progress(SHARE * last / n)
    broker = problem.tree.leaves[leaf_of]
    return Answer(
        problem,
        "closest-balanced",
        broker,
        fit_filters(problem, broker, share_from(SHARE, progress)),
        notes={"overloaded": n_overloaded},
    )
