"""Logs of a real Mosquitto, as it writes them, to a workload."""

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

from meshwright.model.instance import Instance
from meshwright.runtime.progress import no_progress
from meshwright.workload.files import find_sources
from meshwright.workload.ingest import ingest
from meshwright.workload.log_files import follow_logs
from tests.patience import SECONDS

SEARCH = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
MOSQUITTO = shutil.which("mosquitto", path=SEARCH)
CLIENT = shutil.which("mosquitto_sub", path=SEARCH)
pytestmark = pytest.mark.skipif(
    MOSQUITTO is None or CLIENT is None, reason="mosquitto and mosquitto_sub are not installed"
)

WANTED = {
    "press 7": ["plant2/line4/press/temperature", "plant2/+/press/#"],
    "größe": ["größe/数"],
    "worker": ["$share/pool/jobs/new", "jobs/0 1 2"],
    "monitor": ["$SYS/broker/uptime"],
}
TOPICS = {
    "plant2/line4/press/temperature",
    "plant2/+/press/#",
    "größe/数",
    "jobs/new",
    "jobs/0 1 2",
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(condition, what: str) -> None:
    for _ in range(600):  # a bound, not a measure: it ends as soon as the broker is ready
        if condition():
            return
        time.sleep(0.05)
    pytest.fail(f"mosquitto: {what} did not happen")


def accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def make_log(log: Path, kinds: list[str], wanted: dict[str, list[str]]) -> None:
    """Run a broker that logs, let each client subscribe, and stop it again."""
    port = free_port()
    conf = log.with_suffix(".conf")
    settings = [f"listener {port} 127.0.0.1", "allow_anonymous true", f"log_dest file {log}"]
    user = ["user root"] if os.geteuid() == 0 else []
    conf.write_text("\n".join([*settings, *user, *(f"log_type {kind}" for kind in kinds), ""]))
    broker = subprocess.Popen(
        [str(MOSQUITTO), "-c", str(conf)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_until(lambda: accepts(port), "a listener")
        for client, topics in wanted.items():
            named = [word for topic in topics for word in ("-t", topic)]
            # -E: leave once the subscriptions are acknowledged; -c: the session stays.
            subprocess.run(
                [
                    str(CLIENT),
                    "-h",
                    "127.0.0.1",
                    "-p",
                    str(port),
                    "-i",
                    client,
                    "-q",
                    "1",
                    "-E",
                    "-c",
                ]
                + named,
                check=True,
                timeout=SECONDS,
                capture_output=True,
            )
    finally:
        broker.terminate()
        broker.wait(timeout=SECONDS)


def pairs_of(path: Path) -> set[tuple[str, str]]:
    instance = Instance.load(path)
    return {
        (instance.node_names[i], instance.topic_names[t])
        for i in range(instance.n_nodes)
        for t in instance.topics_of(i)
    }


@pytest.mark.parametrize("kinds", [["subscribe"], ["all"]], ids=["subscribe", "all"])
def test_the_log_of_a_real_broker_becomes_its_subscriptions(spark, tmp_path, kinds):
    make_log(tmp_path / "edge-7.log", kinds, WANTED)
    manifest = ingest(spark, [str(tmp_path / "edge-7.log")], tmp_path / "w")
    assert pairs_of(tmp_path / "w") == {("edge-7", topic) for topic in TOPICS}
    assert manifest["n_rejected"] == 0
    sources, _ = find_sources([str(tmp_path / "edge-7.log")], None)
    assert follow_logs(sources, no_progress())["edge-7"].wanted == TOPICS


def test_each_log_of_several_real_brokers_is_a_node(spark, tmp_path):
    for broker, topics in (("north", ["a", "b"]), ("south", ["b"])):
        make_log(tmp_path / f"{broker}.log", ["subscribe"], {"one": topics, "two": topics})
    manifest = ingest(spark, [str(tmp_path / "*.log")], tmp_path / "w")
    assert pairs_of(tmp_path / "w") == {("north", "a"), ("north", "b"), ("south", "b")}
    assert manifest["n_duplicates"] == 3
