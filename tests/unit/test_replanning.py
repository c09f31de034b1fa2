"""`replan`: what it keeps, what it refuses, and how changes are applied."""

import numpy as np
import pytest

import meshwright as mw
from meshwright.errors import InfeasibleError
from meshwright.model.changes import apply_changes
from meshwright.model.small_world import violations
from meshwright.overlay import design

PAIRS = [("a", "x"), ("b", "x"), ("b", "y"), ("c", "y")]


def overlay(method="gm", **options):
    return design(mw.Instance.from_pairs(PAIRS), method, certify=False, **options)


def pairs_of(instance):
    names, topics = instance.node_names, instance.topic_names
    found = zip(instance.nodes.tolist(), instance.topics.tolist(), strict=True)
    return [(names[v], topics[t]) for v, t in found]


def test_the_value_that_is_given_stays_as_it_was():
    before = overlay()
    links = before.edge_list(names=True)
    after = mw.replan(before, [mw.Join("aa", ["x", "y"]), mw.Leave("b")])
    assert before.edge_list(names=True) == links
    assert list(before.instance.node_names) == ["a", "b", "c"]
    assert list(after.overlay.instance.node_names) == ["a", "aa", "c"]
    assert after.added == (("a", "aa"), ("aa", "c"))
    assert after.removed == (("a", "b"), ("b", "c"))
    assert [step.action for step in after.steps] == ["add", "add", "remove", "remove"]


def test_a_new_name_that_sorts_first_moves_no_link_of_others():
    after = mw.replan(overlay(), [mw.Join("0", ["x"])])
    assert (after.added, after.removed, after.n_kept) == ((("0", "a"),), (), 2)


def test_links_of_a_crashed_node_are_lost_and_not_to_be_removed():
    after = mw.replan(overlay(), [mw.Subscribe("a", "y"), mw.Crash("b")])
    assert (after.lost, after.removed) == ((("a", "b"), ("b", "c")), ())
    assert after.added == (("a", "c"),)


def test_what_cannot_be_joined_within_the_moves_is_listed():
    changes = [mw.Subscribe("a", "z"), mw.Subscribe("c", "z"), mw.Join("d", ["x"])]
    assert mw.replan(overlay(), changes).unjoined == ()
    after = mw.replan(overlay(), changes, moves=1)
    assert (len(after.added), len(after.unjoined)) == (1, 1)
    assert mw.replan(overlay(), changes, moves=0).unjoined == ("x", "z")


def test_replans_are_counted_and_facts_of_an_old_search_are_dropped():
    before = overlay("exact")
    assert "proved_links" in before.parameters
    after = mw.replan(mw.replan(before, []).overlay, [mw.Join("d", ["x"])]).overlay
    assert (after.method, after.parameters["replans"]) == ("exact", 2)
    assert "proved_links" not in after.parameters


def test_limits_and_pairs_are_carried_over_by_name():
    limits = [{"node": "b", "max_degree": 2}, {"node": "c", "role": "leaf"}]
    links = [{"a": "a", "b": "d", "allowed": "no"}]
    pairs = [*PAIRS, ("d", "y"), ("d", "z")]
    before = design(mw.Instance.from_pairs(pairs), limits=limits, links=links, certify=False)
    after = mw.replan(before, [mw.Join("a0", ["x"]), mw.Subscribe("a", "z")], rounds=0).overlay
    assert after.limits.max_degree.tolist()[2] == 2
    assert after.limits.is_leaf.tolist() == [False, False, False, True, False]
    assert after.links.pairs.tolist() == [[0, 4]]
    assert ("a", "d") not in after.edge_list(names=True)
    assert mw.replan(before, [mw.Subscribe("a", "z")]).unjoined == ("z",)


def test_limits_that_are_given_replace_those_before():
    before = design(mw.Instance.from_pairs([(v, "x") for v in "abcd"]), "star", certify=False)
    before = design(before.instance, "gm", ties="id", certify=False)
    busiest = before.instance.node_names[int(np.argmax(before.degrees))]
    after = mw.replan(before, [], limits=[{"node": busiest, "max_degree": 1}]).overlay
    assert after.connected
    assert after.degrees[int(np.argmax(before.degrees))] == 1


def test_the_cap_of_a_refined_overlay_holds_after_changes():
    pairs = [(v, "x") for v in "abcdef"]
    before = design(mw.Instance.from_pairs(pairs), "refined", max_degree=2, certify=False)
    after = mw.replan(before, [mw.Join("g", ["x"]), mw.Leave("c")]).overlay
    assert (after.connected, after.max_degree) == (True, 2)


def test_minmax_raises_its_degree_only_where_it_must():
    pairs = [(v, "x") for v in "abcd"]
    before = design(mw.Instance.from_pairs(pairs), "minmax", certify=False)
    after = mw.replan(before, [mw.Join("e", ["x"]), mw.Join("f", ["x"])]).overlay
    assert (after.connected, after.max_degree) == (True, 2)


