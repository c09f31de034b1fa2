"""`ingest --follow` as a process: kill -9 at drawn points, SIGTERM, a second one."""

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from meshwright.deploy.lab.processes import wait_until
from meshwright.storage import open_dataset
from meshwright.workload.ingest import ingest
from tests.e2e.in_process import run_in_process
from tests.e2e.test_interrupts import DRIVER, IN_A_CALL, SESSION
from tests.patience import SECONDS
from tests.spark.test_follow import drop, facts, parts_of_a_log

ROOT = Path(__file__).parents[2]
N_CALLS = 500  # a whole run asks the JVM about as often
FOLLOW = ["ingest", "--follow", "inbox", "-o", "w", "--format", "mosquitto-log"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("inbox").mkdir()
    return tmp_path


def variables() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src"), "MESHWRIGHT_MEMORY": "1g"}


def test_kill_9_at_drawn_points_changes_nothing(spark, here):
    draw = random.Random(25)
    parts = parts_of_a_log("north", 5, 4)
    codes = set()
    for name, text in parts.items():
        drop(name, text)
        if name == max(parts):
            break
        # Killed while it waits for the n-th answer of the JVM, which then goes on for a moment.
        n_calls = draw.randrange(20, N_CALLS)
        steps = " ".join([str(int(signal.SIGKILL)), SESSION, *[IN_A_CALL] * n_calls])
        done = subprocess.run(
            [sys.executable, "-c", DRIVER, steps, *FOLLOW, "--once"],
            capture_output=True,
            text=True,
            env=variables(),
            timeout=SECONDS,
        )
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        codes.add(done.returncode)
    assert -signal.SIGKILL in codes
    done = subprocess.run(
        [sys.executable, "-m", "meshwright", *FOLLOW, "--once", "--json"],
        capture_output=True,
        text=True,
        env=variables(),
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    batch = ingest(spark, ["inbox/*"], "batch")
    assert facts(open_dataset(Path("w"))) == facts(batch)
    assert json.loads(done.stdout)["followed"]["n_files"] == len(parts)


def test_a_follower_goes_on_with_new_files_until_sigterm(here, monkeypatch, capsys):
    parts = parts_of_a_log("north", 6, 2)
    (first, text), (second, more) = parts.items()
    drop(first, text)
    Path("inbox", "north.log").write_text("1: still grows")
    with Path("out").open("w") as out, Path("err").open("w") as err:
        follower = subprocess.Popen(
            [sys.executable, "-m", "meshwright", *FOLLOW, "--interval", "0.5"],
            stdout=out,
            stderr=err,
            env=variables(),
        )
    try:
        assert wait_until(lambda: "version 1: 1 file," in Path("out").read_text(), SECONDS)
        code, _, said = run_in_process(monkeypatch, capsys, *FOLLOW)
        assert code == 2
        assert "is followed by another process. Stop that one first" in said
        drop(second, more)
        assert wait_until(lambda: "version 2: 2 files" in Path("out").read_text(), SECONDS)
        follower.send_signal(signal.SIGTERM)
        assert follower.wait(SECONDS) == 0
    finally:
        follower.kill()
        follower.wait()
    said = Path("err").read_text()
    assert max(map(len, said.splitlines())) <= 80
    said = " ".join(said.split())
    assert "note: not read: 'north.log'. Read are parts of logs with a date" in said
    assert "following 'inbox' every 0.5 s; Ctrl-C ends it" in said
    assert "stopped; 'w' is complete. Run it again to go on." in said
    assert open_dataset(Path("w"))["followed"]["n_files"] == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--at", "2026-11-18"], "--at does not go with --follow"),
        (["--node", "edge"], "--node does not go with --follow"),
        (["--publications", "p.csv"], "--publications does not go with --follow"),
        (["more"], "--follow reads one directory of logs; 2 sources are given"),
    ],
)
def test_options_that_do_not_go_with_following_are_refused(here, monkeypatch, capsys, words, said):
    code, _, error = run_in_process(monkeypatch, capsys, *FOLLOW, *words)
    assert (code, said in error) == (2, True), error


def test_once_and_interval_need_follow(here, monkeypatch, capsys):
    Path("s.csv").write_text("node,topic\na,t\n")
    code, _, error = run_in_process(monkeypatch, capsys, "ingest", "s.csv", "-o", "w", "--once")
    assert (code, "--interval and --once belong to --follow" in error) == (2, True), error
