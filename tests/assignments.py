"""Answers to small problems, good and bad, and problems in the plain form of the naive twins."""

from itertools import product

import numpy as np
from hypothesis import strategies as st

from meshwright.content.assignment import Assignment, Filters
from meshwright.content.problem import Problem
from tests.naive.assignment_check import Box, Plain
from tests.problems import CELLS


def plain(problem: Problem) -> Plain:
    """A problem as the naive twins take it."""
    boxes = zip(map(tuple, problem.low.tolist()), map(tuple, problem.high.tolist()), strict=True)
    places = map(tuple, problem.location.tolist())
    return Plain(
        parent=problem.tree.parent.tolist(),
        place=[tuple(row) for row in problem.tree.location.tolist()],
        capacity=problem.tree.capacity.tolist(),
        subscribers=list(zip(places, boxes, problem.max_delay.tolist(), strict=True)),
        alpha=problem.alpha,
        beta=problem.beta,
        beta_max=problem.beta_max,
        last_hop=problem.last_hop,
        density=plain_density(problem),
    )


def plain_density(problem: Problem) -> list[tuple[Box, float]]:
    if problem.density is None:
        return []
    edges = [axis.tolist() for axis in problem.density.edges]
    return [
        (
            (
                tuple(axis[i] for axis, i in zip(edges, at, strict=True)),
                tuple(axis[i + 1] for axis, i in zip(edges, at, strict=True)),
            ),
            float(problem.density.values[at]),
        )
        for at in product(*(range(len(axis) - 1) for axis in edges))
    ]


def plain_filters(assignment: Assignment) -> dict[int, list[Box]]:
    """The filters of every broker that is not the publisher."""
    found = {}
    for broker in assignment.problem.tree.order[1:].tolist():
        low, high = assignment.filters.of(broker)
        found[broker] = list(zip(map(tuple, low.tolist()), map(tuple, high.tolist()), strict=True))
    return found


def filters_of(boxes: dict[int, list[Box]], n_dimensions: int) -> Filters:
    rows = [(broker, *box) for broker in sorted(boxes) for box in boxes[broker]]
    return Filters(
        np.array([row[0] for row in rows], np.int32),
        np.array([row[1] for row in rows], np.float64).reshape(-1, n_dimensions),
        np.array([row[2] for row in rows], np.float64).reshape(-1, n_dimensions),
    )


def bounding_assignment(
    problem: Problem, broker: np.ndarray, method: str = "by hand"
) -> Assignment:
    """The assignment whose filters are one bounding box each: nested, covering, of one box."""
    boxes: dict[int, list[Box]] = {}
    for b in problem.tree.order[1:].tolist():
        rows = np.isin(broker, problem.tree.leaves_below(b))
        if rows.any():
            low, high = problem.low[rows].min(axis=0), problem.high[rows].max(axis=0)
            boxes[b] = [(tuple(low.tolist()), tuple(high.tolist()))]
    filters = filters_of(boxes, problem.n_dimensions)
    return Assignment(problem, method, np.asarray(broker, np.int32), filters)


def assignments(problem: Problem) -> st.SearchStrategy[Assignment]:
    """Answers with every kind of fault: subscribers anywhere, boxes from sound to arbitrary."""

    @st.composite
    def build(draw):
        tree = problem.tree
        anywhere = st.sampled_from([*tree.leaves.tolist()] * 4 + [-1, *range(tree.n_brokers)])
        broker = np.array([draw(anywhere) for _ in range(problem.n_subscribers)], np.int32)
        sound = bounding_assignment(problem, broker)
        if draw(st.booleans()):
            return sound
        boxes = {b: list(found) for b, found in plain_filters(sound).items()}
        # Split what is there, so that nesting holds through several boxes, and add some.
        for b, found in boxes.items():
            for box in list(found):
                if draw(st.booleans()):
                    found.remove(box)
                    found.extend(draw(_halves(box)))
            if draw(st.sampled_from([False, False, True])):
                found.append(draw(_box(problem.n_dimensions)))
            if found and draw(st.sampled_from([False, False, False, True])):
                boxes[b] = found[1:]
        return Assignment(problem, "by chance", broker, filters_of(boxes, problem.n_dimensions))

    return build()


def _halves(box: Box) -> st.SearchStrategy[list[Box]]:
    """The box cut in two, with or without a gap."""

    @st.composite
    def build(draw):
        low, high = box
        k = draw(st.integers(0, len(low) - 1))
        one, other = sorted(draw(st.tuples(*[st.floats(low[k], high[k])] * 2)))
        if draw(st.booleans()):
            one = other
        if draw(st.booleans()):
            one, other = other, one
        return [
            (low, (*high[:k], one, *high[k + 1 :])),
            ((*low[:k], other, *low[k + 1 :]), high),
        ]

    return build()


def _box(n_dimensions: int) -> st.SearchStrategy[Box]:
    side = st.tuples(st.integers(0, CELLS), st.integers(0, CELLS)).map(sorted)
    return st.lists(side, min_size=n_dimensions, max_size=n_dimensions).map(
        lambda sides: (tuple(float(a) for a, _ in sides), tuple(float(b) for _, b in sides))
    )
