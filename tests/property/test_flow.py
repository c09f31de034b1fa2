"""Max-flow on groups against max-flow on single subscribers, and Hilbert curves step by step."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.content.kernels.hilbert import hilbert_keys
from meshwright.content.methods.flow import Placement, group_rows, place, spread, tightest


@st.composite
def crowds(draw):
    """Leaves that may serve each subscriber, as sets, and what each leaf takes."""
    n_leaves = draw(st.sampled_from([1, 2, 3, 5, 70]))
    some = st.sets(st.integers(0, n_leaves - 1), max_size=4)
    kinds = draw(st.lists(some, min_size=1, max_size=4))
    wants = draw(st.lists(st.sampled_from(kinds), max_size=12))
    limits = draw(st.lists(st.integers(0, 4), min_size=n_leaves, max_size=n_leaves))
    return wants, limits


def rows_of(wants: list[set[int]], n_leaves: int) -> np.ndarray:
    marks = np.zeros((len(wants), (n_leaves + 63) // 64), np.uint64)
    for j, leaves in enumerate(wants):
        for i in leaves:
            marks[j, i // 64] |= np.uint64(1 << (i % 64))
    return marks


def one_by_one(wants: list[set[int]], limits: list[int]) -> int:
    """The paper's graph: a node for every subscriber."""
    graph = nx.DiGraph()
    graph.add_nodes_from(["source", "sink"])
    for i, limit in enumerate(limits):
        graph.add_edge("source", ("leaf", i), capacity=limit)
    for j, leaves in enumerate(wants):
        graph.add_edge(("subscriber", j), "sink", capacity=1)
        for i in leaves:
            graph.add_edge(("leaf", i), ("subscriber", j), capacity=1)
    return nx.maximum_flow_value(graph, "source", "sink")


def check_placement(found: Placement, masks, counts, limits) -> None:
    assert (found.count > 0).all()
    assert (found.loads(len(limits)) <= limits).all()
    placed = np.bincount(found.group, weights=found.count, minlength=len(counts))
    assert (placed + found.left == counts).all()
    words, bits = found.leaf // 64, (found.leaf % 64).astype(np.uint64)
    assert ((masks[found.group, words] >> bits) & np.uint64(1)).all()
    keys = list(zip(found.group.tolist(), found.leaf.tolist(), strict=True))
    assert keys == sorted(set(keys))


@given(crowds())
def test_the_flow_on_groups_is_the_flow_on_single_subscribers(crowd):
    wants, limits = crowd
    masks, group_of, counts = group_rows(rows_of(wants, len(limits)))
    assert (masks[group_of] == rows_of(wants, len(limits))).all()
    found = place(masks, counts, np.array(limits, np.int64))
    check_placement(found, masks, counts, np.array(limits))
    assert found.value == one_by_one(wants, limits)
    assert found.complete == (found.value == len(wants))


@given(crowds(), st.integers(1, 3))
def test_a_placement_goes_on_where_limits_rise(crowd, more):
    wants, limits = crowd
    masks, _, counts = group_rows(rows_of(wants, len(limits)))
    low = np.array(limits, np.int64)
    found = place(masks, counts, low + more, start=place(masks, counts, low))
    check_placement(found, masks, counts, low + more)
    assert found.value == one_by_one(wants, [limit + more for limit in limits])


@given(crowds())
def test_a_bottleneck_has_more_members_than_room(crowd):
    wants, limits = crowd
    masks, _, counts = group_rows(rows_of(wants, len(limits)))
    found = place(masks, counts, np.array(limits, np.int64))
    leaves, members = tightest(masks, found, np.array(limits, np.int64))
    shut_in = [leaves_of for leaves_of in wants if leaves_of <= set(np.flatnonzero(leaves))]
    if found.complete:
        assert members == 0
    else:
        assert members <= len(shut_in)
        assert members - sum(np.array(limits)[leaves]) == found.left.sum() > 0


