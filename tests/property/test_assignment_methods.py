"""No method beats the optimum of tiny problems, and the checker sees what each one may break."""

import numpy as np
import pytest
from hypothesis import given

from meshwright.content.methods.registry import METHODS, assign
from tests.assignments import plain, plain_filters
from tests.naive import assignment_check as naive
from tests.naive.assignment_optimum import optimum
from tests.problems import small_problems
from tests.strategies import draws

SLACK = 1e-9  # sums of floats

# What a method may break besides load, which may be infeasible.
IGNORE_LATENCY = ("gr-no-latency", "closest", "closest-balanced")
# slp-paper takes one level of brokers, and gives up where Algorithm 1 does; see test_slp.
ANY_PROBLEM = sorted(set(METHODS) - {"slp-paper"})


@pytest.mark.parametrize("method", ANY_PROBLEM)
@given(problem=small_problems(4, 3, max_dimensions=2, trees=("one level", "two levels")))
@draws(25)
def test_bound_optimum_and_every_feasible_answer_stand_in_this_order(method, problem):
    problem = problem.with_limits(alpha=min(problem.alpha, 2))
    assignment = assign(problem, method)
    best = optimum(plain(problem))
    assert (best is None) == (not assignment.feasible and assignment.obstacle is not None)
    if assignment.feasible:
        assert best is not None
        assert assignment.bound.value - SLACK <= best <= assignment.bandwidth + SLACK


@pytest.mark.parametrize("method", ANY_PROBLEM)
@given(problem=small_problems(8, 4, with_density=True))
@draws(25)
def test_answers_break_nothing_but_what_cannot_be_kept(method, problem):
    assignment = assign(problem, method)
    found = naive.violations(plain(problem), assignment.broker.tolist(), plain_filters(assignment))
    assert set(found) == {violation.constraint for violation in assignment.report.violations}
    assert set(found) <= ({"latency", "load"} if method in IGNORE_LATENCY else {"load"})
    if method in ("balance", "slp", "slp-leaves"):
        assert ("load" in found) == (assignment.obstacle is not None)
    assert np.isfinite(assignment.bandwidth)
