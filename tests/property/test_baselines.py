"""The baselines of paper 3 give, edge by edge, what the naive twins give."""

from functools import partial

import numpy as np
import pytest
from hypothesis import example, given

from papers import edge_contrib, literal_greedy, naive_greedy
from tests.naive import overlays
from tests.strategies import PLAIN_PYTHON, draws, instance_of, interests

SUMMED = partial(edge_contrib.edges, summed=True)
BASELINES = pytest.mark.parametrize(
    "edges_of", [edge_contrib.edges, SUMMED, naive_greedy.edges, literal_greedy.edges]
)
METHODS = pytest.mark.parametrize("method", ["gm", "minmax", "low"])


@METHODS
@BASELINES
@draws(100)
@example(interest={})
@example(interest={0: set()})
@example(interest={0: {0}})
@example(interest={v: {0, 1, 2} for v in range(6)})
@given(interest=interests())
def test_a_baseline_equals_the_naive_twin(edges_of, method, interest):
    ref = getattr(overlays, method)(interest)
    got, gains = edges_of(instance_of(interest), method)
    assert [tuple(edge) for edge in got.tolist()] == ref
    left = overlays.tcc(interest, [])
    for i, gain in enumerate(gains.tolist()):
        assert left - overlays.tcc(interest, ref[: i + 1]) == gain
        left -= gain


@METHODS
@BASELINES
def test_larger_instances_agree_with_the_twin_too(edges_of, method):
    rng = np.random.default_rng(7)
    wanted = [rng.choice(12, size=rng.integers(1, 7), replace=False) for _ in range(20)]
    interest = {v: {int(t) for t in topics} for v, topics in enumerate(wanted)}
    got, _ = edges_of(instance_of(interest), method)
    assert [tuple(edge) for edge in got.tolist()] == getattr(overlays, method)(interest)


@METHODS
def test_the_baselines_agree_where_the_twins_are_too_slow(method):
    rng = np.random.default_rng(8)
    n = 30 if PLAIN_PYTHON else 90
    interest = {v: set(rng.integers(0, 40, size=rng.integers(1, 20)).tolist()) for v in range(n)}
    instance = instance_of(interest)
    ref, ref_gains = naive_greedy.edges(instance, method)
    baselines = [edge_contrib.edges, SUMMED]
    if not PLAIN_PYTHON:  # n^4 steps of plain Python would take an hour
        baselines.append(literal_greedy.edges)
    for edges_of in baselines:
        got, got_gains = edges_of(instance, method)
        assert ref.tolist() == got.tolist()
        assert ref_gains.tolist() == got_gains.tolist()
