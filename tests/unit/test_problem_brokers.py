"""A user's brokers become a tree, or every complaint about them is reported."""

import pytest

from meshwright.content.problem.user_tables import SHOWN, brokers_of
from meshwright.errors import InputError


def rows(*brokers: tuple[object, ...]) -> list[dict[str, object]]:
    """Rows of (name, parent, place, capacity): places are on a line unless they are lists."""
    found = []
    for name, parent, place, *capacity in brokers:
        location = place if isinstance(place, list) else [place]
        share = capacity[0] if capacity else None
        found.append(
            {"name": name, "parent": parent, "location": location, "capacity": share, "cells": ""}
        )
    return found


HQ = ("hq", None, 0.0)


def test_ids_follow_the_sorted_names():
    found = brokers_of("b.csv", rows(HQ, ("west", "east", 5.0), ("east", "hq", 3.0)))
    assert found.tree.names == ("east", "hq", "west")
    assert found.tree.parent.tolist() == [1, -1, 0]
    assert found.tree.down.tolist() == [3.0, 0.0, 5.0]
    assert found.tree.capacity.tolist() == [0.0, 0.0, 1.0]
    assert found.warnings == ()


def test_capacities_are_scaled_with_a_warning_and_those_of_inner_brokers_count_for_nothing():
    given = rows(("hq", None, 0.0, 9.0), ("in", "hq", 1.0, 7.0), ("a", "in", 2.0, 1.0))
    given += rows(("b", "hq", 3.0, 3.0))
    found = brokers_of("b.csv", given)
    assert found.tree.capacity.tolist() == [0.25, 0.75, 0.0, 0.0]
    assert found.warnings == (
        "the capacities of the leaves sum to 4; they were scaled to sum to 1.",
    )
    exact = brokers_of("b.csv", rows(HQ, ("a", "hq", 1.0, 0.25), ("b", "hq", 1.0, 0.75)))
    assert exact.warnings == ()


@pytest.mark.parametrize(
    ("brokers", "match"),
    [
        ([HQ, ("a", "b", 1.0), ("b", "c", 1.0), ("c", "a", 1.0)], "cycle: a -> b -> c -> a"),
        ([HQ, ("a", "a", 1.0)], "cycle: a -> a"),
        ([HQ, ("x", "a", 1.0), ("a", "b", 1.0), ("b", "a", 1.0)], "cycle: a -> b -> a"),
        ([HQ, ("hq2", None, 0.0), ("a", "hq", 1.0)], r"2 rows have no parent \('hq', 'hq2'\)"),
        ([("a", "b", 0.0), ("b", "a", 0.0)], "every broker has a parent"),
        ([HQ, ("a", "hg", 1.0)], "'a' has the parent 'hg', which is not among the brokers"),
        ([HQ, ("a", "hq", 1.0), ("a", "hq", 1.0)], "the name 'a' is given to 2 brokers"),
        ([HQ, ("a", "hq", float("nan"))], r"the location of 'a' is \(nan\); give finite"),
        ([HQ, ("a", "hq", float("inf"))], r"the location of 'a' is \(inf\); give finite"),
        ([HQ, ("a", "hq", [None])], r"the location of 'a' is \(missing\); give finite"),
        ([HQ, ("b", "hq", 1.0), ("a", "hq", [1.0, 2.0])], "'a' is located in 2 dimensions"),
        ([HQ], "no broker besides the publisher"),
        ([], "it has no rows"),
        ([HQ, (None, "hq", 1.0)], r"a broker at \(1\) has no name"),
        ([HQ, ("a", "hq", 1.0, 1.0), ("b", "hq", 1.0)], "the leaf 'b' has no capacity, but others"),
        ([HQ, ("a", "hq", 1.0, 0.0)], "the capacities of the leaves are all 0"),
        ([HQ, ("a", "hq", 1.0, -1.0)], "the capacity of 'a' is -1; give 0 or more"),
        ([HQ, ("a", "hq", 1.0, float("nan"))], "the capacity of 'a' is nan; give 0 or more"),
    ],
)
def test_what_makes_no_tree_is_refused(brokers, match):
    with pytest.raises(InputError, match=match):
        brokers_of("b.csv", rows(*brokers))


def test_a_cycle_is_told_once_and_long_lists_are_cut():
    with pytest.raises(InputError, match="cycle") as refused:
        brokers_of("b.csv", rows(HQ, ("a", "b", 1.0), ("b", "a", 1.0), ("c", "a", 1.0)))
    assert str(refused.value).count("cycle") == 1
    wrong = [(f"w{i:02d}", "nobody", 1.0) for i in range(SHOWN + 5)]
    with pytest.raises(InputError, match="and 5 more"):
        brokers_of("b.csv", rows(HQ, *wrong))
