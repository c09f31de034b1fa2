"""Filters for a given assignment: each broker's boxes, made as small as clustering gets them.

The paper (section IV-C) clusters what a broker must hold into alpha groups and takes the smallest
box of each; how is left open, and the best is NP-hard. Ours tries three clusterings (cutting one
cluster down, merging many up, inserting box by box), improves each by moving members at the faces
of clusters, and keeps the one whose union has the least volume. Inner brokers cluster the boxes of
their children, from the leaves up, so that every filter stays within its parent's.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from meshwright.assignment import fit_kernel as kernel
from meshwright.assignment.answer import Filters
from meshwright.assignment.hilbert import box_keys
from meshwright.problem import Problem

Tell = Callable[[float], None]
Boxes = npt.NDArray[np.float64]  # (boxes, 2, dimensions): low and high corners

RUNS = 128  # clusters that merging starts from
ROUNDS = 50  # over all faces, at most; it ends by itself when no face yields
LARGEST = 2_000  # boxes that others are compared with: enough to find most that lie in others


def fit_filters(
    problem: Problem, broker: npt.NDArray[np.int32], progress: Tell | None = None
) -> Filters:
    """Return filters of at most alpha boxes for an assignment, inner brokers included.

    `progress` is called with the share of the brokers that have theirs.

    Examples
    --------
    >>> from meshwright.problem import BrokerTree
    >>> tree = BrokerTree(parent=[-1, 0], location=[[0.0], [1.0]])
    >>> low = np.array([[0.0], [1.0], [8.0], [9.0]])
    >>> problem = Problem(tree, np.zeros((4, 1)), low, low + 2, np.array(0.0), alpha=2)
    >>> filters = fit_filters(problem, np.ones(4, np.int32))
    >>> filters.low.tolist(), filters.high.tolist()
    ([[0.0], [8.0]], [[3.0], [11.0]])

    """
    tree = problem.tree
    order = np.argsort(broker, kind="stable")
    ends = np.searchsorted(broker[order], np.arange(tree.n_brokers + 1))
    found: dict[int, Boxes] = {}

    def fit(at: int) -> Boxes:
        if len(tree.children[at]):
            boxes = np.concatenate([found[child] for child in tree.children[at].tolist()])
        else:
            rows = order[ends[at] : ends[at + 1]]
            boxes = np.stack([problem.low[rows], problem.high[rows]], axis=1)
        return fit_boxes(boxes, problem.alpha, tuple(problem.density_table))

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for depth in range(int(tree.depth.max()), 0, -1):
            level = np.flatnonzero(tree.depth == depth).tolist()
            for at, boxes in zip(level, pool.map(fit, level), strict=True):
                found[at] = boxes
                if progress:
                    progress(len(found) / (tree.n_brokers - 1))
    ids = sorted(found)
    corners = np.concatenate([found[at] for at in ids])
    counts = [len(found[at]) for at in ids]
    return Filters(
        np.repeat(np.array(ids, np.int32), counts), corners[:, 0].copy(), corners[:, 1].copy()
    )


def fit_boxes(boxes: Boxes, alpha: int, density: tuple[npt.NDArray[np.generic], ...]) -> Boxes:
    """Return at most alpha boxes such that one of them holds each of these, of little volume."""
    if len(boxes) == 0:
        return boxes
    boxes = outermost(boxes)
    if len(boxes) <= alpha:
        return boxes
    if alpha == 1:
        return np.stack([boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)])[None]
    along = np.argsort(box_keys(boxes[:, 0], boxes[:, 1]), kind="stable")
    starts = (
        kernel.merge_up(boxes, along, RUNS, alpha, density),
        kernel.split_down(boxes, alpha, density),
        kernel.insert_each(boxes, alpha, density),
    )
    volumes = [kernel.peel_faces(boxes, start, alpha, ROUNDS, density) for start in starts]
    best = kernel.hulls(boxes, starts[int(np.argmin(volumes))], alpha)
    return outermost(best[(best[:, 0] <= best[:, 1]).all(axis=1)])


def outermost(boxes: Boxes) -> Boxes:
    """Return the boxes that lie in none of the largest, the largest first; of equal ones, one."""
    width = boxes[:, 1] - boxes[:, 0]
    # Of boxes one in another the outer has the larger sum of widths, volumes may both be 0.
    keys = boxes.reshape(len(boxes), -1).T[::-1]
    order = np.lexsort((*keys, -width.sum(axis=1)))
    kept: Boxes = boxes[kernel.outermost(boxes, order, LARGEST)]
    return kept


def share_from(first: float, progress: Tell | None) -> Tell | None:
    """Return what reports shares of the last part of some work, which begins at `first`."""
    return None if progress is None else lambda share: progress(first + (1 - first) * share)
