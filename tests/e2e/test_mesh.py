"""The living mesh on real brokers: subscriptions without restarts, and what survives kill -9."""

import asyncio
import re
import signal
import subprocess
import sys

import pytest

from meshwright.deploy.lab.processes import wait_until
from meshwright.errors import InputError
from meshwright.mesh.clients import MeshClient, until
from meshwright.mesh.config import read_agent, read_mesh
from meshwright.mesh.init import InitRequest, init
from meshwright.mesh.lab import LocalMesh
from meshwright.mesh.shell.mqtt import Login
from meshwright.mesh.verify import verify

NODES = ("edge-1", "edge-2", "Halle 3")
SECONDS = 60.0


@pytest.fixture(scope="module")
def mesh(tmp_path_factory):
    place = tmp_path_factory.mktemp("mesh") / "lab"
    with LocalMesh(place, NODES, per_process=1) as made:
        made.wait_until_linked()
        yield made


def run(scene):
    asyncio.run(asyncio.wait_for(scene, 300))


async def client(mesh, node, name, **options):
    return await MeshClient.open(Login("127.0.0.1", mesh.brokers[node].port, name, **options))


async def arrives(sender, topic, receiver, mark):
    """Publish until a message gets through: then the subscription is known everywhere."""
    for i in range(600):
        await sender.publish(topic, mark + b" %d" % i)
        if await until(lambda: any(g.payload.startswith(mark) for g in receiver.got), 0.1):
            return
    raise AssertionError(f"{topic} did not arrive in a minute")


async def all_arrive(receiver, topic, payloads):
    """Check that exactly these payloads come on a topic, in this order."""
    found = lambda: [g.payload for g in receiver.got if g.topic == topic]  # noqa: E731
    await until(lambda: len(found()) >= len(payloads), SECONDS)
    assert found() == payloads


def test_every_message_reaches_each_broker_that_wants_it_once_and_no_other(mesh):
    found = verify(mesh.config.place)
    assert found.findings == []
    assert found.n_published == 3 * 3 * 5
    assert found.n_delivered > 0


def test_names_that_nobody_listed_arrive_and_the_flow_ends_with_the_subscription(mesh):
    async def scene():
        sender = await client(mesh, "edge-1", "sender")
        receiver = await client(mesh, "Halle 3", "receiver")
        await receiver.subscribe("plant/+/temp", "a b/#")
        await arrives(sender, "plant/first/temp", receiver, b"first")
        names = [f"plant/device {i}/temp" for i in range(50)]
        for name in names:
            await sender.publish(name, b"new")
        await sender.publish("a b/größe/1", b"utf-8", qos=2)
        await until(lambda: len(receiver.got) >= 52, SECONDS)
        assert [g.topic for g in receiver.got if g.payload == b"new"] == names
        assert [g.topic for g in receiver.got if g.payload == b"utf-8"] == ["a b/größe/1"]
        await receiver.unsubscribe("plant/+/temp")
        for _ in range(100):  # from some moment on nothing leaves the sender's broker
            before = mesh.status().n_received
            await sender.publish("plant/again/temp", b"x")
            await asyncio.sleep(0.3)
            if mesh.status().n_received == before:
                break
        else:
            raise AssertionError("messages still flow although nobody wants them")
        for each in (sender, receiver):
            each.close()

    run(scene())


@pytest.mark.parametrize("killed", ["planner", "agent of the sender", "agent of the receiver"])
def test_kill_9_of_a_process_loses_nothing_and_doubles_nothing(mesh, killed):
    topic = f"kill/{killed}".replace(" ", "-")

    async def scene():
        sender = await client(mesh, "edge-1", f"sender {killed}")
        receiver = await client(mesh, "edge-2", f"receiver {killed}")
        await receiver.subscribe(f"{topic}/#")
        await arrives(sender, f"{topic}/probe", receiver, b"probe")
        payloads = [b"%d" % i for i in range(200)]
        node = {"agent of the sender": "edge-1", "agent of the receiver": "edge-2"}.get(killed)
        for i, payload in enumerate(payloads):
            await sender.publish(f"{topic}/data", payload)
            if i == 100:
                what = "planner" if node is None else f"agents-{mesh.group_of(node)}"
                mesh.kill(what, signal.SIGKILL)
            if i == 150:
                if node is None:
                    mesh.start_planner()
                else:
                    mesh.start_agents(mesh.group_of(node))
        found = lambda: [g.payload for g in receiver.got if g.topic == f"{topic}/data"]  # noqa: E731
        await until(lambda: len(set(found())) == len(payloads), SECONDS)
        if killed == "agent of the receiver":  # what it had published may be published once more
            seen = list(dict.fromkeys(found()))
            assert seen == payloads
            assert len(found()) <= len(payloads) + 1_000
        else:
            assert found() == payloads
        for each in (sender, receiver):
            each.close()

    run(scene())
    mesh.wait_until_linked()


