"""SLP on small problems: what its assignments always keep, and its parts against naive twins."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.content.assignment import Assignment
from meshwright.content.boxes import Boxes, box_volumes
from meshwright.content.filters import fit_filters
from meshwright.content.slp import slp, slp_leaves
from meshwright.content.slp.backend import MemoryBackend
from meshwright.content.slp.candidates import candidate_boxes
from meshwright.content.slp.program import Program
from meshwright.content.subscribers import leaves_of, subscribers_of, unpack
from tests.naive import slp as naive
from tests.problems import small_problems


def kinds(assignment):
    return {violation.constraint for violation in assignment.report.violations}


@settings(max_examples=60, deadline=None)
@given(small_problems())
def test_every_answer_keeps_all_but_the_load_and_that_when_it_can(problem):
    for method in (slp, slp_leaves):
        assignment = method(problem, seed=3)
        assert kinds(assignment) <= {"load"}
        if kinds(assignment):
            assert assignment.notes["overloaded"] > 0
        else:
            assert assignment.bandwidth >= assignment.bound.value * (1 - 1e-9)


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


@settings(max_examples=80, deadline=None)
@given(small_problems(max_subscribers=10))
def test_candidates_are_those_of_the_interval_scheme(problem):
    boxes, _ = plain(problem)
    found = rows(candidate_boxes(Boxes(problem.low, problem.high)))
    assert found == naive.filter_gen(boxes)
    assert all(any(naive.holds(outer, box) for outer in found) for box in boxes)


@settings(max_examples=60, deadline=None)
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


@settings(max_examples=25, deadline=None)
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
