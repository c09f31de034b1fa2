"""Logs of a mesh's planner: what brokers want, at which time, and what their clients publish."""

import gzip
import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.workload import logs
from meshwright.workload.ingest import ingest
from meshwright.workload.mosquitto_log import ALWAYS, BROKER, Window
from tests.naive import mesh_log as naive
from tests.spark.test_ingest_logs import published, wanted

FILTERS = ["a", "a/+", "größe/数", 'quote"d', "x y", "#"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@st.composite
def mesh_lines(draw):
    """Lines of a few brokers; versions grow, times nearly always, and what came may be there."""
    names = st.lists(st.sampled_from(FILTERS), max_size=3, unique=True)
    lines, now, term = [], 100, 1
    for number in range(draw(st.integers(0, 12))):
        term += draw(st.sampled_from([0, 0, 0, 1]))
        now += draw(st.sampled_from([0, 1, 5, -3]))
        head = {"time": now + number / 1000, "version": [term, number], "more": 0}
        head["broker"] = draw(st.sampled_from(["north", "south", "west"]))
        kind = draw(st.sampled_from(["wants", "change", "change", "took", "gone"]))
        if kind == "wants":
            lines.append({**head, "wants": draw(names)})
        elif kind == "gone":
            lines.append({**head, "gone": True})
        elif kind == "change":
            lines.append({**head, "came": draw(names), "went": draw(names)})
        else:
            took = [{"topic": t, "n": draw(st.integers(0, 9)), "bytes": 7} for t in draw(names)]
            ms = draw(st.sampled_from([0, 1000, 60_000]))
            lines.append({**head, "took": took, "others": draw(st.integers(0, 2)), "ms": ms})
    return lines


def drawn_cases(n: int) -> list[list[dict]]:
    """Return n drawn logs; the brokers of each have names of their own."""
    cases = []

    @settings(max_examples=n, database=None)
    @given(mesh_lines())
    def gather(lines):
        i = len(cases)
        cases.append([{**line, "broker": f"{i}-{line['broker']}"} for line in lines])

    gather()
    return cases


def frame_of(spark, lines):
    rows = [("f", json.dumps(line, ensure_ascii=False), 0, i) for i, line in enumerate(lines)]
    return spark.createDataFrame(rows, "source string, line string, block long, row long")


WINDOWS = [ALWAYS, Window(until=105.0), Window(since=103.0), Window(101.0, 108.0)]


def found_in(records):
    rows = [row.asDict() for row in records.collect()]
    subscribed = {(r["node"], r["topic"]) for r in rows if r["published"] is False}
    sent = {(r["node"], r["topic"]): (r["rate"], r["bytes"]) for r in rows if r["published"]}
    brokers = {r["node"]: r["n"] for r in rows if r["note"] == BROKER}
    notes = sorted((r["note"], r["n"]) for r in rows if r["note"] not in (None, BROKER))
    sums: dict[str, int] = {}
    for note, n in notes:
        sums[note] = sums.get(note, 0) + n
    return subscribed, sent, brokers, sums


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_drawn_logs_equal_their_naive_twin_in_any_order(spark, window):
    cases = drawn_cases(80)
    lines = [line for case in cases for line in case]
    mixed = random.Random(3).sample(lines, len(lines))
    twice = [line for line in mixed if "took" not in line]  # a line of interests may come twice
    frame = frame_of(spark, [*mixed, *twice]).repartition(5)
    rows = logs.rows_of(frame, "mesh-log", window).localCheckpoint()  # on disk, as for users
    records = logs.records_of(rows, [], "mesh-log", None, window)
    subscribed, sent, brokers, _ = found_in(records)
    ordered = [sorted(case, key=lambda line: line["version"]) for case in cases]
    since, until = window
    expected = [naive.wanted(case, since, until) for case in ordered]
    assert subscribed == set().union(*expected)
    assert len(subscribed) > 50
    assert sent == {k: v for c in ordered for k, v in naive.published(c, since, until).items()}
    there = [naive.there(case, since, until) for case in ordered]
    assert brokers.keys() == set().union(*there)
    assert brokers.keys() < {line["broker"] for line in lines if "took" not in line}
    assert sum(brokers.values()) == len(subscribed)


@pytest.mark.parametrize("seed", range(3))
def test_merged_rows_say_the_same_whatever_comes_later(spark, seed):
    cases = drawn_cases(60)
    lines = [line for case in cases for line in case] + [{"broken": 1}]
    draw = random.Random(seed)
    parts = [[], [], []]
    for line in lines:
        draw.choice(parts).append(line)
    merged = None
    for part in parts:
        rows = logs.rows_of(frame_of(spark, part), "mesh-log", ALWAYS).localCheckpoint()
        merged = logs.merged(rows if merged is None else merged.unionByName(rows), "mesh-log")
        merged = merged.localCheckpoint()
    whole = logs.rows_of(frame_of(spark, lines), "mesh-log", ALWAYS).localCheckpoint()
    ways = [
        found_in(logs.records_of(rows, [], "mesh-log", None, ALWAYS)) for rows in (merged, whole)
    ]
    assert ways[0] == ways[1]
    assert merged.where("reason is not null").count() == 1


def line(version, **fields):
    head = {"time": 1_700_000_000 + version, "version": [1, version], "broker": "b1", "more": 0}
    return json.dumps({**head, **fields}, ensure_ascii=False) + "\n"


LOG = [
    line(1, wants=["a", "b"]) + line(1, broker="b2", wants=[]) + line(1, broker="b3", wants=[]),
    line(2, came=["größe"], went=["a"]) + line(3, broker="b2", came=["b"], went=[]),
    line(3, took=[{"topic": "b", "n": 30, "bytes": 300}], others=4, ms=60_000)
    + line(4, took=[{"topic": "b", "n": 30, "bytes": 900}], others=0, ms=60_000),
]


def write_log(place: Path, *, open_tail: str = "") -> Path:
    place.mkdir()
    (place / "00000001-whole.meshlog").write_text(LOG[0])
    (place / "00000002.meshlog.gz").write_bytes(gzip.compress(LOG[1].encode()))
    (place / "00000003.meshlog.open").write_text(LOG[2] + open_tail)
    return place


def test_a_directory_of_a_planner_is_read_with_its_open_file(spark, here):
    write_log(here / "log", open_tail='{"time": 170000')  # a line on its way
    manifest = ingest(spark, ["log"], "w")
    assert wanted() == {("b1", "b"), ("b1", "größe"), ("b2", "b")}
    assert published() == {("b1", "b"): (0.5, 20.0)}
    assert list(Instance.load("w").node_names) == ["b1", "b2", "b3"]
    assert manifest["n_rejected"] == 0
    assert manifest["nodes_without_subscriptions"] == ["b3"]
    assert manifest["log"]["n_messages"] == 60
    assert manifest["log"]["n_unnamed"] == 4
    assert manifest["parameters"]["format"] == "mesh-log"


def test_what_verify_did_in_the_mesh_is_left_out(spark, here):
    place, own = write_log(here / "log"), "meshwright-verify/98256d6d/plain"
    took = [{"topic": own, "n": 9, "bytes": 90}, {"topic": "b", "n": 30, "bytes": 300}]
    (place / "00000004.meshlog").write_text(
        line(5, came=[own], went=[])
        + line(6, broker="b2", wants=["b", "meshwright-verify/#"])
        + line(6, took=took, others=0, ms=60_000)
    )
    manifest = ingest(spark, ["log"], "w")
    assert wanted() == {("b1", "b"), ("b1", "größe"), ("b2", "b")}
    assert published().keys() == {("b1", "b")}
    assert manifest["log"]["n_messages"] == 90


def test_times_choose_what_was_wanted(spark, here):
    write_log(here / "log")
    ingest(spark, ["log"], "then", at="1700000001")
    assert wanted("then") == {("b1", "a"), ("b1", "b")}
    assert published("then") == {}
    ingest(spark, ["log/*"], "since", format="mesh-log", since="1700000002", until="1700000003")
    assert wanted("since") == {("b1", "a"), ("b1", "b"), ("b1", "größe"), ("b2", "b")}
    assert published("since") == {("b1", "b"): (0.5, 10.0)}


WRONG = [
    "no json",
    '{"time": 1, "version": [1, 2], "broker": "b1"}',
    '{"time": 1, "version": [1], "broker": "b1", "wants": []}',
    '{"time": "x", "version": [1, 2], "broker": "b1", "wants": []}',
    '{"time": 1, "version": [1, 2], "wants": []}',
    '{"time": 1, "version": [1, 2], "broker": "b1", "wants": "a"}',
    '{"time": 1, "version": [1, 2], "broker": "b1", "took": []}',
    "[1]",
]


def test_lines_that_are_none_are_rejected(spark, here):
    Path("x.meshlog").write_text(LOG[0] + "".join(f"{text}\n" for text in WRONG) + "\n")
    manifest = ingest(spark, ["x.meshlog"], "w", max_rejected=0.9)
    assert manifest["n_rejected"] == len(WRONG)
    assert wanted() == {("b1", "a"), ("b1", "b")}
    with pytest.raises(InputError, match="not a line of a mesh log: 'no json'"):
        ingest(spark, ["x.meshlog"], "w2")


def test_a_log_without_interests_says_so(spark, here):
    Path("x.meshlog").write_text(line(1, wants=[]))
    with pytest.raises(InputError, match=r"no broker wants anything in 'x.meshlog'"):
        ingest(spark, ["x.meshlog"], "w")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"node": "b"}, "names its brokers itself; leave out --node"),
        ({"topic": "t"}, "a mesh log has no topic column"),
        ({"role": "r"}, "a mesh log has no role column"),
    ],
)
def test_options_of_other_formats_are_refused(here, options, said):
    Path("x.meshlog").write_text(line(1, wants=["a"]))
    with pytest.raises(InputError, match=said):
        ingest(None, ["x.meshlog"], "w", **options)
