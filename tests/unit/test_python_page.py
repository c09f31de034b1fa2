"""docs/python.md runs from the first line to the last."""

import doctest
from pathlib import Path

import pytest

import meshwright as mw
from meshwright.errors import InputError

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


def test_the_page_runs_and_prints_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert (failed, tried > 10) == (0, True)
    assert (tmp_path / "conf" / "plan.json").exists()
    assert (tmp_path / "report.html").exists()


def test_write_says_what_it_takes(tmp_path):
    instance = mw.Instance.from_pairs([("a", "x")])
    with pytest.raises(InputError, match="an overlay is written with workload="):
        mw.write(mw.design(instance), tmp_path / "o")
    with pytest.raises(InputError, match="write takes an Instance or an Overlay; got str"):
        mw.write("w", tmp_path / "o")
