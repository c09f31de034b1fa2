"""Small worlds on disk: what is written, what comes back, what is refused."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.model.overlay import Overlay
from meshwright.model.small_world import SmallWorld, small_world
from meshwright.overlay import design
from meshwright.overlay.dataset import load_overlay, world_findings, write_overlay
from meshwright.smallworld.methods import chord_fingers, random_ring
from meshwright.storage import open_dataset, write_table
from tests.datasets import read_table, write_instance

SIZES = [1, 2, 3, 6, 8]


def instance_of_size(n):
    pairs = [(f"n{v}", f"t{t}") for v in range(n) for t in (v, (v + 1) % n)]
    return Instance.from_pairs(pairs)


def stored(tmp_path, n=6):
    instance = instance_of_size(n)
    workload = write_instance(instance, tmp_path / "workload")
    world = small_world(instance, random_ring(n, 1), chord_fingers(n), method="none", seed=1)
    write_overlay(world, tmp_path / "overlay", workload)
    return world, tmp_path / "overlay"


def rewrite(path, name, change):
    """Change a table, and the manifest's count of it."""
    table = change(read_table(path, name))
    write_table(path / f"{name}.parquet", table)
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["rows"][name] = table.num_rows
    (path / "manifest.json").write_text(json.dumps(manifest))


def with_value(column, row, value):
    def change(table):
        values = table.column(column).to_pylist()
        values[row] = value
        at = table.column_names.index(column)
        return table.set_column(at, column, pa.array(values, pa.int32()))

    return change


@pytest.mark.parametrize("n", SIZES)
def test_a_small_world_comes_back_as_it_was(tmp_path, n):
    world, path = stored(tmp_path, n)
    again = load_overlay(path)
    assert isinstance(again, SmallWorld)
    for name in ("ring", "fingers", "edges", "gains"):
        assert np.array_equal(getattr(world, name), getattr(again, name)), name
    assert (again.method, again.seed) == ("none", 1)
    assert world_findings(open_dataset(path), world.instance.node_names) == []


def test_the_tables_have_the_columns_of_the_design(tmp_path):
    world, path = stored(tmp_path)
    ring, fingers = read_table(path, "ring"), read_table(path, "fingers")
    assert ring.schema == pa.schema([("position", pa.int32()), ("node", pa.int32())])
    names = ["node", "phase", "finger"]
    assert fingers.schema == pa.schema([(name, pa.int32()) for name in names])
    assert (ring.num_rows, fingers.num_rows) == (6, 18)
    assert fingers.slice(5, 1).to_pylist() == [
        {"node": 1, "phase": 2, "finger": int(world.fingers[1, 2])}
    ]


def test_rows_in_another_order_are_the_same_world(tmp_path):
    world, path = stored(tmp_path)
    rewrite(path, "ring", lambda table: table.take(list(range(5, -1, -1))))
    rewrite(path, "fingers", lambda table: table.sort_by("finger"))
    again = load_overlay(path)
    assert np.array_equal(world.ring, again.ring)
    assert np.array_equal(world.fingers, again.fingers)


def test_any_other_overlay_comes_back_as_an_overlay(tmp_path):
    instance = instance_of_size(6)
    workload = write_instance(instance, tmp_path / "workload")
    write_overlay(design(instance, "gm"), tmp_path / "overlay", workload)
    again = load_overlay(tmp_path / "overlay")
    assert type(again) is Overlay
    assert world_findings(open_dataset(tmp_path / "overlay"), instance.node_names) == []


@pytest.mark.parametrize(
    ("table", "change", "words"),
    [
        ("ring", lambda t: t.slice(1), "the positions of the ring are not 0..5, each once"),
        ("ring", with_value("position", 0, 3), "the positions of the ring are not 0..5"),
        (
            "ring",
            with_value("node", 0, 9),
            "position 0 of the ring holds 9, which is not a node id",
        ),
        ("fingers", lambda t: t.slice(1), "the fingers are not one for each of 6 nodes and 3"),
        ("fingers", with_value("phase", 0, 7), "the fingers are not one for each of 6 nodes"),
        ("fingers", with_value("finger", 1, 0), "'n0': the finger of phase 1 leads to 'n0', 0"),
        (
            "edges",
            lambda t: t.slice(0, t.num_rows - 1),
            "is a link of the ring or a finger, but not an edge",
        ),
    ],
)
def test_what_lacks_property_1_is_told_and_not_loaded(tmp_path, table, change, words):
    world, path = stored(tmp_path)
    rewrite(path, table, change)
    assert words in " ".join(world_findings(open_dataset(path), world.instance.node_names))
    with pytest.raises(InputError, match=r"not a small world|is damaged|ring and fingers, and no"):
        load_overlay(path)


def test_an_edge_too_many_is_told(tmp_path):
    world, path = stored(tmp_path, 8)
    linked = set(world.edge_list())
    u, v = next((u, v) for u in range(8) for v in range(u + 1, 8) if (u, v) not in linked)
    stray = {"u": [u], "v": [v], "rank": [world.n_edges], "gain": [0]}
    more = pa.table({name: pa.array(values, pa.int32()) for name, values in stray.items()})
    rewrite(path, "edges", lambda table: pa.concat_tables([table, more]))
    reported = world_findings(open_dataset(path), world.instance.node_names)
    assert reported == [f"'n{u}' - 'n{v}' is an edge, but not a link of the ring or a finger"]


def test_a_ring_without_fingers_is_told(tmp_path):
    world, path = stored(tmp_path)
    manifest = json.loads((path / "manifest.json").read_text())
    del manifest["rows"]["fingers"]
    (path / "manifest.json").write_text(json.dumps(manifest))
    reported = world_findings(open_dataset(path), world.instance.node_names)
    assert reported == ["a small world needs the table 'fingers' too"]
    with pytest.raises(InputError, match="is damaged: a small world needs the table 'fingers'"):
        load_overlay(path)


def test_many_findings_are_counted(tmp_path):
    world, path = stored(tmp_path, 16)
    zeros = pa.array([0] * 64, pa.int32())
    rewrite(path, "fingers", lambda table: table.set_column(2, "finger", zeros))
    reported = world_findings(open_dataset(path), world.instance.node_names)
    assert len(reported) == 11
    assert "more of this kind" in reported[-1]


def test_loading_starts_no_spark(tmp_path):
    _, path = stored(tmp_path)
    code = (
        "import sys\n"
        "from meshwright.overlay.dataset import load_overlay\n"
        f"print(type(load_overlay({str(path)!r})).__name__)\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('pyspark', 'py4j')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["SmallWorld", "[]"]
