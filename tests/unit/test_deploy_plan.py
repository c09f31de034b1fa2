"""Plans of bridges: trees, filters, publishers, partial overlays."""

import numpy as np
import pytest

from meshwright.deploy import plan, read_conf, validate, write_conf
from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.model.overlay import Overlay
from meshwright.overlay import design
from tests.deploying import brokers_of, deployed, overlay_of

SQUARE = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")]


def planned(pairs, links=None, nodes=(), **options):
    overlay = overlay_of(pairs, links, nodes)
    return plan(overlay, brokers_of(overlay.instance.node_names), **options)


def lines(made) -> dict[tuple[str, str], list[tuple[str, str]]]:
    return {link: [tuple(line) for line in rows] for link, rows in made.lines.items()}


def route(made, name):
    return next(route for route in made.routes if route.name == name)


def test_a_ring_is_cut_to_a_tree():
    made = planned([(node, "x") for node in "abcd"], SQUARE)
    assert len(made.links) == 3
    assert made.n_unused == 1
    assert route(made, "x").subscribers == ("a", "b", "c", "d")


@pytest.mark.parametrize("tree", ["shallow", "balanced"])
def test_a_plan_that_survives_a_loss_is_deployed_as_trees(tmp_path, tree):
    pairs = [(f"n{i}", f"t{t}") for i in range(8) for t in (i // 2, i % 3 + 4, 9)]
    overlay = design(Instance.from_pairs(pairs), "gm", survive=1, certify=False)
    made = plan(overlay, brokers_of(overlay.instance.node_names), tree=tree)
    for each in made.routes:
        assert len(each.edges) == len(each.subscribers) - 1
    assert validate(deployed(overlay, tmp_path / "conf", tree=tree)) == []


def test_the_shallow_tree_is_as_low_as_the_ring_allows():
    ring = [(f"n{i}", f"n{(i + 1) % 7}") for i in range(7)]
    made = planned([(f"n{i}", "x") for i in range(7)], ring)
    assert made.summary()["deepest"] == {"topic": "x", "depth": 3}


def test_the_balanced_tree_spreads_topics_over_links():
    pairs = [(node, f"t{i}") for node in "abcd" for i in range(8)]
    made = planned(pairs, SQUARE, tree="balanced")
    counts = sorted(len(rows) for rows in lines(made).values())
    assert sum(counts) == 24
    assert counts[-1] < 8
    shallow = planned(pairs, SQUARE)
    assert sorted(len(rows) for rows in lines(shallow).values()) == [8, 8, 8]


def test_each_link_is_configured_at_its_end_with_fewer_links():
    made = planned([(node, "x") for node in "abc"], [("a", "c"), ("b", "c")])
    assert lines(made) == {("a", "c"): [("x", "both")], ("b", "c"): [("x", "both")]}


def test_a_publisher_that_does_not_subscribe_is_an_outgoing_leaf():
    pairs = [("a", "x"), ("b", "x"), ("p", "y"), ("a", "y")]
    made = planned(pairs, [("a", "b"), ("a", "p")], publishers=[("p", "x")])
    assert lines(made)["p", "a"] == [("x", "out"), ("y", "both")]
    assert route(made, "x").publishers == ("a", "b", "p")
    assert made.added == ()


def test_a_leaf_is_an_in_line_where_the_other_end_dials():
    pairs = [("a", "x"), ("a", "y"), ("p", "y"), ("q", "y")]
    made = planned(pairs, [("a", "p"), ("p", "q")], publishers=[("p", "x")])
    assert lines(made)["a", "p"] == [("x", "in"), ("y", "both")]


def test_a_publisher_without_a_link_to_the_tree_gets_one():
    made = planned([("a", "x"), ("b", "x")], [("a", "b")], ["p"], publishers=[("p", "x")])
    assert lines(made)["p", "a"] == [("x", "out")]
    assert made.added == (("a", "p"),)


def test_publications_that_nobody_wants_are_told_and_not_carried():
    made = planned([("a", "x"), ("b", "x")], publishers=[("a", "nobody")])
    assert made.unheard == (("a", "nobody"),)


def test_a_published_name_that_a_filter_matches_travels_to_its_subscribers():
    made = planned([("a", "x/+"), ("b", "x/+"), ("p", "y")], publishers=[("p", "x/7")])
    assert route(made, "x/7").subscribers == ("a", "b")
    leaf = [rows for (u, _), rows in lines(made).items() if u == "p"]
    assert leaf == [[("x/7", "out")]]


def test_one_logger_on_everything_merges_nothing():
    pairs = [("log", "#"), ("a", "x"), ("b", "x"), ("c", "y"), ("d", "y")]
    made = planned(pairs)
    assert set(route(made, "x").subscribers) == {"a", "b", "log"}
    assert set(route(made, "y").subscribers) == {"c", "d", "log"}
    assert not any(row == ("#", "both") for rows in lines(made).values() for row in rows)
    assert made.shared == ()


def test_the_tree_of_a_filter_is_part_of_the_trees_of_what_it_matches():
    pairs = [("a", "x/+"), ("b", "x/+"), ("c", "x/1"), ("d", "x/1")]
    made = planned(pairs)
    assert set(route(made, "x/+").edges) < set(route(made, "x/1").edges)
    for rows in lines(made).values():  # no line twice where the filter carries the name already
        assert not {("x/+", "both"), ("x/1", "both")} <= set(rows)


def test_crossing_filters_whose_trees_would_close_a_cycle_share_one(tmp_path):
    # Each filter's sub-overlay is a path through the other's nodes in another order.
    nodes = "abcd"
    pairs = [(node, "x/+") for node in nodes] + [(node, "+/y") for node in nodes]
    pairs += [(node, f"x/{i}") for node in nodes for i in range(3)]
    pairs += [(node, f"{i}/y") for node in nodes for i in range(3)]
    overlay = overlay_of(pairs, [*SQUARE, ("a", "c"), ("b", "d")])
    conf = deployed(overlay, tmp_path / "conf", tree="balanced")
    assert validate(conf) == []
    made = plan(overlay, brokers_of(overlay.instance.node_names), tree="balanced")
    assert made.shared == (("+/y", "x/+"),)
    both = [
        rows for rows in lines(made).values() if {("x/+", "both"), ("+/y", "both")} <= set(rows)
    ]
    assert both
    versions = {
        bridge.options["bridge_protocol_version"]
        for broker in read_conf(conf).brokers.values()
        for bridge in broker.bridges
    }
    assert "mqttv311" in versions  # one copy where two lines of a bridge match


def test_a_partial_overlay_is_refused_with_those_who_would_miss_messages():
    pairs = [(node, "x") for node in "abc"] + [("r", "y")]
    with pytest.raises(
        InputError, match=r"(?s)leaves 1 subscribers of 1 topics disconnected.*'x': 'c'"
    ):
        planned(pairs, [("a", "b"), ("b", "r"), ("r", "c")])


def test_all_who_would_miss_messages_are_listed():
    nodes = [f"n{i:03}" for i in range(60)]
    pairs = [(node, f"t{t}") for node in nodes for t in range(30)]
    with pytest.raises(InputError, match="1,740 subscribers of 30 topics") as caught:
        planned(pairs, [(nodes[0], nodes[1])])
    rows = [row for row in str(caught.value).split("\n") if row.startswith("  't")]
    assert len(rows) == 30
    assert all(row.endswith(", ".join(map(repr, nodes[2:]))) for row in rows)


def test_relays_complete_a_partial_overlay_and_are_counted(tmp_path):
    pairs = [(node, "x") for node in "abc"] + [("r", "y")]
    overlay = overlay_of(pairs, [("a", "b"), ("b", "r"), ("r", "c")])
    made = plan(overlay, brokers_of("abcr"), complete="relay")
    assert route(made, "x").relays == ("r",)
    assert made.summary()["unwanted"] == 1
    assert made.summary()["unwanted_share"] == pytest.approx(1 / 3)
    assert validate(deployed(overlay, tmp_path / "conf", complete="relay")) == []


def test_a_relay_that_publishes_needs_no_leaf_and_is_a_publisher():
    pairs = [(node, "x") for node in "abc"] + [("r", "y")]
    links = [("a", "b"), ("b", "r"), ("r", "c")]
    made = planned(pairs, links, complete="relay", publishers=[("r", "x")])
    assert route(made, "x").publishers == ("a", "b", "c", "r")
    assert {row for rows in lines(made).values() for row in rows} == {("x", "both")}


def test_relays_cannot_join_what_no_link_joins():
    pairs = [(node, "x") for node in "abcd"]
    with pytest.raises(InputError, match=r"'x': 'c', 'd'"):
        planned(pairs, [("a", "b"), ("c", "d")], complete="relay")


def test_an_overlay_designed_without_its_filters_says_what_to_do():
    # As versions before filters were expanded by `design` wrote it: `#` shares no topic.
    instance = Instance.from_pairs([("a", "x/1"), ("b", "x/1"), ("log", "#")])
    overlay = Overlay(instance, np.array([[0, 1]]), np.array([1]), "gm")
    with pytest.raises(InputError, match="Design it again, which expands filters"):
        plan(overlay, brokers_of(overlay.instance.node_names))


@pytest.mark.parametrize(
    ("topics", "message"),
    [
        (["a#"], "topic 'a#' has a '#'"),
        (["a\nlistener 1"], "control character"),
        (["hall 3/t", "hall/t"], r"topic 'hall 3/t' .* a '\+' instead would carry 'hall/t' too"),
        (['""', "x"], r"topic '\"\"' .* a '\+' instead would carry 'x' too"),
    ],
)
def test_topics_that_cannot_be_bridged_are_named(topics, message):
    with pytest.raises(InputError, match=message):
        planned([(node, topic) for node in "ab" for topic in topics])


@pytest.mark.parametrize("topic", [" x", "x ", "x/ "])
def test_a_topic_that_an_access_list_cannot_hold_is_refused_with_users(topic):
    overlay = overlay_of([("a", topic), ("b", topic)])
    assert plan(overlay, brokers_of("ab")).routes[0].name == topic
    users = brokers_of("ab", username=lambda i: f"user-{i}", password_env=lambda _: "X")
    with pytest.raises(InputError, match=f"'{topic}' begins or ends with a space, which an access"):
        plan(overlay, users)


def test_a_plus_for_a_space_must_not_carry_what_nobody_wants_either():
    pairs = [(node, "hall 3/t") for node in "ab"]
    assert planned(pairs, publishers=[("a", "yard/u")]).unheard == (("a", "yard/u"),)
    with pytest.raises(InputError, match=r"'hall 3/t' .* would carry 'yard/t' too"):
        planned(pairs, publishers=[("a", "yard/t")])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tree": "shalow"}, "did you mean 'shallow'"),
        ({"qos": 3}, "choose 0, 1 or 2"),
        ({"complete": "rely"}, "did you mean 'relay'"),
    ],
)
def test_wrong_options_are_told(options, message):
    with pytest.raises(InputError, match=message):
        planned([("a", "x"), ("b", "x")], **options)


