"""Why no assignment is feasible, and the smallest limits that could be kept."""

from itertools import product

import numpy as np
from hypothesis import given, settings

from meshwright.content.obstacle import find_obstacle
from tests.assignments import plain
from tests.naive import assignment_check as naive
from tests.problems import line_problem, random_problem, small_problems


def loads_possible(problem) -> list[list[int]]:
    """The loads of all leaves, of every assignment within latency."""
    small = plain(problem)
    choices = [naive.in_time(small, s) for s in range(problem.n_subscribers)]
    return [[broker.count(leaf) for leaf in small.leaves] for broker in product(*choices)]


def keeps(problem, beta_max: float) -> bool:
    limits = problem.load_limits(beta_max).tolist()
    return any(
        all(load <= limit for load, limit in zip(loads, limits, strict=True))
        for loads in loads_possible(problem)
    )


@given(small_problems(5, 3))
@settings(max_examples=150)
def test_an_obstacle_is_found_just_when_no_assignment_keeps_the_load(problem):
    found = find_obstacle(problem)
    assert (found is None) == keeps(problem, problem.beta_max)
    if found is None:
        return
    assert found.n_subscribers > found.room
    shares = problem.leaf_capacity * problem.n_subscribers
    factors = [
        max((n / share if share else np.inf) for n, share in zip(loads, shares, strict=True) if n)
        for loads in loads_possible(problem)
    ]
    least = min(factors)
    if found.beta_max is None:
        assert least == np.inf
    else:
        assert abs(found.beta_max - least) <= 1e-9 * least
    if found.max_delay is not None:
        for delay, fits in ((found.max_delay, True), (found.max_delay - 0.001, False)):
            raised = np.maximum(problem.max_delay, max(delay, 0.0))
            assert keeps(problem.with_limits(max_delay=raised), problem.beta_max) == fits


def test_an_obstacle_says_who_where_and_what_could():
    rows = [(1.0, 0.0, 1.0)] * 3 + [(9.0, 0.0, 1.0)]
    problem = line_problem([1.0, 9.0], rows, max_delay=0.0, beta=1.0, beta_max=1.0)
    found = find_obstacle(problem)
    assert str(found) == (
        "load within latency cannot hold: 3 subscribers have only broker-1 in time, "
        "with room for 2; it could with beta_max 1.5 or with max_delay 16 for all"
    )


def test_no_delay_helps_where_whole_numbers_do_not_fit():
    problem = line_problem([1.0, -1.0], [(0.0, 0.0, 1.0)] * 3, beta=1.0, beta_max=1.0)
    found = find_obstacle(problem)
    assert found is not None
    assert found.max_delay is None
    assert found.beta_max == 4 / 3


def test_a_feasible_problem_has_no_obstacle():
    assert find_obstacle(random_problem(200, 5, max_delay=9.0)) is None
