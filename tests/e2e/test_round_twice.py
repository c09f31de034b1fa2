"""Once round and round again: deploy a mesh, lose clients, read the brokers' logs, plan anew."""

import os
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import paho.mqtt.client as mqtt
import pytest

from meshwright.deploy import Broker, plan, write_conf
from meshwright.model.client_ids import is_bridge
from meshwright.model.instance import Instance
from meshwright.model.overlay import Overlay
from meshwright.overlay import design
from meshwright.workload.ingest import ingest
from tests.e2e.test_mosquitto_log import MOSQUITTO, accepts, free_port, pairs_of, wait_until
from tests.patience import SECONDS

pytestmark = pytest.mark.skipif(MOSQUITTO is None, reason="mosquitto is not installed")

WANTED = [("a", "x"), ("b", "x"), ("b", "y"), ("c", "y"), ("c", "x")]
LOG = "mosquitto.log"  # as deployed, in the broker's directory


class Client:
    """A client at a broker, with what it subscribes to; it counts the messages that come."""

    def __init__(self, name: str, port: int, *topics: str, clean: bool = True) -> None:
        version = mqtt.CallbackAPIVersion.VERSION2
        self.received: list[str] = []
        self._granted = 0
        self.mqtt = mqtt.Client(version, client_id=name, clean_session=clean)
        self.mqtt.on_message = lambda _, __, message: self.received.append(message.topic)
        self.mqtt.on_subscribe = self._subscribed
        self.mqtt.connect("127.0.0.1", port)
        self.mqtt.loop_start()
        wait_until(self.mqtt.is_connected, f"the connection of {name}")
        for topic in topics:
            self.mqtt.subscribe(topic, 1)
        wait_until(lambda: self._granted == len(topics), f"the subscriptions of {name}")

    def _subscribed(self, *_: object) -> None:
        self._granted += 1

    def publish(self, topic: str) -> None:
        self.mqtt.publish(topic, b"seven b", 1).wait_for_publish(60)

    def leave(self) -> None:
        self.mqtt.disconnect()
        self.mqtt.loop_stop()


def start(stack: ExitStack, conf: Path, port: int) -> None:
    """Run a broker as it was deployed."""
    configuration = conf / "mosquitto.conf"
    if os.geteuid() == 0:  # else the broker gives up the right to write its log
        configuration.write_text(configuration.read_text() + "user root\n")
    broker = subprocess.Popen(
        [str(MOSQUITTO), "-c", "mosquitto.conf"],
        cwd=conf,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    stack.callback(lambda: (broker.terminate(), broker.wait(timeout=SECONDS)))
    wait_until(lambda: accepts(port), "a listener")


def test_a_plan_from_the_logs_of_a_mesh_shrinks_with_its_clients(spark, tmp_path):
    ports = {node: free_port() for node in "abc"}
    edges = np.array([(0, 1), (1, 2)], dtype=np.int32)
    first = Overlay(Instance.from_pairs(WANTED), edges, np.zeros(2, np.int32), "by hand")
    brokers = [Broker(node, "127.0.0.1", port) for node, port in ports.items()]
    conf, logs = tmp_path / "conf", tmp_path / "logs"
    write_conf(plan(first, brokers, qos=1), conf, layout="whole", log="publications")
    with ExitStack() as stack:
        for node, port in ports.items():
            start(stack, conf / node, port)
        at_a = Client("sensor a", ports["a"], "x", clean=False)
        at_b = Client("panel b", ports["b"], "x", "y")
        at_c = Client("panel c", ports["c"], "x", "y")

        def everyone_got_x() -> bool:
            at_a.publish("x")  # until the links are up
            return "x" in at_b.received and "x" in at_c.received

        wait_until(everyone_got_x, "a message over the links")
        at_a.leave()  # its session stays
        at_c.leave()
        # A broker that is stopped before it has read a DISCONNECT logs no end of that session.
        wait_until(
            lambda: "sensor a disconnected" in (conf / "a" / LOG).read_text(), "the end of a"
        )
        wait_until(lambda: "panel c disconnected" in (conf / "c" / LOG).read_text(), "the end of c")
    logs.mkdir()
    for node in ports:
        shutil.copy(conf / node / LOG, logs / f"{node}.log")
    assert "mesh." in "".join(log.read_text() for log in logs.iterdir())  # bridges did subscribe

    manifest = ingest(spark, [str(logs / "*.log")], tmp_path / "w")
    assert pairs_of(tmp_path / "w") == {("a", "x"), ("b", "x"), ("b", "y")}
    second = Instance.load(tmp_path / "w")
    assert list(second.node_names) == ["a", "b", "c"]
    assert manifest["nodes_without_subscriptions"] == ["c"]
    assert manifest["log"]["skipped"]["of bridges of a mesh"] > 0
    assert manifest["log"]["skipped"]["ended with a clean session"] == 2
    assert manifest["log"]["n_relayed"] > 0
    sent = second.publications
    assert [second.node_names[i] for i in sent.nodes] == ["a"]  # relayed messages do not count
    assert sent.sizes.tolist() == [7.0]

    shrunk = design(second, "gm")
    assert shrunk.n_edges == 1 < first.n_edges
    content = write_conf(plan(shrunk, brokers, qos=1), tmp_path / "conf 2", layout="whole")
    assert len(content["links"]) == 1
    ids = [
        line.split()[1]
        for file in (tmp_path / "conf 2").glob("*/mosquitto.conf")
        for line in file.read_text().splitlines()
        if line.startswith(("remote_clientid", "local_clientid"))
    ]
    assert len(ids) == 2
    assert all(map(is_bridge, ids))
