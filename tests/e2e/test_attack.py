"""A few cases of each kind of attack; `scripts/attack --minutes 20` tries many more."""

import sys
import tempfile

import pytest

from tests.attack.__main__ import attack, main
from tests.attack.cases import KINDS

CASES = {"source": 3, "dataset": 6, "inventory": 4, "configuration": 4, "parameters": 5}
SEED = 1


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


def test_a_failure_is_told_with_its_seed_and_its_command(spark, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # it makes a directory of its own there
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    def fail(place):
        place.run("check", place.path("gone"), codes=(0,))

    monkeypatch.setitem(KINDS, "source", (fail, 1))
    words = ["--seed", "7", "--kind", "source", "--case", "3"]
    monkeypatch.setattr(sys, "argv", ["attack", *words])
    assert main() == 1
    out = capsys.readouterr().out
    assert f"FAILED scripts/attack {' '.join(words)}\n  exit code 2: error: there is no" in out
    assert f"\n  meshwright check {tmp_path}/" in out
    assert out.endswith("\nseed 7: 1 cases, 1 failed\n")
