"""A deployment obeys what its overlay obeys: leaves pass nothing on, and who can dial does."""

from collections import Counter

import pytest

from meshwright.deploy import plan
from meshwright.deploy.planner import refuse_transit
from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.model.limits import Limits, Links
from meshwright.overlay import design
from meshwright.overlay.restricted import restrict
from tests.deploying import brokers_of, overlay_of
from tests.unit.test_limits import sites_and_logger


def planned(overlay, **options):
    return plan(overlay, brokers_of(overlay.instance.node_names), **options)


@pytest.mark.parametrize("tree", ["shallow", "balanced"])
def test_no_tree_passes_through_a_leaf(tree):
    limits = [{"node": "logger", "role": "leaf"}]
    made = planned(design(sites_and_logger(12), limits=limits, certify=False), tree=tree)
    for route in made.routes:
        links = Counter(node for edge in route.edges for node in edge)
        assert links["logger"] == 1
        assert links.total() == 2 * (len(route.subscribers) - 1)


def with_leaf(overlay, node):
    """Return an overlay of given links with a node of role leaf."""
    from dataclasses import replace

    limits = Limits.from_rows([{"node": node, "role": "leaf"}], overlay.instance.node_names)
    return replace(
        overlay, limits=limits, carries=restrict(overlay.instance, limits=limits).carries
    )


def test_a_leaf_with_links_to_two_carriers_gets_one_of_them():
    links = [("a", "b"), ("a", "leaf"), ("b", "leaf")]
    overlay = overlay_of([(node, "x") for node in ("a", "b", "leaf")], links)
    (route,) = planned(with_leaf(overlay, "leaf")).routes
    assert sorted(map(sorted, route.edges)) == [["a", "b"], ["a", "leaf"]]


def test_a_topic_that_only_a_leaf_joins_is_disconnected():
    links = [("a", "leaf"), ("b", "leaf")]
    overlay = overlay_of([(node, "x") for node in ("a", "b", "leaf")], links)
    with pytest.raises(InputError, match="leaves 1 subscribers of 1 topics disconnected"):
        planned(with_leaf(overlay, "leaf"))


def test_a_tree_that_passes_through_a_leaf_is_refused():
    instance = Instance.from_pairs([(node, "x") for node in "abc"])
    with pytest.raises(InputError, match="the tree of 'x' passes through 'b'"):
        refuse_transit(instance, [[(0, 1), (1, 2)]], {(1, 0)})


def test_the_end_that_can_dial_does():
    instance = Instance.from_pairs([(node, "x") for node in "abc"])
    for dial, caller in (("a", "b"), ("b", "c"), ("both", "b")):
        links = [{"a": "b", "b": "c", "dial": dial}, {"a": "a", "b": "c", "allowed": "no"}]
        made = planned(design(instance, links=links, certify=False))
        (link,) = [link for link in made.links if set(link) == {"b", "c"}]
        if dial != "both":
            assert link[0] == caller
    assert Links.from_rows(links, "abc").diallers(1, 2) == (1, 2)
