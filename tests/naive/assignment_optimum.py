"""The least bandwidth of tiny problems, by trying every assignment and every useful filter."""

from collections.abc import Iterator
from functools import cache
from itertools import product

from tests.naive.assignment_check import (
    Box,
    Plain,
    Point,
    axis_points,
    holds,
    in_time,
    points,
    union_volume,
)


def optimum(problem: Plain) -> float | None:
    """The least bandwidth of a feasible answer, None without one; trees of one or two levels."""
    depth = {len(problem.path(leaf)) for leaf in problem.leaves}
    assert depth <= {1, 2}, "filters of inner brokers are chosen for leaves below them only"
    choices = [in_time(problem, s) for s in range(len(problem.subscribers))]
    best = None
    for broker in product(*choices):
        if any(
            broker.count(leaf) > problem.limit(leaf, problem.beta_max) for leaf in problem.leaves
        ):
            continue
        cost = least_filters(problem, broker)
        best = cost if best is None else min(best, cost)
    return best


def least_filters(problem: Plain, broker: tuple[int, ...]) -> float:
    """The least bandwidth of an assignment: each broker below the publisher by itself."""
    total = 0.0
    for top in [b for b, above in enumerate(problem.parent) if above >= 0]:
        if problem.parent[problem.parent[top]] >= 0:
            continue
        below = [leaf for leaf in problem.leaves if top in problem.path(leaf)]
        wanted = [
            tuple(sorted(box for (_, box, _), at in zip(problem.subscribers, broker, strict=True)
                         if at == leaf))
            for leaf in below
        ]  # fmt: skip
        total += _least_of_subtree(
            tuple(wanted), below == [top], problem.alpha, _frozen(problem.density)
        )
    return total


def _frozen(density: list[tuple[Box, float]]) -> tuple[tuple[Box, float], ...]:
    return tuple(density)


@cache
def _least_of_subtree(
    wanted: tuple[tuple[Box, ...], ...],
    is_leaf: bool,
    alpha: int,
    density: tuple[tuple[Box, float], ...],
) -> float:
    """The least volume of a leaf's filter, or of an inner broker's and its leaves' together."""
    if is_leaf:
        return min(
            union_volume(list(boxes), list(density)) for boxes in leaf_filters(wanted[0], alpha)
        )
    best = float("inf")
    for filters in product(*(leaf_filters(boxes, alpha) for boxes in wanted)):
        own = sum(union_volume(list(boxes), list(density)) for boxes in filters)
        if own >= best:
            continue
        together = tuple(sorted({box for boxes in filters for box in boxes}))
        best = min(best, own + least_cover(together, alpha, density))
    return best


@cache
def leaf_filters(wanted: tuple[Box, ...], alpha: int) -> tuple[tuple[Box, ...], ...]:
    """The filters worth trying at a leaf: the bounding boxes of at most alpha groups.

    Any other filter has, for each of its boxes, the bounding box of what it holds inside.
    """
    found = {
        tuple(sorted({bounding(group) for group in groups}))
        for groups in partitions(sorted(set(wanted)))
        if len(groups) <= alpha
    }
    return tuple(sorted(found))


def partitions(items: list[Box]) -> Iterator[list[list[Box]]]:
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for groups in partitions(rest):
        yield [[first], *groups]
        for i, group in enumerate(groups):
            yield [*groups[:i], [first, *group], *groups[i + 1 :]]


def bounding(boxes: list[Box]) -> Box:
    low = tuple(min(box[0][k] for box in boxes) for k in range(len(boxes[0][0])))
    high = tuple(max(box[1][k] for box in boxes) for k in range(len(boxes[0][0])))
    return low, high


@cache
def least_cover(
    boxes: tuple[Box, ...], alpha: int, density: tuple[tuple[Box, float], ...]
) -> float:
    """The least volume of at most alpha boxes whose union holds all of these.

    All but the last are tried on the grid of the boxes' coordinates: where a face lies between
    two of them, the volume changes linearly as it moves, so it may as well lie on one. The last is
    the closure of what is left over.
    """
    if not boxes:
        return 0.0
    seen = [point for point in points(list(boxes)) if any(holds(box, point) for box in boxes)]
    return _cover(frozenset(seen), boxes, alpha, density)


def _cover(
    left: frozenset[Point],
    boxes: tuple[Box, ...],
    alpha: int,
    density: tuple[tuple[Box, float], ...],
) -> float:
    ends = [sorted({box[side][k] for box in boxes for side in (0, 1)})
            for k in range(len(boxes[0][0]))]  # fmt: skip
    sides = [[(a, b) for a in axis for b in axis if a <= b] for axis in ends]
    grid = [
        (tuple(side[0] for side in box), tuple(side[1] for side in box)) for box in product(*sides)
    ]

    def best(left: frozenset[Point], chosen: list[Box]) -> float:
        if not left:
            return union_volume(chosen, list(density))
        last = _closure(left, boxes)
        result = union_volume([*chosen, last], list(density))
        if len(chosen) + 1 < alpha:
            for box in grid:
                rest = frozenset(point for point in left if not holds(box, point))
                if rest != left:
                    result = min(result, best(rest, [*chosen, box]))
        return result

    return best(left, [])


def _closure(left: frozenset[Point], boxes: tuple[Box, ...]) -> Box:
    """The bounding box of what the points stand for: a middle is all between its coordinates."""
    low, high = [], []
    for k in range(len(boxes[0][0])):
        axis = axis_points(list(boxes), k)
        ends = {box[side][k] for box in boxes for side in (0, 1)}
        values = sorted({point[k] for point in left})
        low.append(values[0] if values[0] in ends else axis[axis.index(values[0]) - 1])
        high.append(values[-1] if values[-1] in ends else axis[axis.index(values[-1]) + 1])
    return tuple(low), tuple(high)
