"""A mesh of different brokers: three Mosquitto, a RabbitMQ, and one with a file of interests."""

import asyncio
import signal

import pytest

from meshwright.deploy.lab.processes import wait_until
from meshwright.mesh.adapters.declared import FILE
from meshwright.mesh.clients import MeshClient, until
from meshwright.mesh.lab.rabbitmq import find_rabbitmq
from meshwright.mesh.lab.running import LocalMesh
from meshwright.mesh.shell.mqtt import Login
from meshwright.mesh.verify import verify
from tests.patience import SECONDS

pytestmark = pytest.mark.skipif(find_rabbitmq() is None, reason="rabbitmq-server is not installed")

KINDS = {"rabbit": "rabbitmq", "file": "declared"}
NODES = ("m1", "m2", "m3", *KINDS)
WANTED = "meshwright-verify/#\nmixed/#\nkill/#\n"  # by clients of the declared broker


@pytest.fixture(scope="module")
def mesh(tmp_path_factory):
    place = tmp_path_factory.mktemp("mixed") / "lab"
    with LocalMesh(place, NODES, kinds=KINDS) as made:
        (made.config.place / "file" / FILE).write_text(WANTED)
        made.wait_until_linked()
        yield made


def run(scene):
    asyncio.run(asyncio.wait_for(scene, 400))


async def client(mesh, node, name, **options):
    protocol = "3.1.1" if node == "rabbit" else "5"
    login = Login("127.0.0.1", mesh.brokers[node].port, name, protocol=protocol, **options)
    return await MeshClient.open(login)


async def everywhere(mesh, name, pattern, nodes=NODES):
    """Return a client at each broker that is subscribed to a filter."""
    clients = {node: await client(mesh, node, f"{name} at {node}") for node in nodes}
    for each in clients.values():
        await each.subscribe(pattern)
    return clients


async def known(sender, topic, clients):
    """Publish until a message reaches all: then the subscriptions are known everywhere."""
    for i in range(600):
        await sender.publish(topic, b"probe %d" % i)
        if await until(lambda: all(each.got for each in clients.values()), 0.1):
            return
    raise AssertionError(f"{topic} did not reach all brokers in a minute")


def payloads(reader, topic):
    return [got.payload for got in reader.got if got.topic == topic]


def close(*clients):
    for each in clients:
        each.close()


def test_mesh_verify_passes(mesh):
    found = verify(mesh.config.place)
    assert found.findings == []
    assert found.n_brokers == 5
    assert found.n_delivered == found.n_expected > 0
    # RabbitMQ would change one of the six names; the declared broker gets the rest from four.
    assert found.n_published == 3 * (5 * 6 - 1)


def test_filters_and_equal_messages_reach_every_broker_once(mesh):
    async def scene():
        clients = await everywhere(mesh, "filters", "mixed/+/state")
        await known(clients["m1"], "mixed/probe/state", clients)
        for i in range(40):
            for node, each in clients.items():
                await each.publish(f"mixed/{node}/state", b"%d" % i)
                await each.publish("mixed/same/state", b"on")  # equal ones from all brokers
        for each in clients.values():
            await until(lambda: len(payloads(each, "mixed/same/state")) >= 200, SECONDS)  # noqa: B023
        await asyncio.sleep(0.5)
        for each in clients.values():
            for node in NODES:
                assert payloads(each, f"mixed/{node}/state") == [b"%d" % i for i in range(40)]
            assert len(payloads(each, "mixed/same/state")) == 200
        close(*clients.values())

    run(scene())


