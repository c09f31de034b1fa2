"""Small worlds: what is refused, what random ones look like, and Property 1 by its definition."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from meshwright.errors import InputError
from meshwright.model.overlay import Overlay
from meshwright.model.small_world import SmallWorld, small_world, violations
from meshwright.smallworld.methods import chord_fingers, random_fingers, random_ring
from tests.naive import small_worlds as naive
from tests.naive.overlays import tcc
from tests.strategies import instance_of, interests

SURE = 1e-6  # seeds are fixed: a test that passes will always pass
SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 100]


def world_of(n, ring=None, fingers=None, **given):
    instance = instance_of({v: {0} for v in range(n)})
    ring = random_ring(n, 1) if ring is None else ring
    fingers = chord_fingers(n) if fingers is None else fingers
    return small_world(instance, ring, fingers, method="none", **given)


def is_uniform(counts, expected):
    statistic = sum((c - expected) ** 2 / expected for c in counts)
    return chi2.sf(statistic, len(counts) - 1) > SURE


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("kind", ["chord", "random"])
def test_worlds_of_every_size_have_property_1_by_its_definition(n, kind):
    fingers = chord_fingers(n) if kind == "chord" else random_fingers(n, 7)
    world = world_of(n, fingers=fingers)
    ring, by_node = world.ring.tolist(), dict(enumerate(world.fingers.tolist()))
    assert naive.property_1(n, ring, by_node)
    assert violations(world.ring, world.fingers, world.instance.node_names) == []
    assert [world.positions[v] for v in ring] == list(range(n))
    if kind == "chord":
        assert by_node == naive.chord(ring)


def test_a_small_world_is_an_overlay_of_its_ring_and_fingers():
    world = world_of(6, ring=[0, 3, 1, 5, 2, 4])
    assert isinstance(world, Overlay)
    assert world.edge_list()[:6] == [(0, 3), (1, 3), (1, 5), (2, 5), (2, 4), (0, 4)]
    linked = {tuple(sorted((v, w))) for v in range(6) for w in world.fingers[v].tolist()}
    assert set(world.edge_list()) == linked
    assert world.support == 1.0
    assert world.gains.sum() == 5
    assert world.certificate()["connected"]


@settings(max_examples=100)
@given(interest=interests(), seed=st.integers(0, 2**63 - 1))
def test_the_gains_are_those_of_the_definition(interest, seed):
    n = len(interest)
    fingers = random_fingers(n, seed)
    world = small_world(instance_of(interest), random_ring(n, seed), fingers, method="none")
    saved = tcc(interest, []) - tcc(interest, world.edge_list())
    assert world.gains.sum() == saved


@settings(max_examples=200)
@given(n=st.integers(1, 12), data=st.data())
def test_the_checker_finds_what_the_definition_forbids(n, data):
    node, anything = st.integers(0, n - 1), st.integers(-1, n)
    ring = random_ring(n, 3)
    fingers = np.array(world_of(n, ring=ring).fingers)
    if data.draw(st.booleans()):
        ring[data.draw(node)] = data.draw(anything)
    if fingers.size and data.draw(st.booleans()):
        fingers.flat[data.draw(st.integers(0, fingers.size - 1))] = data.draw(anything)
    names = [f"node {v}" for v in range(n)]
    fits = naive.property_1(n, ring.tolist(), dict(enumerate(fingers.tolist())))
    assert (violations(ring, fingers, names) == []) == fits


@pytest.mark.parametrize(
    ("ring", "fingers", "words"),
    [
        ([0, 1, 1], [[1, 2], [2, 0], [0, 1]], ["the ring visits 'b' 2 times", "'c' 0 times"]),
        ([0, 1, 9], [[1, 2], [2, 0], [0, 1]], ["position 2 of the ring holds 9", "'c' 0 times"]),
        ([0, 1], [[1, 2], [2, 0], [0, 1]], ["the ring visits 'c' 0 times"]),
        ([0, 1, 2], [[1], [2], [0]], ["the fingers are 3 x 1", "must be 3 x 2"]),
        ([0, 1, 2], [[1, 2], [2, 5], [0, 1]], ["'b': the finger of phase 1 leads to 5"]),
        (
            [0, 1, 2],
            [[2, 2], [2, 0], [0, 1]],
            ["'a': the finger of phase 0 leads to 'c', 2 away; it must be 1 to 1 away"],
        ),
    ],
)
def test_violations_are_told_in_words(ring, fingers, words):
    reported = " ".join(violations(np.array(ring), np.array(fingers), ["a", "b", "c"]))
    for part in words:
        assert part in reported


def test_a_world_that_is_none_is_refused():
    with pytest.raises(InputError, match=r"this is not a small world: the ring visits 'node-1' 2"):
        world_of(3, ring=[0, 1, 1])
    with pytest.raises(InputError, match="positions from 0 to 2"):
        world_of(3, fingers=[[1, 2], [2, 0], [0, 3]])
    with pytest.raises(InputError, match="fingers have 2 rows for 3 positions"):
        world_of(3, fingers=[[1, 2], [2, 0]])
    with pytest.raises(InputError, match=r"not a small world: .* And 9 more\."):
        world_of(12, fingers=(chord_fingers(12) + np.array([0, 0, 0, 4])) % 12)
    good = world_of(4)
    with pytest.raises(InputError, match="its ring and fingers, and no others"):
        SmallWorld(
            good.instance,
            good.edges[:-1],
            good.gains[:-1],
            "none",
            ring=good.ring,
            fingers=good.fingers,
        )


def test_the_arrays_of_a_world_are_read_only():
    world = world_of(4)
    for array in (world.ring, world.fingers):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_random_rings_take_every_order_equally_often():
    orders = Counter(tuple(random_ring(4, seed).tolist()) for seed in range(4800))
    assert len(orders) == 24
    assert is_uniform(orders.values(), 200)


def test_random_fingers_are_uniform_within_their_phase():
    n = 12
    reach = np.concatenate(
        [(random_fingers(n, seed) - np.arange(n)[:, None]) % n for seed in range(200)]
    )
    for phase, distances in enumerate(naive.phases(n)):
        counts = Counter(reach[:, phase].tolist())
        assert set(counts) == set(distances)
        if len(distances) > 1:
            assert is_uniform(counts.values(), len(reach) / len(distances))


def test_seeds_decide_and_nothing_else():
    assert random_ring(50, 1).tolist() == random_ring(50, 1).tolist()
    assert random_ring(50, 1).tolist() != random_ring(50, 2).tolist()
    assert random_fingers(50, 1).tolist() != random_fingers(50, 2).tolist()


@settings(max_examples=60)
@given(interest=interests(6, 4))
def test_the_twins_of_the_greedy_worlds_have_property_1(interest):
    ring = naive.gswico_s(interest)
    assert naive.property_1(len(interest), ring, naive.gswico_l(interest, ring))
    if len(ring) > 2:
        assert ring[0] == 0
        assert ring[1] < ring[-1]
