"""Every greedy method against its naive twin, and what must hold of every assignment."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.content.boxes import fit_boxes
from meshwright.content.filters import fit_filters
from meshwright.content.kernels.volume import union_volume
from meshwright.content.methods import greedy
from meshwright.content.methods.balance import balance
from meshwright.content.methods.closest import closest, closest_balanced
from meshwright.content.methods.registry import METHODS as ALL
from meshwright.model.density import no_density
from tests.naive import assignment_greedy as naive
from tests.problems import boxes as drawn_boxes
from tests.problems import small_problems

# slp-paper takes one level of brokers, and gives up where Algorithm 1 does; see test_slp.
METHODS = {
    name: method.load()
    for name, method in ALL.items()
    if not method.on_spark and name != "slp-paper"
}
IN_TIME = [name for name in METHODS if name.startswith("gr") and name != "gr-no-latency"]


def plain(problem) -> naive.Plain:
    tree = problem.tree
    rows = zip(problem.low.tolist(), problem.high.tolist(), strict=True)
    return naive.Plain(
        parent=tree.parent.tolist(),
        place=[tuple(place) for place in tree.location.tolist()],
        share={int(leaf): float(tree.capacity[leaf]) for leaf in tree.leaves},
        at=[tuple(place) for place in problem.location.tolist()],
        box=[(tuple(low), tuple(high)) for low, high in rows],
        delay=problem.max_delay.tolist(),
        alpha=problem.alpha,
        beta=problem.beta,
        beta_max=problem.beta_max,
        last_hop=problem.last_hop,
    )


def filters_of(assignment) -> dict[int, list[naive.Box]]:
    tree = assignment.problem.tree
    found = {}
    for broker in range(tree.n_brokers):
        if broker != tree.publisher:
            low, high = assignment.filters.of(broker)
            rows = zip(low.tolist(), high.tolist(), strict=True)
            found[broker] = [(tuple(a), tuple(b)) for a, b in rows]
    return found


def same(assignment, run: naive.Greedy) -> None:
    assert assignment.broker.tolist() == run.leaf_of()
    assert filters_of(assignment) == run.filters
    assert assignment.notes["load_factor"] == run.factor
    assert assignment.notes["overloaded"] == run.overloaded


@given(small_problems(max_subscribers=10))
def test_gr_equals_its_naive_twin(problem):
    same(greedy.gr(problem), naive.gr(plain(problem)))


@given(small_problems(max_subscribers=10))
def test_gr_star_equals_its_naive_twin(problem):
    same(greedy.gr_star(problem), naive.gr_star(plain(problem)))


@given(small_problems(max_subscribers=10))
def test_gr_no_latency_equals_its_naive_twin(problem):
    same(greedy.gr_no_latency(problem), naive.gr(plain(problem), any_leaf=True))


@pytest.mark.parametrize("now", [True, False])
@settings(deadline=None)
@given(problem=small_problems(max_subscribers=10), seed=st.integers(0, 3))
def test_the_evicting_variants_equal_their_naive_twins(now, problem, seed):
    method = greedy.gr_evict_now if now else greedy.gr_evict_later
    assignment = method(problem, seed)
    most = greedy.EVICTIONS * problem.n_subscribers
    run = naive.gr_evict(plain(problem), now=now, seed=seed, most=most)
    same(assignment, run)
    assert assignment.notes["evictions"] == run.evicted


@given(small_problems())
def test_closest_takes_the_nearest_leaf(problem):
    twin = plain(problem)
    nearest = [naive.closest(twin, j, twin.leaves) for j in range(problem.n_subscribers)]
    assert closest(problem).broker.tolist() == nearest


@given(small_problems(max_subscribers=10))
def test_closest_balanced_equals_its_naive_twin(problem):
    assignment = closest_balanced(problem)
    assert assignment.broker.tolist() == naive.closest_balanced(plain(problem))
    limits = dict(
        zip(problem.tree.leaves.tolist(), problem.load_limits(problem.beta_max), strict=True)
    )
    over = sum(
        max(0, load - limits.get(at, 0)) for at, load in enumerate(assignment.loads.tolist())
    )
    assert assignment.notes["overloaded"] == over


@given(small_problems(max_subscribers=6))
def test_balance_finds_the_least_load_balance_factor(problem):
    twin = plain(problem)
    assignment = balance(problem)
    for j, leaf in enumerate(assignment.broker.tolist()):
        assert leaf in twin.in_time(j)
    best = naive.least_factor(twin)
    if assignment.notes["overloaded"]:
        assert best == np.inf
    else:
        tree = problem.tree
        used = tree.leaves[assignment.loads[tree.leaves] > 0]
        factor = max(assignment.loads[used] / (tree.capacity[used] * problem.n_subscribers))
        assert factor == pytest.approx(best)
        assert assignment.notes["load_factor"] == pytest.approx(best)


@pytest.mark.parametrize("name", METHODS)
@settings(deadline=None)
@given(problem=small_problems(with_density=True))
def test_every_answer_holds_its_boxes_nests_and_keeps_alpha(name, problem):
    assignment = METHODS[name](problem)
    twin, found = plain(problem), filters_of(assignment)
    for j, leaf in enumerate(assignment.broker.tolist()):
        assert leaf in (twin.in_time(j) if name in (*IN_TIME, "balance") else twin.leaves)
        assert any(naive.inside(twin.box[j], box) for box in found[leaf])
    for broker, boxes in found.items():
        assert len(boxes) <= problem.alpha
        above = problem.tree.parent[broker]
        if above != problem.tree.publisher:
            assert all(any(naive.inside(box, outer) for outer in found[above]) for box in boxes)


@settings(deadline=None)
@given(st.integers(1, 12).flatmap(lambda n: drawn_boxes(n, 2)), st.integers(1, 4))
def test_fitted_boxes_hold_all_and_are_no_larger_than_one_box(drawn, alpha):
    low, high = drawn
    boxes = np.stack([low, high], axis=1)
    density = no_density(2)
    fitted = fit_boxes(boxes, alpha, density)
    assert 1 <= len(fitted) <= alpha
    for box in boxes:
        held = (fitted[:, 0] <= box[0]).all(axis=1) & (fitted[:, 1] >= box[1]).all(axis=1)
        assert held.any()
    whole = np.stack([low.min(axis=0), high.max(axis=0)])
    assert union_volume(fitted, density) <= np.prod(whole[1] - whole[0])
    # No box is wider than what it holds: every face touches a box.
    for fit in fitted:
        inner = (boxes[:, 0] >= fit[0]).all(axis=1) & (boxes[:, 1] <= fit[1]).all(axis=1)
        assert (boxes[inner, 0].min(axis=0) == fit[0]).all()
        assert (boxes[inner, 1].max(axis=0) == fit[1]).all()


@given(small_problems())
def test_filters_depend_on_the_boxes_and_not_on_their_order(problem):
    broker = np.full(problem.n_subscribers, problem.tree.leaves[0])
    back = type(problem)(
        problem.tree,
        problem.location[::-1],
        problem.low[::-1],
        problem.high[::-1],
        problem.max_delay[::-1],
        alpha=problem.alpha,
    )
    one, other = fit_filters(problem, broker), fit_filters(back, broker)
    assert one.low.tolist() == other.low.tolist()
    assert one.high.tolist() == other.high.tolist()


@settings(deadline=None)
@given(st.tuples(st.integers(1, 5), st.integers(1, 3)).flatmap(lambda size: drawn_boxes(*size)))
def test_union_volumes_equal_a_count_of_cells(drawn):
    low, high = drawn
    rows = zip(low.tolist(), high.tolist(), strict=True)
    cells = naive.union([(tuple(a), tuple(b)) for a, b in rows])
    assert union_volume(np.stack([low, high], axis=1), no_density(low.shape[1])) == cells
