"""Mosquitto logs, read again: sessions, messages, times. tests/e2e makes real logs."""

import gzip
import random
from pathlib import Path

import pytest

from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.workload.ingest import ingest
from meshwright.workload.mosquitto_log import broker_names
from meshwright.workload.request import Request
from tests.naive import logs as naive

CONNECTED = "New client connected from 127.0.0.1:9 as"
OURS = ["mesh.north.south", "meshwright-agent.m.north.data", "meshwright-verify.7f"]
SENT = "Received PUBLISH from d (d0, q0, r0, m0,"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def wanted(path="w") -> set[tuple[str, str]]:
    instance = Instance.load(path)
    return {
        (node, instance.topic_names[t])
        for i, node in enumerate(instance.node_names)
        for t in instance.topics_of(i)
    }


def published(path="w") -> dict[tuple[str, str], tuple[float | None, float | None]]:
    instance = Instance.load(path)
    rows = instance.publications.as_table().to_pylist()
    names, topics = instance.node_names, instance.topic_names
    return {(names[r["node"]], topics[r["topic"]]): (r["rate"], r["bytes"]) for r in rows}


def drawn_log(seed: int, n: int) -> list[str]:
    """Return what clients do, as Mosquitto 2.0.11 writes it with `log_type all`."""
    draw, lines, now = random.Random(seed), [], 1_700_000_000
    for _ in range(n):
        now += draw.randrange(3)
        client = draw.choice(["c 1", "d", "e", *OURS, "d", "e"])
        topic = f"t/{draw.randrange(12)}"
        lines += [f"{now}: {text}" for text in draw.choice(ACTIONS)(client, topic)]
    return lines


ACTIONS = [
    lambda c, _: [f"{CONNECTED} {c} (p2, c1, k60).", f"Sending CONNACK to {c} (0, 0)"],
    lambda c, _: [f"{CONNECTED} {c} (p2, c0, k60).", f"Sending CONNACK to {c} (1, 0)"],
    lambda c, t: [f"Received SUBSCRIBE from {c}", f"{c} 1 {t}", f"Sending SUBACK to {c}"],
    lambda c, t: [f"Received SUBSCRIBE from {c}", f"{c} 1 {t}", f"Sending SUBACK to {c}"],
    lambda c, t: [f"Received UNSUBSCRIBE from {c}", f"{c} {t}", f"Sending UNSUBACK to {c}"],
    lambda c, _: [f"Client {c} closed its connection."],
    lambda c, t: [f"Received PUBLISH from {c} (d0, q1, r0, m1, '{t}', ... (7 bytes))"],
]


def test_logs_in_many_blocks_are_followed_in_order(spark, here):
    logs = {f"b{seed}": drawn_log(seed, 60) for seed in range(2)}
    for broker, lines in logs.items():
        Path(f"{broker}.log").write_text("".join(f"{line}\n" for line in lines))
    name = "spark.sql.files.maxPartitionBytes"
    before = spark.conf.get(name)
    spark.conf.set(name, "1500")  # some lines
    try:
        manifest = ingest(spark, ["*.log"], "w")
    finally:
        spark.conf.set(name, before)
    assert wanted() == {(b, t) for b, lines in logs.items() for _, t in naive.wanted(lines)}
    expected = {}
    for broker, lines in logs.items():
        times = [naive.split(line)[0] for line in lines]
        for topic, (n, size) in naive.messages(lines).items():
            expected[broker, topic] = (n / (max(times) - min(times)), size / n)
    assert published() == expected
    sent = [line for lines in logs.values() for line in lines if "Received PUBLISH" in line]
    relayed = sum(any(client in line for client in OURS) for line in sent)
    assert manifest["log"]["n_relayed"] == relayed > 0
    assert manifest["log"]["n_messages"] == len(sent) - relayed
    reasons = {"of bridges of a mesh", "of agents of a mesh", "of `mesh verify`", "unsubscribed"}
    assert manifest["log"]["skipped"].keys() >= reasons


PARTS = {  # of each broker's log, the oldest first
    "one": (".log.2.gz", ".log.1", ".log"),
    "two": (".log-20261116.gz", ".log-20261117", ".log"),
    "three": (".log.10", ".log.9", ".log.2.gz"),  # the newest part is not there
}


