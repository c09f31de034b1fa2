"""Methods, budgets, overlays on disk and their exports: the rules and the messages."""

import csv
import json
import re
import xml.etree.ElementTree as ElementTree

import networkx as nx
import numpy as np
import pytest

import meshwright as mw
from meshwright.cli.design import announcement
from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.model.overlay import Overlay
from meshwright.overlay import design
from meshwright.overlay.dataset import load_overlay, write_overlay
from meshwright.overlay.export import export
from meshwright.overlay.methods import METHODS
from meshwright.overlay.methods.baselines import full_mesh
from meshwright.workload.forecast import BYTES_PER_NODE, forecast
from tests.datasets import write_instance
from tests.naive import overlays
from tests.strategies import instance_of

PAIRS = [("a", "x"), ("b", "x"), ("b", "y"), ("c", "y"), ("d", "x"), ("d", "y")]


@pytest.fixture
def instance():
    return Instance.from_pairs(PAIRS)


@pytest.fixture
def workload(tmp_path, instance):
    return write_instance(instance, tmp_path / "workload")


def test_an_unknown_method_is_refused_with_the_nearest_one(instance):
    with pytest.raises(InputError, match="unknown method 'minmix'; did you mean 'minmax'"):
        design(instance, "minmix")


@pytest.mark.parametrize("value", [0, -3, 2.5, True, 2**40])
@pytest.mark.parametrize(("method", "name"), [("gpa", "max_edges"), ("gpm", "max_degree")])
def test_an_absurd_budget_is_refused_and_quoted(instance, method, name, value):
    with pytest.raises(InputError, match=f"{name} is {value}; give a whole number"):
        design(instance, method, **{name: value})


