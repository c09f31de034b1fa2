"""Damage in tables that Spark reads is bad input: the table is named, and nothing is written."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from meshwright.content.problem.dataset import SUBSCRIBERS, write_problem
from meshwright.content.problem.synthetic import content_arguments, draw_problem
from meshwright.storage import read_manifest
from meshwright.workload.ingest import ingest
from tests.e2e.in_process import run_in_process

VERBS = {  # the table that is damaged, and the command
    "stats": ("w", "subscriptions", ["stats", "w"]),
    "sample": ("w", "nodes", ["sample", "w", "-o", "out", "--nodes", "9"]),
    "assign": ("p", "subscribers", ["assign", "p", "-o", "out", "-m", "slp", "--engine", "spark"]),
}


@pytest.fixture(scope="module")
def made(spark, tmp_path_factory):
    """A workload of users, each in one file, and a problem."""
    place = tmp_path_factory.mktemp("damaged")
    pairs = "".join(f"u{i} u{i * 7 % 300}\n" for i in range(300))
    (place / "s.edges").write_text(pairs)
    ingest(spark, [str(place / "s.edges")], place / "w", directed=True)
    write_problem(place / "p", draw_problem(content_arguments(subscribers=200, brokers=3)))
    return place


@pytest.fixture
def here(made, tmp_path, monkeypatch):
    for name in ("w", "p"):
        shutil.copytree(made / name, tmp_path / name, symlinks=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def parts_of(dataset, table):
    path = read_manifest(dataset).table(table)
    return sorted(path.glob("*.parquet")) if path.is_dir() else [path]


def damage_pages(dataset, table):
    """Overwrite the pages of each part of a table."""
    for part in parts_of(dataset, table):
        damage_file(part)


@pytest.mark.parametrize("verb", VERBS)
def test_damaged_pages_name_the_table(spark, here, monkeypatch, capsys, verb):
    dataset, table, words = VERBS[verb]
    damage_pages(here / dataset, table)
    code, _, errors = run_in_process(monkeypatch, capsys, *words)
    assert code == 2, errors
    assert f"{table}.parquet' cannot be read" in errors
    assert "Make the dataset again." in errors
    assert not (here / "out").exists()


def replace_column(here, name, values):
    (part,) = parts_of(here / "p", "subscribers")
    table = pq.read_table(part)
    at = table.schema.get_field_index(name)
    pq.write_table(table.set_column(at, SUBSCRIBERS.field(name), values(table[name])), part)


def first(value):
    """Return a function that replaces the first value of a column."""
    return lambda column: pa.array([value, *column.to_pylist()[1:]], column.type)


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("max_delay", first(-1.0), "max_delay must be 0 or more"),
        ("max_delay", first(None), "column 'max_delay' has nulls"),
        ("low", first([1.0]), "the lists of its points are missing or differ in length"),
        ("low", first(None), "the lists of its points are missing or differ in length"),
        ("high", first([-1.0, -1.0]), "the box of 'subscriber-000' has low > high"),
        ("location", first([np.nan] * 5), "location has a value that is not a finite number"),
        ("subscriber", first(200), "the ids of its subscribers are not 0..199"),
    ],
)
def test_subscribers_that_memory_would_refuse_are_refused_on_spark(
    spark, here, monkeypatch, capsys, name, values, words
):
    replace_column(here, name, values)
    code, _, errors = run_in_process(monkeypatch, capsys, *VERBS["assign"][2])
    assert code == 2, errors
    assert f"subscribers.parquet' is damaged: {words}" in errors
    assert not (here / "out").exists()


def test_boxes_of_other_dimensions_than_the_manifest_says_are_refused(
    spark, here, monkeypatch, capsys
):
    file = here / "p" / "manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "n_dimensions": 3}))
    code, _, errors = run_in_process(monkeypatch, capsys, *VERBS["assign"][2])
    assert code == 2, errors
    assert "its boxes have 2 dimensions, the manifest says 3" in errors


def damage_file(path):
    """Overwrite the pages of a Parquet file; its footer stays."""
    content = bytearray(path.read_bytes())
    footer = int.from_bytes(content[-8:-4], "little")
    content[8 : len(content) - 8 - footer] = bytes(len(content) - 16 - footer)
    path.write_bytes(content)


def test_damaged_pages_of_a_source_name_the_source(spark, here, monkeypatch, capsys):
    columns = {"node": [f"n{i}" for i in range(500)], "topic": [f"t{i * i}" for i in range(500)]}
    pq.write_table(pa.table(columns), "s.parquet")
    damage_file(here / "s.parquet")
    code, _, errors = run_in_process(monkeypatch, capsys, "ingest", "s.parquet", "-o", "out")
    assert code == 2, errors
    assert "'s.parquet' cannot be read. Nothing was written" in errors
    assert not (here / "out").exists()


@pytest.mark.parametrize("damaged", ["brokers", "subscribers"])
def test_damaged_pages_of_a_users_table_name_the_table(spark, here, monkeypatch, capsys, damaged):
    tree = {"name": ["p", "b"], "parent": [None, "p"], "location": [[0.0], [1.0]]}
    people = {"name": ["s", "t"], "location": [[0.5]] * 2, "low": [[0.0]] * 2, "high": [[1.0]] * 2}
    pq.write_table(pa.table(tree), "brokers.parquet")
    pq.write_table(pa.table(people), "subscribers.parquet")
    damage_file(here / f"{damaged}.parquet")
    words = ("--subscribers", "subscribers.parquet", "--brokers", "brokers.parquet", "-o", "out")
    code, _, errors = run_in_process(monkeypatch, capsys, "ingest", "content", *words)
    assert code == 2, errors
    assert f"'{damaged}.parquet' cannot be read. Nothing was written" in errors
    assert not (here / "out").exists()
