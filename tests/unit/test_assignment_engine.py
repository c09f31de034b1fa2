"""Which engine assigns a problem: its size decides, unless the user does."""

import pytest

from meshwright.content.problem import load_problem
from meshwright.content.problem.dataset import write_problem
from meshwright.content.stored import choose_engine, memory_needed, open_problem
from meshwright.errors import InfeasibleError, InputError
from meshwright.runtime import engines
from tests.problems import random_problem


@pytest.fixture
def path(tmp_path):
    write_problem(tmp_path / "p", random_problem(200, 4))
    return tmp_path / "p"


def test_a_stored_problem_has_all_but_the_subscribers(path):
    problem, stored = load_problem(path), open_problem(path)
    assert stored.n_subscribers == problem.n_subscribers == 200
    for name in ("alpha", "beta", "beta_max", "last_hop", "n_dimensions"):
        assert getattr(stored, name) == getattr(problem, name)
    assert stored.load_limits(1.5).tolist() == problem.load_limits(1.5).tolist()
    assert stored.tree.parent.tolist() == problem.tree.parent.tolist()
    assert stored.delay_range == problem.delay_range


def test_limits_given_for_a_stored_problem_replace_its_own(path):
    stored = open_problem(path, {"alpha": 7, "max_delay": 0.25})
    assert (stored.alpha, stored.delay_range) == (7, (0.25, 0.25))
    with pytest.raises(InputError, match="max_delay is -1; give 0 or more"):
        open_problem(path, {"max_delay": -1})
    with pytest.raises(InputError, match="alpha is 0"):
        open_problem(path, {"alpha": 0})


def test_spark_is_chosen_for_large_problems_whatever_the_machine(path, monkeypatch):
    stored = open_problem(path)
    needed = memory_needed(stored)
    for here in (2 * needed, 1000 * needed):
        monkeypatch.setattr(engines, "machine_memory", lambda here=here: here)
        for limit, chosen in ((needed, "driver"), (needed - 1, "spark")):
            monkeypatch.setattr(engines, "DRIVER_LIMIT", limit)
            assert choose_engine("auto", "slp", stored) == chosen
            assert choose_engine("auto", "slp-leaves", stored) == chosen
            assert choose_engine("auto", "gr-star", stored) == "driver"
            assert choose_engine("driver", "slp", stored) == "driver"
            assert choose_engine("spark", "slp", stored) == "spark"


def test_a_machine_too_small_for_the_driver_is_refused_and_the_choice_named(path, monkeypatch):
    stored = open_problem(path)
    monkeypatch.setattr(engines, "machine_memory", lambda: memory_needed(stored))
    with pytest.raises(InfeasibleError, match=r"needs about .* Choose --engine spark, or --engine"):
        choose_engine("auto", "slp", stored)
    with pytest.raises(InfeasibleError, match="Choose --method slp --engine spark, or --engine dr"):
        choose_engine("auto", "gr-star", stored)
    assert choose_engine("driver", "gr-star", stored) == "driver"


def test_wrong_choices_are_refused(path):
    stored = open_problem(path)
    with pytest.raises(InputError, match="Choose --method slp or slp-leaves, or leave"):
        choose_engine("spark", "balance", stored)
    with pytest.raises(InputError, match="unknown engine 'sparc'"):
        choose_engine("sparc", "slp", stored)
