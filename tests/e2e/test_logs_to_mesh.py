"""From the logs of real brokers to a verified mesh: edge brokers publish, cloud brokers subscribe.

Every step is the one that an operator takes, on the command line: ingest, design, deploy, lab up,
lab verify. The brokers log what `deploy` makes them log, and the mesh must carry names of devices
that were in no log and in no list.
"""

import json
import os
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from meshwright.deploy.lab.processes import free_ports
from meshwright.deploy.lab.running import find_lab
from meshwright.deploy.mosquitto import LOGS
from meshwright.model.client_ids import AGENT
from meshwright.model.instance import Instance
from tests.e2e.in_process import run_in_process
from tests.e2e.test_mosquitto_log import MOSQUITTO, accepts, free_port, pairs_of, wait_until
from tests.e2e.test_round_twice import Client
from tests.patience import SECONDS

pytestmark = pytest.mark.skipif(MOSQUITTO is None, reason="mosquitto is not installed")

EDGES = [f"edge-{i}" for i in range(1, 7)]
SENT = {edge: f"dev/{i}/telemetry" for i, edge in enumerate(EDGES, 1)}
WANTED = {"cloud-1": "dev/+/telemetry", "cloud-2": "#"}
LOGGED = "".join(f"log_type {name}\n" for name in LOGS["publications"])
CONF = """\
listener {port} 127.0.0.1
allow_anonymous true
log_dest file {log}
"""
UNLISTED = "dev/99/telemetry"
NOT_OF_DEVICES = "plant/doors/open"  # `#` wants it, and nothing else
# What the logs cannot tell: an edge broker may get more devices. No name of them is listed.
DEVICES = "node,topic\n" + "".join(f"{edge},dev/+/telemetry\n" for edge in EDGES)


def start(stack: ExitStack, directory: Path, node: str) -> int:
    """Run a broker that logs who wants and publishes what; return its port."""
    port = free_port()
    user = "user root\n" if os.geteuid() == 0 else ""
    file = directory / f"{node}.conf"
    file.write_text(CONF.format(port=port, log=directory / f"{node}.log") + LOGGED + user)
    broker = subprocess.Popen(
        [str(MOSQUITTO), "-c", str(file)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    stack.callback(lambda: (broker.terminate(), broker.wait(timeout=SECONDS)))
    wait_until(lambda: accepts(port), "a listener")
    return port


@pytest.fixture(scope="module")
def logs(tmp_path_factory) -> Path:
    """Return the logs of eight brokers without a link between them, copied while they run."""
    running, copies = tmp_path_factory.mktemp("brokers"), tmp_path_factory.mktemp("logs")
    with ExitStack() as stack:
        for node in (*SENT, *WANTED):
            port = start(stack, running, node)
            client = Client(f"of {node}", port, *([WANTED[node]] if node in WANTED else []))
            stack.callback(client.leave)
            if node in SENT:
                client.publish(SENT[node])
            agent = Client(f"{AGENT}old.{node}.data", port, "#")  # of a mesh that ran before
            stack.callback(agent.leave)
            agent.publish("from/elsewhere")
        for node in (*SENT, *WANTED):
            shutil.copy(running / f"{node}.log", copies)
    return copies


@pytest.mark.parametrize(
    ("listed", "assume"), [(DEVICES, "listed"), ("", "anyone")], ids=["listed", "anyone"]
)
def test_the_network_of_the_trial_goes_from_logs_to_a_verified_mesh(
    spark, monkeypatch, capsys, tmp_path, logs, listed, assume
):
    def run(*words: object) -> dict:
        code, out, err = run_in_process(monkeypatch, capsys, *map(str, words), "--json")
        assert code == 0, err
        return json.loads(out)

    place = {name: tmp_path / name for name in ("workload", "overlay", "conf", "devices.csv")}
    place["devices.csv"].write_text(listed)
    more = ["--publications", place["devices.csv"]] if listed else []
    read = run("ingest", logs / "*.log", *more, "-o", place["workload"])
    assert read["n_rejected"] == 0
    assert read["log"]["skipped"]["of agents of a mesh"] == len(SENT) + len(WANTED)
    assert pairs_of(place["workload"]) == set(WANTED.items())
    workload = Instance.load(place["workload"])
    sent, names = workload.publications, workload.node_names
    found = {
        (names[v], workload.topic_names[t]) for v, t in zip(sent.nodes, sent.topics, strict=True)
    }
    assert found == set(SENT.items()) | (
        {(e, "dev/+/telemetry") for e in EDGES} if listed else set()
    )

    assumed = ["--assume-publishers", assume]
    designed = run("design", place["workload"], *assumed, "-o", place["overlay"])
    assert designed["connected"]
    inventory = tmp_path / "brokers.csv"
    rows = zip(names, free_ports(len(names)), strict=True)
    inventory.write_text(
        "node,host,port\n" + "".join(f"{node},127.0.0.1,{port}\n" for node, port in rows)
    )
    deployed = run(
        "deploy", "mosquitto", place["overlay"], "--inventory", inventory, "-o", place["conf"]
    )
    assert deployed["links"] >= 7
    with ExitStack() as stack:
        run("lab", "up", place["conf"])
        stack.callback(lambda: run("lab", "down", place["conf"]))
        verified = run("lab", "verify", place["conf"])
        assert verified["findings"] == []
        assert verified["n_missing"] == verified["n_unwanted"] == 0
        assert verified["n_deliveries"] > 0
        ports = find_lab(place["conf"]).access.ports
        clients = {node: Client(f"at {node}", ports[node], "#") for node in names}
        for client in clients.values():
            stack.callback(client.leave)
        for edge in EDGES:
            clients[edge].publish(UNLISTED)
        for cloud in WANTED:
            wait_until(
                lambda at=clients[cloud]: at.received.count(UNLISTED) == len(EDGES),
                f"the messages of an unlisted device at {cloud}",
            )
        if assume == "anyone":  # `#` of cloud-2 is wanted from wherever it is published
            clients["edge-1"].publish(NOT_OF_DEVICES)
            wait_until(
                lambda: NOT_OF_DEVICES in clients["cloud-2"].received, "a name that only # matches"
            )
