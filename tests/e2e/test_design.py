"""design, check and export from the command line, as a user runs them."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from meshwright.model.instance import Instance
from meshwright.storage import write_table
from meshwright.workload.write import write_workload
from tests.datasets import read_table, write_instance
from tests.e2e.in_process import run_in_process

PAIRS = [(f"edge-{i}", f"plant/{t}") for i in range(6) for t in (i, (i + 1) % 6, 7)]


def process(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "meshwright", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture
def meshwright(spark, tmp_path, monkeypatch, capsys):
    """Run a command in this process, in the directory of the test."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(words, *run_in_process(monkeypatch, capsys, *words))

    return run


@pytest.fixture
def workload(tmp_path):
    return write_instance(Instance.from_pairs(PAIRS), tmp_path / "w")


def test_design_check_export(tmp_path, workload):
    designed = process("design", "w", "-o", "o", "--method", "gm", cwd=tmp_path)
    assert designed.returncode == 0, designed.stderr
    assert "every topic's subscribers are joined without relays" in designed.stdout
    assert all(len(line) <= 80 for line in designed.stdout.splitlines())
    checked = process("check", "o", cwd=tmp_path)
    assert checked.returncode == 0, checked.stderr
    assert "all claims of the manifest hold" in checked.stdout
    exported = process("export", "o", "--to", "csv", "-o", "links.csv", cwd=tmp_path)
    assert exported.returncode == 0, exported.stderr
    assert (tmp_path / "links.csv").read_text().startswith("u,v,rank,gain\nedge-")


def test_a_design_counts_relays_and_says_what_it_costs_that_anyone_may_publish(
    meshwright, tmp_path
):
    edges = [f"edge-{i}" for i in range(1, 7)]
    published = [(edge, f"dev/{edge}/telemetry") for edge in edges]
    wanted = [("cloud-1", "dev/+/telemetry"), ("cloud-2", "#")]
    write_workload(Instance.from_pairs(wanted, publications=published), tmp_path / "w")
    words = ("design", "w", "-o", "o", "--assume-publishers", "anyone")
    designed = meshwright(*words)
    assert designed.returncode == 0, designed.stderr
    assert all(len(line) <= 80 for line in designed.stdout.splitlines())
    assert "assumed: anyone may publish; ingest --publications says who does" in designed.stdout
    assert "joined without relays" not in designed.stdout
    facts = json.loads(meshwright(*words, "--force", "--json").stdout)
    listed = json.loads(meshwright("design", "w", "-o", "listed", "--json").stdout)
    relays, without = facts["relays"], facts["without_anyone"]
    assert relays["topics"] > 0
    assert without["n_edges"] == listed["n_edges"]
    assert without["relayed"] == listed["relays"]["times"]
    said = " ".join(designed.stdout.split())
    price = f"the price: {facts['n_edges']} links instead of {without['n_edges']}, topics relayed"
    assert f"{price} {relays['times']} times instead of {without['relayed']}" in said
    assert f"joined, {relays['topics']} of them through relays: {relays['nodes']} broker" in said
    checked = meshwright("check", "o")
    assert checked.returncode == 0, checked.stderr
    manifest = next((tmp_path / "o").glob("**/manifest.json"))
    claimed = manifest.read_text()
    times = f'"times": {relays["times"]}'
    assert times in claimed
    manifest.write_text(claimed.replace(times, '"times": 0'))
    wrong = meshwright("check", "o")
    assert wrong.returncode == 1
    assert "of relays" in wrong.stderr


def test_a_design_within_limits_is_checked_against_them(meshwright, tmp_path, workload):
    (tmp_path / "limits.csv").write_text("node,max_degree,role\nedge-0,,leaf\nedge-1,4,relay\n")
    (tmp_path / "links.csv").write_text("a,b,allowed,dial\nedge-5,edge-3,no,\nedge-4,edge-5,,b\n")
    options = ("--limits", "limits.csv", "--links", "links.csv")
    designed = meshwright("design", "w", "-o", "o", *options)
    assert designed.returncode == 0, designed.stderr
    assert "obeys 3 leaves of topics, 2 limits of nodes, 2 listed pairs" in designed.stdout
    assert all(len(line) <= 80 for line in designed.stdout.splitlines())
    checked = meshwright("check", "o")
    assert checked.returncode == 0, checked.stderr
    rows = read_table(tmp_path / "o", "limits").to_pylist()
    rows[1]["max_degree"] = 1
    write_table(next((tmp_path / "o").rglob("limits.parquet")), pa.Table.from_pylist(rows))
    checked = meshwright("check", "o")
    assert checked.returncode == 1
    assert "'edge-1' has" in checked.stderr
    assert "its limit is 1" in checked.stderr


