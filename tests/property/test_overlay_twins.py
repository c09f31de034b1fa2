"""Every method gives, edge by edge, what its naive twin gives."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from meshwright.overlay import design
from meshwright.overlay.greedy import key_order
from meshwright.overlay.greedy.key_order import Options, greedy_edges, is_dense
from meshwright.overlay.greedy.rule import Rule
from meshwright.runtime import threads
from tests.naive import links, overlays
from tests.strategies import PLAIN_PYTHON, draws, instance_of, interests

SOME = draws(150)
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
@given(interest=interests(9, 5), d=st.integers(1, 4), seed=st.integers(0, 2**63 - 1))
def test_spidercast_until_full_equals_its_naive_twin(interest, d, seed):
    got = edges(interest, "spidercast", max_degree=d, until="full", seed=seed)
    assert got == links.spidercast(interest, d, k_random=10**6, seed=seed)


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


RULES = {
    "gm": (Rule(), overlays.gm),
    "gm by id": (Rule(by_degree=False), lambda interest: overlays.gm(interest, "id")),
    "minmax": (Rule(rising_cap=True), overlays.minmax),
    "minmax with idle edges": (
        Rule(rising_cap=True, idle_edges=True),
        overlays.minmax_with_idle_edges,
    ),
    "low": (Rule(threshold=Fraction(2)), lambda interest: overlays.low(interest, Fraction(2))),
}
all_options = st.builds(
    Options,
    table=st.booleans(),
    cache=st.integers(1, 5) | st.just(32),
    block=st.integers(1, 5) | st.just(128),
    threads=st.integers(1, 2),
    wide=st.booleans(),
)


@pytest.mark.parametrize("rule", RULES)
@SOME
@given(interest=interests(9, 7) | st.sampled_from(EDGE_CASES), options=all_options)
def test_every_path_equals_the_naive_twin(rule, interest, options):
    chosen, twin = RULES[rule]
    got, _ = greedy_edges(instance_of(interest), chosen, options=options)
    assert [tuple(edge) for edge in got.tolist()] == twin(interest)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(3))
def test_every_path_gives_the_same_edges_where_the_twin_is_too_slow(rule, seed, monkeypatch):
    monkeypatch.setattr(threads, "SMALLEST", 16)  # so that both threads have something to do
    monkeypatch.setattr(key_order, "SMALLEST", 1)
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 12, 40 if PLAIN_PYTHON else 120)
    interest = {
        v: set(rng.choice(40, size, replace=False).tolist()) for v, size in enumerate(sizes)
    }
    instance = instance_of(interest)
    some = [Options(table=t, threads=n) for t in (True, False) for n in (1, 2)]
    some += [Options(table=False, cache=4), Options(table=True, block=7, wide=True)]
    found = [greedy_edges(instance, RULES[rule][0], options=options) for options in some]
    for edges_found, gains_found in found[1:]:
        assert edges_found.tolist() == found[0][0].tolist()
        assert gains_found.tolist() == found[0][1].tolist()


@pytest.mark.parametrize("rule", RULES)
def test_dense_interests_give_the_same_edges_by_table_and_by_rows(rule):
    rng = np.random.default_rng(60)
    interest = {
        v: set(rng.choice(200, rng.integers(1, 100), replace=False).tolist())
        for v in range(20 if PLAIN_PYTHON else 60)
    }
    instance = instance_of(interest, 200)
    rows, table = (
        greedy_edges(instance, RULES[rule][0], options=Options(table=table))[0].tolist()
        for table in (False, True)
    )
    assert rows == table


@pytest.mark.parametrize(("n_nodes", "table"), [(193, True), (194, False)])
def test_the_path_is_chosen_by_the_memory_of_a_table(n_nodes, table):
    # Two bytes for each of n (n - 1) / 2 pairs, against 64 for each of 3 n subscriptions.
    interest = {v: {0, 1, 2 + v % 5} for v in range(n_nodes)}
    assert is_dense(instance_of(interest)) is table


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
