"""The report on a frontier: its points, its bounds, and where other plans lie."""

import json
from importlib import import_module
from pathlib import Path

import pytest

from meshwright.overlay import design
from meshwright.overlay.dataset import write_overlay
from meshwright.overlay.frontier import load_frontier
from meshwright.report import document, make_report
from tests.reports import company, write_points


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    here = tmp_path_factory.mktemp("frontier")
    write_points(here, company(), 1, 6)
    write_overlay(design(company(), "gm"), here / "gm", here / "workload")
    return here


def test_every_point_and_every_method_is_told(place):
    written = make_report([place / "frontier"], place / "frontier.html")
    (section,) = json.loads(written.numbers.read_text())["sections"]
    (facts,) = section["frontiers"]
    points = load_frontier(place / "frontier").points
    assert [p["links"] for p in facts["points"]] == [p.links for p in points]
    assert [p["connected"] for p in facts["points"]] == [False, True, True]
    ref = design(company(), "minmax")
    (found,) = (o for o in facts["others"] if o["method"] == "minmax")
    assert (found["links"], found["degree"]) == (ref.n_edges, ref.max_degree)
    text = written.page.read_text()
    assert "frontier-cap-6" in text
    assert "no plan within the cap was found that connects every topic" in text


def test_a_frontier_shares_the_section_of_its_workload(place):
    (section,) = document([place / "gm", place / "frontier"])["sections"]
    assert len(section["overlays"]) == len(section["frontiers"]) == 1


def test_a_frontier_of_a_moved_workload_is_found(place, tmp_path):
    (place / "frontier").rename(tmp_path / "frontier")
    try:
        (section,) = document([tmp_path / "frontier"], workload=place / "workload")["sections"]
    finally:
        (tmp_path / "frontier").rename(place / "frontier")
    assert section["workload"]["n_nodes"] == company().n_nodes


def test_large_workloads_are_not_designed_again(place, monkeypatch):
    facts = import_module("meshwright.report.frontier_facts")
    monkeypatch.setattr(facts, "MOST_SUBSCRIPTIONS", 10)
    (section,) = document([place / "frontier"])["sections"]
    assert section["frontiers"][0]["others"] == []