def test_a_design_that_finds_no_plan_within_limits_ends_with_1(meshwright, tmp_path, workload):
    rows = "".join(f"edge-{i},3\n" for i in range(5)) + "edge-5,1\n"
    (tmp_path / "limits.csv").write_text(f"node,max_degree\n{rows}")
    stuck = meshwright("design", "w", "-o", "o", "--limits", "limits.csv")
    assert stuck.returncode == 1
    assert "no plan within these limits" in stuck.stderr
    refused = meshwright("design", "w", "-o", "o2", "--limits", "limits.csv", "--engine", "spark")
    assert refused.returncode == 2
    assert "engine spark does not obey leaves, limits or links" in refused.stderr


def test_a_false_manifest_ends_check_with_1(meshwright, tmp_path, workload):
    meshwright("design", "w", "-o", "o")
    path = tmp_path / "o" / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, "support": 0.5}))
    checked = meshwright("check", "o")
    assert checked.returncode == 1
    assert "the manifest says support is 0.5; it is 1.0" in checked.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "minmix"], "did you mean 'minmax'?"),
        (["--method", "gpm", "--max-degree", "0"], "max_degree is 0"),
        (["--method", "gpm", "--max-degree", "-2"], "max_degree is -2"),
        (["--method", "gpa"], "gpa needs a budget"),
    ],
)
def test_bad_arguments_end_with_2_and_write_nothing(meshwright, workload, arguments, message):
    ended = meshwright("design", "w", "-o", "o", *arguments)
    assert ended.returncode == 2
    assert message in ended.stderr
    assert not Path("o").exists()


def test_a_partial_plan_is_no_error_and_says_what_is_left_apart(meshwright, tmp_path, workload):
    ended = meshwright("design", "w", "-o", "o", "-m", "gpm", "--max-degree", "1")
    assert ended.returncode == 0, ended.stderr
    assert "topics are not connected within this budget" in ended.stdout
    assert "plant/0" in ended.stdout


def test_json_is_the_manifest(meshwright, tmp_path, workload):
    ended = meshwright("design", "w", "-o", "o", "--json")
    assert json.loads(ended.stdout)["method"] == "gm"
    again = meshwright("design", "w", "-o", "o")
    assert again.returncode == 2
    assert "exists. Pass --force to replace it" in again.stderr


@pytest.mark.parametrize(
    "arguments",
    [["sl"], ["s", "--fingers", "random", "--seed", "7"], ["l", "--seed", "7"], ["none"]],
    ids=lambda arguments: arguments[0],
)
def test_small_worlds_are_designed_with_ring_and_fingers(meshwright, tmp_path, workload, arguments):
    designed = meshwright("design", "w", "-o", "o", "--method", *arguments)
    assert designed.returncode == 0, designed.stderr
    assert "a ring, and 3 fingers per node" in designed.stdout
    assert (tmp_path / "o" / "ring.parquet").is_file()
    assert (tmp_path / "o" / "fingers.parquet").is_file()
    exported = meshwright("export", "o", "--to", "csv")
    assert exported.returncode == 0, exported.stderr
    manifest = json.loads((tmp_path / "o" / "manifest.json").read_text())
    assert manifest["rows"]["ring"] == 6
    assert manifest["seed"] == (7 if "7" in arguments else 1)
    lines = (tmp_path / "o.csv").read_text().splitlines()
    assert len(lines) == manifest["n_edges"] + 1


def test_check_verifies_property_1(meshwright, tmp_path, workload):
    designed = meshwright("design", "w", "-o", "o", "--method", "sl")
    assert designed.returncode == 0, designed.stderr
    checked = meshwright("check", "o")
    assert checked.returncode == 0, checked.stderr
    assert "the ring visits each node once, and every finger is within its" in checked.stdout
    assert "all claims of the manifest hold" in checked.stdout
    fingers = read_table(tmp_path / "o", "fingers")
    wrong = pa.array([0, *fingers.column("finger").to_pylist()[1:]], pa.int32())
    write_table(tmp_path / "o" / "fingers.parquet", fingers.set_column(2, "finger", wrong))
    refused = meshwright("check", "o")
    assert refused.returncode == 1
    assert "'edge-0': the finger of phase 0 leads to 'edge-0', 0 away" in refused.stderr
    assert "it must be 1 to 1 away" in refused.stderr


def test_bad_fingers_end_with_2(meshwright, tmp_path, workload):
    ended = meshwright("design", "w", "-o", "o", "-m", "sl", "--fingers", "chord")
    assert ended.returncode == 2
    assert "sl does not take fingers" in ended.stderr
