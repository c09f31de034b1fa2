"""How a command ends that fails in a way nobody thought of, or whose reader has gone."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from meshwright import cli
from meshwright.runtime import provenance
from tests.e2e.in_process import run_in_process

TOKEN = "hunter2"
MASTER = f"sc://spark.example:15002/;token={TOKEN};use_ssl=true"


class FaultError(Exception):
    pass


@pytest.mark.parametrize(
    "error",
    [
        FaultError(f"no {MASTER}"),
        OSError(5, "Input/output error"),
        EOFError("Ran out of input"),
        RecursionError("too deep"),
        KeyError("x"),
        FaultError(),
    ],
    ids=repr,
)
def test_an_unexpected_error_ends_with_3_a_sentence_and_a_file(
    monkeypatch, capsys, tmp_path, error
):
    def fault(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("meshwright.runtime.session.spark_session", fault)
    (tmp_path / "s.csv").write_text("node,topic\na,t\n")
    words = ("ingest", str(tmp_path / "s.csv"), "-o", str(tmp_path / "w"), "--master", MASTER)
    code, out, err = run_in_process(monkeypatch, capsys, *words)
    assert (code, out) == (3, "")
    (details,) = tmp_path.glob("meshwright-error-*.txt")
    (line,) = err.splitlines()
    assert line.startswith(f"error: Meshwright failed unexpectedly ({type(error).__name__}")
    assert f"The details are in {details}. Please report it" in line
    text = details.read_text()
    assert "meshwright ingest" in text
    assert "token=***" in text
    assert "Traceback (most recent call last)" in text
    assert f"{type(error).__name__}" in text.splitlines()[-1]
    assert re.search(r"^pyspark \d", text, re.MULTILINE)
    assert TOKEN not in text + err
    assert details.stat().st_mode & 0o777 == 0o600


def test_an_error_on_the_way_out_of_an_interrupt_is_the_interrupt(monkeypatch, capsys):
    def interrupted() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise FaultError("the JVM has gone")

    monkeypatch.setattr(cli, "load_verbs", interrupted)
    code, _, err = run_in_process(monkeypatch, capsys, "stats", "w")
    assert (code, err) == (130, "error: interrupted; no incomplete result was left behind.\n")


def test_a_fault_is_told_even_if_no_file_can_be_written(monkeypatch, capsys, tmp_path):
    def fault() -> None:
        raise FaultError("gone wrong")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    monkeypatch.setattr(cli, "load_verbs", fault)
    code, _, err = run_in_process(monkeypatch, capsys, "stats", "w")
    assert code == 3
    assert "failed unexpectedly (FaultError: gone wrong). The details cannot be written" in err


@pytest.mark.parametrize("words", [["--help"], ["stats", "--help"]], ids=" ".join)
def test_a_reader_that_goes_away_is_no_error(words):
    command = [sys.executable, "-m", "meshwright", *words]
    source = {**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[2])}
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, env=source, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_manifest_does_not_keep_the_secrets_of_a_command(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["meshwright", "stats", "w", "--master", MASTER])
    shown = "meshwright stats w --master 'sc://spark.example:15002/;token=***;use_ssl=true'"
    assert provenance.command_line() == shown
