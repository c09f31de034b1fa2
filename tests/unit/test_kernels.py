"""The kernels against what they are defined to do. This file runs with the JIT off too."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from scipy.stats import chi2

from meshwright.model.kernels.components import new_components
from meshwright.runtime.kernels.random import mix, stream, uniform
from meshwright.workload.kernels.draws import (
    DRAWS_PER_TOPIC,
    Chances,
    Sizes,
    draw_conditional,
    draw_size,
    draw_successive,
    log_sums,
    new_popularity,
    steep_sizes,
)

SURE = 1e-6  # seeds are fixed: a test that passes will always pass
WEIGHTS = np.array([8.0, 4.0, 2.0, 1.0])
MASK = 2**64 - 1


def key_of(seed, number):
    return np.uint64(stream(seed, number))  # compiled code hands a plain int to Python


def odds_of(weights):
    shares = weights / weights.sum()
    return shares / (1 - shares)


def sets_of(sizes, topics):
    ends = np.cumsum(sizes)
    return [tuple(topics[end - size : end].tolist()) for end, size in zip(ends, sizes, strict=True)]


def assert_follows(found, expected, n):
    """Compare counts of outcomes with their exact probabilities by a chi-square test."""
    assert math.isclose(sum(expected.values()), 1.0)
    assert set(found) <= set(expected)
    distance = sum((found[x] - n * p) ** 2 / (n * p) for x, p in expected.items())
    assert chi2.sf(distance, len(expected) - 1) > SURE


def successive_law(weights, size):
    """Return the probability of each set, by summing over the orders of drawing it."""
    law = Counter()
    for order in itertools.permutations(range(len(weights)), size):
        probability, left = 1.0, sum(weights)
        for topic in order:
            probability *= weights[topic] / left
            left -= weights[topic]
        law[tuple(sorted(order))] += probability
    return law


def conditional_law(weights, size):
    """Return the probability of each set: independent topics, given their number."""
    shares = [w / sum(weights) for w in weights]
    law = {}
    for chosen in itertools.combinations(range(len(weights)), size):
        law[chosen] = math.prod(
            share if topic in chosen else 1 - share for topic, share in enumerate(shares)
        )
    total = sum(law.values())
    return {chosen: p / total for chosen, p in law.items()}


def test_mixing_is_that_of_splitmix64():
    def reference(z):
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    for z in (0, 1, 2**63, MASK, 0x9E3779B97F4A7C15):
        assert int(mix(np.uint64(z))) == reference(z)
    # The first output of SplitMix64 seeded with 0, as published with the algorithm.
    assert int(mix(np.uint64(0x9E3779B97F4A7C15))) == 0xE220A8397B1DCDAF


def test_uniform_numbers_lie_in_the_unit_interval_and_are_uniform():
    key = key_of(7, 3)
    numbers = np.array([uniform(key, i) for i in range(4000)])
    assert numbers.min() >= 0
    assert numbers.max() < 1
    bins = Counter((numbers * 10).astype(int).tolist())
    assert_follows(bins, dict.fromkeys(range(10), 0.1), len(numbers))


def test_streams_of_other_seeds_and_numbers_differ():
    keys = {int(stream(seed, number)) for seed in range(20) for number in range(20)}
    assert len(keys) == 400


@pytest.mark.parametrize("number", [0, 1, 2**31 - 2])
def test_a_number_depends_on_its_stream_and_place_alone(number):
    assert uniform(key_of(5, number), 9) == uniform(key_of(5, number), 9)


def test_the_guide_points_to_the_first_topic_that_reaches_each_step():
    _, cumulative, guide = new_popularity(WEIGHTS)
    for step, topic in enumerate(guide.tolist()):
        assert cumulative[topic] > step / len(guide)
        assert topic == 0 or cumulative[topic - 1] <= step / len(guide)


def test_sizes_are_uniform_and_reach_both_ends():
    n = 3000
    sizes = Counter(int(draw_size(key_of(1, i), Sizes(1, 2, 5))) for i in range(n))
    assert_follows(sizes, dict.fromkeys(range(2, 6), 0.25), n)


def test_steep_sizes_fall_as_the_square_of_the_size_and_reach_both_ends():
    n = 6000
    sizes = Counter(int(draw_size(key_of(1, i), steep_sizes(1, 2, 5))) for i in range(n))
    total = sum(1 / size**2 for size in range(2, 6))
    assert_follows(sizes, {size: 1 / size**2 / total for size in range(2, 6)}, n)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("weights", [WEIGHTS, np.ones(4), np.array([1000.0, 1.0, 1.0, 0.5])])
def test_successive_draws_follow_their_law_exactly(weights, size):
    found, n = Counter(), 0
    for seed in range(4):
        sizes, topics = draw_successive(Sizes(seed, size, size), new_popularity(weights), 0, 1500)
        found.update(sets_of(sizes, topics))
        n += 1500
    expected = {s: p for s, p in successive_law(weights, size).items() if p * n > 0.01}
    rare = set(found) - set(expected)
    assert sum(found[s] for s in rare) <= 1
    total = sum(expected.values())
    kept = Counter({s: c for s, c in found.items() if s in expected})
    assert_follows(kept, {s: p / total for s, p in expected.items()}, sum(kept.values()))


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("weights", [WEIGHTS, np.ones(4), np.array([6.0, 5.0, 1.0, 1.0])])
def test_conditional_draws_follow_their_law_exactly(weights, size):
    odds = odds_of(weights)
    sums = log_sums(odds, size)
    found, n = Counter(), 0
    for seed in range(4):
        sizes, topics = draw_conditional(Sizes(seed, size, size), Chances(odds, sums), 0, 1500)
        found.update(sets_of(sizes, topics))
        n += 1500
    assert_follows(found, conditional_law(weights, size), n)


def test_the_two_laws_differ_so_the_tests_above_can_tell_them_apart():
    by_turns, by_size = successive_law(WEIGHTS, 2), conditional_law(WEIGHTS, 2)
    assert max(abs(by_turns[s] - by_size[s]) for s in by_size) > 0.04


def test_sums_are_the_elementary_symmetric_sums_of_the_odds_left():
    odds = odds_of(WEIGHTS)
    sums = log_sums(odds, 3)
    for first in range(5):
        for size in range(4):
            exact = sum(math.prod(chosen) for chosen in itertools.combinations(odds[first:], size))
            got = math.exp(sums[first, size])
            assert got == pytest.approx(exact, rel=1e-12, abs=1e-300)


def test_sums_of_many_small_odds_neither_vanish_nor_overflow():
    sums = log_sums(odds_of(np.arange(1, 401.0) ** -2.0), 300)
    assert np.isfinite(sums[0]).all()


@pytest.mark.parametrize("size", [19, 20])
def test_nearly_all_topics_under_strong_skew_are_drawn_without_end_in_sight(size):
    weights = np.exp(-30.0 * np.arange(1, 21))  # the last is chosen once in e^570
    sizes, topics = draw_successive(Sizes(1, size, size), new_popularity(weights), 0, 5)
    for chosen in sets_of(sizes, topics):
        assert len(set(chosen)) == size
    odds = odds_of(weights)
    sizes, topics = draw_conditional(
        Sizes(1, size, size), Chances(odds, log_sums(odds, size)), 0, 5
    )
    for chosen in sets_of(sizes, topics):
        assert len(set(chosen)) == size


def test_the_keys_take_over_where_patience_ends_and_topics_stay_distinct():
    weights = np.array([1e9, 1.0, 1.0, 1.0, 1.0])
    assert DRAWS_PER_TOPIC < 1e9  # drawing with replacement would repeat the first topic
    sizes, topics = draw_successive(Sizes(3, 4, 4), new_popularity(weights), 0, 50)
    assert all(len(set(chosen)) == 4 for chosen in sets_of(sizes, topics))


@pytest.mark.parametrize("draw", ["successive", "conditional"])
def test_a_node_draws_the_same_whichever_batch_it_is_in(draw):
    def run(first, count):
        if draw == "successive":
            return draw_successive(Sizes(9, 1, 4), new_popularity(np.ones(30)), first, count)
        odds = odds_of(np.ones(30))
        return draw_conditional(Sizes(9, 1, 4), Chances(odds, log_sums(odds, 4)), first, count)

    whole = sets_of(*run(0, 40))
    apart = sets_of(*run(0, 13)) + sets_of(*run(13, 27))
    assert whole == apart


@pytest.mark.parametrize("draw", ["successive", "conditional"])
def test_topics_are_sorted_distinct_and_in_range_and_sizes_within_the_range(draw):
    weights = np.arange(1, 51.0) ** -1.0
    if draw == "successive":
        sizes, topics = draw_successive(Sizes(2, 0, 12), new_popularity(weights), 100, 200)
    else:
        odds = odds_of(weights)
        sizes, topics = draw_conditional(
            Sizes(2, 0, 12), Chances(odds, log_sums(odds, 12)), 100, 200
        )
    assert sizes.min() >= 0
    assert sizes.max() <= 12
    assert len(topics) == sizes.sum()
    for chosen in sets_of(sizes, topics):
        assert list(chosen) == sorted(set(chosen))
        assert all(0 <= topic < 50 for topic in chosen)


def test_no_topics_wanted_are_none_drawn():
    sizes, topics = draw_successive(Sizes(1, 0, 0), new_popularity(np.ones(4)), 0, 3)
    assert sizes.tolist() == [0, 0, 0]
    assert len(topics) == 0


@pytest.mark.parametrize("block", [1, 3, 7])
def test_components_are_the_same_in_blocks(monkeypatch, block):
    indptr = np.array([0, 3, 3, 5, 9, 10])
    topics = np.array([1, 2, 5, 0, 5, 1, 2, 5, 6, 5], dtype=np.int32)  # nobody wants 3 and 4
    whole = new_components(indptr, topics, 8)
    monkeypatch.setattr("meshwright.model.kernels.components.BLOCK", block)
    for one, other in zip(whole, new_components(indptr, topics, 8), strict=True):
        assert one.tolist() == other.tolist()
    assert whole.nodes.tolist() == [2, 0, 3, 0, 3, 0, 2, 3, 4, 3]
