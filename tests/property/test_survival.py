"""Survivable overlays: edge by edge their naive twins, and whole after every loss."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from meshwright.errors import InfeasibleError
from meshwright.model.instance import Instance
from meshwright.model.overlay import Overlay, gains_of
from meshwright.overlay import design
from meshwright.overlay.bounds.cover import ascend, bound_by, make_needs
from meshwright.overlay.bounds.kernels.cover import UNIT
from meshwright.overlay.losses import topics_split
from tests.naive import survival as naive
from tests.naive.limited import Rules
from tests.strategies import draws, instance_of, interests, rules_for

SOME = draws(60)
SMALL = interests(6, 4)


@SOME
@given(interest=SMALL, method=st.sampled_from(["gm", "minmax"]), k=st.integers(1, 3))
@example(interest={v: {0} for v in range(6)}, method="gm", k=2)
@example(interest={v: {0, 1} for v in range(3)}, method="minmax", k=3)
def test_greedy_methods_link_what_their_twins_link(interest, method, k):
    overlay = design(instance_of(interest), method, survive=k, certify=False)
    assert overlay.edge_list() == naive.design(interest, method, k)
    assert naive.split_topics(interest, overlay.edge_list(), k) == set()


@SOME
@given(interest=SMALL, k=st.integers(1, 2))
def test_refined_survives_with_no_more_links_than_gm(interest, k):
    instance = instance_of(interest)
    overlay = design(instance, "refined", survive=k, rounds=15, certify=False)
    assert naive.split_topics(interest, overlay.edge_list(), k) == set()
    assert overlay.n_edges <= design(instance, "gm", survive=k, certify=False).n_edges
    assert overlay.parameters["survive"] == k


@SOME
@given(interest=SMALL, data=st.data(), k=st.integers(0, 3))
def test_the_topics_that_a_loss_splits_are_those_of_brute_force(interest, data, k):
    pairs = list(combinations(sorted(interest), 2))
    edges = sorted(data.draw(st.sets(st.sampled_from(pairs)))) if pairs else []
    instance = instance_of(interest)
    overlay = overlay_of(instance, edges)
    names = {instance.topic_names[t] for t in naive.split_topics(interest, edges, k)}
    assert set(topics_split(overlay, k)) == names


@SOME
@given(data=st.data(), k=st.integers(1, 2), method=st.sampled_from(["gm", "minmax"]))
def test_publishers_are_not_cut_off_and_no_more_is_asked_for(data, k, method):
    every = [(f"n{v}", f"t{t}") for v in range(5) for t in range(3)]
    wants = data.draw(st.sets(st.sampled_from(every), min_size=1))
    sends = data.draw(st.sets(st.sampled_from(every), min_size=1))
    instance = Instance.from_pairs(sorted(wants), publications=sorted(sends))
    overlay = design(instance, method, survive=k, certify=False)
    edges = {tuple(sorted(edge)) for edge in overlay.edge_list(names=True)}
    topics = {t for _, t in wants} & {t for _, t in sends}
    nodes = {v for v, _ in every}
    interest = {v: {t for u, t in wants | sends if u == v and t in topics} for v in nodes}
    assert naive.split_topics(interest, edges, k, sends, wants) == set()
    # Every link is needed: without it some loss would cut off a delivery.
    for edge in edges:
        assert naive.split_topics(interest, edges - {edge}, k, sends, wants)


@SOME
@given(drawn=interests(6, 3).flatmap(rules_for), method=st.sampled_from(["gm", "minmax"]))
def test_limits_and_pairs_are_obeyed_or_the_design_is_refused(drawn, method):
    interest, rules = drawn
    rules = Rules(most=rules.most, forbidden=rules.forbidden, allowed=rules.allowed)
    instance = instance_of(interest)
    names = instance.node_names
    limits = [{"node": names[v], "max_degree": most} for v, most in rules.most.items()]
    listed = rules.forbidden if rules.allowed is None else rules.allowed
    says = "no" if rules.allowed is None else "yes"
    links = [{"a": names[u], "b": names[v], "allowed": says} for u, v in sorted(listed)]
    options = {"limits": limits or None, "links": links or None, "certify": False}
    pairs = combinations(sorted(interest), 2)
    possible = [(u, v) for u, v in pairs if rules.admit([], u, v)]
    can = naive.is_connected(naive.remaining(interest, 1), possible)
    try:
        overlay = design(instance, method, survive=1, **options)
    except InfeasibleError:
        assert not can or rules.most
        return
    edges = overlay.edge_list()
    for k, (u, v) in enumerate(edges):
        assert rules.admit(edges[:k], u, v)
    split = naive.split_topics(interest, edges, 1)
    assert set(topics_split(overlay, 1)) == {instance.topic_names[t] for t in split}
    assert rules.most or not split


def test_a_topic_with_one_carrier_cannot_survive_its_loss():
    instance = Instance.from_pairs([(node, "x") for node in "abc"])
    limits = [{"node": node, "role": "leaf"} for node in "bc"]
    with pytest.raises(InfeasibleError, match=r"'x without a' .wanted by 'b', 'c'"):
        design(instance, survive=1, limits=limits)


@SOME
@given(interest=interests(6, 2), data=st.data())
def test_leaves_have_a_second_carrier(interest, data):
    instance = instance_of(interest)
    carries = np.array([data.draw(st.booleans()) for _ in range(instance.n_subscriptions)], bool)
    try:
        overlay = design(instance, survive=1, carries=carries, certify=False)
    except InfeasibleError:
        return
    edges, at = overlay.edge_list(), 0
    carried: dict[int, set[int]] = {}
    for v in sorted(interest):
        for t in sorted(interest[v]):
            if overlay.carries is None or overlay.carries[at]:
                carried.setdefault(t, set()).add(v)
            at += 1
    for t in naive.topics_of(interest):
        for lost in [None, *naive.members(interest, t)]:
            left = [v for v in naive.members(interest, t) if v != lost]
            carriers = [v for v in left if v in carried.get(t, set())]
            if len(left) < 2 or not carriers:
                continue
            assert all(naive.joined(edges, carriers, carriers[0], v) for v in carriers)
            for v in set(left) - set(carriers):
                assert any((min(v, w), max(v, w)) in edges for w in carriers)


@draws(30)
@given(interest=interests(5, 3), k=st.integers(1, 2))
@example(interest={v: {0} for v in range(5)}, k=1)
def test_no_overlay_that_survives_beats_the_bounds(interest, k):
    overlay = design(instance_of(interest), "gm", survive=k)
    links, degree = naive.least(interest, k)
    assert overlay.bounds.edges <= links <= overlay.n_edges
    assert overlay.bounds.max_degree <= degree
    needs = make_needs(overlay.instance, k)
    equal = np.full(overlay.instance.n_subscriptions, UNIT // 8)
    assert bound_by(needs, equal)[0] <= ascend(needs, equal, links, 30) <= links


@draws(30)
@given(data=st.data(), k=st.integers(1, 2))
def test_bounds_with_publishers_hold(data, k):
    every = [(f"n{v}", f"t{t}") for v in range(4) for t in range(2)]
    wants = data.draw(st.sets(st.sampled_from(every), min_size=1))
    sends = data.draw(st.sets(st.sampled_from(every), min_size=1))
    instance = Instance.from_pairs(sorted(wants), publications=sorted(sends))
    overlay = design(instance, "gm", survive=k)
    topics = {t for _, t in wants} & {t for _, t in sends}
    nodes = {v for v, _ in wants | sends}
    interest = {v: {t for u, t in wants | sends if u == v and t in topics} for v in nodes}
    links, degree = naive.least(interest, k, sends, wants)
    assert overlay.bounds.edges <= links <= overlay.n_edges
    assert overlay.bounds.max_degree <= degree


def test_a_crowd_needs_a_cycle_and_the_bound_proves_it():
    overlay = design(instance_of({v: {0, 1} for v in range(9)}), "refined", survive=1, rounds=50)
    assert overlay.n_edges == overlay.bounds.edges == 9
    assert overlay.bounds.edges_by == "cover"


def overlay_of(instance, edges):
    links = np.array(edges, np.int32).reshape(-1, 2)
    return Overlay(instance, links, gains_of(instance, links), "given")
