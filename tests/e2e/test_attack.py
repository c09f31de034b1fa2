"""A few cases of each kind of attack; `scripts/attack --minutes 20` tries many more."""

import sys
import tempfile

import pytest

from tests.attack.__main__ import attack, main
from tests.attack.cases import KINDS

CASES = {"source": 3, "dataset": 6, "inventory": 4, "configuration": 4, "parameters": 5}
SEED = 1
WORDS = "--seed 7 --kind source --case 3"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A directory for the cases, and one for temporary files in which leftovers are seen."""
    directory = tmp_path_factory.mktemp("attack")
    kept, tempfile.tempdir = tempfile.tempdir, str(directory / "temporary")
    (directory / "temporary").mkdir()
    yield directory
    tempfile.tempdir = kept


@pytest.mark.parametrize("kind", KINDS)
def test_no_attack_of_a_kind_succeeds(spark, place, kind):
    wrong = [attack(SEED, number, kind, place) for number in range(CASES.get(kind, 1))]
    assert [text for text in wrong if text] == []


@pytest.fixture
def run_one(spark, tmp_path, monkeypatch, capsys):
    """Return a function that runs a case through the command line; it gives code and output."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # it makes a directory of its own there
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    def run(case):
        monkeypatch.setitem(KINDS, "source", (case, 1))
        monkeypatch.setattr(sys, "argv", ["attack", *WORDS.split()])
        return main(), capsys.readouterr().out

    return run


def test_a_failure_is_told_with_its_seed_and_its_command(run_one, tmp_path):
    code, out = run_one(lambda place: place.run("check", place.path("gone"), codes=(0,)))
    assert f"FAILED scripts/attack {WORDS}\n  exit code 2: error: there is no dataset at" in out
    assert f"\n  meshwright check {tmp_path}/" in out
    assert (code, out.splitlines()[-1]) == (1, "seed 7: 1 cases, 1 failed")


def test_an_interrupt_ends_the_attacks(run_one):
    def interrupt(_place):
        raise KeyboardInterrupt

    code, out = run_one(interrupt)
    assert (code, out.splitlines()[-1]) == (130, "seed 7: 0 cases, 0 failed")