def test_rotated_parts_are_one_log_of_one_broker_read_oldest_first(spark, here):
    lines = drawn_log(7, 60)
    third = len(lines) // 3
    for broker, endings in PARTS.items():
        for i, ending in enumerate(endings):
            cut = lines[i * third : (i + 1) * third if i < 2 else len(lines)]
            content = "".join(f"{line}\n" for line in cut).encode()
            packed = gzip.compress(content) if ending.endswith(".gz") else content
            Path(f"{broker}{ending}").write_bytes(packed)
    ingest(spark, ["*.log*"], "w")
    assert set(Instance.load("w").node_names) == set(PARTS)
    assert wanted() == {(broker, t) for broker in PARTS for _, t in naive.wanted(lines)}
    times = [naive.split(line)[0] for line in lines]
    assert published() == {
        (broker, topic): (n / (max(times) - min(times)), size / n)
        for broker in PARTS
        for topic, (n, size) in naive.messages(lines).items()
    }


def test_names_that_only_look_rotated_are_brokers_of_their_own():
    paths = ["edge-1.log", "edge.2.log", "edge-20261118.log", "edge.log.gz", "edge.log.1234"]
    assert broker_names(paths, None) == [
        "edge",
        "edge-1",
        "edge-20261118",
        "edge.2",
        "edge.log.1234",
    ]
    rotated = [
        "edge.log",
        "edge.log.1",
        "edge.log.12.gz",
        "edge.log-20261118",
        "edge.log.2026-11-18",
    ]
    assert broker_names([*rotated, "edge.txt.3", "edge.log-2026-11-18_0930.gz"], None) == ["edge"]


def test_a_broker_without_subscriptions_is_a_node(spark, here):
    Path("cloud.log").write_text(
        f"2026-01-01T00:00:00+0100: {CONNECTED} app (p2, c1, k60, u'me').\n"
        "2026-01-01T00:00:01+0100: app 1 dev/+/t\n"
        "2026-01-01T00:00:02+0100: Client app disconnected.\n"
        f"2026-01-01T00:00:03+0100: {CONNECTED} v (p5, c1, k60).\n"
        "2026-01-01T00:00:03+0100: v 0 five\n"
        "2026-01-01T00:00:04+0100: Client v disconnected.\n"
    )
    Path("edge.log").write_text(
        f"2026-01-01T00:00:00+0100: {SENT} 'dev/1/t', ... (5 bytes))\n"
        f"2026-01-01T00:00:04+0100: {SENT} 'dev/1/t', ... (6 bytes))\n"
        f"2026-01-01T00:00:04+0100: {CONNECTED} d2 (p2, c1, k60).\n"
        "2026-01-01T00:00:04+0100: Will message specified (4 bytes) (r0, q1).\n"
        "2026-01-01T00:00:04+0100: \tdev/2/dead\n"
    )
    Path("idle.log").write_text("")
    manifest = ingest(spark, ["*.log"], "w", since="2025-12-31T23:00:00")
    assert wanted() == {("cloud", "dev/+/t"), ("cloud", "five")}
    assert published() == {("edge", "dev/1/t"): (0.5, 5.5), ("edge", "dev/2/dead"): (None, None)}
    assert list(Instance.load("w").node_names) == ["cloud", "edge", "idle"]
    assert manifest["nodes_without_subscriptions"] == ["edge", "idle"]
    now = ingest(spark, ["*.log"], "w", at="2026-01-01T00:00:09+01:00", force=True)
    assert wanted() == {("cloud", "five")}
    assert now["log"]["skipped"] == {"ended with a clean session": 1}
    assert list(now["log"]["in_doubt"].values()) == [1]


def test_a_log_of_which_nothing_is_left_says_why(spark, here):
    lines = [f"{CONNECTED} c (p2, c1, k60).", "c 1 t", "Client c disconnected."]
    Path("b.log").write_text("".join(f"{line}\n" for line in lines))
    message = "of the subscriptions in 'b.log' none is left: 1 ended with a clean session"
    with pytest.raises(InputError, match=message):
        ingest(spark, ["b.log"], "w")
    with pytest.raises(InputError, match=r"'b.log' has no times that can be read, so --since"):
        ingest(spark, ["b.log"], "w", since="2026-01-01")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"at": "noon"}, "--at is 'noon'; write a time like"),
        ({"at": "5", "since": "4"}, "--at is one moment"),
        ({"since": "2026-02-01", "until": "2026-01-01"}, "is later than --until 2026-01-01"),
    ],
)
def test_times_that_make_no_sense_are_refused(here, options, message):
    Path("b.log").write_text("1: c 1 t\n")
    with pytest.raises(InputError, match=message):
        Request(["b.log"], **options).parts()


def test_times_belong_to_logs(here):
    Path("s.csv").write_text("node,topic\na,x\n")
    with pytest.raises(InputError, match="--since, --until and --at belong to logs"):
        Request(["s.csv"], since="5").parts()
