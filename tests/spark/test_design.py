"""`design` on Spark: the same edges and bounds as in this process, for any cut into tasks."""

import numpy as np
import pytest

from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.overlay.bounds import find_bounds
from meshwright.overlay.dataset import load_overlay
from meshwright.overlay.greedy.level_order import level_edges, open_local_scan
from meshwright.overlay.greedy.rule import Rule
from meshwright.overlay.greedy.spark_design import design_on_spark, rounds_path
from meshwright.overlay.greedy.spark_scans import ScanRounds
from meshwright.workload.generate import TopicModel, generate
from tests.datasets import read_table

SMALL = {"task_positions": 3000, "local_positions": 500}  # rounds of several tasks
RULES = {
    "gm": ({}, Rule()),
    "gpa": ({"max_edges": 300}, Rule(max_edges=300)),
    "minmax": ({}, Rule(rising_cap=True)),
    "gpm": ({"max_degree": 3}, Rule(rising_cap=True, max_degree=3)),
}


@pytest.fixture(scope="module")
def workload(spark, tmp_path_factory):
    place = tmp_path_factory.mktemp("design") / "w"
    sizes = {"nodes": 400, "topics": 60, "subscriptions": (2, 9)}
    generate(spark, place, TopicModel(family="zipf", **sizes, alpha=0.5))
    return place


@pytest.mark.parametrize("method", RULES)
def test_tasks_find_what_this_process_finds(spark, workload, tmp_path, method):
    asked, rule = RULES[method]
    manifest = design_on_spark(spark, workload, tmp_path / "o", method, **SMALL, **asked)
    overlay, instance = load_overlay(tmp_path / "o"), Instance.load(workload)
    links, gains = level_edges(instance, rule, open_local_scan)
    assert np.array_equal(overlay.edges, links)
    assert np.array_equal(overlay.gains, gains)
    assert overlay.bounds == find_bounds(instance, links)
    assert manifest["parameters"]["engine"] == "spark"
    assert not rounds_path(tmp_path / "o").exists()


def test_the_cut_into_tasks_changes_nothing(spark, workload, tmp_path):
    for name, part in (("few", 9000), ("many", 1200)):
        design_on_spark(
            spark, workload, tmp_path / name, "gm", task_positions=part, local_positions=500
        )
    few, many = (read_table(tmp_path / name, "edges") for name in ("few", "many"))
    assert few.equals(many)


class Interrupted(Exception):
    """Raised by a test to stop a design."""


def test_a_design_goes_on_where_it_was_stopped(spark, workload, tmp_path, monkeypatch):
    n_run, stop_at, run = 0, 0, ScanRounds._run

    def counted(self, task, n_parts):
        nonlocal n_run
        n_run += 1
        if n_run == stop_at:
            raise Interrupted
        run(self, task, n_parts)

    monkeypatch.setattr(ScanRounds, "_run", counted)
    whole = design_on_spark(spark, workload, tmp_path / "whole", "minmax", **SMALL)
    assert n_run > 2
    n_run, stop_at = 0, n_run
    with pytest.raises(Interrupted):
        design_on_spark(spark, workload, tmp_path / "o", "minmax", **SMALL)
    assert rounds_path(tmp_path / "o").is_dir()
    n_run, stop_at = 0, 0
    again = design_on_spark(spark, workload, tmp_path / "o", "minmax", **SMALL)
    assert n_run == 1
    assert again["n_edges"] == whole["n_edges"]
    edges = [read_table(tmp_path / name, "edges") for name in ("whole", "o")]
    assert edges[0].equals(edges[1])


def test_rounds_of_another_design_are_not_taken(spark, workload, tmp_path):
    kept = rounds_path(tmp_path / "o")
    kept.mkdir()
    (kept / "design.json").write_text("of another")
    (kept / "large").write_bytes(bytes(1000))
    design_on_spark(spark, workload, tmp_path / "o", "gm", **SMALL)
    assert load_overlay(tmp_path / "o").connected
    # Nor by processes that have worked on another design of the same name.
    other = tmp_path / "other"
    sizes = {"nodes": 300, "topics": 50, "subscriptions": (2, 9)}
    generate(spark, other, TopicModel(family="zipf", **sizes, alpha=0.5))
    design_on_spark(spark, other, tmp_path / "o", "gm", force=True, **SMALL)
    assert load_overlay(tmp_path / "o").connected


def test_other_methods_are_refused(spark, workload, tmp_path):
    with pytest.raises(InputError, match="low does not run on Spark; gm, minmax, gpa, gpm do"):
        design_on_spark(spark, workload, tmp_path / "o", "low")


def test_what_cannot_be_asked_leaves_nothing_behind(spark, workload, tmp_path):
    with pytest.raises(InputError, match="gpm needs a budget"):
        design_on_spark(spark, workload, tmp_path / "o", "gpm")
    assert not rounds_path(tmp_path / "o").exists()
