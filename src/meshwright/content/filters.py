"""Filters for a given assignment: each broker's boxes, as small as clustering makes them.

The boxes of a leaf are fitted to its subscriptions, those of an inner broker to the boxes of its
children, from the leaves up, so every filter lies within its parent's.
"""

import numpy as np

from meshwright.content.assignment import Filters
from meshwright.content.boxes import Boxes, fit_boxes, fit_groups, from_corners
from meshwright.content.problem import Problem
from meshwright.model.problem import ProblemSummary
from meshwright.runtime.arrays import Ints
from meshwright.runtime.progress import OnProgress


def fit_filters(problem: Problem, broker: Ints, on_progress: OnProgress = None) -> Filters:
    """Return filters of at most alpha boxes for an assignment, inner brokers included.

    `on_progress` is called with the share of the leaves that have their filter.

    Examples
    --------
    >>> from meshwright.content.problem import BrokerTree
    >>> tree = BrokerTree(parent=[-1, 0], location=[[0.0], [1.0]])
    >>> low = np.array([[0.0], [1.0], [8.0], [9.0]])
    >>> problem = Problem(tree, np.zeros((4, 1)), low, low + 2, np.array(0.0), alpha=2)
    >>> filters = fit_filters(problem, np.ones(4, np.int32))
    >>> filters.low.tolist(), filters.high.tolist()
    ([[0.0], [8.0]], [[3.0], [11.0]])
    """
    boxes, n_brokers = Boxes(problem.low, problem.high), problem.tree.n_brokers
    density = problem.density_table
    fitted = fit_groups(boxes, broker, n_brokers, problem.alpha, density, on_progress)
    return with_inner_brokers(problem, *fitted)


def with_inner_brokers(problem: ProblemSummary, boxes: Boxes, owner: Ints) -> Filters:
    """Return the filters of all brokers, given the boxes of the leaves and the leaf of each."""
    tree, corners = problem.tree, boxes.corners
    found = {leaf: corners[owner == leaf] for leaf in tree.leaves.tolist()}
    for broker in tree.order[:0:-1].tolist():  # all but the publisher, children first
        if broker not in found:
            below = np.concatenate([found[child] for child in tree.children[broker].tolist()])
            found[broker] = fit_boxes(below, problem.alpha, problem.density_table)
    ids = sorted(found)
    counts = [len(found[broker]) for broker in ids]
    fitted = from_corners(np.concatenate([found[broker] for broker in ids]))
    return Filters(np.repeat(np.array(ids, np.int32), counts), *fitted)
