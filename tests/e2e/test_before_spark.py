"""What is wrong without Spark is said before Spark starts, by every verb that uses it."""

import gzip
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from meshwright.model.instance import Instance
from meshwright.overlay import design
from meshwright.overlay.dataset import write_overlay
from meshwright.runtime import session
from tests.datasets import write_instance
from tests.e2e.in_process import run_in_process

PAIRS = [("a", "t"), ("b", "t"), ("b", "u")]
GENERATE = ("--nodes", "3", "--topics", "3", "--subscriptions")


@pytest.fixture
def run(monkeypatch, capsys):
    def refuse(*_, **__):
        raise AssertionError("Spark was started")

    monkeypatch.setattr(session, "spark_session", refuse)
    return partial(run_in_process, monkeypatch, capsys)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.csv").write_text("broker,filter,qos\na,t,0\n")
    (tmp_path / "control.csv").write_text("no\x01de,topic\na,t\n")
    (tmp_path / "s.jsonl").write_text('{"broker": "a", "filter": "t", "qos": 0}\n')
    (tmp_path / "list.jsonl").write_text("[1]\n")
    (tmp_path / "s.edges").write_text("a b\n")
    (tmp_path / "x.log").write_text("1: c 0 t\n")
    (tmp_path / "long.csv").write_text(f"node,topic{'x' * 2000}\na,t\n")
    (tmp_path / "long.csv.gz").write_bytes(gzip.compress(b"x" * 2_000_000))
    (tmp_path / "no.parquet").write_text("PAR1 and nothing else")
    table = pa.table({"broker": ["a"], "filter": ["t"], "qos": [0]})
    pq.write_table(table, tmp_path / "s.parquet")
    (tmp_path / "subscribers.csv").write_text("name,location_0,low_0,high_0\nx,0,0,1\n")
    (tmp_path / "boxes.csv").write_text("name,location_0,low_0\nx,0,0\n")
    (tmp_path / "brokers.csv").write_text("name,parent,location_0\np,,0\n")
    (tmp_path / "orphans.csv").write_text("name,location_0\np,0\n")
    instance = Instance.from_pairs(PAIRS)
    write_instance(instance, tmp_path / "w")
    write_overlay(design(instance, "gm"), tmp_path / "o", tmp_path / "w")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("ingest gone.csv", "'gone.csv' does not exist"),
        ("ingest s.csv", "'s.csv' has 3 columns (broker, filter, qos); say which hold node"),
        ("ingest s.csv --node broker --topic topics", "'s.csv' has no column 'topics' (--topic)"),
        ("ingest s.csv --no-header --node 4", "'s.csv' has no column '4' (--node)"),
        ("ingest s.csv s.csv.gz", "'s.csv.gz' does not exist"),
        ("ingest control.csv", "which is not a row of names"),
        ("ingest s.csv --format tsv --node broker", "'s.csv' has no column 'broker' (--node)"),
        ("ingest s.csv --format excel", "unknown format 'excel'"),
        ("ingest s.jsonl --node node", "'s.jsonl' has no column 'node' (--node)"),
        ("ingest list.jsonl", "which is not a JSON object"),
        ("ingest s.parquet --node node", "'s.parquet' has no column 'node' (--node)"),
        ("ingest no.parquet", "'no.parquet' cannot be read"),
        ("ingest s.edges", "an edge list needs --directed"),
        ("ingest x.log --topic t", "a Mosquitto log has no topic column"),
        ("ingest long.csv --max-line 1024", "line 1 of 'long.csv' is longer than 1,024 bytes"),
        ("ingest long.csv.gz", "line 1 of 'long.csv.gz' is longer than 1,048,576 bytes"),
        ("ingest s.csv --node broker --topic filter -o w", "w' exists. Pass --force"),
        (
            "ingest content --subscribers boxes.csv --brokers brokers.csv",
            "'boxes.csv' has no column 'high'; it has name, location_0, low_0",
        ),
        (
            "ingest content --subscribers subscribers.csv --brokers orphans.csv",
            "'orphans.csv' has no column 'parent'; it has name, location_0",
        ),
        ("sample gone --nodes 2", "there is no dataset at 'gone'"),
        ("stats gone", "there is no dataset at 'gone'"),
        ("check gone", "there is no dataset at 'gone'"),
        ("check o --workload gone", "there is no workload at 'gone'; check --workload"),
        ("simulate o -r tree --workload gone", "there is no workload at 'gone'; check --workload"),
        ("simulate o -r pie", "pie routes on small worlds"),
        ("simulate o -r tree -n 0", "publications is 0"),
        ("simulate o -r tree --weights gone.csv", "gone.csv"),
        ("design w --engine spark -m cd", "cd does not run on Spark"),
        ("design w --engine spark -m gpm", "max_degree"),
        ("assign w", "'w' is a dataset of kind 'workload'"),
    ],
)
def test_an_error_is_said_before_spark_starts(here, run, words, said):
    given = words.split()
    if given[0] not in ("stats", "check") and "-o" not in given:
        given += ["-o", "out"]
    code, out, err = run(*given)
    assert (code, out) == (2, "")
    assert said in err
    assert not (here / "out").exists()


def test_a_correct_command_gets_as_far_as_spark(here, run):
    code, _, err = run("ingest", "s.csv", "--node", "broker", "--topic", "filter", "-o", "out")
    assert code == 3
    assert "Spark was started" in err
