"""Leaves, limits and links: what a plan must obey."""

import numpy as np
import pytest

from meshwright.errors import InfeasibleError, InputError
from meshwright.model.instance import Instance
from meshwright.overlay import design
from meshwright.overlay.methods import METHODS, RESTRICTABLE


def sites_and_logger(n_sites: int = 40) -> Instance:
    """Return sites that share topics with the next ones, and one logger that wants everything."""
    pairs = [(f"site-{i:02}", f"t{(i + k) % n_sites:02}") for i in range(n_sites) for k in range(3)]
    return Instance.from_pairs([*pairs, *(("logger", f"t{t:02}") for t in range(n_sites))])


@pytest.mark.parametrize("method", ["gm", "minmax", "low"])
def test_a_logger_as_a_leaf_does_not_turn_the_plan_into_a_star(method):
    instance = sites_and_logger()
    logger = list(instance.node_names).index("logger")
    overlay = design(instance, method, carries=instance.nodes != logger)
    assert overlay.connected
    among_sites = ~(overlay.edges == logger).any(axis=1)
    assert np.count_nonzero(among_sites) >= 38  # the sites are joined without it
    assert overlay.degrees[logger] < 20
    if method == "gm":
        star = design(instance, method)
        assert star.degrees[logger] == star.n_edges == 40


def test_publishers_as_leaves_link_to_subscribers_directly():
    published = [("edge-1", "x"), ("edge-2", "x"), ("edge-1", "y"), ("edge-2", "y")]
    wanted = [("cloud-1", "x"), ("cloud-2", "x"), ("cloud-1", "y")]
    instance = Instance.from_pairs(wanted, publications=published)
    member = design(instance)
    leaf = design(instance, publishers_as="leaf")
    assert member.edge_list() == [(0, 2), (0, 3), (1, 2)]  # edge-1 carries x to cloud-2
    assert leaf.edge_list() == [(0, 2), (0, 3), (0, 1)]
    assert leaf.connected
    assert leaf.carries.tolist() == [True, True, True, False, False, False, False]


def test_the_only_subscriber_of_a_topic_without_carriers_counts_as_its_carrier():
    published = [("edge-1", "x"), ("edge-2", "x")]
    instance = Instance.from_pairs([("cloud", "x")], publications=published)
    overlay = design(instance, carries=np.zeros(3, np.bool_))
    assert overlay.edge_list() == [(0, 1), (0, 2)]
    assert overlay.carries.tolist() == [True, False, False]
    assert overlay.connected


def test_a_topic_with_several_subscribers_and_no_carrier_is_named():
    instance = Instance.from_pairs([("a", "x"), ("b", "x"), ("a", "y"), ("c", "y")])
    words = (
        "no carrier, as all that want it are leaves: 'x' .wanted by 'a', 'b'.. Give one of these"
    )
    with pytest.raises(InfeasibleError, match=words):
        design(instance, carries=np.array([False, False, False, True]))


@pytest.mark.parametrize("method", [name for name in METHODS if name not in RESTRICTABLE])
def test_other_methods_refuse_leaves(method):
    instance = Instance.from_pairs([("a", "x"), ("b", "x"), ("c", "x")])
    budget = METHODS[method].budget
    given = {budget: 2} if budget else {}
    with pytest.raises(InputError, match=f"{method} does not obey leaves, limits or links; gm, "):
        design(instance, method, carries=np.array([True, True, False]), **given)


def test_flags_must_be_one_for_each_node_and_topic():
    instance = Instance.from_pairs([("a", "x"), ("b", "x")])
    with pytest.raises(InputError, match="carries must be 2 times true or false"):
        design(instance, carries=np.array([True]))


def test_a_budget_ratio_does_not_go_with_leaves():
    instance = Instance.from_pairs([("a", "x"), ("b", "x")])
    with pytest.raises(InputError, match="budget_ratio does not go with"):
        design(instance, "gpm", budget_ratio=0.5, carries=np.array([True, False]))


def test_flags_that_all_carry_change_nothing():
    instance = sites_and_logger(12)
    plain = design(instance)
    same = design(instance, carries=np.ones(instance.n_subscriptions, np.bool_))
    assert same.edge_list() == plain.edge_list()
    assert same.carries is None
    assert same.digest == plain.digest
