"""SLP on small problems: what its answers always keep, and its parts against naive twins."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from tests.problems import small_problems

from meshwright.assignment.slp import Settings, slp, slp_leaves


def kinds(answer):
    return {violation.constraint for violation in answer.report.violations}


@settings(max_examples=60, deadline=None)
@given(small_problems())
def test_every_answer_keeps_all_but_the_load_and_that_when_it_can(problem):
    for method in (slp, slp_leaves):
        answer = method(problem, seed=3)
        assert kinds(answer) <= {"load"}
        if kinds(answer):
            assert answer.notes["overloaded"] > 0
        else:
            assert answer.bandwidth >= answer.bound.value * (1 - 1e-9)
