"""How a command ends that fails in a way nobody thought of, or whose reader has gone."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from meshwright import cli
from meshwright.model.instance import Instance
from meshwright.runtime import interrupts, provenance
from tests.datasets import write_instance
from tests.e2e.in_process import run_in_process

ROOT = Path(__file__).parents[2]
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


def test_an_interrupt_that_a_library_has_swallowed_is_told_when_the_command_fails(
    monkeypatch, capsys
):
    def half_imported() -> None:
        with suppress(KeyboardInterrupt):  # as extension modules do while they are imported
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(10.0)
        raise AttributeError("partially initialized module 'pandas' has no attribute 'plotting'")

    monkeypatch.setattr(interrupts, "_actions", [])  # the JVM of other tests must stay
    monkeypatch.setattr(interrupts, "_interrupted", False)
    monkeypatch.setattr(cli, "load_verbs", half_imported)
    before = signal.getsignal(signal.SIGINT)
    interrupts.raise_on(signal.SIGINT)
    try:
        code, _, err = run_in_process(monkeypatch, capsys, "stats", "w")
    finally:
        signal.signal(signal.SIGINT, before)
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


LONG = "0" * 5000


@pytest.mark.parametrize(
    "words",
    [
        ("design", LONG, "-o", "o"),
        ("design", "w", "-o", LONG),
        ("check", LONG),
        ("export", LONG, "--to", "csv", "-o", "e.csv"),
        ("report", LONG, "-o", "r.html"),
        ("report", "w", "-o", LONG),
        ("ingest", LONG, "-o", "o"),
        ("assign", LONG, "-o", "o"),
        ("deploy", "check", LONG),
        ("deploy", "mosquitto", "o", "--inventory", LONG, "-o", "c"),
        ("lab", "up", LONG),
    ],
    ids=lambda words: " ".join(words)[:14],
)
def test_a_name_that_no_file_can_have_is_bad_input(monkeypatch, capsys, tmp_path, words):
    monkeypatch.chdir(tmp_path)
    write_instance(Instance.from_pairs([("a", "t"), ("b", "t")]), tmp_path / "w")
    code, out, err = run_in_process(monkeypatch, capsys, *words)
    assert (code, out) == (2, "")
    assert "unexpected" not in err


INTERRUPTED = """
from meshwright import cli
from meshwright.__main__ import main

def load():
    exec("raise KeyboardInterrupt")  # as libraries run code that they make

cli.load_verbs = load
main()
"""


def test_an_interrupt_in_code_that_is_run_from_text_ends_with_130_and_no_signal(tmp_path):
    (tmp_path / "interrupted.py").write_text(INTERRUPTED)
    path = os.pathsep.join((str(ROOT / "src"), str(tmp_path)))
    done = subprocess.run(
        [sys.executable, "-m", "interrupted"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    told = "error: interrupted; no incomplete result was left behind.\n"
    assert (done.returncode, done.stderr) == (130, told)
