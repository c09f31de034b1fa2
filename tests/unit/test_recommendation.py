"""Which of several overlays a report recommends, and why."""

import pytest

from meshwright.model.instance import Instance
from meshwright.overlay import design
from meshwright.overlay.dataset import load_overlay
from meshwright.report import document
from meshwright.report.overlay_facts import dependence, headline
from meshwright.report.recommendation import recommend
from tests.reports import company, write_designs
from tests.unit.test_limits import sites_and_logger


def facts(label, overlay):
    return {"label": label, "headline": headline(overlay), "dependence": dependence(overlay)}


def made(instance, **designs):
    return [
        facts(label, design(instance, certify=False, **arguments))
        for label, arguments in designs.items()
    ]


FEW = {"method": "gpa", "max_edges": 20}


def test_there_is_nothing_to_recommend_among_one():
    assert recommend(made(company(), gm={"method": "gm"})) is None


def test_a_complete_overlay_comes_before_one_with_fewer_links():
    found = recommend(made(company(), few=FEW, gm={"method": "gm"}))
    assert found["overlay"] == "gm"
    assert "every topic is connected" in found["sentence"]
    assert "the only one here that is complete" in found["sentence"]


def test_the_fewest_links_of_the_complete_ones():
    overlays = made(
        company(),
        mesh={"method": "full-mesh"},
        ring={"method": "ring-per-topic"},
        gm={"method": "gm"},
    )
    found = recommend(overlays)
    links = {o["label"]: o["headline"]["links"] for o in overlays}
    assert min(links, key=links.get) == found["overlay"] == "gm"
    assert f"with {links['gm']} links, the fewest of the complete ones" in found["sentence"]


def test_a_single_point_of_failure_is_named_with_the_way_out():
    overlays = made(
        sites_and_logger(12),
        gm={"method": "gm"},
        ring={"method": "ring-per-topic"},
        mesh={"method": "full-mesh"},
    )
    found = recommend(overlays)
    assert found["overlay"] == "gm"  # a star at the logger
    assert (
        "50% of the deliveries depend on 'logger', in 12 of 12 topics: a single point of"
        in found["sentence"]
    )
    assert found["alternative"] == "ring"
    assert "Without one, take 'ring'" in found["sentence"]


def test_where_all_have_one_that_is_said():
    overlays = made(sites_and_logger(12), gm={"method": "gm"}, star={"method": "star"})
    found = recommend(overlays)
    assert found["alternative"] is None
    assert "None of the complete overlays here is without one." in found["sentence"]


def test_where_none_is_complete_that_is_said():
    found = recommend(made(company(), few=FEW, fewer={"method": "gpa", "max_edges": 10}))
    assert found["overlay"] == "few"
    assert "None of the overlays here connects every topic." in found["sentence"]


def test_equal_overlays_are_called_equal_and_the_first_named_is_taken():
    found = recommend(made(company(), one={"method": "gm"}, two={"method": "gm"}))
    assert found["overlay"] == "one"
    assert "the same in everything as 'two'" in found["sentence"]


@pytest.mark.parametrize("order", [("gm", "few"), ("few", "gm")])
def test_the_order_of_naming_does_not_decide_between_different_overlays(tmp_path, order):
    write_designs(tmp_path, company(), gm={"method": "gm"}, few=FEW)
    section = document([tmp_path / name for name in order])["sections"][0]
    assert section["recommendation"]["overlay"] == "gm"
    assert load_overlay(tmp_path / "gm").connected


def test_tiny_overlays_can_be_compared():
    empty = Instance.from_pairs([])
    assert recommend(made(empty, one={"method": "gm"}, two={"method": "gm"}))["overlay"] == "one"
