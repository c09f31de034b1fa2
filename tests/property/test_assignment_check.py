"""The checker and the measures of assignments against their naive twins."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright.content.check import check, is_covered
from meshwright.content.kernels.volume import union_volume
from tests.assignments import assignments, plain, plain_filters
from tests.naive import assignment_check as naive
from tests.problems import boxes, densities, small_problems
from tests.strategies import draws


def close(value: float, reference: float) -> bool:
    return math.isclose(value, reference, rel_tol=1e-9, abs_tol=1e-9)


@given(small_problems(6, 4, with_density=True).flatmap(assignments))
@draws(200)
def test_the_checker_counts_what_its_naive_twin_counts(assignment):
    ref = naive.violations(
        plain(assignment.problem), assignment.broker.tolist(), plain_filters(assignment)
    )
    report = check(assignment)
    got = {found.constraint: found.count for found in report.violations}
    assert got == ref
    assert report.feasible == (not ref)
    assert all(found.examples for found in report.violations)


@given(small_problems(6, 4, with_density=True).flatmap(assignments))
@draws(100)
def test_measures_equal_their_naive_twins(assignment):
    problem = plain(assignment.problem)
    measures = assignment.measures
    assert close(assignment.bandwidth, naive.bandwidth(problem, plain_filters(assignment)))
    served = [(s, b) for s, b in enumerate(assignment.broker.tolist()) if b in problem.leaves]
    loads = {leaf: sum(b == leaf for _, b in served) for leaf in problem.leaves}
    n = len(problem.subscribers)
    factors = [
        (load / (problem.capacity[leaf] * n) if problem.capacity[leaf] else math.inf)
        for leaf, load in loads.items()
        if load
    ]
    assert close(measures.lbf, max(factors, default=0.0))
    mean = sum(loads.values()) / len(loads)
    spread = math.sqrt(sum((load - mean) ** 2 for load in loads.values()) / len(loads))
    assert close(measures.load_stdev, spread)
    delays = [naive.delay(problem, s, b) for s, b in served]
    assert close(measures.delay_max, max(delays, default=0.0))
    rms = math.sqrt(sum(d * d for d in delays) / len(delays)) if delays else 0.0
    assert close(measures.delay_rms, rms)


def some_boxes(most: int) -> st.SearchStrategy[list[naive.Box]]:
    def listed(pair):
        low, high = pair
        return list(zip(map(tuple, low.tolist()), map(tuple, high.tolist()), strict=True))

    return st.integers(1, most).flatmap(lambda n: boxes(n, 2)).map(listed)


@given(some_boxes(1), some_boxes(5))
@draws(300)
def test_a_box_is_covered_when_each_of_its_points_is(small, large):
    (low, high), around = small[0], [(list(box[0]), list(box[1])) for box in large]
    assert is_covered(list(low), list(high), around) == naive.inside(small, large)


@given(some_boxes(5), st.none() | densities(2))
def test_union_volume_equals_a_count_of_cells(found, density):
    from meshwright.model.density import no_density

    corners = np.array(found, np.float64)
    table = density.table if density else no_density(2)
    cells = []
    if density:
        x, y = (axis.tolist() for axis in density.edges)
        cells = [
            (((x[i], y[j]), (x[i + 1], y[j + 1])), float(density.values[i, j]))
            for i in range(len(x) - 1)
            for j in range(len(y) - 1)
        ]
    assert union_volume(corners, table) == pytest.approx(naive.union_volume(found, cells))