def test_links_move_away_from_a_busy_node_that_wants_less():
    pairs = [(v, "x") for v in "abcdef"] + [("a", "y"), ("a", "z")]
    before = design(mw.Instance.from_pairs(pairs), ties="id", certify=False)
    assert before.max_degree == 5
    changes = [mw.Unsubscribe("a", "y"), mw.Unsubscribe("a", "z")]
    kept = mw.replan(before, changes)
    assert kept.overlay.parameters["most_links"] == 2.5  # three quarters of two thirds are gone
    assert kept.steps == ()  # no neighbour of it changed
    after = mw.replan(before, [*changes, *(mw.Subscribe(v, f"own/{v}") for v in "bcdef")])
    assert (after.overlay.connected, after.overlay.max_degree) == (True, 3)
    assert (after.overlay.n_edges, len(after.added)) == (5, 2)
    still = mw.replan(kept.overlay, [mw.Subscribe("a", "y")]).overlay
    assert still.parameters["most_links"] == 2.5


def test_filters_are_expanded_again():
    before = design(mw.Instance.from_pairs([("a", "x/1"), ("b", "x/1")]), certify=False)
    after = mw.replan(before, [mw.Join("log", ["x/+"]), mw.Subscribe("a", "x/2")]).overlay
    assert after.connected
    assert {"log"} < {name for link in after.edge_list(names=True) for name in link}
    assert after.parameters["assume_publishers"] == "subscribers"
    assert pairs_of(after.instance.workload) == [
        *[("a", "x/1"), ("a", "x/2"), ("b", "x/1"), ("log", "x/+")],
    ]


def test_a_publisher_takes_part_until_it_stops():
    instance = mw.Instance.from_pairs([("a", "x"), ("b", "x")], publications=[("a", "x", 2.5)])
    before = design(instance, certify=False)
    after = mw.replan(before, [mw.Join("c", publishes=["x"])])
    assert after.added == (("a", "c"),)
    made = after.overlay.instance.workload.publications
    assert made.rates.tolist()[0] == 2.5
    assert np.isnan(made.rates[1])
    again = mw.replan(after.overlay, [mw.Unpublish("c", "x"), mw.Publish("b", "x")])
    assert (again.added, again.removed) == ((), (("a", "c"),))


def test_rates_of_publications_that_stay_are_kept():
    before = mw.Instance.from_pairs(
        [("a", "x")], publications=[("a", "x", 2.5, 80), ("b", "x", 1.5), ("c", "x", 7)]
    )
    after = apply_changes(before, [mw.Publish("a", "w"), mw.Leave("c"), mw.Join("aa")])
    made = after.publications
    assert [after.topic_names[t] for t in made.topics] == ["w", "x", "x"]
    assert np.array_equal(made.rates, [np.nan, 2.5, 1.5], equal_nan=True)
    assert np.array_equal(made.sizes, [np.nan, 80, np.nan], equal_nan=True)


def test_rates_and_sizes_of_new_publications_reach_the_workload():
    before = design(
        mw.Instance.from_pairs([("a", "x"), ("b", "y")], publications=[("a", "x", 2.5, 80)]),
        certify=False,
    )
    changes = [
        mw.Publish("b", "y", rate=4, bytes=20),
        mw.Join("c", ["x"], publishes=["x", ("y", 0.5), ("z", None, 300)]),
        mw.Publish("b", "w", 9),
        mw.Unpublish("b", "w"),  # and its rate is gone with it
        mw.Publish("b", "w"),
    ]
    workload = mw.replan(before, changes).overlay.instance.workload
    made = workload.publications
    found = [
        (workload.node_names[v], workload.topic_names[t], str(rate), str(size))
        for v, t, rate, size in zip(made.nodes, made.topics, made.rates, made.sizes, strict=True)
    ]
    assert found == [
        ("a", "x", "2.5", "80.0"),
        ("b", "w", "nan", "nan"),
        ("b", "y", "4.0", "20.0"),
        ("c", "x", "nan", "nan"),
        ("c", "y", "0.5", "nan"),
        ("c", "z", "nan", "300.0"),
    ]