def test_retained_messages_go_to_and_from_the_other_brokers(mesh):
    async def scene():
        keeper = await client(mesh, "m1", "keeper")
        await keeper.publish("mixed/kept", b"first", retain=True)
        readers = await everywhere(mesh, "first", "mixed/kept", ("m2", "rabbit", "file"))
        for each in readers.values():
            assert await until(lambda: payloads(each, "mixed/kept") == [b"first"], SECONDS)  # noqa: B023
        await keeper.publish("mixed/kept", b"second", retain=True)
        for each in readers.values():
            assert await until(
                lambda: payloads(each, "mixed/kept") == [b"first", b"second"],  # noqa: B023
                SECONDS,
            )
        later = await everywhere(mesh, "later", "mixed/kept", readers)
        for each in later.values():  # from the copy at their own broker
            assert await until(lambda: bool(each.got), SECONDS)  # noqa: B023
            assert [(got.payload, got.retain) for got in each.got] == [(b"second", True)]
        await keeper.publish("mixed/kept", b"", retain=True)
        for each in readers.values():
            assert await until(lambda: payloads(each, "mixed/kept")[-1] == b"", SECONDS)  # noqa: B023
        # Set at RabbitMQ: who begins to want the name gets it.
        rabbit = readers["rabbit"]
        await rabbit.publish("only/at rabbit", b"kept there", retain=True)
        last = await client(mesh, "m3", "last")
        await last.subscribe("only/at rabbit")
        assert await until(lambda: payloads(last, "only/at rabbit") == [b"kept there"], SECONDS)
        await rabbit.publish("only/at rabbit", b"", retain=True)
        close(keeper, last, *readers.values(), *later.values())

    run(scene())


@pytest.mark.parametrize("node", ["rabbit", "file", "m1"])
def test_kill_9_of_an_agent_loses_and_doubles_nothing_elsewhere(mesh, node):
    topic, what = f"kill/agent/{node}", f"agents-{mesh.group_of(node)}"

    async def scene():
        clients = await everywhere(mesh, f"agent {node}", f"{topic}/#")
        await known(clients["m2"], f"{topic}/probe", clients)
        for i in range(200):
            for sender in (node, "m2"):
                await clients[sender].publish(f"{topic}/{sender}", b"%d" % i)
            if i == 100:
                mesh.kill(what, signal.SIGKILL)
            if i == 150:
                mesh.start_agents(mesh.group_of(node))
        sent = [b"%d" % i for i in range(200)]
        for at, each in clients.items():
            for sender in (node, "m2"):
                name = f"{topic}/{sender}"
                await until(lambda: len(set(payloads(each, name))) == 200, SECONDS)  # noqa: B023
                found = payloads(each, name)
                if at == node and sender != node:  # its agent may publish once more what it had
                    found = list(dict.fromkeys(found))
                assert found == sent, (at, sender)
        close(*clients.values())

    run(scene())
    mesh.wait_until_linked()


@pytest.mark.parametrize(
    ("node", "how"),
    [
        ("rabbit", signal.SIGKILL),
        ("m1", signal.SIGKILL),
        ("file", signal.SIGKILL),
        ("file", signal.SIGTERM),
    ],
)
def test_a_broker_that_was_killed_gets_what_waited_and_the_others_miss_nothing(mesh, node, how):
    topic = f"kill/broker/{node}/{how.name}"
    stays = {"clean": False, "expiry": 3600}
    # Mosquitto keeps its sessions only when it is stopped in good order.
    keeps = node == "rabbit" or how == signal.SIGTERM

    async def scene():
        others = [other for other in NODES if other != node]
        clients = await everywhere(mesh, topic, f"{topic}/#", others)
        durable = await client(mesh, node, "durable", **stays)
        await durable.subscribe(f"{topic}/#")
        await known(clients["m2"], f"{topic}/probe", {**clients, node: durable})
        durable.close()
        await asyncio.sleep(0.5)
        mesh.brokers[node].signal(how)
        assert await asyncio.to_thread(wait_until, lambda: not mesh.brokers[node].process.runs())
        sent = [b"%d" % i for i in range(100)]
        for payload in sent:
            await clients["m2"].publish(f"{topic}/data", payload)
        for each in clients.values():
            await until(lambda: len(payloads(each, f"{topic}/data")) >= 100, SECONDS)  # noqa: B023
            assert payloads(each, f"{topic}/data") == sent
        mesh.brokers[node].start()
        await asyncio.to_thread(mesh.brokers[node].wait)
        again = await client(mesh, node, "durable", **stays)
        if keeps:
            await until(lambda: len(set(payloads(again, f"{topic}/data"))) == 100, SECONDS)
            assert payloads(again, f"{topic}/data") == sent
        await again.subscribe(f"{topic}/#")
        await known(clients["m2"], f"{topic}/probe", {node: again})
        for each in clients.values():
            assert payloads(each, f"{topic}/data") == sent
        await again.unsubscribe(f"{topic}/#")
        close(again, *clients.values())

    run(scene())
    mesh.wait_until_linked()


def test_after_all_that_mesh_verify_still_passes(mesh):
    assert verify(mesh.config.place).findings == []
