"""design --survive from the command line, and what it refuses."""

import json

import pytest

from meshwright.model.instance import Instance
from tests.datasets import write_instance
from tests.e2e.in_process import run_in_process

PAIRS = [(f"edge-{i}", f"plant/{t}") for i in range(6) for t in (i, i + 1, 9)]


@pytest.fixture
def meshwright(spark, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_instance(Instance.from_pairs(PAIRS), tmp_path / "w")
    return lambda *words: run_in_process(monkeypatch, capsys, *words)


@pytest.mark.parametrize("method", ["gm", "minmax", "refined"])
def test_a_survivable_design_shows_its_price_and_is_checked(meshwright, tmp_path, method):
    code, out, errors = meshwright("design", "w", "-o", "o", "-m", method, "--survive", "1")
    assert code == 0, errors
    assert "survives the loss of any one node: no topic is split" in out
    assert "The price: 6 links instead of 5, and a maximum degree of 2 instead of" in out
    assert all(len(line) <= 80 for line in out.splitlines())
    code, out, errors = meshwright("check", "o")
    assert code == 0, errors
    assert "nothing: whichever node is lost, the others reach each other as before" in out
    manifest = json.loads((tmp_path / "o" / "manifest.json").read_text())
    assert manifest["parameters"]["survive"] == 1
    assert manifest["n_not_surviving"] == 0


def test_check_names_the_worst_nodes_of_any_overlay(meshwright):
    assert meshwright("design", "w", "-o", "o")[0] == 0
    code, out, errors = meshwright("check", "o")
    assert code == 0, errors
    assert "losing edge-2 would split 1 topic and cut off 5 subscriptions" in out
    assert all(len(line) <= 80 for line in out.splitlines())


def test_a_false_claim_to_survive_is_found(meshwright, tmp_path):
    assert meshwright("design", "w", "-o", "o")[0] == 0
    path = tmp_path / "o" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["parameters"]["survive"] = 1
    path.write_text(json.dumps({**manifest, "n_not_surviving": 0, "not_surviving": []}))
    code, _, errors = meshwright("check", "o")
    assert code == 1
    assert "the manifest says n_not_surviving is 0; it is 1" in errors


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-m", "cd", "--survive", "1"), "cd does not know survive; gm, minmax, refined do."),
        (("-m", "exact", "--survive", "1"), "exact does not know survive"),
        (("--survive", "9"), "survive is 9; give a whole number from 0 to 8."),
        (("--survive", "-1"), "survive is -1; give a whole number from 0 to 8."),
        (("--survive", "1", "--engine", "spark"), "engine spark does not design for failures"),
    ],
)
def test_what_survive_cannot_do_is_refused_by_name(meshwright, tmp_path, words, message):
    code, _, errors = meshwright("design", "w", "-o", "o", *words)
    assert code == 2
    assert message in errors
    assert not (tmp_path / "o").exists()


def test_limits_that_are_too_tight_are_named(meshwright, tmp_path):
    (tmp_path / "limits.csv").write_text("node,max_degree\nedge-0,1\n")
    words = ("design", "w", "-o", "o", "--survive", "1", "--limits", "limits.csv")
    code, _, errors = meshwright(*words)
    assert code == 1
    assert "'edge-0' may have 1 links and needs at least 2" in errors


def test_pairs_that_leave_a_topic_without_a_second_way_are_named(meshwright, tmp_path):
    rows = [f"edge-0,edge-{i},no" for i in range(2, 6)]
    (tmp_path / "links.csv").write_text("\n".join(["a,b,allowed", *rows]))
    words = ("design", "w", "-o", "o", "--survive", "1", "--links", "links.csv")
    code, _, errors = meshwright(*words)
    assert code == 1
    assert "'edge-0' may be linked to nobody who carries 'plant/9 without edge-1'" in errors