def test_a_publication_that_goes_and_comes_back_has_its_new_rate():
    before = mw.Instance.from_pairs([("a", "x")], publications=[("a", "x", 2.5, 80)])
    after = apply_changes(before, [mw.Unpublish("a", "x"), mw.Publish("a", "x", 3, 90)])
    assert (after.publications.rates.tolist(), after.publications.sizes.tolist()) == ([3], [90])
    back = apply_changes(before, [mw.Leave("a"), mw.Join("a", ["x"], publishes=[("x", 1)])])
    assert back.publications.rates.tolist() == [1]


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ([mw.Publish("a", "y", -1)], "rates of publications are numbers from 0 to .*; got -1"),
        ([mw.Publish("a", "y", "often")], "rate and bytes of a publication are numbers"),
        ([mw.Join("d", publishes=[("y", 1, 2, 3)])], "a publication is "),
        ([mw.Join("d", publishes=[7])], "names are text and not empty; got 7"),
        ([mw.Join("a")], "node 'a' already exists"),
        ([mw.Leave("z")], "there is no node 'z' among 3; let it join first"),
        ([mw.Leave("a"), mw.Subscribe("a", "x")], "there is no node 'a'"),
        ([mw.Subscribe("a", "x")], "'a' wants 'x' already"),
        ([mw.Unsubscribe("a", "y")], "'a' does not want 'y'"),
        ([mw.Unpublish("a", "y")], "'a' does not publish 'y'"),
        ([mw.Publish("a", "y"), mw.Publish("a", "y")], "'a' publishes 'y' already"),
        ([mw.Join("d", "xyz")], "the topics of 'd' are several names; got 'xyz'"),
        ([mw.Subscribe("a", "")], "names are text and not empty; got ''"),
        (["a"], "a change is one of Subscribe, .* got 'a'"),
    ],
)
def test_changes_that_cannot_be_are_refused(changes, match):
    with pytest.raises(mw.InputError, match=match):
        mw.replan(overlay(), changes)


def test_changes_apply_one_after_the_other():
    before = mw.Instance.from_pairs(PAIRS)
    changes = [
        mw.Leave("a"),
        mw.Join("a", ["y"]),
        mw.Subscribe("a", "new"),
        mw.Unsubscribe("b", "x"),
    ]
    after = apply_changes(before, changes)
    assert pairs_of(after) == [("a", "new"), ("a", "y"), ("b", "y"), ("c", "y")]
    assert list(after.topic_names) == ["new", "y"]  # nobody wants x any more
    assert apply_changes(before, []) is before


def test_an_unrelated_workload_is_refused_with_both_digests():
    before, other = overlay(), mw.Instance.from_pairs([("p", "x"), ("q", "x")])
    with pytest.raises(mw.InputError, match=f"{before.instance.digest} and {other.digest}"):
        mw.replan(before, other)
    with pytest.raises(mw.InputError, match="unrelated workload"):
        mw.replan(design(before.instance, "sl", certify=False), other)


def test_what_replan_cannot_do_is_refused():
    with pytest.raises(mw.InputError, match="by star cannot be replanned; one by gm, minmax"):
        mw.replan(overlay("star"), [])
    with pytest.raises(mw.InputError, match="moves is -1; give a whole number, 0 or more"):
        mw.replan(overlay(), [], moves=-1)
    with pytest.raises(mw.InputError, match="a small world knows no limits"):
        mw.replan(overlay("sl"), [], limits=[{"node": "a", "max_degree": 1}])
    with pytest.raises(mw.InputError, match="replan takes an Overlay; got 'O1'"):
        mw.replan("O1", [])
    flags = np.array([True, True, True, False])
    leafy = design(mw.Instance.from_pairs(PAIRS), carries=flags, certify=False)
    with pytest.raises(mw.InputError, match="designed with `carries`"):
        mw.replan(leafy, [])
    with pytest.raises(mw.InputError, match="all nodes are gone"):
        mw.replan(overlay("sl"), [mw.Leave(v) for v in "abc"])


def test_an_overlay_without_nodes_can_grow():
    before = design(mw.Instance.from_pairs([("a", "x")]), certify=False)
    empty = mw.replan(before, [mw.Leave("a")]).overlay
    assert (empty.n_edges, empty.instance.n_nodes) == (0, 0)
    after = mw.replan(empty, [mw.Join("p", ["x"]), mw.Join("q", ["x"])])
    assert after.added == (("p", "q"),)


def ring_of_20(method="l"):
    pairs = [(f"n{i:02}", f"t{(i * k) % 7}") for i in range(20) for k in (1, 2, 3)]
    return design(mw.Instance.from_pairs(pairs), method, certify=False)


@pytest.mark.parametrize("method", ["sl", "l", "s", "none"])
def test_a_small_world_moves_fewer_links_where_it_must(method):
    world = ring_of_20(method)
    changes = [mw.Leave("n07"), mw.Leave("n13"), mw.Join("n11b", ["t1", "t2"])]
    there = {*world.instance.node_names, "n11b"} - {"n07", "n13"}

    def moves_of(found):
        return len(found.added) + sum(there.issuperset(link) for link in found.removed)

    free = mw.replan(world, changes)
    assert mw.replan(world, changes, moves=moves_of(free)).steps == free.steps
    within = mw.replan(world, changes, moves=moves_of(free) - 1)
    assert moves_of(within) < moves_of(free)
    assert violations(within.overlay.ring, within.overlay.fingers, sorted(there)) == []
    with pytest.raises(InfeasibleError, match=r"moves is 0, and .* take \d+ to repair"):
        mw.replan(world, changes, moves=0)
