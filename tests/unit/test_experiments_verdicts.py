"""The rule of the verdicts."""

import math

import pytest
from papers.findings import POINTS, at_least, at_most, number, ordered
from papers.model import Claim, Finding, Kind, Limit, Number
from papers.verdict import CLOSE, DIFFERS, HOLDS, NOT_RUN, Evidence, Point, verdict, weigh


def judged(finding, **more) -> str:
    """Return the verdict on a finding at the paper's size, without noise."""
    claim = Claim("", "", lambda rows: finding, kind=Kind.ORDERING)
    weighed = weigh(claim, [], [])
    return verdict(None if weighed is None else weighed[1], **{"at_paper_size": True, **more})


def of_points(*points: tuple[float, ...]) -> str:
    return verdict(Evidence(points=tuple(Point(*one) for one in points)), at_paper_size=True)


@pytest.mark.parametrize(
    ("ours", "expected"),
    [(1.0, HOLDS), (1.05, HOLDS), (0.95, HOLDS), (1.06, CLOSE), (0.8, CLOSE), (1.21, DIFFERS)],
)
def test_a_number_holds_within_5_percent_and_is_close_within_20(ours, expected):
    assert judged(number(ours, 1.0)) == expected


@pytest.mark.parametrize(
    ("ours", "paper", "expected"),
    [
        (1.2, 1.0, HOLDS),
        (1.5, 1.0, HOLDS),
        (1.6, 1.0, CLOSE),
        (3.0, 1.0, CLOSE),
        (3.1, 1.0, DIFFERS),
        (-0.5, 0.0, HOLDS),
        (47.0, 50.0, CLOSE),  # from 10% on the distance is relative
        (39.0, 50.0, DIFFERS),
    ],
)
def test_a_small_percentage_is_compared_by_its_absolute_distance(ours, paper, expected):
    assert judged(number(ours, paper, base=POINTS)) == expected


def test_limits_hold_if_kept_and_are_close_if_missed_by_little():
    assert judged(at_most(0.9, 1.0)) == HOLDS
    assert judged(at_most(1.1, 1.0)) == CLOSE
    assert judged(at_most(1.3, 1.0)) == DIFFERS
    assert judged(at_least(5.0, 1.0)) == HOLDS
    assert judged(at_least(0.5, 1.0)) == DIFFERS
    assert judged(at_most(1.0, 0.0)) == DIFFERS
    assert judged(at_least(-1.0, 0.0)) == DIFFERS


@pytest.mark.parametrize("distance", [0.001, 0.1, 0.5])
def test_a_reversed_ordering_differs_whatever_the_distance(distance):
    assert judged(ordered([(1.0, 1.0 + distance)] * 10)) == DIFFERS


def test_an_ordering_holds_at_every_point():
    assert of_points((2, 1), (1, 1), (5, 4)) == HOLDS
    assert of_points((2, 1), (0.95, 1), (5, 4)) == DIFFERS  # two of three


def test_an_ordering_is_close_at_four_points_in_five_if_none_is_far_short():
    kept = [(2.0, 1.0)] * 4
    assert of_points(*kept, (0.8, 1.0)) == CLOSE
    assert of_points(*kept, (0.7, 1.0)) == DIFFERS
    assert of_points(*kept[1:], (0.9, 1.0)) == DIFFERS  # three of four


def test_an_ordering_that_is_reversed_on_average_differs():
    barely = [(1.001, 1.0)] * 9
    assert of_points(*barely, (0.999, 1.0)) == CLOSE
    assert of_points(*barely, (0.85, 1.0)) == DIFFERS


def test_a_point_reversed_within_twice_the_noise_is_a_tie():
    kept = [(2.0, 1.0, 0.0)] * 3
    assert of_points(*kept, (0.9, 1.0, 0.05)) == HOLDS
    assert of_points(*kept, (0.9, 1.0, 0.049)) == DIFFERS
    assert of_points(*kept, (0.5, 1.0, 0.3)) == HOLDS


def test_noise_alone_is_no_ordering():
    assert of_points((0.9, 1.0, 9.0), (0.9, 1.0, 9.0)) == DIFFERS  # reversed on average
    assert of_points((1.5, 1.0, 9.0), (0.9, 1.0, 9.0)) == CLOSE  # no more than half are kept


def test_ties_do_not_save_an_ordering_that_is_reversed_at_most_points():
    assert of_points(*[(2.0, 1.0)] * 2, *[(0.99, 1.0, 1.0)] * 3) == DIFFERS
    assert of_points(*[(2.0, 1.0)] * 3, *[(0.99, 1.0, 1.0)] * 2) == HOLDS


def test_averages_are_relative_so_that_large_points_do_not_decide():
    assert of_points((1000.0, 900.0), *[(1.0, 2.0, 9.0)] * 4) == DIFFERS


def test_below_the_papers_size_or_on_few_seeds_nothing_holds():
    for limits in ({"at_paper_size": False}, {"enough_seeds": False}):
        assert judged(number(1.0, 1.0), **limits) == CLOSE
        assert judged(number(1.5, 1.0), **limits) == DIFFERS
        assert judged(ordered([(2.0, 1.0)]), **limits) == CLOSE


def test_what_was_not_measured_is_not_run():
    assert number(math.nan, 1.0) is None
    assert at_most(math.nan, 1.0) is None
    assert at_least(math.nan, 1.0) is None
    assert ordered([(math.nan, 1.0)]) is None
    assert judged(None) == NOT_RUN


def test_an_ordering_says_where_it_breaks():
    found = ordered([(2.0, 1.0), (0.9, 1.0)])
    assert found is not None
    assert found.ours == "at 1 of 2 points, short by up to 10.0%"


@pytest.mark.parametrize(
    "both", [{"number": Number(1.0, 1.0), "pairs": ((1.0, 1.0),)}, {"limit": Limit(2.0, 1.0),
             "number": Number(1.0, 1.0)}, {}]
)  # fmt: skip
def test_a_finding_is_one_number_or_one_limit_or_an_ordering(both):
    with pytest.raises(ValueError, match="a number, a limit or an ordering, one of them"):
        Finding("", **both)