@pytest.mark.parametrize(
    ("method", "parameters", "message"),
    [
        ("gpm", {}, "gpm needs a budget: give max_degree"),
        ("gpa", {}, "gpa needs a budget: give max_edges"),
        ("gm", {"max_degree": 3}, "gm does not take max_degree; it takes ties"),
        ("gm", {"ties": "name"}, "unknown ties 'name'"),
        ("low", {"k": 0.5}, "k is 0.5; give a number from 1 to 1,000"),
        ("low", {"k": 1e308}, "k is 1e\\+308; give a number from 1 to 1,000"),
        ("low", {"k": float("nan")}, "k is nan; give a number from 1"),
        ("gpa", {"average_degree": 1e308}, "average_degree is 1e\\+308; give .* 2,147,483,647 at"),
        ("gpm", {"budget_ratio": 1e308}, "budget_ratio is 1e\\+308; give a number above 0, 2,"),
        ("low", {"k": float("nan")}, "k is nan"),
        ("spidercast", {"seed": -1}, "seed is -1"),
        ("spidercast", {"k_greedy": -1}, "k_greedy is -1"),
        ("spidercast", {"until": "done"}, "unknown until 'done'"),
        ("spidercast", {"until": "full"}, "until 'full' needs max_degree"),
        ("gpa", {"average_degree": 0}, "average_degree is 0; give a number above 0"),
        ("gpa", {"average_degree": 2, "max_edges": 3}, "give one budget"),
        ("gpa", {"budget_ratio": -1}, "budget_ratio is -1"),
        ("gm", {"budget_ratio": 0.5}, "gm takes no budget"),
        ("gmm", {"budget_ratio": 0.5}, "did you mean 'gm'"),
        ("gpm", {"max_degree": 2, "equal_edges": True}, "equal_edges goes with budget_ratio"),
        ("gpm", {"max_degree": 2, "budget_counts": "all"}, "budget_counts goes with budget_ratio"),
        ("gpm", {"budget_ratio": 1, "budget_counts": "gain"}, "Choose from: all, gaining"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(instance, method, parameters, message):
    with pytest.raises(InputError, match=message):
        design(instance, method, **parameters)


def test_average_degree_is_a_budget_of_edges(instance):
    overlay = design(instance, "gpa", average_degree=1.0)
    assert overlay.n_edges == 2
    assert overlay.parameters["max_edges"] == 2


@pytest.mark.parametrize("counts", ["all", "gaining"])
def test_budget_ratio_takes_shares_of_what_minmax_needs(counts):
    rng = np.random.default_rng(3)
    interest = {v: set(rng.choice(16, 4, replace=False).tolist()) for v in range(16)}
    instance = instance_of(interest)
    twins = {"all": overlays.minmax_with_idle_edges, "gaining": overlays.minmax}
    whole = twins[counts](interest)
    m, d = len(whole) // 2, max(overlays.degrees(interest, whole).values()) // 2
    asked = {"budget_ratio": 0.5, "budget_counts": counts}
    assert design(instance, "gpa", **asked).parameters["max_edges"] == m
    assert design(instance, "random-average", **asked).n_edges == m
    for method in ("gpm", "spidercast", "random-max"):
        free = design(instance, method, **asked)
        assert free.parameters["max_degree"] == d
        assert free.max_degree <= d
        equal = design(instance, method, equal_edges=True, **asked)
        assert equal.n_edges <= m
        assert equal.edge_list() == free.edge_list()[: equal.n_edges]


def test_budget_ratio_counts_links_of_gain_0_unless_asked_otherwise():
    # Phase 1 links a and b, and as links of gain 0 the nodes c and d, e and f; phase 2 reaches c.
    instance = Instance.from_pairs(zip("abc", "xxx", strict=True), nodes=list("abcdef"))
    default, all_links, gaining = (
        design(instance, "gpa", budget_ratio=1, budget_counts=counts).parameters
        for counts in (None, "all", "gaining")
    )
    assert default == all_links
    assert all_links["max_edges"] > gaining["max_edges"]


@pytest.mark.parametrize("method", list(METHODS))
def test_every_method_gives_legal_edges_with_a_certificate(instance, method):
    budget = METHODS[method].budget
    overlay = mw.design(instance, method=method, **({budget: 2} if budget else {}))
    certificate = overlay.certificate()
    assert certificate["n_edges"] == overlay.n_edges == len(overlay.edge_list())
    assert overlay.degrees.sum() == 2 * overlay.n_edges
    assert certificate["connected"] == (mw.disconnected_topics(overlay) == [])
    assert overlay.gains.sum() == sum(
        len([v for v in range(4) if t in instance.topics_of(v)]) - int(overlay.components[t])
        for t in range(2)
    )


def test_a_partial_overlay_names_the_topics_left_apart(instance):
    overlay = design(instance, "gpa", max_edges=1)
    assert mw.disconnected_topics(overlay) == ["x", "y"]
    assert overlay.support == 0.5


def test_an_instance_without_anything_to_connect_has_support_1():
    for pairs, nodes in (([], []), ([], ["a"]), ([("a", "x"), ("b", "y")], [])):
        overlay = design(Instance.from_pairs(pairs, nodes=nodes), "gm")
        assert (overlay.n_edges, overlay.support, overlay.connected) == (0, 1.0, True)
        assert overlay.bounds.edges == overlay.bounds.max_degree == 0


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([[0, 9]], "is not a node id \\(0-3\\)"),
        ([[1, 0]], "u < v"),
        ([[0, 1], [0, 1]], "listed twice"),
    ],
)
def test_illegal_edges_are_refused(instance, edges, message):
    with pytest.raises(InputError, match=message):
        Overlay(instance, np.array(edges), np.zeros(len(edges), dtype=np.int32), "gm")


def test_a_full_mesh_too_large_to_list_is_refused():
    large = Instance.from_arrays(np.zeros(20_001, dtype=np.int64), np.array([], dtype=np.int32))
    with pytest.raises(InputError, match=r"a full mesh of 20,000 nodes has 199,990,000 links"):
        full_mesh(large)


@pytest.mark.parametrize(
    ("incidences", "text"),
    [
        (10_000_000_000, r"^about 3 minutes expected for 10,000,000,000 incidences$"),
        (1_000_000_000_000, r"^about 4 hours expected .*; Ctrl-C stops it, and `meshwright sa"),
    ],
)
def test_a_long_design_is_announced_and_a_very_long_one_with_advice(incidences, text):
    assert re.search(text, announcement(forecast(1000, 10_000, incidences)))


def test_the_forecast_counts_the_table_of_pairs_where_interests_are_dense():
    # Two bytes for each pair, if they take at most 64 for each subscription.
    dense, sparse = forecast(641, 6_410, 0), forecast(642, 6_410, 0)
    assert dense.memory_bytes - sparse.memory_bytes == 641 * 640 - BYTES_PER_NODE


def test_an_overlay_survives_the_disk(tmp_path, instance, workload):
    overlay = design(instance, "gpm", max_degree=1)
    manifest = write_overlay(overlay, tmp_path / "overlay", workload)
    again = load_overlay(tmp_path / "overlay")
    assert again.edge_list() == overlay.edge_list()
    assert again.gains.tolist() == overlay.gains.tolist()
    assert again.bounds == overlay.bounds
    assert manifest["support"] == overlay.support
    assert manifest["disconnected"] == mw.disconnected_topics(overlay)


@pytest.mark.parametrize("bounds", [{}, {"edges": 1}, {"edges": 1, "links": 2}])
def test_bounds_of_other_names_are_damage(tmp_path, instance, workload, bounds):
    write_overlay(design(instance, "gm"), tmp_path / "overlay", workload)
    path = tmp_path / "overlay" / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "bounds": bounds}))
    with pytest.raises(InputError, match=r"its bounds are .*, not edges, max_degree, "):
        load_overlay(tmp_path / "overlay")


