"""Who publishes what, from a role column and from files of their own."""

import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.workload import ingest as stage
from meshwright.workload.ingest import ingest
from meshwright.workload.request import Request
from tests.datasets import read_table

WANTED = [("cloud", "dev/+/temp"), ("cloud", "#"), ("edge", "dev/2/temp")]
PUBLISHED = [
    ("edge", "dev/1/temp", 2.5, 100.0),
    ("edge", "dev/2/temp", None, None),
    ("silent", "dev/9/temp", 0.0, None),
]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def text(value) -> str:
    return "" if value is None else str(value)


def csv(header: str, rows) -> str:
    return "".join(f"{','.join(map(text, row))}\n" for row in [header.split(","), *rows])


def published(path: str = "w") -> list[tuple[str, str, float | None, float | None]]:
    instance = Instance.load(path)
    rows = instance.publications.as_table().to_pylist()
    names, topics = instance.node_names, instance.topic_names
    return [(names[r["node"]], topics[r["topic"]], r["rate"], r["bytes"]) for r in rows]


def reasons(path: str = "w") -> list[str]:
    return sorted(row["reason"] for row in read_table(Path(path), "rejected").to_pylist())


def adds_up(manifest) -> bool:
    kept = manifest["n_subscriptions"] + manifest["n_publications"]
    dropped = ("n_duplicates", "n_self_loops", "n_rejected")
    return manifest["n_read"] == kept + sum(manifest[name] for name in dropped)


EXPECTED = Instance.from_pairs(WANTED, publications=PUBLISHED)


def test_a_role_column_says_which_rows_publish(spark, here):
    rows = [(*row, "sub") for row in WANTED] + [
        (*row[:2], role)
        for row, role in zip(PUBLISHED, ("pub", " Publisher", "PUBLISH"), strict=True)
    ]
    Path("s.csv").write_text(csv("node,topic,what", rows))
    manifest = ingest(spark, ["s.csv"], "w", role="what")
    plain = [row[:2] for row in PUBLISHED]
    assert manifest["digest"] == Instance.from_pairs(WANTED, publications=plain).digest
    assert (manifest["n_nodes"], manifest["n_publications"]) == (3, 3)
    assert adds_up(manifest)


def test_a_row_with_another_role_is_rejected(spark, here):
    rows = [("a", "x", "sub"), ("a", "y", "both"), ("b", "z", ""), ("b", "x", "pub")]
    Path("s.csv").write_text(csv("node,topic,role", rows))
    manifest = ingest(spark, ["s.csv"], "w", role="role", max_rejected=0.6)
    assert reasons() == ["role 'both' is neither sub nor pub", "role is missing"]
    assert manifest["n_topics"] == 1
    assert adds_up(manifest)


def write_publications(ending: str) -> str:
    name = f"p.{ending}"
    if ending == "parquet":
        columns = zip(*PUBLISHED, strict=True)
        table = dict(zip(("node", "topic", "rate", "bytes"), columns, strict=True))
        pq.write_table(pa.table({key: list(column) for key, column in table.items()}), name)
    elif ending == "jsonl":
        rows = (
            dict(zip(("node", "topic", "rate", "bytes"), row, strict=True)) for row in PUBLISHED
        )
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        content = csv("node,topic,rate,bytes", PUBLISHED)
        Path(name).write_text(content.replace(",", "\t") if ending == "tsv" else content)
    return name


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_a_file_of_publications_may_have_any_format_with_columns(spark, here, ending):
    Path("s.csv").write_text(csv("node,topic", WANTED))
    manifest = ingest(spark, ["s.csv"], "w", publications=[write_publications(ending)])
    assert manifest["digest"] == EXPECTED.digest
    assert published() == PUBLISHED
    assert manifest["source"] == ["s.csv", f"p.{ending}"]
    assert adds_up(manifest)


def test_columns_of_publications_can_be_named(spark, here):
    Path("s.csv").write_text(csv("who,what", WANTED))
    Path("p.csv").write_text("who,what,per second,size\nedge,dev/1/temp,2.5,100\n")
    columns = {"node": "who", "topic": "what", "rate": "per second", "bytes": "size"}
    ingest(spark, ["s.csv"], "w", publications=["p.csv"], **columns)
    assert published() == PUBLISHED[:1]


def test_publications_alone_are_a_workload(spark, here):
    manifest = ingest(spark, [], "w", publications=[write_publications("csv")])
    assert (manifest["n_subscriptions"], manifest["n_publications"]) == (0, 3)
    assert manifest["digest"] == Instance.from_pairs([], publications=PUBLISHED).digest


def test_users_of_an_edge_list_may_publish_under_their_own_name(spark, here):
    Path("s.edges").write_text("a b\nb a\na a\n")
    Path("p.csv").write_text("node,topic,rate\na,a,1\nc,b,2\n")
    manifest = ingest(spark, ["s.edges"], "w", directed=True, publications=["p.csv"])
    assert published() == [("a", "a", 1.0, None), ("c", "b", 2.0, None)]
    assert (manifest["n_nodes"], manifest["n_topics"], manifest["n_self_loops"]) == (3, 3, 1)
    assert adds_up(manifest)


