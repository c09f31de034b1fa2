"""The best load balance that latencies allow, by maximum flow.

Yu, Agarwal, Yang (ICDE 2011), section VI, Balance: the least load balance factor at which everyone
finds a leaf in time, even below beta. It is found by bottlenecks: where a flow at some factor
leaves subscribers over, those shut in with them need more room than there is; the least factor
that gives them room is tried next. Each factor tried is a lower bound, so the first at which
everyone is placed is the least. Filters are fitted to whatever each leaf got.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from meshwright.assignment.answer import Answer
from meshwright.assignment.filters import fit_filters, share_from
from meshwright.assignment.flow import Placement, Words, group_rows, place, spread, tightest
from meshwright.problem import Problem
from meshwright.problem.latency import marks_in_time, n_words

Tell = Callable[[float], None]

SHARE = 0.3  # of the time, about, that assigning takes; the rest goes to the filters


def balance(problem: Problem, seed: int = 1, progress: Tell | None = None) -> Answer:
    """Assign everyone in time at the least load balance factor. `seed` is not used.

    Who can be served in time only by leaves without capacity goes to the first of them.
    """
    del seed
    marks = marks_in_time(problem)
    able = marks & _bits(problem.leaf_capacity > 0)
    shut_out = ~able.any(axis=1)
    masks, group_of, counts = group_rows(able)
    counts = np.where(masks.any(axis=1), counts, 0)
    factor, placement = least_factor(problem, masks, counts)
    n_leaves = len(problem.tree.leaves)
    leaf_of = spread(placement, group_of, problem.low, problem.high, n_leaves)
    for j in np.flatnonzero(shut_out):
        leaf_of[j] = next(i for i in range(n_leaves) if int(marks[j, i >> 6]) >> (i & 63) & 1)
    if progress:
        progress(SHARE)
    broker = problem.tree.leaves[leaf_of]
    return Answer(
        problem,
        "balance",
        broker,
        fit_filters(problem, broker, share_from(SHARE, progress)),
        notes={"load_factor": factor, "overloaded": int(shut_out.sum())},
    )


def least_factor(
    problem: Problem, masks: Words, counts: npt.NDArray[np.int64]
) -> tuple[float, Placement]:
    """Return the least load balance factor at which all members of groups are placed, and how.

    Every group needs a leaf with capacity.

    Examples
    --------
    >>> from meshwright.problem import BrokerTree
    >>> tree = BrokerTree(parent=[-1, 0, 0], location=[[0.0], [1.0], [4.0]])
    >>> box = np.zeros((4, 1))
    >>> problem = Problem(tree, box, box, box, np.array(0.0))
    >>> factor, placement = least_factor(problem, np.array([[1], [3]], np.uint64), np.array([3, 1]))
    >>> factor, placement.loads(2).tolist()
    (1.5, [3, 1])

    """
    shares = problem.leaf_capacity * problem.n_subscribers
    leaves, members = shares > 0, int(counts.sum())
    placement = None
    while True:
        factor = _factor_with_room(problem, shares, leaves, members)
        placement = place(masks, counts, problem.load_limits(factor), placement)
        if placement.complete:
            return factor, placement
        leaves, members = tightest(masks, placement, problem.load_limits(factor))


def _factor_with_room(
    problem: Problem,
    shares: npt.NDArray[np.float64],
    leaves: npt.NDArray[np.bool_],
    members: int,
) -> float:
    """Return the least factor at which some leaves together have room for so many."""
    some = shares[leaves & (shares > 0)]
    if members == 0 or len(some) == 0:
        return 0.0
    lowest = members / some.sum()
    highest = (members + len(some)) / some.sum()  # rounding down loses less than one per leaf
    steps = [
        np.arange(np.floor(lowest * share), np.ceil(highest * share) + 2) / share for share in some
    ]
    factors = np.unique(np.concatenate(steps))
    low, high = 0, len(factors) - 1
    while low < high:
        middle = (low + high) // 2
        if problem.load_limits(float(factors[middle]))[leaves].sum() >= members:
            high = middle
        else:
            low = middle + 1
    return float(factors[low])


def _bits(leaves: npt.NDArray[np.bool_]) -> Words:
    """Return leaves as one row of bits."""
    row = np.zeros(n_words(len(leaves)), np.uint64)
    for i in np.flatnonzero(leaves):
        row[i >> 6] |= np.uint64(1) << np.uint64(i & 63)
    return row
