"""The bound on bandwidth against its naive twin and the true optimum of tiny problems."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from meshwright.content.bound import lower_bound
from tests.assignments import bounding_assignment, plain
from tests.naive import assignment_check as naive
from tests.naive.assignment_optimum import optimum
from tests.problems import small_problems
from tests.strategies import draws

SLACK = 1e-9  # sums of floats


@given(small_problems(5, 3, max_dimensions=2, with_density=True, trees=("one level",)))
@draws(150)
def test_the_bound_is_at_most_the_optimum(problem):
    best = optimum(plain(problem))
    assume(best is not None)
    assert lower_bound(problem).value <= best + SLACK


@given(small_problems(4, 3, max_dimensions=2, trees=("two levels",)))
@draws(100)
def test_the_bound_of_two_levels_is_at_most_the_optimum(problem):
    best = optimum(plain(problem.with_limits(alpha=min(problem.alpha, 2))))
    assume(best is not None)
    assert lower_bound(problem).value <= best + SLACK


@given(small_problems(4, 3, max_dimensions=2, trees=("one level", "two levels")), st.data())
@draws(100)
def test_the_optimum_is_at_most_every_feasible_answer(problem, data):
    problem = problem.with_limits(alpha=min(problem.alpha, 2))
    small = plain(problem)
    broker = [
        data.draw(st.sampled_from(naive.in_time(small, s))) for s in range(problem.n_subscribers)
    ]
    assignment = bounding_assignment(problem, np.array(broker))
    best = optimum(small)
    if assignment.feasible:
        assert best is not None
        assert lower_bound(problem).value - SLACK <= best <= assignment.bandwidth + SLACK
    else:
        assert [found.constraint for found in assignment.report.violations] == ["load"]


@given(small_problems(6, 4, with_density=True))
@draws(150)
def test_latency_only_raises_the_bound_of_the_naive_twin(problem):
    reference = naive.bound(plain(problem))
    found = lower_bound(problem)
    assert found.is_exact
    assert found.value >= reference - SLACK
    if all(len(naive.in_time(plain(problem), s)) == len(problem.tree.leaves)
           for s in range(problem.n_subscribers)):  # fmt: skip
        assert found.value == pytest.approx(reference)


@given(small_problems(6, 4, with_density=True))
def test_a_coarser_grid_only_lowers_the_bound(problem):
    coarse = lower_bound(problem, most_cells=4)
    assert np.prod([n - 1 for n in coarse.lines]) <= 4
    assert coarse.value <= lower_bound(problem).value + SLACK
