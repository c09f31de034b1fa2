"""Every benchmark runs its smallest instance, untimed, as in a fresh clone."""

import re

import pytest
from benchmarks.__main__ import main, names
from benchmarks._instances import results
from hypothesis import settings


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
