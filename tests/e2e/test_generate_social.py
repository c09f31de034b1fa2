"""``generate social`` as a user types it: the manifest, and refusals before Spark starts."""

import json
from pathlib import Path

import pytest

from tests.e2e.in_process import run_in_process


def test_json_is_the_manifest_of_the_users_made(spark, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    sizes = ("--nodes", "500", "--mean-degree", "9", "--communities", "40", "--seed", "3")
    words = ("generate", "social", "-o", "w", *sizes, "--directed", "--json")
    code, out, err = run_in_process(monkeypatch, capsys, *words)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found == json.loads(Path("w/manifest.json").read_text())
    assert found["n_nodes"] == found["n_topics"] == 500
    assert found["n_communities"] == pytest.approx(40, abs=4)
    asked = {"nodes": 500, "communities": 40, "directed": True, "reciprocity": 0.5, "seed": 3}
    assert asked.items() <= found["parameters"].items()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--nodes 100", "Missing option '--mean-degree'"),
        ("--nodes 100 --mean-degree lots", "Invalid value for '--mean-degree'"),
        ("--nodes 100 --mean-degree 50", "error: mean_degree is 50; give 0.001 to"),
        ("--nodes 100 --mean-degree 5 --communities 90000", "error: communities is 90,000; 100"),
        ("--nodes 100 --mean-degree 5 --reciprocity 0.1", "error: reciprocity belongs to --dir"),
    ],
)
def test_bad_arguments_end_with_2_before_spark_starts(
    tmp_path, monkeypatch, capsys, words, message
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("meshwright.runtime.session.spark_session", None)  # it must not be called
    words = ("generate", "social", "-o", "w", *words.split())
    code, out, err = run_in_process(monkeypatch, capsys, *words)
    assert (code, out) == (2, "")
    assert message in " ".join(err.replace("│", " ").split())
    assert list(tmp_path.iterdir()) == []
