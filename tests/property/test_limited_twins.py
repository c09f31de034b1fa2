"""Designs with leaves and limits give, edge by edge, what their naive twins give."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from meshwright.model.overlay import Overlay, count_joins, gains_of
from meshwright.overlay.greedy.key_order import Options, greedy_edges
from meshwright.overlay.greedy.rule import PairCosts, Restrictions, Rule
from meshwright.overlay.topics import topic_rows
from tests.naive import limited
from tests.naive.limited import Rules
from tests.strategies import PLAIN_PYTHON, draws, instance_of, interests, rules_for

SOME = draws(120)
TWINS = {
    "gm": (Rule(), limited.gm),
    "gm by id": (Rule(by_degree=False), lambda i, r: limited.gm(i, r, "id")),
    "minmax": (Rule(rising_cap=True), limited.minmax),
    "low": (Rule(threshold=Fraction(2)), limited.low),
    "gpa": (Rule(max_edges=3), lambda i, r: limited.gm(i, r, max_edges=3)),
    "gpm": (Rule(rising_cap=True, max_degree=2), lambda i, r: limited.minmax(i, r, 2)),
}


def restrictions_of(interest, rules):
    """Return the rules of a twin as the engine takes them."""
    rows = [(v, t) for v in sorted(interest) for t in sorted(interest[v])]
    carries = np.array([row not in rules.leaves for row in rows], dtype=np.bool_)
    listed = rules.forbidden if rules.allowed is None else rules.allowed
    pairs = np.array(sorted(listed), dtype=np.int32).reshape(-1, 2)
    most = np.array([rules.most.get(v, 10**6) for v in sorted(interest)], dtype=np.int32)
    return Restrictions(
        carries=carries if rules.leaves else None,
        max_links=most if rules.most else None,
        pairs=pairs if listed or rules.allowed is not None else None,
        only_listed=rules.allowed is not None,
        costs=costs_of(rules),
    )


def costs_of(rules):
    if not rules.cost:
        return None
    pairs = np.array(sorted(rules.cost), dtype=np.int32).reshape(-1, 2)
    return PairCosts(pairs, np.array([rules.cost[pair] for pair in sorted(rules.cost)]))


def extreme_cases(test):
    crowd = {v: {0, 1, 2} for v in range(5)}
    for interest, rules in [
        ({}, Rules()),
        ({0: set()}, Rules(most={0: 0})),
        (crowd, Rules(leaves={(v, t) for v in range(1, 5) for t in range(3)})),
        (crowd, Rules(most=dict.fromkeys(range(5), 0))),
        (crowd, Rules(most=dict.fromkeys(range(5), 1))),
        (crowd, Rules(allowed=set())),
        (crowd, Rules(allowed={(0, 1), (2, 3)}, leaves={(3, 1)}, most={0: 1})),
        (crowd, Rules(forbidden={(u, v) for u in range(5) for v in range(u + 1, 5)})),
        ({0: {0}, 1: {0}}, Rules(leaves={(0, 0), (1, 0)})),
        (crowd, Rules(cost={(u, v): float(9 - u - v) for u in range(4) for v in range(u + 1, 5)})),
        (crowd, Rules(cost={(3, 4): 7.0, (2, 4): 0.0})),  # the others have none
        ({v: {v % 3, 3} for v in range(7)}, Rules(cost={(2, 5): 1.0, (4, 6): 2.0})),
    ]:
        test = example(case=(interest, rules))(test)
    return test


@pytest.mark.parametrize("method", TWINS)
@SOME
@extreme_cases
@given(case=interests(7, 5).flatmap(rules_for))
def test_a_restricted_method_equals_its_naive_twin(method, case):
    interest, rules = case
    rule, twin = TWINS[method]
    instance, restrictions = instance_of(interest), restrictions_of(interest, rules)
    expected = twin(interest, rules)
    for options in (Options(), Options(cache=1, threads=1), Options(table=True)):
        edges, gains = greedy_edges(instance, rule, None, options, restrictions)
        assert [tuple(edge) for edge in edges.tolist()] == expected
    assert gains.tolist() == [
        limited.gain(interest, rules, expected[:i], *edge) for i, edge in enumerate(expected)
    ]


@SOME
@given(case=interests(7, 5).flatmap(rules_for), some=st.randoms(use_true_random=False))
def test_components_gains_and_support_are_those_of_the_definitions(case, some):
    interest, rules = case
    instance, carries = instance_of(interest), restrictions_of(interest, rules).carries
    n = len(interest)
    edges = [(u, v) for u in range(n) for v in range(u + 1, n) if some.random() < 0.4]
    some.shuffle(edges)
    links = np.array(edges, dtype=np.int32).reshape(-1, 2)
    gains = [limited.gain(interest, rules, edges[:i], *edge) for i, edge in enumerate(edges)]
    assert gains_of(instance, links, carries).tolist() == gains
    overlay = Overlay(instance, links, np.array(gains, dtype=np.int32), "given", carries=carries)
    parts = [limited.topic_parts(interest, rules, edges, t) for t in range(instance.n_topics)]
    has_carrier = [bool(found) for found in parts]
    largest = [max(map(len, found), default=0) for found in parts]
    diameters = [
        limited.topic_diameter(interest, rules, edges, t) for t in range(instance.n_topics)
    ]
    assert overlay.components.tolist() == [len(found) for found in parts]
    assert overlay.largest_components[has_carrier].tolist() == [n for n in largest if n]
    rows = topic_rows(overlay)  # by searches, as `check` does
    assert rows.components[has_carrier].tolist() == [len(found) for found in parts if found]
    assert rows.largest[has_carrier].tolist() == [n for n in largest if n]
    assert rows.diameter_low[has_carrier].tolist() == [
        d for d, found in zip(diameters, parts, strict=True) if found
    ]
    assert rows.diameter_low.tolist() == rows.diameter_high.tolist()
    full = limited.mu(interest, rules)
    assert count_joins(instance, carries) == full
    assert overlay.support == pytest.approx(sum(gains) / full if full else 1.0)


@pytest.mark.parametrize("method", TWINS)
@pytest.mark.parametrize("seed", range(2))
def test_larger_restricted_designs_are_the_same_on_every_path(method, seed):
    n, rng = 30 if PLAIN_PYTHON else 90, np.random.default_rng(seed)
    interest = {
        v: set(rng.choice(30, rng.integers(0, 10), replace=False).tolist()) for v in range(n)
    }
    rules = Rules(
        leaves={(v, t) for v in interest for t in interest[v] if rng.random() < 0.2},
        most={v: int(rng.integers(1, 8)) for v in interest if rng.random() < 0.5},
        forbidden={(u, v) for u in interest for v in interest if u < v and rng.random() < 0.3},
        cost={
            (u, v): float(rng.integers(0, 20))
            for u in interest
            for v in interest
            if u < v and rng.random() < 0.9
        },
    )
    instance, restrictions = instance_of(interest, 30), restrictions_of(interest, rules)
    found = [
        greedy_edges(instance, TWINS[method][0], None, options, restrictions)
        for options in (Options(), Options(cache=3), Options(threads=2), Options(threads=1))
    ]
    edges, gains = found[0]
    assert all(edges.tolist() == other.tolist() for other, _ in found[1:])
    assert gains.tolist() == gains_of(instance, edges, restrictions.carries).tolist()
    degree = np.bincount(edges.ravel(), minlength=n)
    assert all(degree[v] <= most for v, most in rules.most.items())
    assert not rules.forbidden & {tuple(edge) for edge in edges.tolist()}
