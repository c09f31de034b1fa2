"""The brute-force optimum on cases worked out by hand."""

import pytest

from tests.assignments import plain
from tests.naive.assignment_optimum import least_cover, optimum
from tests.problems import line_problem

FAR = [(0.0, 0.0, 1.0), (0.0, 3.0, 4.0)]


@pytest.mark.parametrize(("alpha", "best"), [(1, 4.0), (2, 2.0)])
def test_one_leaf_takes_everything_in_alpha_boxes(alpha, best):
    assert optimum(plain(line_problem([1.0], FAR, alpha=alpha))) == best


def test_two_leaves_share_what_lies_apart():
    assert optimum(plain(line_problem([1.0, -1.0], FAR, alpha=1))) == 2.0


def test_load_forces_equal_boxes_apart():
    rows = [(0.0, 0.0, 1.0)] * 4
    assert optimum(plain(line_problem([1.0, -1.0], rows, beta=1.0, beta_max=1.0))) == 2.0
    assert optimum(plain(line_problem([1.0, -1.0], rows, beta=2.0, beta_max=2.0))) == 1.0


def test_a_problem_that_load_and_latency_rule_out_has_no_optimum():
    rows = [(1.0, 0.0, 1.0)] * 2
    problem = line_problem([1.0, 9.0], rows, max_delay=0.0, beta=1.0, beta_max=1.0)
    assert optimum(plain(problem)) is None


def test_an_inner_broker_adds_its_own_filter():
    problem = plain(line_problem([1.0], FAR, alpha=2))
    problem.parent = [-1, 0, 1]
    problem.place = [(0.0,), (1.0,), (1.0,)]
    problem.capacity = [0.0, 0.0, 1.0]
    assert optimum(problem) == 4.0


def test_a_box_below_may_lie_under_two_boxes_together():
    tall, deep = ((0.0, 0.0), (1.0, 5.0)), ((1.0, -5.0), (2.0, 1.0))
    across = ((0.0, 0.0), (2.0, 1.0))
    assert least_cover((across, deep, tall), 2, ()) == 11.0