def test_wrong_rates_and_sizes_are_rejected(spark, here):
    wrong = ["-1", "often", "NaN", "inf", "1e400", "1e13", "0x1", "1d"]
    rows = [("a", f"t/{i}", value, "") for i, value in enumerate(wrong)]
    rows += [("a", "s", "1", "-5"), ("a", "good", " 1e3 ", "-0")]
    Path("p.csv").write_text(csv("node,topic,rate,bytes", rows))
    manifest = ingest(spark, [], "w", publications=["p.csv"], max_rejected=0.95)
    assert published() == [("a", "good", 1000.0, 0.0)]
    assert manifest["n_rejected"] == 9
    assert reasons()[0] == "bytes '-5' is not a number from 0 to 1e+12"
    assert adds_up(manifest)


def test_wrong_rates_in_json_are_rejected(spark, here):
    values = ["1e400", "[1]", "true", '"fast"', "null", "2", '"3"']
    lines = [f'{{"node": "a", "topic": "t{i}", "rate": {v}}}' for i, v in enumerate(values)]
    Path("p.jsonl").write_text("\n".join(lines))
    ingest(spark, [], "w", publications=["p.jsonl"], max_rejected=0.9)
    assert published() == [("a", "t4", None, None), ("a", "t5", 2.0, None), ("a", "t6", 3.0, None)]
    assert reasons() == [
        "field 'rate' is an array",
        "field 'rate' is not a finite number",
        "rate 'fast' is not a number from 0 to 1e+12",
        "rate 'true' is not a number from 0 to 1e+12",
    ]


def test_a_wrong_rate_in_parquet_is_rejected_with_its_row(spark, here):
    table = {"node": ["a", "b"], "topic": ["x", "x"], "rate": [-1.5, 2.0]}
    pq.write_table(pa.table(table), "p.parquet")
    ingest(spark, [], "w", publications=["p.parquet"], max_rejected=0.5)
    assert published() == [("b", "x", 2.0, None)]
    row = read_table(Path("w"), "rejected").to_pylist()[0]
    assert json.loads(row["record"]) == {"node": "a", "topic": "x", "rate": "-1.5"}


def test_rows_with_bad_names_are_rejected_with_their_rates(spark, here):
    Path("p.csv").write_text("node,topic,rate\n,x,1\na,x,2\n")
    manifest = ingest(spark, [], "w", publications=["p.csv"], max_rejected=0.5)
    assert published() == [("a", "x", 2.0, None)]
    assert reasons() == ["node is empty"]
    assert adds_up(manifest)


def test_rates_of_repeated_rows_are_added_whatever_the_partitions(spark, here, monkeypatch):
    draw = random.Random(5)
    rows = [
        (
            f"n{draw.randrange(600)}",
            f"t{draw.randrange(3)}",
            draw.choice(["", draw.random()]),
            draw.random(),
        )
        for _ in range(3000)
    ]
    digests = set()
    for partitions in (1, 5):
        monkeypatch.setattr(stage, "parallelism", lambda _, n=partitions: n)
        for i in range(partitions):
            Path(f"p{partitions}-{i}.csv").write_text(
                csv("node,topic,rate,bytes", rows[i::partitions])
            )
        manifest = ingest(spark, [], "w", publications=[f"p{partitions}-*.csv"], force=True)
        digests.add(manifest["digest"])
        assert adds_up(manifest)
        draw.shuffle(rows)
    given = [(a, b, r or None, s) for a, b, r, s in rows]
    assert digests == {Instance.from_pairs([], publications=given).digest}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": "r"}, "--rate and --bytes belong to publications"),
        ({"role": "r"}, r"'s.csv' has no column 'r' \(--role\); it has: node, topic"),
        ({"publications": ["p.csv"], "rate": "r"}, r"'p.csv' has no column 'r' \(--rate\)"),
        ({"publications": ["b.log"]}, "'b.log' is mosquitto-log, which has no columns to read"),
        ({"publications": ["gone.csv"]}, "'gone.csv' does not exist"),
    ],
)
def test_what_cannot_be_read_is_said_before_spark_starts(here, options, message):
    Path("s.csv").write_text(csv("node,topic", WANTED))
    Path("p.csv").write_text("node,topic\na,x\n")
    Path("b.log").write_text("1: c 0 t\n")
    with pytest.raises(InputError, match=message):
        Request(["s.csv"], **options).parts()


@pytest.mark.parametrize("name", ["s.edges", "s.log"])
def test_edge_lists_and_logs_have_no_roles(here, name):
    Path(name).write_text("1: c 0 t\n")
    with pytest.raises(InputError, match="has no role column; leave out --role"):
        Request([name], role="r", directed=True if name == "s.edges" else None).parts()
