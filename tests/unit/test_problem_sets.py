"""The workload sets and broker trees against their naive twins, and the choice of limits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright.content.problem.synthetic import (
    broker_tree,
    build_broker_tree,
    content_arguments,
    workload_set,
)
from meshwright.content.problem.workload_sets import GoogleGroups, GridHotSpots, NewsFeeds, quotas
from meshwright.errors import InputError
from tests.naive import content as naive

SOME = 40


def assert_same(drawn, twins) -> None:
    for got, expected in zip(drawn, zip(*twins, strict=True), strict=True):
        np.testing.assert_allclose(got, np.array(expected), rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize(("skew", "broad"), [("low", "high"), ("high", "low")])
def test_set_1_is_its_naive_twin(skew, broad):
    drawn = GoogleGroups(7, skew=skew, broad=broad).subscribers(1000, SOME)
    assert_same(drawn, [naive.set_1(7, 1000 + i, skew, broad) for i in range(SOME)])


def test_set_2_is_its_naive_twin():
    for n_brokers in (100, 7):
        drawn = NewsFeeds(5, n_brokers).subscribers(3, SOME)
        assert_same(drawn, [naive.set_2(5, n_brokers, 3 + i) for i in range(SOME)])


def test_set_3_is_its_naive_twin():
    drawn = GridHotSpots(5, 30).subscribers(3, SOME)
    assert_same(drawn, [naive.set_3(5, 30, 3 + i) for i in range(SOME)])


@pytest.mark.parametrize("number", [2, 3])
def test_subscribers_of_sets_2_and_3_are_where_brokers_are(number):
    drawn = workload_set(content_arguments(set=number, brokers=20))
    places = {tuple(place) for place in drawn.brokers(20).tolist()}
    assert len(places) == 20
    assert {tuple(place) for place in drawn.subscribers(0, 2000).location.tolist()} == places


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_subscriber_depends_on_its_id_alone(number):
    drawn = workload_set(content_arguments(set=number, seed=3))
    whole = drawn.subscribers(0, 300)
    parts = [drawn.subscribers(first, 100) for first in (0, 100, 200)]
    for k in range(3):
        assert whole[k].tolist() == np.concatenate([part[k] for part in parts]).tolist()


def test_set_1_has_the_shares_it_states():
    n = 40_000
    location, low, high = GoogleGroups(1, skew="high", broad="high").subscribers(0, n)
    noise = 4 * (0.25 / n) ** 0.5
    in_asia, in_europe = (location[:, 1] > 70).mean(), (location[:, 0] > 45).mean()
    assert in_asia == pytest.approx(4 / 9, abs=noise)
    assert in_europe == pytest.approx(4 / 9, abs=noise)
    widest = (high - low).max(axis=1)
    # A box has at least 0.4 of its cell's side: those above 30,000 / 12 are of categories.
    assert (widest > 30_000 / 12).mean() == pytest.approx(0.05, abs=noise)
    assert (low >= 0).all()
    assert (high <= 30_000 + 1e-6).all()
    europe = location[location[:, 0] > 45]
    assert europe.std(axis=0) == pytest.approx([5.0] * 5, rel=0.03)


def test_skew_and_breadth_are_what_they_are_called():
    def most_wanted(skew: str) -> float:
        _, low, _ = GoogleGroups(1, skew=skew, broad="low").subscribers(0, 20_000)
        cell = (low // (30_000 / 36)).astype(int) @ [36, 1]
        return float(np.bincount(cell).max() / 20_000)

    assert most_wanted("high") > 3 * most_wanted("low")
    small, large = (
        GoogleGroups(1, skew="low", broad=broad).subscribers(0, 20_000) for broad in ("low", "high")
    )
    assert (large.high - large.low).prod(axis=1).sum() > 3 * (small.high - small.low).prod(
        axis=1
    ).sum()


@given(st.integers(0, 500))
def test_quotas_give_every_broker_a_region_near_its_share(n):
    found = quotas(n)
    assert sum(found) == n
    assert all(
        abs(count - n * share / 9) < 1 for count, share in zip(found, (4, 1, 4), strict=True)
    )


@given(
    st.lists(st.tuples(*[st.integers(0, 9)] * 2), min_size=1, max_size=60),
    st.tuples(*[st.integers(0, 9)] * 2),
    st.integers(2, 5),
)
def test_trees_are_those_of_the_naive_twin_and_keep_the_out_degree(places, publisher, most):
    points = np.array(places, np.float64)
    parent = build_broker_tree(points, np.array(publisher, np.float64), most)
    twin = naive.parents([list(place) for place in places], list(publisher), most)
    assert parent.tolist() == twin
    assert np.bincount(parent + 1).max() <= most
    for start in range(len(parent)):  # every broker is below the publisher
        at, steps = start, 0
        while at >= 0 and steps <= len(parent):
            at, steps = parent[at], steps + 1
        assert steps <= len(parent)


def test_the_papers_tree_of_200_brokers_connects_each_region_to_its_own_and_keeps_the_out_degree():
    arguments = content_arguments(levels="many")
    tree = broker_tree(workload_set(arguments), arguments)
    assert tree.n_brokers == 201
    assert tree.names[tree.publisher] == "publisher"
    assert max(len(below) for below in tree.children) <= 15
    region = [(x > 45, y > 70) for x, y in tree.location[:, :2].tolist()]
    between = [b for b in range(200) if region[b] != region[tree.parent[b]]]
    assert len(between) == 2  # one broker of Asia and one of Europe join another region


@pytest.mark.parametrize(
    ("given", "limits"),
    [
        ({}, (100, 0.3, 1.5, 1.8)),
        ({"set": 2}, (100, 0.3, 2.3, 2.5)),
        ({"set": 3}, (100, 0.3, 1.3, 1.5)),
        ({"levels": "many"}, (200, 1.0, 1.3, 1.5)),
        ({"levels": "many", "latency": "tight"}, (200, 0.2, 7.0, 8.0)),
        ({"beta": 2.0}, (100, 0.3, 2.0, 2.0)),
        ({"beta_max": 1.2}, (100, 0.3, 1.2, 1.2)),
        ({"max_delay": 0.0, "brokers": 3}, (3, 0.0, 1.5, 1.8)),
    ],
)
def test_limits_are_the_papers_unless_given(given, limits):
    found = content_arguments(**given)
    assert (found.brokers, found.max_delay, found.beta, found.beta_max) == limits
    assert found.alpha == 3


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"set": 4}, "unknown set 4"),
        ({"set": 2, "skew": "low"}, "--skew belongs to set 1, not to set 2"),
        ({"broad": "medium"}, "unknown --broad 'medium'"),
        ({"levels": "two"}, "unknown --levels 'two'"),
        ({"latency": "tight"}, "--latency belongs to trees of several levels"),
        ({"max_out_degree": 3}, "--max-out-degree belongs to trees of several levels"),
        ({"levels": "many", "max_out_degree": 1}, "--max-out-degree is 1; give 2 or more"),
        ({"levels": "many", "latency": "lose"}, "did you mean 'loose'"),
        ({"subscribers": 0}, "--subscribers is 0"),
        ({"brokers": 0}, "--brokers is 0"),
        ({"max_delay": -1.0}, "max_delay is -1.0"),
        ({"max_delay": float("nan")}, "max_delay is nan"),
        ({"alpha": 0}, "alpha is 0"),
        ({"beta": 2.0, "beta_max": 1.5}, "give 1 <= beta <= beta_max"),
        ({"beta_max": 0.5}, "give 1 <= beta <= beta_max"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(given, match):
    with pytest.raises(InputError, match=match):
        content_arguments(**given)
