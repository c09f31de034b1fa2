"""The guide of `assign` says what is so."""

import doctest
from pathlib import Path

from meshwright.content.check import CONSTRAINTS
from meshwright.content.dataset import certificate
from meshwright.content.methods.registry import METHODS
from tests.assignments import bounding_assignment
from tests.problems import random_problem

GUIDE = Path(__file__).parents[2] / "docs" / "assignment.md"


def test_the_example_of_the_guide_runs():
    ran = doctest.testfile(str(GUIDE), module_relative=False)
    assert ran.attempted > 0
    assert ran.failed == 0


def test_the_guide_names_every_method_constraint_and_measure():
    text = GUIDE.read_text()
    problem = random_problem(20, 2)
    facts = certificate(bounding_assignment(problem, [1] * 20))
    reported = {"alpha", "beta", "beta_max"}  # the limits, which the problem's page explains
    for name in [*METHODS, *CONSTRAINTS, *(set(facts) - reported)]:
        assert f"`{name}`" in text, name
