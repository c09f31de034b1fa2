"""simulate from the command line: what it prints, writes and refuses."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from meshwright.model.instance import Instance
from meshwright.model.small_world import small_world
from meshwright.overlay import design
from meshwright.overlay.dataset import write_overlay
from meshwright.smallworld.methods import chord_fingers, random_ring
from meshwright.smallworld.routing.simulate import simulate
from meshwright.workload.write import write_workload
from tests.datasets import read_table, write_instance
from tests.e2e.in_process import run_in_process

PAIRS = [(f"edge-{i:02}", f"plant/{t}") for i in range(20) for t in (i % 7, (3 * i + 1) % 7)]


@pytest.fixture
def world(tmp_path, monkeypatch):
    """A small world at `world`, a plan without a ring at `plan`, in the directory we are in."""
    monkeypatch.chdir(tmp_path)
    instance = Instance.from_pairs(PAIRS)
    write_instance(instance, Path("w"))
    made = small_world(instance, random_ring(20, 2), chord_fingers(20), method="none", seed=2)
    write_overlay(made, "world", "w")
    write_overlay(design(instance, "star", certify=False), "plan", "w")
    return made


@pytest.fixture
def run(monkeypatch, capsys):
    """Run `simulate` in this process, on the session that is up."""
    return partial(run_in_process, monkeypatch, capsys, "simulate")


def test_a_run_is_printed_beside_scribe(spark, world, run):
    code, out, err = run(
        "world", "-o", "r", "--routing", "pie", "--against", "scribe", "--seed", "3"
    )
    assert (code, err) == (0, "")
    ref, other = (simulate(world, r, seed=3).totals for r in ("pie", "scribe"))
    rows = {line[:21].strip(): line[21:].split() for line in out.splitlines()}
    assert rows["overhead"] == [
        f"{ref['overhead']:,}",
        f"{other['overhead']:,}",
        f"{ref['overhead'] / other['overhead']:.3f}",
    ]
    assert rows["mean path"][2] == f"{ref['hops_mean'] / other['hops_mean']:.3f}"
    assert rows["share of busiest 1%"][0] == f"{ref['busiest_share']:.1%}"
    assert f"{world.n_edges:,}, at most {world.max_degree} of a node" in out
    assert "busiest nodes" in out
    assert all(len(line) <= 80 for line in out.splitlines())


def test_json_is_the_manifest_and_weights_are_read(spark, world, run):
    Path("rates.csv").write_text("topic,weight\nplant/1,2\nplant/5,0.5\n")
    words = ("world", "-o", "r", "-r", "po", "-n", "50", "--weights", "rates.csv", "--json")
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found == json.loads(Path("r/manifest.json").read_text())
    ref = simulate(world, "po", publications=50, weights={"plant/1": 2, "plant/5": 0.5})
    assert found["digest"] == ref.digest
    assert np.unique(read_table(Path("r"), "publications").column("topic")).tolist() == [1, 5]
    assert run(*words)[0] == 2  # it exists
    assert run(*words, "--force")[0] == 0


def test_the_busiest_links_and_nodes_are_named_where_the_workload_has_rates(
    spark, tmp_path, monkeypatch, run
):
    monkeypatch.chdir(tmp_path)
    wanted = [("cloud", "temp"), ("log", "temp"), ("log", "door")]
    published = [("edge", "temp", 2.0, 100), ("edge", "door", 0.5, 8), ("cloud", "temp")]
    write_workload(Instance.from_pairs(wanted, publications=published), "w")
    write_overlay(design(Instance.load("w"), "gm", certify=False), "o", "w")
    code, out, err = run("o", "-o", "r", "-n", "20", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)["traffic"]
    # temp to both others, door to one of them
    assert (found["messages"], found["bytes"]) == (2 * 2.0 + 0.5, 2 * 200.0 + 4.0)
    assert found["n_unknown"] == 1
    assert sum(row["messages"] for row in found["links"]) == 4.5
    busiest = found["nodes"][0]
    code, out, err = run("o", "-o", "r", "-n", "20", "--force")
    assert "4.5 messages and 404 bytes per second over all links" in " ".join(out.split())
    rows = {" ".join(line.split()) for line in out.splitlines()}
    link = found["links"][0]
    assert f"busiest links {' - '.join(link['ends'])} 2.5 204" in rows
    assert (link["messages"], link["bytes"]) == (2.5, 204.0)
    numbers = f"{busiest['messages']:.4g} {busiest['bytes']:.4g}"
    assert f"busiest nodes {busiest['node']} {numbers}" in rows
    assert "publications without a rate, which are not counted: 1" in out
    assert all(len(line) <= 80 for line in out.splitlines())


@pytest.mark.parametrize("routing", [(), ("--routing", "tree")])
def test_a_plan_without_a_ring_is_flooded_by_tree(spark, world, run, routing):
    code, out, err = run("plan", "-o", "r", *routing, "-n", "20")
    assert (code, err) == (0, "")
    assert json.loads(Path("r/manifest.json").read_text())["routing"] == "tree"
    assert "subscribers of disconnected topics are missed" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("plan", "-r", "pie"),
            "pie routes on small worlds, and a star overlay has no ring. Use routing 'tree'",
        ),
        (("plan", "-r", "tree", "--against", "scribe"), "scribe routes on small worlds"),
        (("world", "-n", "0"), "publications is 0; give 1 to"),
        (("world", "-r", "pye"), "did you mean 'pie'?"),
        (("w",), "'w' is a dataset of kind 'workload'; 'overlay' is needed here"),
        (("nowhere",), "there is no dataset at 'nowhere'"),
        (("world", "--weights", "none.csv"), "there are no weights at 'none.csv'"),
        (("world", "--weights", "s.txt"), "'s.txt' is none of .csv, .tsv and .parquet"),
        (("world", "--weights", "odd.csv"), "weights name 1 unknown topics, as 'plant/77'"),
        (("world", "--weights", "twice.csv"), "gives topic 'plant/1' twice"),
        (("world", "--weights", "word.csv"), "cannot be read as weights"),
        (("world", "--weights", "gap.csv"), "has a row without a topic or a weight"),
        (("world", "--weights", "names.csv"), "has the columns topic, rate; weights need"),
        (("world", "--weights", "minus.csv"), "weights must be finite and not below 0"),
    ],
)
def test_wrong_arguments_end_with_2_and_write_nothing(spark, world, run, words, message):
    for name, rows in {
        "odd": "plant/77,1",
        "twice": "plant/1,1\nplant/1,2",
        "word": "plant/1,often",
        "gap": "plant/1,\nplant/2,1",
        "minus": "plant/1,-1",
    }.items():
        Path(f"{name}.csv").write_text(f"topic,weight\n{rows}\n")
    Path("names.csv").write_text("topic,rate\nplant/1,1\n")
    code, out, err = run(*words, "-o", "r")
    assert (code, out) == (2, "")
    assert message in err
    assert not Path("r").exists()
