"""MQTT topic names and filters: what matches, covers and overlaps, and what expanding adds."""

import pytest

from meshwright.model.instance import Instance
from meshwright.patterns.expand import expand
from meshwright.patterns.filters import (
    PatternIndex,
    all_meets,
    covers,
    example_names,
    match_all_filters,
    meet,
    nearest,
    topic_error,
    wider_filters,
)


@pytest.mark.parametrize(
    ("pattern", "topic", "answer"),
    [
        ("a/b", "a/b", True),
        ("a/+", "a/b", True),
        ("a/+", "a", False),
        ("a/+", "a/", True),
        ("+", "a/b", False),
        ("a/#", "a", True),
        ("a/#", "a/b/c", True),
        ("#", "a/b", True),
        ("#", "$SYS/x", False),
        ("+/x", "$SYS/x", False),
        ("$SYS/#", "$SYS/x", True),
        ("/+", "/a", True),
        ("+/+", "/a", True),
    ],
)
def test_a_filter_matches_as_the_standard_says(pattern, topic, answer):
    assert covers(pattern, topic) is answer


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ("a/+", "+/b", "a/b"),
        ("a/#", "a", "a"),
        ("a/#", "a/b/#", "a/b/#"),
        ("#", "+/+", "+/+"),
        ("a/+", "a/b/c", None),
        ("a/+", "b/+", None),
        ("#", "$SYS/x", None),
        ("a/+/#", "+/b", "a/b"),
    ],
)
def test_two_patterns_meet_in_the_names_of_both(one, other, shared):
    assert meet(one, other) == shared
    assert meet(other, one) == shared


def test_three_crossing_filters_meet_in_all_ways():
    assert all_meets(["a/+/+", "+/b/+", "+/+/c"]) == {"a/b/+", "a/+/c", "+/b/c", "a/b/c"}


def test_the_index_finds_what_overlaps_and_nothing_else():
    index = PatternIndex(["a/b", "a/+", "+/b", "#", "b/#", "$SYS/#"])
    assert index.overlapping("a/b") == ["#", "+/b", "a/+", "a/b"]
    assert index.overlapping("b/#") == ["#", "+/b", "b/#"]
    assert index.covering("+/b") == ["#", "+/b"]


def test_an_index_without_a_pattern_is_as_if_it_had_never_been_there():
    index = PatternIndex(["a/b", "a/b/c", "a/+"])
    for gone in ("a/b", "a/b/c", "x", "a/+/y"):
        index.discard(gone)
    assert index.covering("a/b") == ["a/+"]
    assert index.overlapping("a/b/c") == []
    index.discard("a/+")
    assert index._below == {}


def test_examples_are_matched_by_their_pattern_and_what_lies_around_it_only():
    patterns = ["#", "a/#", "a/+", "any-1/+", "a/any-1"]
    found = example_names(patterns)
    for pattern, name in found.items():
        matching = {other for other in patterns if covers(other, name)}
        assert matching == {other for other in patterns if covers(other, pattern)}


def wants(instance: Instance, node: str) -> set[str]:
    v = list(instance.node_names).index(node)
    return {instance.topic_names[t] for t in instance.topics_of(v)}


def test_a_filter_makes_its_node_a_subscriber_of_what_it_matches():
    given = [("log", "#"), ("a", "x/1"), ("b", "x/+"), ("c", "y")]
    whole = expand(Instance.from_pairs(given))
    assert wants(whole, "log") == {"#", "x/+", "x/1", "y"}
    assert wants(whole, "b") == {"x/+", "x/1"}
    assert wants(whole, "c") == {"y"}


def test_crossing_filters_get_a_topic_where_they_meet():
    whole = expand(Instance.from_pairs([("p", "a/+"), ("q", "+/b")]))
    assert wants(whole, "p") == {"a/+", "a/b"}
    assert wants(whole, "q") == {"+/b", "a/b"}


def test_without_filters_nothing_changes():
    instance = Instance.from_pairs([("a", "x"), ("b", "x")])
    assert expand(instance) is instance


def test_expanding_twice_changes_nothing_more():
    once = expand(Instance.from_pairs([("p", "a/+"), ("q", "+/b"), ("r", "#"), ("s", "a/c")]))
    assert expand(once).digest == once.digest


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("a#", "has a '#' that is not its whole last level"),
        ("a/#/b", "has a '#' that is not its whole last level"),
        ("a+/b", "has a '+' that is not a whole level"),
        ("a\nb", "holds a control character"),
        ("a\u0085b", "holds a control character"),
        ("$SYS/broker/uptime", "belongs to each broker itself"),
        ("$CONTROL/dynamic-security/v1", "belongs to each broker itself"),
        ("$own name/x", "has a space after its '$'"),
        ("$share/g/a", "is a shared subscription"),
        ("/" * 200, "has more than 200 levels"),
        ("x" * 65_536, "is longer than 65,535 bytes"),
    ],
)
def test_topics_that_no_broker_carries_are_told_with_the_reason(name, reason):
    assert reason in (topic_error(name) or "")


@pytest.mark.parametrize("name", ["größe/数", "a b", "$own/x", '"', "a/'b'", "\u2028"])
def test_other_topics_are_fine(name):
    assert topic_error(name) is None


def test_the_nearest_filters_cover_no_other_that_covers_the_pattern():
    wider = wider_filters(["#", "a/#", "a/+", "a/b", "+/b", "c"])
    assert wider["a/b"] == ["#", "+/b", "a/#", "a/+"]
    assert nearest(wider) == {
        "a/#": ["#"],
        "a/+": ["a/#"],
        "a/b": ["+/b", "a/+"],
        "+/b": ["#"],
        "c": ["#"],
    }
    assert wider_filters(["a", "b"]) == {}


def test_names_that_begin_with_a_dollar_need_filters_of_their_own():
    names = ["a/b", "$own/x", "$own", "c"]
    filters = match_all_filters(names)
    assert filters == ("#", "$own/#")
    assert all(any(covers(pattern, name) for pattern in filters) for name in names)
