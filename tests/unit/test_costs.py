"""What pairs cost: read, preferred among equals, counted and kept."""

import json
from functools import partial

import networkx as nx
import numpy as np
import pytest

from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.model.limits import Links
from meshwright.overlay import design
from meshwright.overlay.dataset import load_overlay, write_overlay
from meshwright.overlay.export import export
from meshwright.overlay.greedy.kernels import costs as kernel
from meshwright.overlay.limits_tables import limit_findings
from meshwright.report import document, make_report
from meshwright.storage import open_dataset
from meshwright.workload.write import write_workload
from tests.e2e.in_process import run_in_process
from tests.reports import company

FOUR = Instance.from_pairs([(node, "x") for node in "abcd"])
PRICES = [
    {"a": "a", "b": "b", "cost": "9"},
    {"a": "d", "b": "c", "cost": "1.5"},
    {"a": "a", "b": "d", "cost": "2"},
    {"a": "b", "b": "d", "cost": "3"},
]


def prices_of(instance, seed=1):
    draw = np.random.default_rng(seed)
    names = instance.node_names
    return [
        {"a": names[u], "b": names[v], "cost": round(float(draw.lognormal(3, 1)), 2)}
        for u in range(instance.n_nodes)
        for v in range(u + 1, instance.n_nodes)
    ]


def test_the_cheaper_of_equal_links_is_taken():
    overlay = design(FOUR, links=PRICES)
    assert overlay.edge_list(names=True) == [("c", "d"), ("a", "d"), ("b", "d")]
    assert overlay.link_costs.tolist() == [1.5, 2.0, 3.0]
    assert overlay.connected


def test_pairs_without_a_cost_come_after_those_with_one():
    overlay = design(FOUR, links=PRICES[:2])
    assert overlay.edge_list(names=True)[:2] == [("c", "d"), ("a", "b")]
    assert np.isnan(overlay.link_costs[2])


@pytest.mark.parametrize("method", ["gm", "minmax", "low"])
def test_plans_that_know_costs_are_cheaper_and_connect_as_much(method):
    instance = company()
    rows = prices_of(instance)
    links = Links.from_rows(rows, instance.node_names)
    blind, knowing = design(instance, method), design(instance, method, links=rows)
    assert knowing.connected
    assert knowing.link_costs.sum() < links.costs_of(blind.edges).sum()


def test_costs_that_are_all_equal_change_nothing():
    instance = company()
    same = [{**row, "cost": 7} for row in prices_of(instance)]
    for method in ("gm", "minmax", "low"):
        assert (
            design(instance, method, links=same).edge_list() == design(instance, method).edge_list()
        )


@pytest.mark.parametrize("cost", ["-1", "dear", "nan", "inf", "1e13"])
def test_a_cost_that_is_no_number_of_use_is_named_with_its_line(cost, tmp_path):
    file = tmp_path / "links.csv"
    file.write_text(f"a,b,cost\na,b,1\na,c,{cost}\n")
    with pytest.raises(InputError, match=f"line 3: cost is '{cost}'; give a number from 0 to 1e"):
        design(FOUR, links=file)


def test_more_costs_than_a_key_can_hold_are_refused(monkeypatch):
    monkeypatch.setattr(kernel, "KEY_BITS", 5)  # two bits for costs beside the degrees of 4 nodes
    with pytest.raises(InputError, match=r"4 different costs; with 4 nodes the engine can tell 3"):
        design(FOUR, links=PRICES)


def test_digests_of_links_without_costs_are_what_they_were():
    rows = [{"a": "a", "b": "b", "allowed": "no"}]
    plain = Links.from_rows(rows, "abcd")
    assert plain.cost is None
    assert plain.digest == Links(plain.pairs, plain.allowed, plain.dial).digest
    assert plain.digest != Links.from_rows([{**rows[0], "cost": 1}], "abcd").digest


@pytest.fixture
def written(tmp_path):
    write_workload(FOUR, tmp_path / "workload")
    overlay = design(FOUR, links=PRICES[1:3])
    write_overlay(overlay, tmp_path / "overlay", tmp_path / "workload")
    return tmp_path / "overlay"


def test_costs_are_kept_with_the_overlay_and_checked(written):
    manifest, read = open_dataset(written), load_overlay(written)
    assert read.link_costs[:2].tolist() == [1.5, 2.0]
    assert (manifest["cost"], manifest["n_links_without_cost"]) == (3.5, 1)
    assert limit_findings(manifest, read) == []
    file = next(written.rglob("manifest.json"))
    facts = json.loads(file.read_text())
    file.write_text(json.dumps({**facts, "cost": 3.0}))
    assert limit_findings(open_dataset(written), read) == [
        "the manifest says cost is 3.0; it is 3.5"
    ]


def test_exports_have_the_cost_of_each_link(written):
    overlay = load_overlay(written)
    text = export(overlay, written.parent / "o.csv", to="csv").read_text()
    assert text.splitlines() == ["u,v,rank,gain,cost", "c,d,0,1,1.5", "a,d,1,1,2.0", "a,b,2,1,"]
    graph = nx.read_graphml(export(overlay, written.parent / "o.graphml", to="graphml"))
    assert sorted(d.get("cost", -1) for _, _, d in graph.edges(data=True)) == [-1, 1.5, 2.0]
    dot = export(overlay, written.parent / "o.dot", to="dot").read_text()
    assert '"c" -- "d" [rank=0, gain=1, cost=1.5];' in dot
    assert overlay.to_networkx().edges["a", "d"]["cost"] == 2.0


def test_the_report_has_costs(written):
    made = make_report([written], written.parent / "r.html")
    found = made.document["sections"][0]["overlays"][0]["cost"]
    assert (found["total"], found["n_unknown"], found["of_links"]) == (3.5, 1, [1.5, 2.0, None])
    assert found["dearest"][0] == {"ends": ["a", "d"], "cost": 2.0}
    assert "Cost of links" in made.page.read_text()
    plain = design(FOUR)
    write_overlay(plain, written.parent / "plain", written.parent / "workload")
    assert document([written.parent / "plain"])["sections"][0]["overlays"][0]["cost"] is None


def test_the_verb_prints_the_cost_and_the_engine_on_spark_refuses_it(tmp_path, monkeypatch, capsys):
    run = partial(run_in_process, monkeypatch, capsys)
    workload, file = tmp_path / "w", tmp_path / "links.csv"
    write_workload(FOUR, workload)
    file.write_text("a,b,cost\nc,d,1.5\na,d,2\n")
    words = ("design", str(workload), "-o", str(tmp_path / "o"), "--links", str(file))
    code, _, err = run(*words, "--engine", "spark")
    assert code == 2
    assert "engine spark does not obey leaves, limits or links; choose driver" in err
    code, out, _ = run(*words)
    assert code == 0
    assert "cost of links   3.5" in out
    assert "links without a cost, which are not counted in it: 1" in out
    assert "the bounds leave out" not in out  # costs forbid nothing
