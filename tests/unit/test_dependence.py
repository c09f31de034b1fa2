"""Whether a plan is a star, and what depends on one node."""

from meshwright.model.instance import Instance
from meshwright.overlay import design
from meshwright.overlay.dependence import find_dependence
from tests.unit.test_limits import sites_and_logger


def test_a_star_is_called_a_star_and_a_single_point_of_failure():
    found = find_dependence(design(sites_and_logger(12), certify=False))
    assert found.star == found.node == found.hub == "logger"
    # Each topic has three sites besides the logger: 6 deliveries among them of 12 in all.
    assert (found.deliveries, found.of_deliveries) == (72, 144)
    assert (found.topics, found.of_topics) == (12, 12)
    assert found.sentences() == [
        "This plan is a star: every link ends at 'logger'.",
        "Single point of failure: 'logger'. Without it 50% of the deliveries fail, besides its "
        "own, in 12 of 12 topics.",
        "A hub by topic at 'logger' would do as well.",
    ]


def test_a_logger_as_a_leaf_is_no_single_point_of_failure():
    limits = [{"node": "logger", "role": "leaf"}]
    found = find_dependence(design(sites_and_logger(12), limits=limits, certify=False))
    assert found.star == found.hub == ""
    assert found.node != "logger"
    assert not found.is_single_point


def test_deliveries_go_from_publishers_to_subscribers():
    published = [("edge-1", "x"), ("edge-2", "x")]
    instance = Instance.from_pairs([("cloud", "x")], publications=published)
    found = find_dependence(design(instance, publishers_as="leaf", certify=False))
    assert (found.deliveries, found.of_deliveries) == (0, 2)  # both go straight to the cloud
    assert found.sentences() == ["A hub by topic at 'cloud' would do as well."]


def test_a_full_mesh_depends_on_nobody():
    found = find_dependence(design(sites_and_logger(6), "full-mesh", certify=False))
    assert (found.node, found.star, found.hub) == ("", "", "")


def test_an_empty_overlay_depends_on_nobody():
    found = find_dependence(design(Instance.from_pairs([]), certify=False))
    assert found.sentences() == []
