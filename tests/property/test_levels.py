"""Level by level, every edge is a best one of its time, whatever is kept of a row."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright.errors import InputError
from meshwright.overlay.greedy.level_order import level_edges, open_local_scan
from meshwright.overlay.greedy.rule import Rule
from tests.naive.legal_runs import first_wrong, is_over
from tests.naive.overlays import degrees, gain, pairs
from tests.strategies import draws, instance_of, interests

SOME = draws(120)
ROOMS = st.sampled_from([1, 2, 4, 16])


def run(interest, rule, room):
    links, gains = level_edges(instance_of(interest), rule, open_local_scan, min_candidates=room)
    return [tuple(link) for link in links.tolist()], gains.tolist()


@SOME
@given(interest=interests(), room=ROOMS, by_degree=st.booleans(), budget=st.integers(1, 12))
def test_gm_and_gpa_take_a_best_edge_each_time(interest, room, by_degree, budget):
    for max_edges in (None, budget):
        edges, gains = run(interest, Rule(by_degree=by_degree, max_edges=max_edges), room)
        assert first_wrong(interest, edges, phases=False) is None
        assert is_over(interest, edges, max_edges=max_edges)
        assert gains == [gain(interest, edges[:i], *edge) for i, edge in enumerate(edges)]


@SOME
@given(interest=interests())
def test_of_equal_gains_the_lowest_larger_degree_comes_first(interest):
    edges, gains = run(interest, Rule(by_degree=True), room=len(interest))  # every pair is known
    for i, (edge, its_gain) in enumerate(zip(edges, gains, strict=True)):
        if its_gain < 2:
            break  # the last level has an order of its own
        degree = degrees(interest, edges[:i])
        rivals = [p for p in pairs(interest) if gain(interest, edges[:i], *p) == its_gain]
        assert max(degree[x] for x in edge) == min(max(degree[x] for x in p) for p in rivals)


@SOME
@given(interest=interests(), room=ROOMS, limit=st.integers(1, 4))
def test_minmax_and_gpm_raise_the_maximum_degree_least(interest, room, limit):
    for max_degree in (None, limit):
        edges, _ = run(interest, Rule(rising_cap=True, max_degree=max_degree), room)
        assert first_wrong(interest, edges, phases=True) is None
        assert is_over(interest, edges, max_degree=max_degree)


@SOME
@given(interest=interests(7, 6), room=ROOMS)
def test_minmax_fills_up_its_phases_with_idle_edges(interest, room):
    edges, gains = run(interest, Rule(rising_cap=True, idle_edges=True), room)
    assert first_wrong(interest, edges, phases=True, idle=True) is None
    assert is_over(interest, edges)
    assert gains == [gain(interest, edges[:i], *edge) for i, edge in enumerate(edges)]


@SOME
@given(interest=interests(9, 8), budget=st.integers(1, 12), limit=st.integers(1, 3))
def test_gpm_stops_at_a_number_of_edges_too(interest, budget, limit):
    edges, _ = run(interest, Rule(rising_cap=True, max_degree=limit, max_edges=budget), 2)
    assert first_wrong(interest, edges, phases=True) is None
    assert is_over(interest, edges, max_edges=budget, max_degree=limit)


def test_low_is_refused():
    with pytest.raises(InputError, match="low compares two queues"):
        level_edges(instance_of({0: {0}}), Rule(threshold=2), open_local_scan)
