"""Greedy methods of assignment, behaviour by behaviour."""

import re
from pathlib import Path

import numpy as np
import pytest

from meshwright.content.boxes import fit_boxes
from meshwright.content.filters import fit_filters
from meshwright.content.kernels.volume import union_volume
from meshwright.content.methods.balance import balance
from meshwright.content.methods.closest import closest_balanced
from meshwright.content.methods.greedy import gr, gr_evict_later, gr_evict_now, gr_star
from meshwright.content.methods.registry import METHODS as ALL
from meshwright.content.problem import BrokerTree, Density, Problem
from meshwright.model.density import no_density
from tests.problems import line_problem, random_problem

# slp-paper takes one level of brokers, and gives up where Algorithm 1 does; see test_slp.
METHODS = {
    name: method.load()
    for name, method in ALL.items()
    if not method.on_spark and name != "slp-paper"
}
PAGES = Path(__file__).parents[2] / "docs" / "methods"
FLAT = no_density(2)


def two_ways(n_free: int, n_bound: int, **limits: object) -> Problem:
    """Return some who may use leaf 1 or 2, then some who may use leaf 1 only."""
    places = [(0.0, 0.0, 1.0)] * n_free + [(1.0, 0.0, 1.0)] * n_bound
    return line_problem([1.0, -1.0], places, max_delay=0.1, **limits)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("levels", [1, 2])
def test_every_answer_passes_the_checker_but_for_what_the_method_ignores(name, levels):
    problem = random_problem(300, 9, levels=levels, max_delay=0.6, beta=2.0, beta_max=4.0)
    assignment = METHODS[name](problem)
    ignored = {
        "gr-no-latency": {"latency"},
        "closest": {"latency", "load"},
        "closest-balanced": {"latency"},
    }
    assert {found.constraint for found in assignment.report.violations} <= ignored.get(name, set())
    assert assignment.method == name


@pytest.mark.parametrize("name", METHODS)
def test_the_same_seed_gives_the_same_answer(name):
    problem = random_problem(120, 4, beta=1.0, beta_max=1.05)
    one, other = METHODS[name](problem, 3), METHODS[name](problem, 3)
    assert one.broker.tolist() == other.broker.tolist()
    assert one.filters.low.tolist() == other.filters.low.tolist()


@pytest.mark.parametrize("name", METHODS)
def test_progress_only_rises_and_stays_within_one(name):
    reported: list[float] = []
    METHODS[name](random_problem(50, 3), 1, reported.append)
    assert reported
    assert reported == sorted(reported)
    assert 0 < reported[-1] <= 1


def test_gr_overloads_a_leaf_where_gr_star_and_evictions_do_not():
    problem = two_ways(2, 2, beta=1.0, beta_max=1.0)
    assert gr(problem).report.count("load") == 1
    assert gr_star(problem).feasible
    for method in (gr_evict_now, gr_evict_later):
        assignment = method(problem)
        assert assignment.feasible
        assert assignment.notes["evictions"] >= 2


def test_the_load_factor_is_raised_by_steps_and_no_further_than_needed():
    # Five of ten have leaf 1 alone and it may have five; at beta 1 the free ones fill it first.
    problem = two_ways(5, 5, beta=1.0, beta_max=3.0)
    assignment = gr(problem)
    assert assignment.notes["overloaded"] == 0
    assert assignment.broker.tolist() == [1] * 5 + [1] * 5
    assert assignment.notes["load_factor"] == pytest.approx(1.05**15)  # 2.08: ten at leaf 1


def test_evictions_end_where_no_answer_exists():
    problem = two_ways(1, 3, beta=1.0, beta_max=1.0)
    for method in (gr_evict_now, gr_evict_later):
        assignment = method(problem)
        assert assignment.notes["evictions"] == 40
        assert assignment.notes["overloaded"] > 0
        assert not assignment.feasible


def test_an_enlarged_box_stays_inside_the_filter_above():
    # One box per filter: leaf 2 grows from [0, 1] to [0, 9], and so must broker 1 above it.
    tree = BrokerTree([-1, 0, 1], [[0.0], [1.0], [2.0]])
    problem = Problem(tree, [[2.0]] * 2, [[0.0], [8.0]], [[1.0], [9.0]], 0.0, alpha=1)
    assignment = gr(problem)
    assert assignment.filters.low.tolist() == [[0.0], [0.0]]
    assert assignment.filters.high.tolist() == [[9.0], [9.0]]
    assert assignment.bandwidth == 18.0


def test_a_box_that_another_swallows_makes_room():
    boxes = [(0.0, 0.0, 1.0), (0.0, 4.0, 5.0), (0.0, 0.0, 6.0), (0.0, 90.0, 91.0)]
    assignment = gr(line_problem([1.0], boxes, alpha=2))
    assert assignment.filters.low.tolist() == [[0.0], [90.0]]
    assert assignment.filters.high.tolist() == [[6.0], [91.0]]


