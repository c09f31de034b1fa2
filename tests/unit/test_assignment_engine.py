"""Which engine assigns a problem: memory decides, unless the user does."""

from __future__ import annotations

import pytest

from meshwright.assignment import engine
from meshwright.assignment.engine import choose_engine, memory_needed
from meshwright.assignment.outline import delays_of, load_outline
from meshwright.errors import InputError
from meshwright.problem import load_problem
from meshwright.problem.dataset import write_problem
from tests.problems import random_problem


@pytest.fixture
def path(tmp_path):
    write_problem(tmp_path / "p", random_problem(200, 4))
    return tmp_path / "p"


def test_an_outline_has_all_of_a_problem_but_its_subscribers(path):
    problem, outline = load_problem(path), load_outline(path)
    assert outline.n_subscribers == problem.n_subscribers == 200
    assert len(outline.location) == 0
    for name in ("alpha", "beta", "beta_max", "last_hop", "n_dimensions"):
        assert getattr(outline, name) == getattr(problem, name)
    assert outline.load_limits(1.5).tolist() == problem.load_limits(1.5).tolist()
    assert outline.tree.parent.tolist() == problem.tree.parent.tolist()
    assert delays_of(outline) == delays_of(problem)


def test_limits_given_for_an_outline_count(path):
    outline = load_outline(path, {"alpha": 7, "max_delay": 0.25})
    assert (outline.alpha, delays_of(outline)) == (7, (0.25, 0.25))
    with pytest.raises(InputError, match="max_delay is -1; it must be 0 or more"):
        load_outline(path, {"max_delay": -1})
    with pytest.raises(InputError, match="alpha is 0"):
        load_outline(path, {"alpha": 0})


def test_spark_is_chosen_when_half_of_the_memory_would_not_do(path, monkeypatch):
    outline = load_outline(path)
    needed = memory_needed(outline)
    monkeypatch.setattr(engine, "machine_memory", lambda: 2 * needed)
    assert choose_engine("auto", "slp", outline) == "driver"
    assert choose_engine("auto", "gr-star", outline) == "driver"
    assert choose_engine("spark", "slp", outline) == "spark"
    monkeypatch.setattr(engine, "machine_memory", lambda: 2 * needed - 2)
    assert choose_engine("auto", "slp", outline) == "spark"
    assert choose_engine("auto", "slp-leaves", outline) == "spark"
    assert choose_engine("driver", "slp", outline) == "driver"
    assert choose_engine("driver", "gr-star", outline) == "driver"
    with pytest.raises(InputError, match="200 subscribers take about"):
        choose_engine("auto", "gr-star", outline)


def test_wrong_choices_are_told(path):
    outline = load_outline(path)
    with pytest.raises(InputError, match="Choose --engine driver, or --method slp"):
        choose_engine("spark", "balance", outline)
    with pytest.raises(InputError, match="unknown engine 'sparc'"):
        choose_engine("sparc", "slp", outline)
