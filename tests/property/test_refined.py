"""`refined` and `exact` against the true optimum, and the search's loops against plain Python."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.errors import InfeasibleError
from meshwright.overlay import design
from meshwright.overlay.bounds import prices
from meshwright.overlay.greedy.kernels import tuning
from meshwright.overlay.greedy.rule import Restrictions
from meshwright.overlay.kernels.plan import is_redundant
from meshwright.overlay.kernels.topic_parts import label_cut_off
from meshwright.overlay.methods import refined
from meshwright.overlay.methods.refined import PlanSearch
from meshwright.runtime import threads
from tests.naive.limited import Rules, lacking
from tests.naive.optimum import best_by_degree, best_by_edges
from tests.naive.overlays import degrees, tcc
from tests.property.test_prices import least_for_all
from tests.strategies import PLAIN_PYTHON, instance_of, interests, rules_for

SOME = settings(max_examples=60)
SMALL = interests(5, 5)


def is_complete(interest, edges):
    return tcc(interest, edges) == tcc(interest, [(u, v) for u in interest for v in interest])


@SOME
@given(interest=SMALL)
def test_exact_has_the_fewest_links(interest):
    fewest = least_for_all(best_by_edges(interest))
    overlay = design(instance_of(interest), "exact", seconds=60)
    assert overlay.connected
    assert overlay.n_edges == fewest
    assert overlay.parameters["optimal"]


@SOME
@given(interest=SMALL, d=st.integers(1, 3))
def test_exact_knows_whether_a_maximum_degree_is_possible(interest, d):
    lowest = least_for_all(best_by_degree(interest))
    if d < lowest:
        with pytest.raises(InfeasibleError, match="proved that no overlay"):
            design(instance_of(interest), "exact", max_degree=d, seconds=60)
    else:
        overlay = design(instance_of(interest), "exact", max_degree=d, seconds=60)
        assert overlay.connected
        assert overlay.max_degree <= d


@SOME
@given(interest=interests())
def test_refined_is_complete_and_no_worse_than_gm(interest):
    overlay = design(instance_of(interest), "refined", rounds=20)
    assert overlay.connected
    assert overlay.n_edges <= design(instance_of(interest), "gm").n_edges
    assert overlay.n_edges >= overlay.bounds.edges
    assert (overlay.gains > 0).all()


@SOME
@given(interest=interests(), d=st.integers(1, 4))
def test_refined_keeps_within_the_maximum_degree(interest, d):
    overlay = design(instance_of(interest), "refined", max_degree=d, rounds=20)
    assert max(degrees(interest, overlay.edge_list()).values(), default=0) <= d
    minmax = design(instance_of(interest), "minmax")
    if minmax.max_degree <= d:
        assert overlay.connected
        assert overlay.n_edges <= minmax.n_edges


@SOME
@given(drawn=interests().flatmap(rules_for))
def test_refined_obeys_leaves_limits_and_pairs(drawn):
    interest, rules = drawn
    instance = instance_of(interest)
    edges = searched(interest, rules, rounds=15)
    for k, (u, v) in enumerate(edges):
        assert rules.admit(edges[:k], u, v)
    again = searched(interest, rules, rounds=15)
    assert edges == again
    missing = sum(lacking(interest, rules, edges, t) for t in range(instance.n_topics))
    start = searched(interest, rules, rounds=0)
    assert missing <= sum(lacking(interest, rules, start, t) for t in range(instance.n_topics))


@SOME
@given(drawn=interests().flatmap(rules_for), data=st.data())
def test_parts_and_needed_links_are_those_of_a_plain_search(drawn, data):
    interest, rules = drawn
    pairs = [(u, v) for u in sorted(interest) for v in sorted(interest) if u < v]
    edges = sorted(data.draw(st.sets(st.sampled_from(pairs)))) if pairs else []
    search = plan_of(interest, Rules(leaves=rules.leaves), edges)
    members, plan = search._members, search._plan
    kept = edges_of(search)
    for topic in range(search._search.n_parts.size):
        expected = lacking(interest, rules, kept, topic)
        assert max(search._search.n_parts[topic] - 1, 0) == expected
        if search._search.n_parts[topic] == 1 and kept:  # 0: nobody carries it
            gone = sorted(data.draw(st.sets(st.sampled_from(kept), min_size=1)))
            left = [e for e in kept if e not in gone]
            other = plan_of(interest, Rules(leaves=rules.leaves), left, drop=False)
            removed = np.array(gone, np.int32).reshape(-1, 2)
            found = label_cut_off(
                other._members, other._plan, other._search.parts, topic, removed, 7
            )
            assert max(found - 1, 0) == lacking(interest, rules, left, topic)
    for u, v in kept:
        without = [e for e in kept if e != (u, v)]
        topics = range(search._search.n_parts.size)
        is_needed = any(
            lacking(interest, rules, without, t) > lacking(interest, rules, kept, t) for t in topics
        )
        assert is_redundant(members, plan, np.int64(u), np.int64(v)) == (not is_needed)


def restrictions_of(interest, rules):
    members = [(v, t) for v in sorted(interest) for t in sorted(interest[v])]
    carries = np.array([pair not in rules.leaves for pair in members], np.bool_)
    most = np.full(len(interest), 100, np.int32)
    for v, limit in rules.most.items():
        most[v] = limit
    listed = rules.forbidden if rules.allowed is None else rules.allowed
    pairs = np.array(sorted(listed), np.int32).reshape(-1, 2)
    return Restrictions(
        None if carries.all() else carries,
        max_links=most if rules.most else None,
        pairs=pairs if len(pairs) or rules.allowed is not None else None,
        only_listed=rules.allowed is not None,
    )


def searched(interest, rules, rounds):
    from meshwright.overlay.methods.refined import refined

    found = refined(
        instance_of(interest), rounds=rounds, restrictions=restrictions_of(interest, rules)
    )
    return [(u, v) for u, v in found[0].tolist()]


def plan_of(interest, rules, edges, drop=True):
    array = np.array(edges, np.int32).reshape(-1, 2)
    return PlanSearch(instance_of(interest), array, restrictions_of(interest, rules), 1, drop=drop)


def edges_of(search):
    found = [
        (u, int(w))
        for u in range(len(search._plan.degree))
        for w in search._plan.neighbours[u, : search._plan.degree[u]]
    ]
    return sorted((u, v) for u, v in found if u < v)


def test_equal_seeds_give_equal_plans_and_others_may_not():
    rng = np.random.default_rng(3)
    interest = {v: set(rng.choice(12, 5, replace=False).tolist()) for v in range(14)}
    plans = [
        design(instance_of(interest), "refined", rounds=40, seed=seed, certify=False).edge_list()
        for seed in (1, 1, 2)
    ]
    assert plans[0] == plans[1]
    assert plans[0] != plans[2]


@pytest.mark.parametrize("seed", [0, 4, 7])
def test_a_plan_that_meets_its_bound_is_the_same_on_fast_and_slow_machines(monkeypatch, seed):
    rng, plans = np.random.default_rng(seed), []
    instance = instance_of({v: set(rng.choice(12, 5, replace=False).tolist()) for v in range(14)})
    for seconds in (1e-9, 100.0):  # a batch is one round, and doubles each time
        monkeypatch.setattr(refined, "BATCH_SECONDS", seconds)
        overlay = design(instance, "refined", max_degree=4, rounds=200, certify=False)
        plans.append((overlay.edge_list(), overlay.parameters["rounds"]))
    assert plans[0] == plans[1]
    assert 0 < plans[0][1] < 200


@pytest.mark.parametrize("limits", [{}, {"max_degree": 12}])
def test_equal_seeds_give_equal_plans_on_any_number_of_threads(monkeypatch, limits):
    rng = np.random.default_rng(5)
    n = 30 if PLAIN_PYTHON else 300
    interest = {v: set(rng.choice(40, 3, replace=False).tolist()) for v in range(n)}
    instance, pools, plans = instance_of(interest), [], []

    class Pool(ThreadPoolExecutor):
        def __init__(self, workers):
            pools.append(workers)
            super().__init__(workers)

    monkeypatch.setattr(threads, "ThreadPoolExecutor", Pool)
    monkeypatch.setattr(tuning, "FEW_INCIDENCES", 0)  # else one thread is quicker for so few
    monkeypatch.setattr(prices, "WORTH_THREADS", 0)
    for count in (1, 2, 4):
        monkeypatch.setattr(threads, "cpu_count", lambda count=count: count)
        overlay = design(instance, "refined", rounds=60, **limits)
        plans.append((overlay.edge_list(), overlay.gains.tolist(), overlay.bounds))
    assert plans[0] == plans[1] == plans[2]
    assert PLAIN_PYTHON or 2 in pools  # there are but two parts of 256 nodes


def test_progress_says_links_bound_and_gap_or_what_is_missing():
    interest = {v: {0} for v in range(4)}
    texts = []
    for links in ([(0, 1), (2, 3)], [(0, 1), (1, 2), (2, 3), (0, 3)]):
        search = plan_of(interest, Rules(), links, drop=False)
        search.run(0, None)
        texts += [search._how_far(3), search._how_far(0)]
    assert texts == [
        "2 links, bound 3, 1 joins missing",
        "2 links, 1 joins missing",
        "4 links, bound 3, gap 33%",
        "4 links",
    ]
    rng, said = np.random.default_rng(7), []
    wants = {v: set(rng.choice(12, 5, replace=False).tolist()) for v in range(14)}
    design(
        instance_of(wants),
        "refined",
        max_degree=3,
        rounds=40,
        on_progress=lambda _, text: said.append(text),
    )
    assert {"20 links, bound 19, 1 joins missing", "20 links, bound 19, gap 5%"} <= set(said)
