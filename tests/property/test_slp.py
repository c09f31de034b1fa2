"""SLP on small problems: what its assignments always keep, and its parts against naive twins."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from meshwright.content.assignment import Assignment
from meshwright.content.boxes import Boxes, box_volumes
from meshwright.content.filters import fit_filters
from meshwright.content.problem.synthetic import content_arguments, draw_problem
from meshwright.content.slp import Settings, slp, slp_leaves, slp_paper
from meshwright.content.slp.backend import MemoryBackend
from meshwright.content.slp.candidates import candidate_boxes
from meshwright.content.slp.program import HardProgram, Program
from meshwright.content.subscribers import leaves_of, subscribers_of, unpack
from meshwright.errors import InputError, SolverError
from tests.naive import slp as naive
from tests.problems import small_problems
from tests.strategies import draws


def kinds(assignment):
    return {violation.constraint for violation in assignment.report.violations}


@draws(60)
@given(small_problems())
def test_every_answer_keeps_all_but_the_load_and_that_when_it_can(problem):
    for method in (slp, slp_leaves):
        assignment = method(problem, seed=3)
        assert kinds(assignment) <= {"load"}
        if kinds(assignment):
            assert assignment.notes["overloaded"] > 0
        else:
            assert assignment.bandwidth >= assignment.bound.value * (1 - 1e-9)


@draws(60)
@given(small_problems(max_leaves=6, trees=("two levels", "free")), st.sampled_from([0.0, 0.4, 1.0]))
def test_a_child_is_in_time_if_the_share_of_its_leaves_is(problem, threshold):
    tree = problem.tree
    leaves = tree.leaves.tolist()
    _, in_time = plain(problem)
    children = tree.children[tree.publisher].tolist()
    below = [set(tree.leaves_below(child).tolist()) for child in children]
    target_of_leaf = np.array([next(k for k, b in enumerate(below) if x in b) for x in leaves])
    backend = MemoryBackend(problem)
    found = backend.members([tree.publisher], target_of_leaf, threshold).rows
    for j, row in enumerate(unpack(found.targets, len(children))):
        mine = {leaves[i] for i in in_time[j]}
        shares = [len(b & mine) / len(b) for b in below]
        expected = [share > 0 and share >= threshold for share in shares]
        if not any(expected):
            expected = [share > 0 for share in shares]
        assert row.tolist() == expected
    assert kinds(slp(problem, seed=1, settings=Settings(threshold=threshold))) <= {"load"}


# --- parts against the paper's letter ---------------------------------------------------------


def plain(problem):
    """Return a problem of one level as the twin takes it."""
    boxes = [
        (tuple(low), tuple(high))
        for low, high in zip(problem.low.tolist(), problem.high.tolist(), strict=True)
    ]
    n_leaves = len(problem.tree.leaves)
    in_time = [
        set(np.flatnonzero(row).tolist())
        for row in unpack(leaves_of(problem).in_time(subscribers_of(problem)), n_leaves)
    ]
    return boxes, in_time


def rows(boxes):
    low, high = boxes
    return sorted((tuple(a), tuple(b)) for a, b in zip(low.tolist(), high.tolist(), strict=True))


def some_members(problem, rows):
    leaves = np.arange(len(problem.tree.leaves))
    table = MemoryBackend(problem).members([problem.tree.publisher], leaves)
    return table.rows.pick(np.asarray(rows, np.int64))


@draws(80)
@given(small_problems(max_subscribers=10))
def test_candidates_are_those_of_the_interval_scheme(problem):
    boxes, _ = plain(problem)
    found = rows(candidate_boxes(Boxes(problem.low, problem.high)))
    assert found == naive.filter_gen(boxes)
    assert all(any(naive.holds(outer, box) for outer in found) for box in boxes)


@draws(60)
@given(small_problems(max_subscribers=8, max_leaves=3, trees=("one level",)), st.data())
def test_the_program_has_the_value_of_the_papers(problem, data):
    """Cover rows without x, one column per set served, and rows added later change nothing."""
    boxes, in_time = plain(problem)
    n = problem.n_subscribers
    n_load = data.draw(st.integers(1, n))
    n_first = data.draw(st.integers(n_load, n))
    everyone, load = some_members(problem, range(n)), some_members(problem, range(n_load))
    candidates = candidate_boxes(Boxes(problem.low, problem.high))
    volumes = box_volumes(candidates, problem.density_table)
    room = problem.beta * problem.leaf_capacity * n_load
    program = Program(candidates, volumes, load, everyone, room, problem.alpha)
    penalty = float(volumes.max()) or 1.0
    rectangles = rows(candidates)
    for more in ([], range(n_load, n_first), range(n_first, n)):
        if len(more):
            program.add_cover(some_members(problem, more))
        fraction = program.solve()
        last = more[-1] + 1 if len(more) else n_load if not program.n_cover_rows else n_first
        value, over, _ = naive.lp_relax(
            rectangles,
            boxes[:last],
            in_time[:last],
            range(n_load),
            room.tolist(),
            problem.alpha,
            penalty,
        )
        ours = fraction.value + penalty * fraction.overload
        assert ours == pytest.approx(value + penalty * over, rel=1e-6, abs=1e-6)
    hard = naive.lp_relax(rectangles, boxes, in_time, range(n_load), room.tolist(), problem.alpha)
    if hard is not None and fraction.overload < 1e-9:
        assert fraction.value == pytest.approx(hard[0], rel=1e-6, abs=1e-6)


@draws(25)
@given(small_problems(max_subscribers=8, max_leaves=3, trees=("one level",)))
def test_where_the_papers_algorithm_ends_so_does_ours_with_a_feasible_answer(problem):
    boxes, in_time = plain(problem)
    kappa = problem.leaf_capacity.tolist()
    random = np.random.default_rng(5)
    filters = naive.filter_assign(boxes, in_time, kappa, problem.alpha, problem.beta, random)
    if filters is None:
        return
    leaf = naive.assign(filters, boxes, in_time, kappa, problem.beta, problem.beta_max)
    if leaf is None:
        return
    literal = problem.tree.leaves[np.array(leaf)]
    fitted = fit_filters(problem, literal)
    assert Assignment(problem, "literal", literal, fitted).feasible
    assert slp(problem, seed=2).feasible


@draws(60)
@given(small_problems(max_subscribers=8, max_leaves=3, trees=("one level",)), st.data())
def test_the_hard_program_has_the_papers_value_or_is_infeasible_with_it(problem, data):
    boxes, in_time = plain(problem)
    n = problem.n_subscribers
    n_load = data.draw(st.integers(1, n))
    everyone, load = some_members(problem, range(n)), some_members(problem, range(n_load))
    candidates = candidate_boxes(Boxes(problem.low, problem.high))
    volumes = box_volumes(candidates, problem.density_table)
    room = data.draw(st.floats(0.2, 2)) * problem.leaf_capacity * n_load
    program = HardProgram(candidates, volumes, load, everyone, room, problem.alpha)
    program.add_cover(everyone)
    args = rows(candidates), boxes, in_time, range(n_load), room.tolist(), problem.alpha
    twin = naive.lp_relax(*args)
    if twin is None:
        with pytest.raises(SolverError, match="nfeasible"):
            program.solve()
    else:
        assert program.solve().value == pytest.approx(twin[0], rel=1e-6, abs=1e-6)


@draws(60)
@given(small_problems(max_subscribers=10, max_leaves=3, trees=("one level",)))
def test_the_papers_algorithm_solves_the_twins_program_and_keeps_all_but_the_load(problem):
    """Samples of so few are everyone, and clusters single subscribers: one program decides."""
    boxes, in_time = plain(problem)
    n, n_leaves = problem.n_subscribers, len(problem.tree.leaves)
    assume(n_leaves > 1)  # one leaf needs no program
    room = (problem.beta * problem.leaf_capacity * n).tolist()
    twin = naive.lp_relax(naive.filter_gen(boxes), boxes, in_time, range(n), room, problem.alpha)
    if twin is None:
        with pytest.raises(SolverError, match="the linear program of each is infeasible"):
            slp_paper(problem, seed=4)
        return
    assignment = slp_paper(problem, seed=4)
    assert kinds(assignment) <= {"load"}
    if n <= 5 * n_leaves:
        assert assignment.fractional == pytest.approx(twin[0], rel=1e-6, abs=1e-6)
    if kinds(assignment):
        assert assignment.notes["repaired"] > 0


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_papers_algorithm_draws_again_until_all_are_covered(seed):
    problem = draw_problem(content_arguments(subscribers=150, brokers=5, seed=seed))
    assignment = slp_paper(problem, seed=seed)
    assert kinds(assignment) <= {"load"}
    assert assignment.notes["n_linear_programs"] > 1
    assert assignment.broker.tolist() == slp_paper(problem, seed=seed).broker.tolist()


def test_the_papers_algorithm_is_for_one_level():
    problem = draw_problem(content_arguments(subscribers=50, brokers=20, levels="many"))
    with pytest.raises(InputError, match=r"slp-paper is for one level of brokers.*Use slp"):
        slp_paper(problem)