def test_topics_that_bridges_cannot_carry_are_left_out_by_name(tmp_path):
    pairs = [(node, topic) for node in "ab" for topic in ("x", "h 1/z", "q/z", "$SYS/y", "o")]
    pairs += [("c", "h 1/z"), ("b", "only here/u/v")]
    overlay = overlay_of(pairs, [("a", "b"), ("b", "c")])
    with pytest.raises(InputError, match=r"--skip-unsupported leaves them out\): 2 problems"):
        plan(overlay, brokers_of("abc"))
    made = plan(overlay, brokers_of("abc"), skip_unsupported=True)
    assert set(made.skipped) == {"h 1/z", "$SYS/y"}
    assert {route.name for route in made.routes} == {"x", "q/z", "o", "only here/u/v"}
    assert made.links == (("a", "b"),)  # c wanted nothing else
    write_conf(made, tmp_path / "conf")  # and so proved
    assert plan(overlay_of([("a", "x"), ("b", "x")]), brokers_of("ab")).skipped == ()


def test_a_topic_that_is_left_out_may_be_disconnected():
    overlay = overlay_of([(n, t) for n in "abc" for t in ("x y/#/", "o")], [("a", "b"), ("b", "c")])
    cut = overlay_of([*[(n, "o") for n in "ab"], ("a", "$SYS/y"), ("c", "$SYS/y")], [("a", "b")])
    assert plan(cut, brokers_of("abc"), skip_unsupported=True).skipped == ("$SYS/y",)
    assert plan(overlay, brokers_of("abc"), skip_unsupported=True).skipped == ("x y/#/",)


def test_ten_topics_that_cannot_be_bridged_are_listed_and_all_are_counted():
    names = [f"t{i} {end}" for i in range(9) for end in "ab"]  # as patterns all are the same: +
    overlay = overlay_of([(node, name) for node in "ab" for name in names])
    with pytest.raises(InputError, match="18 problems; nothing was written") as caught:
        plan(overlay, brokers_of("ab"))
    lines = str(caught.value).splitlines()
    assert sum(line.startswith("  topic ") for line in lines) == 10
    assert lines[-1] == "  and 8 more"
