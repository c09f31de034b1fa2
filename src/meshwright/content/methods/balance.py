"""The best load balance that latencies allow, by maximum flow.

Yu, Agarwal, Yang (ICDE 2011), section VI, Balance: the least load balance factor at which everyone
finds a leaf in time, even below beta. Filters are fitted to the subscribers that each leaf got.
"""

import numpy as np

from meshwright.content.assignment import Assignment
from meshwright.content.methods.closest import with_fitted_filters
from meshwright.content.methods.flow import group_rows, least_factor, spread
from meshwright.content.problem import Problem
from meshwright.content.subscribers import leaves_of, pack, subscribers_of, unpack
from meshwright.runtime.progress import OnProgress

SHARE = 0.3  # of the time, about, for assigning; the rest is for the filters


def balance(
    problem: Problem, seed: int = 1, on_progress: OnProgress = None, *, near: bool = True
) -> Assignment:
    """Assign everyone in time at the least load balance factor. `seed` is not used.

    Of the subscribers that the same leaves can serve, each leaf gets some whose boxes are near each
    other, or without `near` those of the next ids, as boxes mean nothing to a flow. A subscriber
    with only leaves without capacity in time goes to the first of them.
    """
    del seed
    n_leaves = len(problem.tree.leaves)
    marks = leaves_of(problem).in_time(subscribers_of(problem))
    able = marks & pack(problem.leaf_capacity[None] > 0)
    shut_out = ~able.any(axis=1)
    masks, group_of, counts = group_rows(able)
    counts = np.where(masks.any(axis=1), counts, 0)
    factor, placement = least_factor(problem, masks, counts)
    low, high = (problem.low, problem.high) if near else np.zeros((2, problem.n_subscribers, 1))
    leaf_of = spread(placement, group_of, low, high, n_leaves)
    leaf_of[shut_out] = unpack(marks[shut_out], n_leaves).argmax(axis=1)
    notes = {"load_factor": factor, "overloaded": int(shut_out.sum())}
    return with_fitted_filters(problem, "balance", leaf_of, SHARE, on_progress, notes)