def test_an_overlay_finds_its_workload_when_both_have_moved(tmp_path, instance, workload):
    write_overlay(design(instance, "gm"), tmp_path / "overlay", workload)
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    workload.rename(moved / "workload")
    with pytest.raises(InputError, match="Name it with --workload"):
        load_overlay(tmp_path / "overlay")
    assert load_overlay(tmp_path / "overlay", moved / "workload").n_edges == 3
    (tmp_path / "overlay").rename(moved / "overlay")
    assert load_overlay(moved / "overlay").n_edges == 3


def test_an_overlay_of_another_workload_is_refused(tmp_path, instance, workload):
    write_overlay(design(instance, "gm"), tmp_path / "overlay", workload)
    other = write_instance(Instance.from_pairs(PAIRS[:-1]), tmp_path / "other")
    with pytest.raises(InputError, match="was made for another workload"):
        load_overlay(tmp_path / "overlay", other)


def test_a_workload_of_another_version_is_refused(tmp_path, workload):
    manifest = json.loads((workload / "manifest.json").read_text())
    manifest["format_version"] = 99
    (workload / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(
        InputError, match="format version 99; this Meshwright reads versions 1 to 2"
    ):
        Instance.load(workload)


def test_exports_keep_names_whatever_they_hold(tmp_path):
    names = ['say "hi"', "a,b", "<script>&amp;", "back\\slash", "größe"]
    instance = Instance.from_pairs([(name, "topic") for name in names])
    overlay = design(instance, "gm")
    rows = list(csv.reader(export(overlay, tmp_path / "o.csv", to="csv").open(encoding="utf-8")))
    assert {name for row in rows[1:] for name in row[:2]} == set(names)
    graph = nx.read_graphml(export(overlay, tmp_path / "o.graphml", to="graphml"))
    assert {data["name"] for _, data in graph.nodes(data=True)} == set(names)
    assert graph.number_of_edges() == overlay.n_edges
    ElementTree.parse(tmp_path / "o.graphml")
    dot = export(overlay, tmp_path / "o.dot", to="dot").read_text(encoding="utf-8")
    assert '"say \\"hi\\"";' in dot
    assert dot.count(" -- ") == overlay.n_edges


def test_exports_are_not_overwritten_unless_asked(tmp_path, instance):
    overlay = design(instance, "gm")
    export(overlay, tmp_path / "o.csv", to="csv")
    with pytest.raises(InputError, match=r"exists\. Pass --force"):
        export(overlay, tmp_path / "o.csv", to="csv")
    export(overlay, tmp_path / "o.csv", to="csv", force=True)
    with pytest.raises(InputError, match="unknown export format 'svg'"):
        export(overlay, tmp_path / "o.svg", to="svg")
