"""frontier from the command line: what it prints, writes and refuses."""

import json
from functools import partial
from pathlib import Path

import pytest

from meshwright.model.instance import Instance
from meshwright.overlay.dataset import load_overlay
from tests.datasets import write_instance
from tests.e2e.in_process import run_in_process

PAIRS = [(f"edge-{i:02}", f"plant/{t}") for i in range(14) for t in (i % 7, (3 * i + 1) % 7)]
HUB = [("hub", f"plant/{t}") for t in range(7)]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run `frontier` in this process, beside a workload, on the session that is up."""
    monkeypatch.chdir(tmp_path)
    write_instance(Instance.from_pairs(PAIRS + HUB), Path("w"))
    return partial(run_in_process, monkeypatch, capsys, "frontier")


def test_the_points_are_printed_written_and_kept(spark, run):
    code, out, err = run("w", "-o", "f", "--rounds", "20", "--points", "3")
    assert (code, err) == (0, "")
    assert all(len(line.rstrip()) <= 80 for line in out.splitlines())
    lines = out.splitlines()
    header = next(i for i, line in enumerate(lines) if line.startswith("cap"))
    assert lines[header].split() == [
        *("cap", "links", "bound", "gap", "degree", "bound", "support", "overlay"),
    ]
    last = next(line.split() for line in lines if line.startswith("none"))
    plan = load_overlay("f-no-cap")
    assert (last[1], last[4], last[-1]) == (str(plan.n_edges), str(plan.max_degree), "f-no-cap")

    code, out, err = run("w", "-o", "f", "--rounds", "20")
    assert (code, out) == (2, "")
    assert "f' exists. Pass --force" in err

    code, out, err = run("w", "-o", "f", "--rounds", "20", "--points", "3", "--force", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["kind"] == "frontier"
    assert found["n_points"] == len(found["points"]) >= 2
    assert found["points"][-1]["max_degree"] is None


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--points", "0"), "points is 0"),
        (("--seconds", "1", "--rounds", "1"), "not both"),
        (("--seed", "-1"), "seed"),
    ],
)
def test_impossible_options_are_refused_before_spark_starts(run, words, reason):
    code, out, err = run("w", "-o", "f", *words)
    assert (code, out) == (2, "")
    assert reason in err
    assert not Path("f").exists()


def test_an_overlay_of_an_earlier_frontier_is_kept(run):
    Path("f-cap-4").mkdir()
    Path("f-cap-4", "notes.txt").write_text("mine")
    code, _, err = run("w", "-o", "f")
    assert code == 2
    assert "f-cap-4" in err
    assert Path("f-cap-4", "notes.txt").read_text() == "mine"