@given(crowds(), st.randoms(use_true_random=False))
def test_every_member_gets_a_leaf_of_its_group_and_quotas_are_kept(crowd, random):
    wants, limits = crowd
    masks, group_of, counts = group_rows(rows_of(wants, len(limits)))
    found = place(masks, counts, np.array(limits, np.int64))
    low = np.array([[random.randint(0, 3), random.randint(0, 3)] for _ in wants]).reshape(-1, 2)
    leaf_of = spread(found, group_of, low.astype(float), low + 1.0, len(limits))
    got: dict[tuple[int, int], int] = {}
    for g, i in zip(group_of.tolist(), leaf_of.tolist(), strict=True):
        got[g, i] = got.get((g, i), 0) + 1
    keys = zip(found.group.tolist(), found.leaf.tolist(), strict=True)
    quotas = dict(zip(keys, found.count.tolist(), strict=True))
    assert {key: count for key, count in got.items() if key[1] >= 0} == quotas
    for g, left in enumerate(found.left.tolist()):
        assert got.get((g, -1), 0) == left


def test_members_that_lie_together_go_together():
    # Eight alike, four at either end of a line, in turn: two leaves take an end each.
    ends = np.array([[0.0], [9.0]] * 4)
    placement = Placement(
        np.zeros(2, np.int32), np.array([0, 1], np.int32), np.array([4, 4]), np.zeros(1, np.int64)
    )
    leaf_of = spread(placement, np.zeros(8, np.int32), ends, ends + 1.0, 2)
    assert leaf_of.tolist() == [0, 1] * 4


@settings(deadline=None)
@given(st.integers(1, 4), st.integers(1, 3))
def test_a_hilbert_curve_visits_every_cell_by_steps_of_one(d, bits):
    cells = np.array(list(itertools.product(range(1 << bits), repeat=d)), np.uint32)
    keys = np.empty(len(cells), np.int64)
    hilbert_keys(cells, bits, keys)
    assert sorted(keys.tolist()) == list(range(len(cells)))
    along = cells[np.argsort(keys)].astype(int)
    assert (np.abs(np.diff(along, axis=0)).sum(axis=1) == 1).all()


@pytest.mark.parametrize("n_dimensions", [1, 2, 5, 31, 62, 70])
def test_keys_exist_in_any_number_of_dimensions(n_dimensions):
    from meshwright.content.boxes import box_keys

    low = np.zeros((3, n_dimensions))
    low[1, 0], low[2, 0] = 4.0, 9.0
    keys = box_keys(low, low)
    assert keys[0] == 0
    assert len(set(keys.tolist())) >= 2
    assert (keys >= 0).all()


@given(crowds(), st.randoms(use_true_random=False))
def test_what_leaves_take_depends_on_groups_by_cells_alone(crowd, random):
    wants, limits = crowd
    _, group_of, counts = group_rows(rows_of(wants, len(limits)))
    masks, _, _ = group_rows(rows_of(wants, len(limits)))
    found = place(masks, counts, np.array(limits, np.int64))
    low = np.array([[random.randint(0, 3)] for _ in wants], float).reshape(-1, 1)
    leaf_of = spread(found, group_of, low, low + 1.0, len(limits))
    # The same people in another order of ids: each leaf gets as many of each kind.
    other = np.array(random.sample(range(len(wants)), len(wants)), int)
    again = spread(found, group_of[other], low[other], low[other] + 1.0, len(limits))
    kinds = sorted(zip(group_of.tolist(), low[:, 0].tolist(), leaf_of.tolist(), strict=True))
    moved = zip(group_of[other].tolist(), low[other, 0].tolist(), again.tolist(), strict=True)
    assert sorted(moved) == kinds


def test_cells_are_so_large_that_there_are_few(monkeypatch):
    from meshwright.content.boxes import key_bits
    from meshwright.content.methods import flow

    monkeypatch.setattr(flow, "MOST_CELLS", 64)
    assert flow.cell_shift(64, 5, 2) == 0
    for n_groups in (1, 5, 63, 64, 100):
        cells = 1 << (key_bits(2) - flow.cell_shift(65, n_groups, 2))
        assert cells * n_groups <= max(64, n_groups) < 4 * cells * n_groups
