"""Brokers whose interests stand in a file, with MQTT 5 and with 3.1.1."""

import asyncio
import subprocess
import sys

import pytest

from meshwright.deploy.lab.processes import free_ports, wait_until
from meshwright.mesh.adapters.copies import n_copies
from meshwright.mesh.adapters.declared import FILE
from meshwright.mesh.clients import MeshClient, until
from meshwright.mesh.lab.brokers import LocalBroker
from meshwright.mesh.lab.running import LocalMesh
from meshwright.mesh.shell.mqtt import PROTOCOLS, Login
from meshwright.mesh.verify import verify
from tests.patience import SECONDS


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_client_speaks_both_versions_of_mqtt(tmp_path, protocol):
    broker = LocalBroker(tmp_path / "broker", free_ports(1)[0])
    broker.start()
    broker.wait()

    async def scene():
        login = Login("127.0.0.1", broker.port, "durable", clean=False, expiry=60)
        login = login._replace(protocol=protocol)
        client = await MeshClient.open(login)
        await client.subscribe("a/#")
        sizes = (0, 1, 200, 20_000, 300_000)
        for qos in (0, 1, 2):
            for size in sizes:
                await client.publish("a/größe", b"x" * size, qos=qos)
        assert await until(lambda: len(client.got) == 15, SECONDS)
        assert [len(got.payload) for got in client.got] == 3 * [*sizes]
        client.close()
        other = await MeshClient.open(login._replace(client_id="other", clean=True, expiry=0))
        await other.publish("a/waits", b"for the session", retain=True)
        again = await MeshClient.open(login)
        assert await until(lambda: bool(again.got), SECONDS)
        await again.unsubscribe("a/#")
        await other.subscribe("a/waits")
        assert await until(lambda: bool(other.got), SECONDS)
        as_published = protocol == "5"  # the flag of a live message
        assert [got.retain for got in (*again.got, *other.got)] == [as_published, True]
        other.close()
        again.close()

    try:
        asyncio.run(asyncio.wait_for(scene(), 120))
    finally:
        broker.kill()


def test_mesh_verify_judges_a_declared_broker_by_its_file(tmp_path):
    with LocalMesh(tmp_path / "lab", ["a", "b", "file"], kinds={"file": "declared"}) as mesh:
        mesh.wait_until_linked()
        found = verify(mesh.config.place)
        assert found.findings == []
        # The file that `mesh init` writes wants all of them, from the other two as well.
        assert found.n_delivered == found.n_expected >= 2 * 3 * 6
        assert mesh.status().declared == {"file": ["meshwright-verify/#"]}

        async def scene():
            sender = await MeshClient.open(Login("127.0.0.1", mesh.brokers["a"].port, "s"))
            reader = await MeshClient.open(Login("127.0.0.1", mesh.brokers["file"].port, "r"))
            await reader.subscribe("#")
            await sender.publish("plant/state", b"kept", retain=True)
            (mesh.config.place / "file" / FILE).write_text("plant/#\n")
            assert await until(lambda: bool(reader.got), SECONDS)  # fetched: it is wanted now
            await sender.publish("plant/x", b"live")
            assert await until(lambda: len(reader.got) == 2, SECONDS)
            assert [got.payload for got in reader.got] == [b"kept", b"live"]
            await reader.publish("plant/own", b"of the declared broker's client")
            (mesh.config.place / "file" / FILE).write_text("")
            assert await asyncio.to_thread(wait_until, lambda: mesh.status().n_wanted == 0, SECONDS)
            sender.close()
            reader.close()

        asyncio.run(asyncio.wait_for(scene(), 240))
        assert verify(mesh.config.place).findings == []


def speak_311(mesh, node):
    """Let the agent of a declared broker speak MQTT 3.1.1 from its next start on."""
    file = mesh.config.place / node / "agent.toml"
    text = file.read_text().replace("[broker]\n", '[broker]\nprotocol = "3.1.1"\n')
    file.write_text(text)


def test_a_declared_broker_of_mqtt_311_gets_every_message_once(tmp_path):
    """It has no no-local, so what the agent publishes comes back to it."""
    mesh = LocalMesh(tmp_path / "lab", ["a", "b", "old"], kinds={"old": "declared"})
    speak_311(mesh, "old")
    with mesh:
        mesh.wait_until_linked()
        (mesh.config.place / "old" / FILE).write_text("meshwright-verify/#\nboth/#\n")
        assert verify(mesh.config.place).findings == []

        async def scene():
            ports = {node: mesh.brokers[node].port for node in ("a", "old")}
            one = await MeshClient.open(Login("127.0.0.1", ports["a"], "one"))
            two = await MeshClient.open(Login("127.0.0.1", ports["old"], "two", protocol="3.1.1"))
            for client in (one, two):
                await client.subscribe("both/#")
            for i in range(200):
                await one.publish("both/probe", b"%d" % i)
                if await until(lambda: any(g.topic == "both/probe" for g in two.got), 0.1):
                    break
            # Equal messages on both sides: each broker must get all of them, none twice.
            for i in range(100):
                await one.publish("both/equal", b"on", qos=1 + i % 2)
                await two.publish("both/equal", b"on", qos=1 + i % 2)
            equal = lambda client: sum(g.topic == "both/equal" for g in client.got)  # noqa: E731
            assert await until(lambda: equal(one) >= 200 and equal(two) >= 200, SECONDS)
            await asyncio.sleep(0.5)
            assert (equal(one), equal(two)) == (200, 200)
            one.close()
            two.close()

        asyncio.run(asyncio.wait_for(scene(), 240))


def test_copies_that_nobody_could_tell_apart_are_refused(tmp_path):
    mesh = LocalMesh(tmp_path / "lab", ["a", "b"], kinds={"b": "declared"})
    conf = mesh.brokers["b"].place / "mosquitto.conf"
    conf.write_text(conf.read_text() + "allow_duplicate_messages true\n")
    with mesh:
        mesh.wait_until_linked()
        login = Login("127.0.0.1", mesh.brokers["b"].port, "probe", protocol="3.1.1")
        assert asyncio.run(n_copies(login)) == 2
        mesh.kill("agents-1")
        speak_311(mesh, "b")
        place = str(mesh.config.place / "b")
        command = [sys.executable, "-m", "meshwright", "mesh", "agent", place]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == 2
        assert "'b': the broker sends a message once for each matching" in done.stderr
