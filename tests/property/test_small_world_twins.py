"""GSwicoS and GSwicoL give, node by node, what their naive twins give."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from meshwright.model.small_world import small_world
from meshwright.smallworld.greedy import (
    circle_edges,
    finger_edges,
    gswico_fingers,
    gswico_ring,
)
from meshwright.smallworld.methods import chord_fingers, filled
from tests.naive import small_worlds as naive
from tests.strategies import draws, instance_of, interests

SOME = draws(150)
EDGE_CASES = [
    {0: set()},
    {0: {0}},
    {0: set(), 1: set()},
    {0: {0}, 1: {0}},
    {0: set(), 1: {0}, 2: {0}},
    {v: set() for v in range(7)},
    {v: {0, 1, 2} for v in range(6)},
    {v: {v} for v in range(5)},
    {v: {v, (v + 1) % 6} for v in range(6)},
    {v: {v // 2} for v in range(9)},
]


def with_edge_cases(test):
    for case in EDGE_CASES:
        test = example(interest=case)(test)
    return test


def fingers(interest, ring, fill="interest", seed=1):
    instance, order = instance_of(interest), np.array(ring, dtype=np.int32)
    by_position = filled(instance, order, gswico_fingers(instance, order), fill, seed)
    return {v: order[by_position[p]].tolist() for p, v in enumerate(ring)}


@SOME
@with_edge_cases
@given(interest=interests(10, 6))
def test_gswico_s_equals_its_naive_twin(interest):
    assert gswico_ring(instance_of(interest)).tolist() == naive.gswico_s(interest)


@SOME
@with_edge_cases
@given(interest=interests(10, 6))
def test_gswico_l_equals_its_naive_twin_on_its_own_ring(interest):
    ring = naive.gswico_s(interest)
    assert fingers(interest, ring) == naive.gswico_l(interest, ring)


@SOME
@given(
    interest=interests(10, 6),
    data=st.data(),
    fill=st.sampled_from(["interest", "random"]),
    seed=st.integers(0, 2**63 - 1),
)
def test_gswico_l_equals_its_naive_twin_on_any_ring(interest, data, fill, seed):
    ring = data.draw(st.permutations(sorted(interest)))
    assert fingers(interest, ring, fill, seed) == naive.gswico_l(interest, ring, fill, seed)


@pytest.mark.parametrize("cache", [1, 2, 5])
@SOME
@given(interest=interests(10, 6), data=st.data())
def test_how_many_partners_are_kept_changes_nothing(cache, interest, data):
    instance = instance_of(interest)
    ring = np.array(data.draw(st.permutations(sorted(interest))), dtype=np.int32)
    assert np.array_equal(circle_edges(instance, cache=cache), circle_edges(instance))
    assert np.array_equal(finger_edges(instance, ring, cache=cache), finger_edges(instance, ring))


@pytest.mark.parametrize(("n", "n_topics", "each"), [(40, 30, 6), (33, 12, 5), (32, 90, 14)])
def test_larger_worlds_equal_their_naive_twins(n, n_topics, each):
    rng = np.random.default_rng(n)
    interest = {v: set(rng.choice(n_topics, rng.integers(0, each)).tolist()) for v in range(n)}
    ring = gswico_ring(instance_of(interest)).tolist()
    assert ring == naive.gswico_s(interest)
    assert fingers(interest, ring) == naive.gswico_l(interest, ring)


def test_neighbours_that_share_one_topic_each_get_their_ring():
    # Paper 4, Fig. 1: six nodes, and the topics of each are those shared with either neighbour.
    order = [0, 3, 1, 4, 2, 5]
    interest = {v: {i, (i + 1) % 6} for i, v in enumerate(order)}
    ring = gswico_ring(instance_of(interest))
    assert ring.tolist() == order
    world = small_world(instance_of(interest), ring, chord_fingers(6), method="s")
    assert world.gains[:6].sum() == 6
    assert world.support == 1.0
