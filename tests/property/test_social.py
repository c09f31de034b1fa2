import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright.workload.kernels.social import PRECISION, ROUNDS, odds_inside, permuted
from tests.naive import social as naive


@given(st.integers(1, 300), st.integers(0, 2**64 - 1))
def test_users_are_shuffled_as_by_the_naive_twin(count, key):
    got = [int(permuted(number, count, np.uint64(key))) for number in range(count)]
    assert got == naive.permutation(count, key, ROUNDS)
    assert sorted(got) == list(range(count))


@given(st.lists(st.floats(0.0, 1.0), min_size=8, max_size=40), st.floats(0.05, 0.8))
def test_a_community_gives_the_degrees_it_is_asked_for(weights, density):
    """Members differ by a factor of two at most, as in `social_law.py`."""
    asked = density * (len(weights) - 1) * (1 + np.array(weights)) / 2
    odds = odds_inside(asked)
    chance = np.outer(odds, odds) / (1 + np.outer(odds, odds))
    np.fill_diagonal(chance, 0.0)
    assert chance.sum(axis=1) == pytest.approx(asked, rel=10 * PRECISION)
