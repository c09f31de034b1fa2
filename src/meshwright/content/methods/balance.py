"""The best load balance that latencies allow, by maximum flow.

Yu, Agarwal, Yang (ICDE 2011), section VI, Balance: the least load balance factor at which everyone
finds a leaf in time, even below beta. It is found by bottlenecks: where a flow at some factor
leaves subscribers over, the subscribers who share their leaves need more room than there is; the
least factor that gives them room is tried next. Each factor tried is a lower bound, so the first at
which everyone is placed is the least. Filters are fitted to the subscribers that each leaf got.
"""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
import numpy.typing as npt

from meshwright.content.assignment import Assignment
from meshwright.content.methods.closest import with_fitted_filters
from meshwright.content.methods.flow import Placement, Words, group_rows, place, spread, tightest
from meshwright.content.problem import Problem
from meshwright.content.subscribers import leaves_of, pack, subscribers_of, unpack
from meshwright.runtime.progress import ProgressCallback

SHARE = 0.3  # of the time, about, for assigning; the rest is for the filters


def balance(
    problem: Problem, seed: int = 1, on_progress: ProgressCallback | None = None
) -> Assignment:
    """Assign everyone in time at the least load balance factor. `seed` is not used.

    A subscriber with only leaves without capacity in time goes to the first of them.
    """
    del seed
    n_leaves = len(problem.tree.leaves)
    marks = leaves_of(problem).in_time(subscribers_of(problem))
    able = marks & pack(problem.leaf_capacity[None] > 0)
    shut_out = ~able.any(axis=1)
    masks, group_of, counts = group_rows(able)
    counts = np.where(masks.any(axis=1), counts, 0)
    factor, placement = least_factor(problem, masks, counts)
    leaf_of = spread(placement, group_of, problem.low, problem.high, n_leaves)
    leaf_of[shut_out] = unpack(marks[shut_out], n_leaves).argmax(axis=1)
    notes = {"load_factor": factor, "overloaded": int(shut_out.sum())}
    return with_fitted_filters(problem, "balance", leaf_of, SHARE, on_progress, notes)


def least_factor(
    problem: Problem, masks: Words, counts: npt.NDArray[np.int64]
) -> tuple[float, Placement]:
    """Return the least load balance factor at which all members of groups are placed, and how.

    Every group needs a leaf with capacity.

    Examples
    --------
    >>> from meshwright.content.problem import BrokerTree
    >>> tree = BrokerTree(parent=[-1, 0, 0], location=[[0.0], [1.0], [4.0]])
    >>> box = np.zeros((4, 1))
    >>> problem = Problem(tree, box, box, box, np.array(0.0))
    >>> factor, placement = least_factor(problem, np.array([[1], [3]], np.uint64), np.array([3, 1]))
    >>> factor, placement.loads(2).tolist()
    (1.5, [3, 1])

    """
    leaves, members = problem.leaf_capacity > 0, int(counts.sum())
    placement = None
    while True:
        factor = _factor_with_room(problem, leaves, members)
        limits = problem.load_limits(factor)
        placement = place(masks, counts, limits, placement)
        if placement.complete:
            return factor, placement
        leaves, members = tightest(masks, placement, limits)


def _factor_with_room(problem: Problem, leaves: npt.NDArray[np.bool_], members: int) -> float:
    """Return the least factor at which some leaves together have room for the members."""
    shares = problem.leaf_capacity * problem.n_subscribers
    some = shares[leaves & (shares > 0)]
    if members == 0 or len(some) == 0:
        return 0.0
    lowest = members / some.sum()
    highest = (members + len(some)) / some.sum()  # rounding down loses less than one per leaf
    steps = [
        np.arange(np.floor(lowest * share), np.ceil(highest * share) + 2) / share for share in some
    ]
    factors = np.unique(np.concatenate(steps))
    at = bisect_left(
        factors[:-1], members, key=lambda factor: problem.load_limits(factor)[leaves].sum()
    )
    return float(factors[at])