def test_a_broker_that_was_killed_gets_what_waited_for_it(mesh):
    async def scene():
        sender = await client(mesh, "edge-1", "to a dead one")
        stays = {"clean": False, "expiry": 3600}
        receiver = await client(mesh, "Halle 3", "durable", **stays)
        await receiver.subscribe("dead/#")
        await arrives(sender, "dead/probe", receiver, b"probe")
        mesh.brokers["Halle 3"].signal(signal.SIGTERM)  # it saves its sessions
        assert wait_until(lambda: not mesh.brokers["Halle 3"].process.runs(), SECONDS)
        payloads = [b"%d" % i for i in range(50)]
        for payload in payloads:
            await sender.publish("dead/data", payload)
        mesh.brokers["Halle 3"].start()
        mesh.brokers["Halle 3"].wait()
        again = await client(mesh, "Halle 3", "durable", **stays)
        await all_arrive(again, "dead/data", payloads)
        for each in (sender, again):
            each.close()

    run(scene())
    mesh.wait_until_linked()


def test_a_second_agent_of_a_broker_does_not_start(mesh):
    place = mesh.config.place / "edge-1"
    command = [sys.executable, "-m", "meshwright", "mesh", "agent", str(place)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "is in use by another process. Stop that one first" in done.stderr
    assert mesh.status().findings == []


def test_status_and_metrics_tell_what_is_up(mesh):
    import urllib.request

    found = mesh.status()
    assert (found.planner_up, found.n_agents_up, found.n_brokers_up) == (True, 3, 3)
    with urllib.request.urlopen(f"http://{mesh.config.brokers[0].metrics}/metrics") as answer:
        text = answer.read().decode()
    assert 'meshwright_broker_up{name="edge-1"} 1.0' in text
    assert re.search(r'meshwright_taken_total\{name="edge-1"\} [1-9]', text)


def inventory(tmp_path, *rows):
    path = tmp_path / "brokers.csv"
    path.write_text("\n".join(["node,host,port", *rows]) + "\n")
    return path


def test_init_writes_what_agents_and_planner_read(tmp_path):
    path = inventory(tmp_path, "edge 1,10.0.0.1,1883", "edge-2,10.0.0.2,1883")
    made = init(InitRequest(path, tmp_path / "mesh", "sl", survive=0))
    assert read_mesh(tmp_path / "mesh") == made
    assert made.routing == "po"
    agent = read_agent(tmp_path / "mesh" / "edge%201")
    assert (agent.name, agent.node, agent.listen) == ("edge 1", 0, ("10.0.0.1", 6883))
    assert agent.secret == made.secret
    assert (tmp_path / "mesh" / "secret").stat().st_mode & 0o777 == 0o600
    assert "log_dest topic" in (tmp_path / "mesh" / "edge-2" / "mosquitto.conf").read_text()


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        ({"method": "gmm"}, "unknown method 'gmm'; did you mean 'gm'"),
        ({"method": "sl", "routing": "tree"}, "routing 'tree' does not fit method 'sl'"),
        ({"planner": "nowhere"}, "--planner is 'nowhere'; give its address as HOST:PORT"),
    ],
)
def test_init_says_what_is_wrong(tmp_path, request_, why):
    path = inventory(tmp_path, "a,10.0.0.1,1883", "b,10.0.0.2,1883")
    with pytest.raises(InputError, match=re.escape(why)):
        init(InitRequest(path, tmp_path / "mesh", **request_))
    assert not (tmp_path / "mesh").exists()


def test_an_option_that_does_not_exist_is_named(tmp_path):
    path = inventory(tmp_path, "a,10.0.0.1,1883", "b,10.0.0.2,1883")
    init(InitRequest(path, tmp_path / "mesh"))
    file = tmp_path / "mesh" / "a" / "agent.toml"
    file.write_text(file.read_text() + 'delivry = "exactly-once"\n')
    with pytest.raises(InputError, match="'delivry'; did you mean 'delivery'"):
        read_agent(tmp_path / "mesh" / "a")


def secured(tmp_path, *rows):
    path = tmp_path / "brokers.csv"
    path.write_text("\n".join(["node,host,port,ca,cert,key", *rows]) + "\n")
    return path


def test_the_planner_gets_the_certificates_of_a_broker_on_its_host(tmp_path):
    path = secured(tmp_path, "a,10.0.0.1,8883,ca,a.crt,a.key", "b,10.0.0.2,8883,ca,b.crt,b.key")
    made = init(InitRequest(path, tmp_path / "mesh", planner="10.0.0.2:7900"))
    assert (made.ca, made.cert, made.key) == ("ca", "b.crt", "b.key")
    assert read_mesh(tmp_path / "mesh") == made


def test_a_planner_on_a_host_without_a_certificate_is_refused(tmp_path):
    path = secured(tmp_path, "a,10.0.0.1,8883,ca,a.crt,a.key", "b,10.0.0.2,8883,ca,b.crt,b.key")
    with pytest.raises(InputError, match=re.escape("on the planner's host '10.0.0.9'")):
        init(InitRequest(path, tmp_path / "mesh", planner="10.0.0.9:7900"))
    assert not (tmp_path / "mesh").exists()
