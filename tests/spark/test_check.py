"""`check` finds what an overlay really is, whatever its manifest says."""

import json

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest

import meshwright as mw
from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.model.overlay import Overlay
from meshwright.overlay import design
from meshwright.overlay.check import check
from meshwright.overlay.dataset import write_overlay
from meshwright.storage import write_table
from tests.datasets import read_table, write_instance


def crowd(n_nodes=40, n_topics=15, wanted=4, seed=5):
    rng = np.random.default_rng(seed)
    return Instance.from_pairs(
        (f"node-{v}", f"topic-{t}")
        for v in range(n_nodes)
        for t in rng.choice(n_topics, wanted, replace=False)
    )


@pytest.fixture(scope="module")
def workload(tmp_path_factory):
    return write_instance(crowd(), tmp_path_factory.mktemp("check") / "workload")


def sub_overlay(overlay, topic):
    instance = overlay.instance
    graph = nx.Graph()
    graph.add_nodes_from(v for v in range(instance.n_nodes) if topic in instance.topics_of(v))
    graph.add_edges_from((u, v) for u, v in overlay.edge_list() if u in graph and v in graph)
    return graph


def assert_losses(found, overlay, graphs):
    """Assert what the loss of each node splits, by taking the node out and looking."""

    def parts(graph):
        return nx.number_connected_components(graph)

    splits = {
        name: sum(
            v in graph and parts(graph.subgraph(set(graph) - {v})) > parts(graph) - (not graph[v])
            for graph in graphs
        )
        for v, name in enumerate(overlay.instance.node_names)
    }
    most = sorted((count for count in splits.values() if count), reverse=True)[: len(found.worst)]
    assert [topics for _, topics, _, _ in found.worst] == most
    assert all(splits[name] == topics for name, topics, _, _ in found.worst)
    assert found.n_split == sum(bool(list(nx.articulation_points(graph))) for graph in graphs)


def diameters(graph):
    return [nx.diameter(graph.subgraph(part)) for part in nx.connected_components(graph)]


@pytest.mark.parametrize(
    ("method", "parameters"), [("gm", {}), ("cd2", {}), ("gpm", {"max_degree": 2}), ("star", {})]
)
def test_check_agrees_with_networkx(spark, tmp_path, workload, method, parameters):
    overlay = design(Instance.load(workload), method, **parameters)
    write_overlay(overlay, tmp_path / "overlay", workload)
    found = check(spark, tmp_path / "overlay")
    graphs = [sub_overlay(overlay, topic) for topic in range(15)]
    assert found.findings == ()
    assert found.n_disconnected == sum(not nx.is_connected(graph) for graph in graphs)
    assert found.connected == (found.n_disconnected == 0)
    assert found.diameter == (max(max(diameters(g)) for g in graphs),) * 2
    assert_losses(found, overlay, graphs)
    whole = [max(diameters(g)) for g in graphs if nx.is_connected(g)]
    assert found.diameters == tuple((d, whole.count(d)) for d in sorted(set(whole)))
    assert found.support == pytest.approx(overlay.support)
    assert found.max_degree == overlay.max_degree


def test_the_answer_does_not_depend_on_how_the_topics_are_cut(spark, tmp_path, workload):
    write_overlay(design(Instance.load(workload), "gpm", max_degree=2), tmp_path / "o", workload)
    one, many = (check(spark, tmp_path / "o", part=part) for part in (1_000_000, 20))
    assert one == many
    assert list(tmp_path.iterdir()) == [tmp_path / "o"]  # what was shipped is gone


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        ("support", 0.75),
        ("connected", False),
        ("max_degree", 2),
        ("n_edges", 7),
        ("average_degree", 1.5),
        ("n_disconnected", 3),
        ("median_degree", 9.5),
        ("disconnected", ["topic-1"]),
    ],
)
def test_a_false_claim_is_found(spark, tmp_path, workload, claim, value):
    write_overlay(design(Instance.load(workload), "gm"), tmp_path / "overlay", workload)
    path = tmp_path / "overlay" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest[claim] = value
    path.write_text(json.dumps(manifest))
    findings = check(spark, tmp_path / "overlay").findings
    assert len(findings) == 1
    assert str(value) in findings[0]


def rows_of(table, overlay):
    return read_table(overlay, table).to_pydict()


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ({"u": 1, "v": 0}, "1 edges are not given as u < v"),
        ({"u": 1, "v": 1}, "1 edges are not given as u < v"),
        ({"v": 40}, "1 edges have an end that is not a node id (0-39)"),
        ({"rank": 1}, "the ranks are not 0.."),
    ],
)
def test_a_bad_table_of_edges_is_found(spark, tmp_path, workload, change, finding):
    path = tmp_path / "overlay"
    write_overlay(design(Instance.load(workload), "gm"), path, workload)
    edges = rows_of("edges", path)
    for column, value in change.items():
        edges[column][0] = value
    schema = read_table(path, "edges").schema
    write_table(path / "edges.parquet", pa.table(edges, schema=schema))
    findings = check(spark, path).findings
    assert [reported for reported in findings if reported.startswith(finding)]


