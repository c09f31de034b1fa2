"""The harness of the attacks notices what it is there to notice."""

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from meshwright import cli
from tests.attack.cases import check_accounts, source_text
from tests.attack.harness import (
    FINE,
    Done,
    Failed,
    Place,
    check_end,
    check_no_drafts,
    check_unchanged,
    in_session,
    snapshot,
    wait_until,
)

TRACEBACK = 'Traceback (most recent call last):\n  File "meshwright/cli/check.py", line 1\n'


@pytest.mark.parametrize(
    ("code", "out", "err", "words"),
    [
        (3, "", "error: Meshwright failed unexpectedly", "exit code 3"),
        (-11, "", "", "exit code -11"),
        (1, "", TRACEBACK, "a traceback"),
        (0, TRACEBACK, "", "a traceback"),
        (2, "", " \n", "exit code 2 without a word"),
    ],
)
def test_a_command_that_ends_as_none_may_end_has_failed(code, out, err, words):
    check_end(Done(["check", "o"], 2, "", "error: there is no dataset at 'o'"), FINE)
    with pytest.raises(Failed, match=words):
        check_end(Done(["check", "o"], code, out, err), FINE)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that runs a function as if it were the command line."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def run(command):
        monkeypatch.setattr(cli, "main", command)
        return Place(tmp_path, None).run("check", "o")

    return run


def test_a_scratch_file_that_a_command_leaves_is_noticed(run):
    assert run(lambda: None).code == 0
    with pytest.raises(Failed, match=r"were left in the temporary directory: \['meshwright-"):
        run(lambda: tempfile.mkdtemp(prefix="meshwright-"))


def raiser(error):
    def command():
        raise error

    return command


def test_an_error_that_escapes_from_a_command_is_noticed(run):
    with pytest.raises(Failed, match="ValueError escaped: gone"):
        run(raiser(ValueError("gone")))


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(130)], ids=repr)
def test_an_interrupt_of_the_attacks_is_no_failure_of_a_command(run, error):
    with pytest.raises(KeyboardInterrupt):
        run(raiser(error))


FACTS = {"n_subscriptions": 40, "n_duplicates": 17, "n_rejected": 2, "n_self_loops": 1}


@pytest.mark.parametrize("fact", FACTS)
@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "edges"])
def test_a_row_that_is_not_accounted_for_is_noticed(kind, fact):
    data = source_text(kind)
    check_accounts(FACTS, data, kind, 1)
    with pytest.raises(Failed, match="1 x 60 rows were read and 59 are accounted for"):
        check_accounts({**FACTS, fact: FACTS[fact] - 1}, data, kind, 1)


def test_data_that_changes_and_drafts_that_stay_are_noticed(tmp_path):
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "nodes.parquet").write_bytes(b"old")
    before = snapshot(tmp_path)
    check_unchanged(tmp_path, before)
    check_no_drafts(tmp_path)
    (tmp_path / "w" / "nodes.parquet").write_bytes(b"new")
    with pytest.raises(Failed, match="was changed by a command that reads it"):
        check_unchanged(tmp_path, before)
    (tmp_path / ".w.tmp-host-1-2-3").mkdir()
    with pytest.raises(Failed, match=r"half-written files were left: \['\.w\.tmp-host-1-2-3'\]"):
        check_no_drafts(tmp_path)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")
def test_a_process_that_outlives_its_command_is_noticed():
    sleeper = f"[{sys.executable!r}, '-c', 'input()']"
    code = f"import subprocess; print(subprocess.Popen({sleeper}).pid, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as command:
        assert command.stdin is not None
        assert command.stdout is not None
        left = int(command.stdout.readline())
        command.send_signal(signal.SIGKILL)
        command.wait()
        assert in_session(command.pid) == [left]
        command.stdin.close()  # ends what was left
    assert wait_until(lambda: in_session(command.pid) == [], 60.0)
