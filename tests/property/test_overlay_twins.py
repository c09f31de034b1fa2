"""Every method gives, edge by edge, what its naive twin gives."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from meshwright.overlay import design
from meshwright.overlay.engine import Rule, greedy_edges
from tests.naive import links, overlays
from tests.strategies import instance_of, interests

SOME = settings(max_examples=150)
EDGE_CASES = [
    {},
    {0: set()},
    {0: {0}},
    {0: set(), 1: set(), 2: {0}},
    {v: {0, 1, 2} for v in range(6)},
    {v: {v} for v in range(5)},
    {v: {0} for v in range(6)},
]


def with_edge_cases(test):
    for case in EDGE_CASES:
        test = example(interest=case)(test)
    return test


def edges(interest, method, **parameters):
    return design(instance_of(interest), method, certify=False, **parameters).edge_list()


@pytest.mark.parametrize("ties", ["degree", "id"])
@SOME
@with_edge_cases
@given(interest=interests())
def test_gm_equals_its_naive_twin(ties, interest):
    assert edges(interest, "gm", ties=ties) == overlays.gm(interest, ties)


@SOME
@with_edge_cases
@given(interest=interests())
def test_minmax_equals_its_naive_twin(interest):
    assert edges(interest, "minmax") == overlays.minmax(interest)


@SOME
@given(interest=interests(), k=st.sampled_from([1, 1.5, 2, 3, 100]))
def test_low_equals_its_naive_twin(interest, k):
    assert edges(interest, "low", k=k) == overlays.low(interest, Fraction(k))


@SOME
@given(interest=interests(), m=st.integers(1, 8), ties=st.sampled_from(["degree", "id"]))
def test_gpa_equals_its_naive_twin(interest, m, ties):
    assert edges(interest, "gpa", max_edges=m, ties=ties) == overlays.gpa(interest, m, ties)


@SOME
@given(interest=interests(), d=st.integers(1, 4), m=st.none() | st.integers(1, 6))
def test_gpm_equals_its_naive_twin(interest, d, m):
    assert edges(interest, "gpm", max_degree=d, max_edges=m) == overlays.gpm(interest, d, m)


@pytest.mark.parametrize("method", ["cd", "cd1", "cd2"])
@SOME
@with_edge_cases
@given(interest=interests())
def test_the_star_methods_equal_their_naive_twins(method, interest):
    assert edges(interest, method) == getattr(overlays, method)(interest)


@SOME
@given(
    interest=interests(9, 5),
    d=st.none() | st.integers(1, 4),
    m=st.none() | st.integers(1, 9),
    greedy=st.integers(0, 3),
    random=st.integers(0, 2),
    seed=st.integers(0, 2**63 - 1),
)
def test_spidercast_equals_its_naive_twin(interest, d, m, greedy, random, seed):
    got = edges(
        interest,
        "spidercast",
        max_degree=d,
        max_edges=m,
        k_greedy=greedy,
        k_random=random,
        seed=seed,
    )
    assert got == links.spidercast(interest, d, m, greedy, random, seed)


@SOME
@given(n=st.integers(0, 9), m=st.integers(1, 40), seed=st.integers(0, 2**63 - 1))
def test_random_average_equals_its_naive_twin(n, m, seed):
    interest = {v: set() for v in range(n)}
    got = edges(interest, "random-average", max_edges=m, seed=seed)
    assert got == links.random_links(n, max_edges=m, seed=seed)


@SOME
@given(n=st.integers(0, 9), d=st.integers(1, 5), seed=st.integers(0, 2**63 - 1))
def test_random_max_equals_its_naive_twin(n, d, seed):
    interest = {v: set() for v in range(n)}
    got = edges(interest, "random-max", max_degree=d, seed=seed)
    assert got == links.random_links(n, max_degree=d, seed=seed)


@SOME
@with_edge_cases
@given(interest=interests())
def test_todays_overlays_equal_their_naive_twins(interest):
    assert edges(interest, "ring-per-topic") == links.ring_per_topic(interest)
    assert edges(interest, "star") == links.star(interest)
    assert edges(interest, "star", relay=False) == links.star(interest, relay=False)
    assert edges(interest, "full-mesh") == links.full_mesh(interest)


@SOME
@given(interest=interests(9, 7), cache=st.integers(1, 5), rule=st.sampled_from(range(4)))
def test_a_smaller_cache_changes_no_edge(interest, cache, rule):
    rules = [Rule(), Rule(by_degree=False), Rule(phases=True), Rule(threshold=Fraction(2))]
    instance = instance_of(interest)
    ref, ref_gains = greedy_edges(instance, rules[rule])
    got, got_gains = greedy_edges(instance, rules[rule], cache=cache)
    assert ref.tolist() == got.tolist()
    assert ref_gains.tolist() == got_gains.tolist()


@SOME
@given(
    interest=interests(), method=st.sampled_from(["gm", "minmax", "low", "cd2", "ring-per-topic"])
)
def test_gains_components_and_support_are_those_of_the_definitions(interest, method):
    overlay = design(instance_of(interest), method, certify=False)
    before = overlays.tcc(interest, [])
    for i, gain in enumerate(overlay.gains.tolist()):
        after = overlays.tcc(interest, overlay.edge_list()[: i + 1])
        assert before - after == gain
        before = after
    assert overlay.connected
    assert overlay.support == 1.0
    for topic, count in enumerate(overlay.components.tolist()):
        assert count == overlays.components(interest, overlay.edge_list(), topic)


@SOME
@given(interest=interests(), extra=st.integers(0, 6))
def test_a_topic_that_one_node_wants_changes_nothing(interest, extra):
    alone = {v: set(topics) for v, topics in interest.items()}
    if interest:
        alone[extra % len(interest)].add(99)
    assert edges(interest, "gm") == edges(alone, "gm")
    assert edges(interest, "minmax") == edges(alone, "minmax")


@SOME
@given(interest=interests(), order=st.permutations(range(6)))
def test_renaming_the_topics_changes_nothing(interest, order):
    renamed = {v: {order[t] for t in topics} for v, topics in interest.items()}
    for method in ("gm", "minmax", "low", "cd", "cd1", "cd2"):
        assert edges(interest, method) == edges(renamed, method)


def test_larger_instances_agree_with_the_twin_too():
    rng = np.random.default_rng(7)
    interest = {v: set(rng.choice(12, size=rng.integers(1, 6), replace=False)) for v in range(22)}
    interest = {v: {int(t) for t in topics} for v, topics in interest.items()}
    assert edges(interest, "gm") == overlays.gm(interest)
    assert edges(interest, "minmax") == overlays.minmax(interest)
