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


def test_a_deployment_is_merged_and_watched(tmp_path):
    workload = mw.Instance.from_pairs([("a", "x"), ("b", "x")])
    inventory = tmp_path / "brokers.csv"
    inventory.write_text("node,host,port\na,127.0.0.1,1883\nb,127.0.0.1,1884\n")
    mw.deploy_mosquitto(mw.design(workload), inventory, tmp_path / "conf")
    for node, port in (("a", 1883), ("b", 1884)):
        own = tmp_path / node / "mosquitto.conf"
        own.parent.mkdir()
        own.write_text(
            f"listener {port} 127.0.0.1\nallow_anonymous true\ninclude_dir {own.parent}/conf.d\n"
        )
        (own.parent / "conf.d").mkdir()
        piece = tmp_path / "conf" / node
        assert mw.deploy_merge(piece, own, dry_run=True).changes
        assert not list((own.parent / "conf.d").iterdir())
        mw.deploy_merge(piece, own)
        assert list((own.parent / "conf.d").iterdir())
    places = {node: tmp_path / node / "mosquitto.conf" for node in "ab"}
    assert mw.deploy_check(tmp_path / "conf", places).errors == []
    (tmp_path / "a.log").write_text("1: client 0 x\n1: client 0 y\n")
    found = mw.watch(tmp_path / "conf", [tmp_path / "a.log"])
    assert [(one.broker, one.topic) for one in found.differences] == [("a", "y")]
