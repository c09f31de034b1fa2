"""``meshwright reproduce`` from the command line: what it lists, refuses, writes and resumes."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from papers.registry import EXPERIMENTS

import meshwright
from tests.e2e.in_process import run_in_process

QUICK = "ton11-fig18"
PATIENCE = 180.0  # seconds at most for the first cell


def test_the_list_shows_every_experiment_and_starts_no_spark(monkeypatch, capsys):
    code, out, err = run_in_process(monkeypatch, capsys, "reproduce", "--list")
    assert (code, err) == (0, "")
    for name in EXPERIMENTS:
        assert name in out
    assert out.splitlines()[-1].startswith(f"{len(EXPERIMENTS)} experiments, ")


def test_the_list_as_json_has_both_sizes(monkeypatch, capsys):
    code, out, _ = run_in_process(monkeypatch, capsys, "reproduce", "icdcs16", "--list", "--json")
    rows = json.loads(out)
    assert code == 0
    assert {row["paper"] for row in rows} == {1}
    table = next(row for row in rows if row["id"] == "icdcs16-table1")
    assert table["graphs"] == ["fb", "tw"]
    assert all(row["default"] and row["full"] for row in rows)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("ton11-fig1", "-o", "x"), "unknown experiment 'ton11-fig1'; did you mean"),
        (("ton11-fig2",), "reproduce needs a directory for its results: give -o DIR"),
        (("icdcs16-fig4", "-o", "x"), "Give the directory that holds them with --data DIR."),
        (("icdcs16-fig4", "-o", "x", "--data", "nowhere"), "which is not a directory"),
        (("icdcs16-fig4", "-o", "x", "--data", "."), "facebook100-cornell5/Cornell5.edges.txt.gz"),
    ],
)
def test_what_cannot_be_run_is_refused_and_nothing_is_written(
    monkeypatch, capsys, tmp_path, words, message
):
    monkeypatch.chdir(tmp_path)
    code, _, err = run_in_process(monkeypatch, capsys, "reproduce", *words)
    assert code == 2
    assert message in err
    assert list(tmp_path.iterdir()) == []


def test_outside_a_clone_the_verb_says_that_it_needs_one(tmp_path):
    package = Path(meshwright.__file__).parent
    shutil.copytree(
        package, tmp_path / "site" / "meshwright", ignore=shutil.ignore_patterns("__pycache__")
    )
    done = subprocess.run(
        [sys.executable, "-m", "meshwright", "reproduce", "--list"],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "reproduce needs the papers' experiments, which are part of a clone" in done.stderr
    assert "run `./meshwright reproduce` there" in done.stderr


def test_a_killed_run_goes_on_where_it_was(monkeypatch, capsys, tmp_path, spark):
    out = tmp_path / "out"
    cells = out / "cells"
    words = ["reproduce", QUICK, "-o", str(out)]
    command = [sys.executable, "-m", "meshwright", *words, "--master", "local[1]"]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        until = time.monotonic() + PATIENCE
        while process.poll() is None and not any(cells.glob("[!.]*.parquet")):
            if time.monotonic() > until:
                break
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
    stamps = {file.name: file.stat().st_mtime_ns for file in cells.glob("[!.]*.parquet")}
    assert stamps
    code, text, _ = run_in_process(monkeypatch, capsys, *words)
    assert code == 0
    # Workers of the killed run may have finished a cell more before they noticed.
    kept = int(re.findall(r"\((\d+) kept\)", text)[0])
    assert len(stamps) <= kept < len(EXPERIMENTS[QUICK].cells(False))
    assert {name: (cells / name).stat().st_mtime_ns for name in stamps} == stamps
    rows = pq.read_table(out / QUICK / "cells.parquet").num_rows
    assert rows == len(EXPERIMENTS[QUICK].cells(False))
    ledger = json.loads((out / "ledger.json").read_text())
    assert {entry["experiment"] for entry in ledger} == {QUICK}
    assert len(ledger) == len(EXPERIMENTS[QUICK].claims)
    assert text.splitlines()[-1] == f"ledger {out / 'ledger.md'}"
    assert "CD-ODA-II improves on CD-ODA-I, on average" in (out / "ledger.md").read_text()