def test_growth_is_measured_by_where_events_fall():
    # Leaf 1 holds [0, 2], leaf 2 [8, 9]. To take [3, 4], leaf 1 grows by 2 and leaf 2 by 5, but
    # almost all events fall below 4.
    rows = [(1.0, 0.0, 2.0), (-1.0, 8.0, 9.0), (0.0, 3.0, 4.0)]
    limits = {"alpha": 1, "beta": 2.0, "beta_max": 2.0, "max_delay": 0.1}
    assert gr(line_problem([1.0, -1.0], rows, **limits)).broker.tolist() == [1, 2, 1]
    density = Density([[0.0, 2.0, 3.0, 4.0, 9.0]], [0.0, 9.0, 0.0, 0.1])
    there = line_problem([1.0, -1.0], rows, density=density, **limits)
    assert gr(there).broker.tolist() == [1, 2, 2]


def test_a_leaf_without_capacity_is_used_only_when_nothing_else_is_in_time():
    tree = BrokerTree([-1, 0, 0], [[0.0], [1.0], [-1.0]], capacity=[0.0, 0.0, 1.0])
    problem = Problem(tree, [[0.0], [1.0]], [[0.0]] * 2, [[1.0]] * 2, 0.1)
    for name in ("gr", "gr-star", "gr-evict-now", "gr-evict-later", "balance"):
        assignment = METHODS[name](problem)
        assert assignment.broker.tolist() == [2, 1], name
        assert assignment.notes["overloaded"] == 1
    assert closest_balanced(problem).broker.tolist() == [2, 2]


def test_closest_balanced_overloads_the_nearest_when_rounding_leaves_no_room():
    # Three subscribers, two leaves of half each: one apiece at factor 1.
    problem = line_problem([1.0, -1.0], [(1.0, 0.0, 1.0)] * 3, beta=1.0, beta_max=1.0)
    assignment = closest_balanced(problem)
    assert assignment.broker.tolist() == [1, 2, 1]
    assert assignment.notes["overloaded"] == 1


def test_balance_goes_below_beta():
    assignment = balance(two_ways(6, 4, beta=1.5, beta_max=1.8))
    assert assignment.notes["load_factor"] == 1.0
    assert assignment.lbf == 1.0
    assert assignment.feasible


def test_balance_gives_leaves_boxes_near_each_other_or_the_next_ids():
    tree = BrokerTree(parent=[-1, 0, 0], location=[[0.0], [1.0], [1.0]])
    low = [[0.0], [9.0], [0.0], [9.0]]
    problem = Problem(tree, [[1.0]] * 4, low, [[1.0], [10.0], [1.0], [10.0]], 0.5, alpha=1)
    near, blind = balance(problem), balance(problem, near=False)
    assert near.broker.tolist() == [1, 2, 1, 2]
    assert blind.broker.tolist() == [1, 1, 2, 2]
    assert (near.bandwidth, blind.bandwidth) == (2.0, 20.0)
    assert near.lbf == blind.lbf == 1.0


def test_filters_find_clusters_however_they_lie():
    rng = np.random.default_rng(4)
    for n_clusters in (2, 3, 5):
        corner = np.array([[100.0 * (i % 3), 100.0 * (i // 3)] for i in range(n_clusters)])
        low = np.repeat(corner, 40, axis=0) + rng.uniform(0, 20, (40 * n_clusters, 2))
        boxes = np.stack([low, low + rng.uniform(0, 10, low.shape)], axis=1)
        fitted = fit_boxes(boxes, n_clusters, FLAT)
        parts = boxes.reshape(n_clusters, 40, 2, 2)
        best = np.stack([parts[:, :, 0].min(axis=1), parts[:, :, 1].max(axis=1)], axis=1)
        assert sorted(fitted.tolist()) == sorted(best.tolist())


def test_fitted_filters_are_about_as_good_as_those_that_gr_star_grew():
    problem = random_problem(2000, 8, max_delay=0.5, beta=2.0, beta_max=3.0)
    grown = gr_star(problem)
    fitted = fit_filters(problem, grown.broker)
    volumes = []
    for filters in (grown.filters, fitted):
        boxes = [np.stack(filters.of(leaf), axis=1) for leaf in problem.tree.leaves]
        volumes.append(sum(union_volume(found, FLAT) for found in boxes if len(found)))
    assert volumes[1] <= 1.02 * volumes[0]


def test_a_leaf_without_subscribers_has_no_filter():
    problem = line_problem([1.0, -1.0], [(1.0, 0.0, 1.0)] * 2, beta=2.0, beta_max=2.0)
    assert fit_filters(problem, np.array([1, 1], np.int32)).broker.tolist() == [1]


@pytest.mark.parametrize("method", METHODS)
def test_every_greedy_method_has_a_page(method):
    headed = []
    for page in PAGES.glob("*.md"):
        title, _, body = page.read_text(encoding="utf-8").partition("\n")
        if f"`{method}`" in title or re.search(rf"^- `{method}`:", body, re.M):
            headed.append(page.name)
    assert len(headed) == 1
