"""Every benchmark runs its smallest instance, untimed, as in a fresh clone."""

import re

import numpy as np
import pytest
from benchmarks.__main__ import main, names
from benchmarks._drift import KINDS, draw_event, next_event
from benchmarks._instances import results
from benchmarks._required import Required
from benchmarks.churn import Row, judge
from hypothesis import settings

from meshwright.model.instance import Instance
from meshwright.overlay import design


@pytest.mark.parametrize("name", names())
def test_the_smallest_instance_of_a_benchmark_runs(spark, capsys, name):
    assert main([name, "--smoke"]) == 0
    assert capsys.readouterr().out.splitlines()[1:]


def test_the_directory_of_results_is_made_where_it_is_missing(monkeypatch, tmp_path):
    missing = tmp_path / "benchmarks" / "results"
    monkeypatch.setenv("MESHWRIGHT_BENCH_RESULTS", str(missing))
    assert results() == missing
    assert missing.is_dir()


def test_an_unknown_benchmark_is_refused(capsys):
    assert main(["scael"]) == 2
    assert "unknown benchmark 'scael'; choose from: assignment, " in capsys.readouterr().err


def test_the_list_names_every_benchmark(capsys):
    assert main([]) == 0
    listed = re.findall(r"^  (\w+)", capsys.readouterr().out, flags=re.MULTILINE)
    assert listed == names()


def test_a_run_with_fresh_draws_prints_a_seed_that_repeats_it(capfd):
    seed = ["--hypothesis-seed=7", "--runs", "1"]
    failing = ["tests/property/test_social.py", "-k", "no_such_test"]
    with pytest.raises(SystemExit, match="failed with the seeds 7"):
        main(["properties", *seed, *failing])
    assert (
        "repeat this run with: scripts/test --random --hypothesis-seed=7 "
        "tests/property/test_social.py -k no_such_test\n"
    ) in capfd.readouterr().out
    assert not settings.get_profile("random").derandomize
    assert settings.get_profile("meshwright").derandomize


def test_a_requirement_that_is_missed_is_said_and_counted():
    required = Required()
    assert required.at_most("links", 0.03, 0.03, ".0%") == "links <= 3%: 3%"
    assert required.at_most("links", 0.03, 0.031, ".1%") == "links <= 3.0%: 3.1% MISSED"
    assert required.summary() == "1 of 2 requirements reached"


def test_a_trace_of_churn_is_judged_by_its_last_step_and_by_all_moves(capsys):
    def row(links, degree, support, moves):
        return Row(links, 100, degree, 20, support, 1.0, 10, moves, 3.0, 2.0)

    required = Required()
    judge([row(200, 40, 0.5, 12), row(103, 22, 1.0, 18)], required)
    assert capsys.readouterr().out.splitlines() == [
        "links over a fresh design <= 3.0%: 3.0%",
        "maximum degree over a fresh design <= 5.0%: 10.0% MISSED",
        "links moved per changed subscription <= 1.50: 1.50",
        "time of a step by that of a design <= 1.00: 1.50 MISSED (3.000 s, 2.000 s)",
        "support of a fresh design less that of the mended one: 0.000% at the end, 50.000% at most",
    ]
    assert required.summary() == "2 of 4 requirements reached"


def test_the_events_of_a_drifting_world_are_of_every_kind():
    pairs = [(f"n{i}", f"t{t}") for i in range(40) for t in (i % 3, 3 + i % 2)]
    world = design(Instance.from_pairs(pairs), "sl", certify=False)
    outside, rng, seen = {"new": ["t0", "t1"]}, np.random.default_rng(1), set()
    for _ in range(40):
        seen.add(type(draw_event(world.instance, dict(outside), rng)))
        before = world.instance.n_nodes + len(outside)
        world = next_event(world, outside, rng)
        assert world.instance.n_nodes + len(outside) == before
    assert seen >= {*KINDS}
