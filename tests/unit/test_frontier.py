"""The frontier without Spark: which caps, which points, and the dataset."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.model.overlay import Bounds, Overlay, gains_of
from meshwright.overlay.dataset import load_overlay
from meshwright.overlay.frontier import (
    best_plans,
    check_frontier,
    choose_caps,
    load_frontier,
    make_points,
    refuse_points,
    write_frontier,
)
from tests.datasets import write_instance

STAR = [(0, 1), (0, 2), (0, 3)]
PATH = [(0, 1), (1, 2), (2, 3)]
WASTEFUL = [(0, 1), (1, 2), (2, 3), (0, 3)]
PART = [(0, 1), (2, 3)]


def plan(edges, least=2, least_degree=1):
    instance = Instance.from_pairs([(f"n{v}", "x") for v in range(4)])
    bounds = Bounds(least, least_degree, 1.0, 1.0)
    edges = np.array(edges, np.int32)
    gains = gains_of(instance, edges)
    return Overlay(instance, edges, gains, "refined", {"rounds": 5}, 1, bounds, seconds=0.5)


@pytest.mark.parametrize(
    ("least", "most", "points", "caps"),
    [
        (5, 10, 8, [5, 6, 7, 8, 9]),  # all that bind
        (5, 10, 5, [5, 6, 7, 8, 9]),
        (10, 14, 3, [10, 11, 13]),
        (4, 4, 8, []),  # the plan without a cap reaches the bound
        (5, 4, 8, []),
        (0, 0, 8, []),  # nothing to link
        (0, 3, 8, [1, 2]),
        (7, 100, 1, [7]),
    ],
)
def test_caps_go_from_the_bound_to_below_the_degree_without_a_cap(least, most, points, caps):
    assert choose_caps(least, most, points) == caps


@pytest.mark.parametrize(("least", "most", "points"), [(1, 500, 8), (3, 40, 20), (14, 3000, 12)])
def test_caps_are_as_many_as_asked_and_dense_where_they_are_low(least, most, points):
    caps = choose_caps(least, most, points)
    steps = [after - before for before, after in pairwise(caps)]
    assert len(set(caps)) == points
    assert (caps[0], caps[-1]) == (least, most - 1)
    assert sum(steps[: len(steps) // 2]) < sum(steps[len(steps) // 2 :])


def test_a_plan_counts_for_every_higher_cap_until_one_is_better():
    found = {1: plan(PART), 2: plan(PATH), 3: plan(WASTEFUL), None: plan(STAR)}
    assert best_plans(found) == {1: 1, 2: 2, 3: 2, None: None}
    points = make_points(found, Path("f"))
    assert [p.max_degree for p in points] == [1, 2, 3, None]
    assert [p.links for p in points] == [2, 3, 3, 3]
    assert [p.degree for p in points] == [1, 2, 2, 3]
    assert [p.connected for p in points] == [False, True, True, True]
    assert points[0].support == pytest.approx(2 / 3)
    assert [p.overlay for p in points] == ["f-cap-1", "f-cap-2", "f-cap-2", "f-no-cap"]


def test_every_point_has_the_best_bounds_of_all_searches():
    found = {2: plan(PATH, least=3), None: plan(STAR, least=2, least_degree=2)}
    points = make_points(found, Path("f"))
    assert {(p.bound_links, p.bound_degree) for p in points} == {(3, 2)}


def test_a_frontier_is_read_as_it_was_written_and_its_points_are_overlays(tmp_path):
    found = {1: plan(PART), 2: plan(PATH), 3: plan(WASTEFUL), None: plan(STAR)}
    workload = write_instance(found[None].instance, tmp_path / "w")
    written = write_frontier(found, tmp_path / "f", workload)
    read = load_frontier(tmp_path / "f")
    assert read.points == written.points
    assert read.manifest.rows == {"points": 4}
    for point in read.points:
        overlay = load_overlay(read.overlay_path(point))
        assert (overlay.n_edges, overlay.connected) == (point.links, point.connected)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("f", "f-cap-1", "f-cap-2", "f-no-cap", "w"),
    ]
    assert read.as_dict()["points"][0]["overlay"] == "f-cap-1"


def test_overlays_of_an_earlier_frontier_are_kept_without_force(tmp_path):
    found = {2: plan(PATH), None: plan(STAR)}
    workload = write_instance(found[None].instance, tmp_path / "w")
    write_frontier(found, tmp_path / "f", workload)
    with pytest.raises(InputError, match="f-cap-2' exists"):
        refuse_points(tmp_path / "f", force=False)
    with pytest.raises(InputError, match="f' exists"):
        write_frontier(found, tmp_path / "f", workload)
    write_frontier({2: plan(PATH), None: plan(PATH)}, tmp_path / "f", workload, force=True)
    assert load_frontier(tmp_path / "f").points[1].degree == 2


def test_what_is_no_dataset_is_kept_even_with_force(tmp_path):
    (tmp_path / "f-cap-2").mkdir()
    (tmp_path / "f-cap-2" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="f-cap-2' exists and is not a Meshwright dataset"):
        refuse_points(tmp_path / "f", [2], force=True)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"points": 0}, "points is 0; give a whole number from 1"),
        ({"points": True}, "points is True"),
        ({"seconds": 1, "rounds": 3}, "give seconds or rounds, not both"),
        ({"rounds": -1}, "rounds is -1"),
        ({"seconds": 0}, "seconds is 0"),
        ({"seed": -1}, "seed"),
        ({"max_degree": 4}, "leave out max_degree"),
    ],
)
def test_impossible_options_are_refused(options, reason):
    with pytest.raises(InputError, match=reason):
        check_frontier(**options)