def test_an_edge_listed_twice_is_found(spark, tmp_path, workload):
    path = tmp_path / "overlay"
    write_overlay(design(Instance.load(workload), "gm"), path, workload)
    edges = rows_of("edges", path)
    for end in ("u", "v"):
        edges[end][0] = edges[end][1]
    write_table(path / "edges.parquet", pa.table(edges, schema=read_table(path, "edges").schema))
    assert "1 edges are listed more than once" in check(spark, path).findings


def rewrite(path, table, **columns):
    """Replace whole columns of a table."""
    rows = read_table(path, table)
    for name, values in columns.items():
        at = rows.schema.get_field_index(name)
        rows = rows.set_column(at, name, pa.array(values, rows.schema.field(name).type))
    write_table(path / f"{table}.parquet", rows)


@pytest.mark.parametrize("method", ["gm", "sl"])
def test_ranks_in_an_order_that_does_not_give_the_gains_are_found(
    spark, tmp_path, workload, method
):
    path = tmp_path / "overlay"
    write_overlay(design(Instance.load(workload), method), path, workload)
    ranks = rows_of("edges", path)["rank"]
    rewrite(path, "edges", rank=ranks[::-1])
    (finding,) = check(spark, path).findings
    assert "edges did not join as many topics as their gain says" in finding


@pytest.mark.parametrize(
    ("bound", "value"),
    [("edges", 1000), ("max_degree", 0), ("support_with_edges", 0.5), ("support_with_degree", 0)],
)
def test_a_false_bound_is_found(spark, tmp_path, workload, bound, value):
    path = tmp_path / "overlay"
    write_overlay(design(Instance.load(workload), "gpm", max_degree=2), path, workload)
    manifest = json.loads((path / "manifest.json").read_text())
    real = manifest["bounds"][bound]
    manifest["bounds"][bound] = value
    (path / "manifest.json").write_text(json.dumps(manifest))
    findings = check(spark, path).findings
    assert findings == (f"the manifest says the bound {bound} is {value}; it is {real}",)


def test_bounds_that_are_not_claimed_are_not_missed(spark, tmp_path, workload):
    write_overlay(design(Instance.load(workload), "gm", certify=False), tmp_path / "o", workload)
    assert check(spark, tmp_path / "o").findings == ()


@pytest.mark.parametrize("column", ["subscribers", "components", "connected_share"])
def test_a_false_table_of_topics_is_found(spark, tmp_path, workload, column):
    path = tmp_path / "overlay"
    write_overlay(design(Instance.load(workload), "gpm", max_degree=2), path, workload)
    values = rows_of("topics", path)[column]
    rewrite(path, "topics", **{column: [0, *values[1:]]})
    assert check(spark, path).findings == (f"table 'topics' is wrong about {column} of 1 topics",)


def test_a_workload_that_is_not_what_its_digest_says_is_damaged(spark, tmp_path):
    workload = write_instance(crowd(), tmp_path / "w")
    write_overlay(design(Instance.load(workload), "gm"), tmp_path / "o", workload)
    rewrite(workload, "nodes", name=sorted(f"peer-{v}" for v in range(40)))
    with pytest.raises(InputError, match="is damaged: its content has another digest"):
        check(spark, tmp_path / "o")


def test_an_overlay_of_nobody_is_checked_too(spark, tmp_path):
    nobody = Instance.from_pairs([])
    write_overlay(design(nobody, "gm"), tmp_path / "o", write_instance(nobody, tmp_path / "w"))
    found = check(spark, tmp_path / "o")
    assert (found.findings, found.connected, found.n_edges) == ((), True, 0)


def test_forged_gains_are_found(spark, tmp_path, workload):
    honest = design(Instance.load(workload), "gm")
    forged = Overlay(honest.instance, honest.edges, honest.gains + 1, "gm", bounds=honest.bounds)
    write_overlay(forged, tmp_path / "overlay", workload)
    findings = check(spark, tmp_path / "overlay").findings
    assert [finding for finding in findings if "the gains of the edges sum to" in finding]


def test_property_1_is_checked_of_small_worlds_and_of_nothing_else(spark, tmp_path, workload):
    instance, path = Instance.load(workload), tmp_path / "overlay"
    write_overlay(mw.design(instance, "sl"), path, workload)
    good = check(spark, path)
    assert good.findings == ()
    assert good.property_1 is True
    ring = read_table(path, "ring")
    twice = pa.array([ring.column("node")[1].as_py(), *ring.column("node").to_pylist()[1:]])
    write_table(path / "ring.parquet", ring.set_column(1, "node", twice.cast(pa.int32())))
    bad = check(spark, path)
    assert bad.property_1 is False
    assert [finding for finding in bad.findings if "2 times, not once" in finding]


def test_a_small_world_that_lost_its_ring_is_found(spark, tmp_path, workload):
    world = mw.design(Instance.load(workload), "none")
    bare = Overlay(world.instance, world.edges, world.gains, "none", bounds=world.bounds)
    write_overlay(bare, tmp_path / "overlay", workload)
    found = check(spark, tmp_path / "overlay")
    assert found.findings == ("by its method it is a small world, but it has no ring",)
