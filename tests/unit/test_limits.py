"""Leaves, limits and links: what a plan must obey."""

from dataclasses import replace

import numpy as np
import pytest

from meshwright.errors import InfeasibleError, InputError
from meshwright.model.instance import Instance
from meshwright.model.limits import Limits, Links
from meshwright.overlay import design
from meshwright.overlay.dataset import load_overlay, write_overlay
from meshwright.overlay.limits_tables import limit_findings
from meshwright.overlay.methods import METHODS, RESTRICTABLE
from meshwright.smallworld.routing.trace import trace
from meshwright.storage import open_dataset
from meshwright.workload.write import write_workload


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


LIMITS = [
    {"node": "logger", "max_degree": "8", "role": "leaf"},
    {"node": "site-03", "max_degree": 4},
]
LINKS = [
    {"a": "site-01", "b": "site-00", "allowed": "no"},
    {"a": "site-02", "b": "site-01", "dial": "a"},
]


def test_everything_wrong_with_limits_is_said_at_once(tmp_path):
    file = tmp_path / "limits.csv"
    file.write_text("node,max_degree,role\na,-1,\nb,x,leaf\nc,,boss\na,2,\nz,1,\n,3,hub\n")
    instance = Instance.from_pairs([("a", "x"), ("b", "x"), ("c", "x")])
    with pytest.raises(InputError, match="6 problems; nothing was written") as caught:
        design(instance, limits=file)
    lines = str(caught.value).splitlines()[1:]
    assert lines == [
        "  line 2: max_degree is '-1'; give a whole number or none",
        "  line 3: max_degree is 'x'; give a whole number or none",
        "  line 4: role is 'boss'; choose from hub, relay, leaf",
        "  line 5: 'a' is on line 2 too",
        "  line 6: 'z' is not a node of the workload",
        "  line 7: node is empty",
    ]


def test_everything_wrong_with_links_is_said_at_once():
    rows = [
        {"a": "a", "b": "b", "allowed": "yes"},
        {"a": "b", "b": "a", "dial": "a"},
        {"a": "a", "b": "a", "allowed": "no"},
        {"a": "a", "b": "c", "allowed": "yes", "dial": "none"},
        {"a": "b", "b": "c", "dial": "b"},
        {"a": "b", "b": "q", "allowed": "perhaps"},
    ]
    with pytest.raises(InputError, match="6 problems") as caught:
        Links.from_rows(rows, ["a", "b", "c"])
    for words in (
        "line 2: 'b' - 'a' is on line 1 too",
        "line 3: a and b are both 'a'",
        "line 4: allowed yes and dial none contradict",
        "line 5: allowed is empty; where a row says yes",
        "line 6: 'q' is not a node",
        "line 6: allowed is 'perhaps'; choose from no, yes",
    ):
        assert words in str(caught.value)


def test_unknown_columns_are_refused():
    with pytest.raises(InputError, match="has the column 'price'; the columns are a, b, allowed"):
        Links.from_rows([{"a": "a", "b": "b", "price": 3}], ["a", "b"])


def test_the_digest_does_not_depend_on_the_order_of_rows():
    names = sites_and_logger(12).node_names
    assert Limits.from_rows(LIMITS, names).digest == Limits.from_rows(LIMITS[::-1], names).digest
    assert Links.from_rows(LINKS, names).digest == Links.from_rows(LINKS[::-1], names).digest
    assert Links.from_rows(LINKS, names).digest != Links.from_rows(LINKS[:1], names).digest


def test_pairs_that_nobody_can_dial_are_forbidden():
    rows = [{"a": "a", "b": "b", "dial": "none"}, {"a": "b", "b": "c", "dial": "both"}]
    links = Links.from_rows(rows, ["a", "b", "c"])
    assert links.restricting.tolist() == [[0, 1]]
    assert not links.only_listed
    assert links.diallers(1, 0) == ()
    assert links.diallers(2, 1) == (2, 1)


@pytest.mark.parametrize("method", ["gm", "minmax", "low"])
def test_a_design_obeys_limits_and_links(method):
    instance = sites_and_logger(12)
    overlay = design(instance, method, limits=LIMITS, links=LINKS)
    assert overlay.connected
    assert (overlay.degrees <= overlay.limits.max_degree).all()
    assert (1, 2) not in overlay.edge_list()
    assert overlay.bounds.edges <= overlay.n_edges


