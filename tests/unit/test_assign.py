"""Assigning by name, assignments on disk, and what the checker says of them."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import meshwright as mw
from meshwright.content.assignment import Assignment, Filters
from meshwright.content.check import check_tables
from meshwright.content.dataset import check_claims, write_assignment
from meshwright.content.methods.registry import METHODS
from meshwright.content.problem.dataset import load_problem, write_problem
from tests.assignments import bounding_assignment
from tests.problems import line_problem, random_problem

# Leaves at 1 and -1, everyone at the publisher; two want the left of the space, two the right.
ROWS = [(0.0, 0.0, 2.0), (0.0, 8.0, 10.0), (0.0, 1.0, 3.0), (0.0, 9.0, 11.0)]


def two_leaves(**limits):
    return line_problem([1.0, -1.0], ROWS, **limits)


def by_hand(problem, broker, boxes) -> Assignment:
    filters = Filters(
        np.array([row[0] for row in boxes], np.int32),
        np.array([[row[1]] for row in boxes]),
        np.array([[row[2]] for row in boxes]),
    )
    return Assignment(problem, "by hand", np.array(broker, np.int32), filters)


def test_an_unknown_method_is_refused_with_the_nearest_one():
    with pytest.raises(mw.InputError, match="did you mean 'gr-star'"):
        mw.assign(two_leaves(), method="gr-stat")


@pytest.mark.parametrize("seed", [-1, 2**63, True, 1.0])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(mw.InputError, match="seed is"):
        mw.assign(two_leaves(), method="gr", seed=seed)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_serves_everyone_and_says_what_it_took(method):
    problem = random_problem(120, 4, max_delay=1.0, beta=1.5, beta_max=2.0)
    assignment = mw.assign(problem, method=method, seed=3)
    assert assignment.method == method
    assert assignment.parameters["seed"] == 3
    assert assignment.seconds > 0
    report = assignment.report
    assert {found.constraint for found in report.violations} <= {"latency", "load"}
    again = mw.assign(problem, method=method, seed=3)
    assert np.array_equal(again.broker, assignment.broker)
    assert np.array_equal(again.filters.low, assignment.filters.low)


def test_a_sound_answer_is_feasible_and_meets_the_bound():
    assignment = by_hand(two_leaves(), [1, 2, 1, 2], [(1, 0.0, 3.0), (2, 8.0, 11.0)])
    assert assignment.feasible
    assert assignment.report.within_beta
    assert assignment.bandwidth == assignment.bound.value == 6.0
    assert assignment.obstacle is None


def test_a_factor_between_beta_and_beta_max_is_feasible_but_not_within_beta():
    problem = two_leaves(beta=1.0, beta_max=1.5)
    assignment = bounding_assignment(problem, [1, 1, 1, 2])
    assert assignment.feasible
    assert not assignment.report.within_beta
    assert assignment.lbf == 1.5


@pytest.mark.parametrize(
    ("broker", "boxes", "message"),
    [
        ([1, 1, 1, 1], [(1, 0.0, 11.0)], "leaves over beta_max: 1 .'broker-1' has 4, at most 3"),
        ([1, 2, 1, 0], [(1, 0.0, 3.0), (2, 8.0, 11.0)], "'subscriber-3' is at no leaf"),
        ([1, 2, 1, 2], [(1, 0.0, 3.0), (2, 8.0, 10.5)], "'subscriber-3' at 'broker-2'"),
        # Two boxes hold the subscription together, which is not enough.
        (
            [1, 2, 1, 2],
            [(1, 0.0, 1.5), (1, 1.5, 3.0), (2, 8.0, 11.0)],
            "inside no box of their leaf: 2",
        ),
        (
            [1, 2, 1, 2],
            [*[(1, 0.0, 3.0)] * 4, (2, 8.0, 11.0)],
            "too many boxes: 1 .'broker-1' has 4, at most 3",
        ),
        ([1, 2, 1, 2], [(0, 0.0, 1.0), (1, 0.0, 3.0), (2, 8.0, 11.0)], "not a box of a broker: 1"),
        ([1, 2, 1, 2], [(1, 3.0, 0.0), (1, 0.0, 3.0), (2, 8.0, 11.0)], "not a box of a broker: 1"),
    ],
)
def test_a_fault_is_counted_and_exampled(broker, boxes, message):
    assignment = by_hand(two_leaves(), broker, boxes)
    assert not assignment.feasible
    (found,) = assignment.report.violations
    assert message.replace(" .", " (") in str(found)
    assert assignment.report.count(found.constraint) == found.count


def test_a_subscriber_served_too_late_is_named():
    problem = line_problem([1.0, -3.0], [(0.0, 0.0, 1.0), (0.0, 0.0, 1.0)], max_delay=1.0)
    (found,) = bounding_assignment(problem, [1, 2]).report.violations
    assert str(found) == (
        "subscribers served too late: 1 ('subscriber-1' at 'broker-2': delay 2, at most 1)"
    )


def test_rows_of_nobody_and_rows_too_many_are_found():
    report = check_tables(
        two_leaves(),
        np.array([0, 1, 2, 2, 9]),
        np.array([1, 2, 1, 1, 2]),
        np.array([1, 2]),
        np.array([[0.0], [8.0]]),
        np.array([[3.0], [11.0]]),
    )
    assert [str(found) for found in report.violations] == [
        "rows that name no subscriber: 1 (row 4 of the assignment)",
        "subscribers without exactly one leaf: 2 ('subscriber-2' has 2 rows; "
        "'subscriber-3' has 0 rows)",
    ]


def test_no_answer_is_feasible_without_boxes():
    report = check_tables(
        two_leaves(), np.arange(4), np.array([1, 2, 1, 2]), np.zeros(0, np.int32),
        np.zeros((0, 1)), np.zeros((0, 1)),
    )  # fmt: skip
    assert report.count("covered") == 4


def test_a_loaded_leaf_of_no_capacity_has_an_infinite_factor():
    tree = mw.BrokerTree([-1, 0, 0], [[0.0], [1.0], [-1.0]], [0.0, 1.0, 0.0])
    problem = mw.Problem(tree, [[0.0]], [[0.0]], [[1.0]], 1.0)
    assignment = bounding_assignment(problem, [2])
    assert assignment.lbf == float("inf")
    assert assignment.report.count("load") == 1


def test_an_answer_comes_back_from_its_dataset(tmp_path):
    problem = random_problem(60, 4, max_delay=1.0)
    write_problem(tmp_path / "P", problem)
    assignment = mw.assign(problem, method="gr-star")
    manifest = write_assignment(assignment, tmp_path / "A", tmp_path / "P")
    assert manifest.rows == {"assignment": 60, "filters": len(assignment.filters.broker)}
    for name in ("bandwidth", "bound", "lbf", "delay_rms", "delay_max", "load_stdev"):
        assert manifest[name] >= 0
    assert manifest["fractional"] is None
    assert manifest["violations"] == assignment.report.as_dict()
    loaded = mw.load_assignment(tmp_path / "A")
    assert np.array_equal(loaded.broker, assignment.broker)
    assert loaded.bandwidth == assignment.bandwidth == manifest["bandwidth"]
    assert loaded.problem.digest == problem.digest
    assert check_claims(tmp_path / "A")[0].feasible == manifest["feasible"]


def test_limits_given_to_assign_are_kept_with_the_answer(tmp_path):
    problem = random_problem(60, 4, max_delay=0.1)
    write_problem(tmp_path / "P", problem)
    density = mw.Density([[0, 50, 100], [0, 100]], [[1.0], [3.0]])
    overrides = {"alpha": 1, "max_delay": 2.0, "density": density}
    assignment = mw.assign(problem.with_limits(**overrides), method="gr")
    manifest = write_assignment(assignment, tmp_path / "A", tmp_path / "P", overrides=overrides)
    loaded = mw.load_assignment(tmp_path / "A")
    assert loaded.problem.alpha == 1
    assert set(loaded.problem.max_delay) == {2.0}
    assert loaded.bandwidth == manifest["bandwidth"]
    assert json.loads((tmp_path / "A/manifest.json").read_text())["overrides"]["alpha"] == 1


def test_an_answer_names_the_problem_that_was_read_not_the_one_that_is_there_at_the_end(tmp_path):
    write_problem(tmp_path / "P", random_problem(60, 4, max_delay=1.0))
    problem = load_problem(tmp_path / "P")
    assignment = mw.assign(problem.with_limits(alpha=1), method="gr")
    write_problem(tmp_path / "P", random_problem(70, 4, max_delay=1.0), force=True)
    overrides = {"alpha": 1}
    manifest = write_assignment(assignment, tmp_path / "A", tmp_path / "P", overrides=overrides)
    assert manifest["problem_digest"] == problem.digest
    with pytest.raises(mw.InputError, match="was made for another problem than"):
        mw.load_assignment(tmp_path / "A")


def test_a_dataset_that_was_tampered_with_fails_its_check(tmp_path):
    problem = random_problem(60, 4, max_delay=1.0)
    write_problem(tmp_path / "P", problem)
    write_assignment(mw.assign(problem, method="gr-star"), tmp_path / "A", tmp_path / "P")
    rows = pq.read_table(tmp_path / "A/assignment.parquet")
    broker = rows.column("broker").to_numpy().copy()
    broker[0], subscriber = 0, rows.column("subscriber").to_numpy().copy()
    subscriber[5] = 4
    pq.write_table(
        pa.table({"subscriber": subscriber, "broker": broker}), tmp_path / "A/assignment.parquet"
    )
    report, _ = check_claims(tmp_path / "A")
    assert report.count("assigned") == 3
    with pytest.raises(mw.InputError, match="does not have each subscriber once"):
        mw.load_assignment(tmp_path / "A")


def test_the_problem_is_found_beside_an_answer_and_another_one_is_refused(tmp_path):
    problem = random_problem(20, 3)
    (tmp_path / "one").mkdir()
    write_problem(tmp_path / "one/P", problem)
    write_assignment(mw.assign(problem, method="gr"), tmp_path / "one/A", tmp_path / "one/P")
    (tmp_path / "one").rename(tmp_path / "two")
    assert mw.load_assignment(tmp_path / "two/A").problem.n_subscribers == 20
    write_problem(tmp_path / "two/P", random_problem(20, 3, seed=2), force=True)
    with pytest.raises(mw.InputError, match="was made for another problem"):
        mw.load_assignment(tmp_path / "two/A")
    (tmp_path / "two/P").rename(tmp_path / "two/Q")
    with pytest.raises(mw.InputError, match=r"is no longer at .* Name it with --problem"):
        mw.load_assignment(tmp_path / "two/A")


def test_a_problem_without_subscribers_is_refused():
    tree = mw.BrokerTree([-1, 0], [[0.0], [1.0]])
    nobody = mw.Problem(tree, np.zeros((0, 1)), np.zeros((0, 1)), np.zeros((0, 1)), 0.5)
    with pytest.raises(mw.InputError, match="no subscriber"):
        mw.assign(nobody, method="gr")