def test_a_node_that_needs_more_links_than_it_may_have_is_named():
    instance = Instance.from_pairs([("hub", t) for t in "xyz"] + [(t, t) for t in "xyz"])
    with pytest.raises(InfeasibleError, match="'hub' may have 2 links and needs at least 3"):
        design(instance, limits=[{"node": "hub", "max_degree": 2}])
    some = design(instance, "gpa", max_edges=9, limits=[{"node": "hub", "max_degree": 2}])
    assert some.n_edges == 2


def test_a_node_that_may_be_linked_to_nobody_is_named_with_the_topic():
    instance = Instance.from_pairs([("a", "x"), ("b", "x"), ("a", "y"), ("c", "y")])
    with pytest.raises(InfeasibleError, match="'a' may be linked to nobody who carries 'y'"):
        design(instance, links=[{"a": "a", "b": "c", "allowed": "no"}])


def test_pairs_that_leave_a_topic_in_parts_are_impossible():
    instance = Instance.from_pairs([(node, "x") for node in "abcd"])
    links = [{"a": "a", "b": "b", "allowed": "yes"}, {"a": "c", "b": "d", "allowed": "yes"}]
    with pytest.raises(InfeasibleError, match="whatever links are chosen:\n  'x' in 2 parts"):
        design(instance, links=links)


def test_a_greedy_plan_that_is_stuck_under_limits_is_returned_as_it_is():
    instance = Instance.from_pairs([(node, "x") for node in "abcd"])
    overlay = design(instance, "gm", limits=[{"node": node, "max_degree": 1} for node in "abcd"])
    assert not overlay.connected
    assert (overlay.degrees <= overlay.limits.max_degree).all()


@pytest.fixture
def stored(tmp_path):
    instance = sites_and_logger(12)
    write_workload(instance, tmp_path / "w")
    overlay = design(instance, "gm", limits=LIMITS, links=LINKS)
    write_overlay(overlay, tmp_path / "o", tmp_path / "w")
    return overlay, tmp_path / "o"


def test_what_a_plan_obeys_is_stored_with_it(stored):
    overlay, path = stored
    read, manifest = load_overlay(path), open_dataset(path, "overlay")
    assert read.carries.tolist() == overlay.carries.tolist()
    assert read.limits.digest == overlay.limits.digest == manifest["limits_digest"]
    assert read.links.digest == overlay.links.digest == manifest["links_digest"]
    assert read.digest == overlay.digest
    assert read.components.tolist() == overlay.components.tolist()
    assert manifest["bounds_ignore"] == [
        "max_degree of nodes",
        "pairs, but in counting links and degrees",
        "leaves, but in counting",
    ]
    assert limit_findings(manifest, read) == []


def test_the_check_finds_links_that_do_not_obey(stored):
    overlay, path = stored
    manifest, names = open_dataset(path, "overlay"), overlay.instance.node_names
    logger = list(names).index("logger")
    tight = [
        {"node": "logger", "max_degree": 1, "role": "leaf"},
        {"node": "site-03", "role": "leaf"},
    ]
    u, v = overlay.edge_list()[0]
    other = replace(
        overlay,
        limits=Limits.from_rows(tight, names),
        links=Links.from_rows([{"a": names[u], "b": names[v], "allowed": "no"}], names),
    )
    found = limit_findings(manifest, other)
    assert f"'logger' has {overlay.degrees[logger]} links; its limit is 1" in found
    assert "'site-03' is a leaf and carries 't03'" in found
    assert f"{names[u]!r} - {names[v]!r} is linked and may not be" in found
    assert any("limits_digest" in finding for finding in found)


def test_simulated_trees_do_not_pass_through_leaves():
    overlay = design(sites_and_logger(12), limits=[{"node": "logger", "role": "leaf"}])
    names = overlay.instance.node_names
    logger = list(names).index("logger")
    for topic in range(overlay.instance.n_topics):
        members = {v for v in range(13) if topic in overlay.instance.topics_of(v)}
        for publisher in members:
            hops = [hop[:2] for hop in trace(overlay, topic, publisher, routing="tree")]
            assert {to for _, to in hops} == members - {publisher}
            assert [v for v, _ in hops if v == logger] == [logger] * (publisher == logger)
