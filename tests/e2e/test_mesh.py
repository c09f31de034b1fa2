"""The living mesh on real brokers: subscriptions without restarts, and what survives kill -9."""

import asyncio
import re
import signal
import subprocess
import sys

import mqtt5
import pytest

from meshwright.deploy.lab.processes import free_ports, wait_until
from meshwright.errors import DeployError, InputError
from meshwright.mesh.clients import MeshClient, until
from meshwright.mesh.config import read_agent, read_mesh
from meshwright.mesh.core.values import Message
from meshwright.mesh.init import InitRequest, init
from meshwright.mesh.lab.running import LocalMesh
from meshwright.mesh.shell.agent import AgentRunner
from meshwright.mesh.shell.mqtt import Login
from meshwright.mesh.shell.process import agent_login, agent_options, run_agents
from meshwright.mesh.verify import verify
from tests.patience import SECONDS

NODES = ("edge-1", "edge-2", "Halle 3")


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
    assert found.n_published == 3 * 3 * 6
    assert found.n_delivered == found.n_expected > 0
    assert wait_until(lambda: mesh.status().n_wanted == 0, SECONDS)  # it leaves nothing behind


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


async def later(mesh, node, name, *filters):
    """Return a client that subscribes now, and what it has got after a moment."""
    made = await client(mesh, node, name)
    await made.subscribe(*filters)
    return made


async def die(port, will):
    """Connect a client with a will, and let its connection break."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(mqtt5.ConnectPacket("dies", will=will).write())
    assert (await reader.read(2))[0] == 0x20  # CONNACK
    writer.transport.abort()


async def gets(receiver, payload, *, retain=None):
    """Wait for a payload, and check its retain flag."""
    found = lambda: [g for g in receiver.got if g.payload == payload]  # noqa: E731
    assert await until(lambda: bool(found()), SECONDS)
    if retain is not None:
        assert found()[0].retain == retain


def test_retained_messages_are_set_replaced_and_cleared_at_every_broker(mesh):
    async def scene():
        one, two = [await client(mesh, node, "keeps") for node in ("edge-1", "edge-2")]
        await one.publish("kept/a", b"first", retain=True)
        first = await later(mesh, "Halle 3", "first reader", "kept/#")
        await gets(first, b"first")  # fetched from edge-1 when the filter became wanted
        await two.publish("kept/a", b"second", retain=True)
        await gets(first, b"second")
        again = await later(mesh, "Halle 3", "second reader", "kept/#")
        await gets(again, b"second", retain=True)  # from the copy at its own broker
        assert [g.payload for g in again.got] == [b"second"]
        at_origin = await later(mesh, "edge-1", "reader at the first", "kept/#")
        for _ in range(100):  # edge-1 wants it now, and its own older one has to give way
            if at_origin.got and at_origin.got[-1].payload == b"second":
                break
            await asyncio.sleep(0.1)
        assert at_origin.got[-1].payload == b"second"
        await one.publish("kept/a", b"", retain=True)
        await gets(first, b"")
        for node in ("edge-1", "Halle 3"):

            async def is_clear(node=node):
                reader = await later(mesh, node, f"last reader {node}", "kept/a")
                await asyncio.sleep(0.2)
                reader.close()
                return not reader.got

            assert any([await is_clear() for _ in range(30)])
        for each in (one, two, first, again, at_origin):
            each.close()

    run(scene())


def test_properties_expiry_wills_and_shared_subscriptions_work_across_brokers(mesh):
    async def scene():
        sender = await client(mesh, "edge-1", "with properties")
        plain = await later(mesh, "edge-2", "plain reader", "rich/#", "will/#")
        shared = [
            await later(mesh, "Halle 3", f"shares {i}", "$share/group/rich/#") for i in range(2)
        ]
        await arrives(sender, "rich/probe", plain, b"probe")
        await until(lambda: any(each.got for each in shared), SECONDS)
        for i in range(40):
            await sender.publish("rich/data", b"%d" % i, expiry=60)
        await all_arrive(plain, "rich/data", [b"%d" % i for i in range(40)])
        data = lambda each: [g.payload for g in each.got if g.topic == "rich/data"]  # noqa: E731
        await until(lambda: sum(len(data(each)) for each in shared) >= 40, SECONDS)
        both = [payload for each in shared for payload in data(each)]
        assert sorted(both, key=int) == [b"%d" % i for i in range(40)]  # each to one of the group
        assert all(data(each) for each in shared)
        await die(mesh.brokers["Halle 3"].port, mqtt5.Will("will/last", payload=b"gone"))
        await gets(plain, b"gone")
        for each in (sender, plain, *shared):
            each.close()

    run(scene())


def test_replan_says_what_it_would_change_and_then_changes_it(mesh):
    words = [sys.executable, "-m", "meshwright", "mesh", "replan", str(mesh.config.place)]
    versions = []
    for _ in range(5):  # clients of other tests may still be leaving, which makes a version, too
        before = mesh.status().version
        done = subprocess.run(
            [*words, "--dry-run"], capture_output=True, text=True, timeout=SECONDS
        )
        assert done.returncode == 0, done.stderr
        assert re.search(r"kept +[12]", done.stdout)
        versions.append((before, mesh.status().version))
        if before == versions[-1][1]:
            break
    assert versions[-1][0] == versions[-1][1], versions
    done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS)
    assert "the planner designs the links from scratch" in done.stdout
    mesh.wait_until_linked()


def test_an_agent_refuses_to_start_beside_bridges_of_a_static_deployment(tmp_path):
    with LocalMesh(tmp_path / "lab", ["a", "b"]) as local:
        local.wait_until_linked()
        ends = (local.brokers["a"], local.brokers["b"])
        conf = ends[0].place / "mosquitto.conf"
        bridge = f"connection b\naddress 127.0.0.1:{ends[1].port}\nremote_clientid mesh.a.b\n"
        conf.write_text(conf.read_text() + bridge + "topic x out\n")
        local.kill("agents-0")
        ends[0].kill()
        ends[0].start()
        ends[0].wait()
        command = [sys.executable, "-m", "meshwright", "mesh", "agent"]
        place = str(local.config.place / "a")
        done = subprocess.run([*command, place], capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == 2
        assert "has bridges of a static deployment (mesh.a.b)" in done.stderr
        assert "deploy merge --remove" in done.stderr.replace("\n", " ")


def test_with_certificates_and_exactly_once_a_killed_agent_doubles_nothing(tmp_path):
    options = {"delivery": "exactly-once"}
    with LocalMesh(tmp_path / "lab", ["a", "b"], tls=True, options=options) as local:
        local.wait_until_linked()
        tls = agent_login(read_agent(local.config.place / "a")).tls

        async def scene():
            sender = await client(local, "a", "sender", tls=tls)
            receiver = await client(local, "b", "receiver", tls=tls)
            await receiver.subscribe("tls/#")
            await arrives(sender, "tls/probe", receiver, b"probe")
            payloads = [b"%d" % i for i in range(300)]
            for i, payload in enumerate(payloads):
                sender.send(Message("tls/data", payload))
                if i == 150:
                    local.kill("agents-1", signal.SIGKILL)
                    local.start_agents(1)
                await asyncio.sleep(0)
            await all_arrive(receiver, "tls/data", payloads)
            for each in (sender, receiver):
                each.close()

        run(scene())
        assert verify(local.config.place).findings == []


def test_devices_that_nobody_listed_reach_the_cloud_without_a_command(tmp_path):
    """Edge brokers only publish, the cloud subscribes with filters, new devices appear."""
    edges = [f"edge-{i}" for i in range(4)]
    with LocalMesh(tmp_path / "lab", [*edges, "cloud-1", "cloud-2"], per_process=6) as local:
        local.wait_until_linked()

        async def scene():
            telemetry = await later(local, "cloud-1", "telemetry", "dev/+/telemetry")
            everything = await later(local, "cloud-2", "archive", "#")
            senders = [await client(local, node, "devices") for node in edges]
            for i, sender in enumerate(senders):
                await arrives(sender, f"dev/{i}/telemetry", telemetry, b"probe %d" % i)
            await until(lambda: len(everything.got) >= 4, SECONDS)
            names = [f"dev/new {i}/telemetry" for i in range(40)] + ["dev/1/alarm"]
            for i, name in enumerate(names):
                await senders[i % 4].publish(name, b"new")
            new = lambda reader: sorted(g.topic for g in reader.got if g.payload == b"new")  # noqa: E731
            await until(lambda: len(new(everything) + new(telemetry)) >= 81, SECONDS)
            assert new(telemetry) == sorted(names[:-1])
            assert new(everything) == sorted(names)
            for each in (telemetry, everything, *senders):
                each.close()

        run(scene())


def test_a_second_agent_of_a_broker_does_not_start(mesh):
    place = mesh.config.place / "edge-1"
    command = [sys.executable, "-m", "meshwright", "mesh", "agent", str(place)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
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
        ({"survive": 1}, "--survive is 1; 2 brokers can survive the loss of 0 at most"),
        ({"planner": "10.0.0.1:1883"}, "the planner and the broker 'a' would both listen at"),
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


def test_ports_that_agents_and_brokers_of_one_host_would_share_are_refused(tmp_path):
    path = inventory(tmp_path, "a,127.0.0.1,16001", "b,127.0.0.1,21001")
    why = "the agent of 'a' and the broker 'b' would both listen at 127.0.0.1:21001"
    with pytest.raises(InputError, match=re.escape(why)):
        init(InitRequest(path, tmp_path / "mesh"))
    assert not (tmp_path / "mesh").exists()


@pytest.mark.parametrize(
    ("rows", "planner", "why"),
    [
        (
            ("a,10.0.0.1,1883", "b,localhost,1883"),
            "",
            "the broker 'b' is at localhost, which other",
        ),
        (("a,10.0.0.1,1883", "b,10.0.0.2,1883"), "127.0.0.1:7900", "the planner is at 127.0.0.1"),
        (("a,10.0.0.1,1883", "b,10.0.0.2,1883"), "0.0.0.0:7900", "stands for all addresses"),
    ],
)
def test_an_address_that_other_hosts_cannot_reach_is_refused(tmp_path, rows, planner, why):
    path = inventory(tmp_path, *rows)
    with pytest.raises(InputError, match=re.escape(why)):
        init(InitRequest(path, tmp_path / "mesh", planner=planner))
    assert not (tmp_path / "mesh").exists()


def test_an_agent_on_another_host_than_its_brokers_says_so(tmp_path):
    ports = free_ports(3)
    path = inventory(tmp_path, f"a,127.0.0.1,{ports[0]}", "b,127.0.0.1,16002")
    init(
        InitRequest(
            path, tmp_path / "mesh", agent_ports=(ports[1], 1), metrics_ports=(2, ports[2], 3)
        )
    )
    file = tmp_path / "mesh" / "a" / "agent.toml"
    file.write_text(file.read_text().replace('listen = "127.0.0.1', 'listen = "240.0.0.1'))
    with pytest.raises(
        InputError, match="a: it would listen at an address that is not one of this"
    ):
        run_agents([tmp_path / "mesh" / "a"])


def test_a_directory_that_is_given_twice_is_named(tmp_path):
    path = inventory(tmp_path, "a,127.0.0.1,16001", "b,127.0.0.1,16002")
    place = init(InitRequest(path, tmp_path / "mesh")).place / "a"
    with pytest.raises(InputError, match=re.escape(f"'{place.resolve()}' is given 2 times")):
        run_agents([place, place / ".." / "a"])


def test_an_agent_says_that_it_has_not_found_the_planner(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("meshwright.mesh.shell.agent.PLANNER_SECONDS", 0.1)
    ports = free_ports(4)
    path = inventory(tmp_path, f"a,127.0.0.1,{ports[0]}", "b,127.0.0.1,16002")
    planner = f"127.0.0.1:{ports[1]}"
    listen = {"agent_ports": (ports[2], 1), "metrics_ports": (ports[3], 2, 3)}
    init(InitRequest(path, tmp_path / "mesh", planner=planner, **listen))

    async def scene():
        runner = AgentRunner(agent_options(read_agent(tmp_path / "mesh" / "a")))
        await runner.open()
        try:
            assert await until(lambda: "no connection to the planner" in caplog.text, SECONDS)
            assert planner in caplog.text
        finally:
            await runner.close()

    run(scene())


def test_a_broker_may_be_called_as_the_files_of_a_mesh_are(tmp_path):
    path = inventory(tmp_path, "planner,10.0.0.1,1883", "secret,10.0.0.2,1883")
    made = init(InitRequest(path, tmp_path / "mesh"))
    for member in made.brokers:
        assert read_agent(tmp_path / "mesh" / member.directory).name == member.name


def test_verify_says_at_once_that_a_part_of_the_mesh_is_missing(tmp_path):
    path = inventory(tmp_path, "a,127.0.0.1,16001", "b,127.0.0.1,16002")
    init(InitRequest(path, tmp_path / "mesh"))
    with pytest.raises(DeployError, match=r"the planner at .* does not answer.*needs the whole"):
        verify(tmp_path / "mesh")


def test_an_option_that_cannot_be_is_refused(tmp_path):
    path = inventory(tmp_path, "a,10.0.0.1,1883", "b,10.0.0.2,1883")
    init(InitRequest(path, tmp_path / "mesh", options={"journal_messages": -1}))
    with pytest.raises(InputError, match="journal_messages is -1; give 1 or more"):
        read_agent(tmp_path / "mesh" / "a")


def test_an_option_that_does_not_exist_is_named(tmp_path):
    path = inventory(tmp_path, "a,10.0.0.1,1883", "b,10.0.0.2,1883")
    init(InitRequest(path, tmp_path / "mesh"))
    file = tmp_path / "mesh" / "a" / "agent.toml"
    file.write_text(file.read_text() + 'delivry = "exactly-once"\n')
    with pytest.raises(InputError, match="'delivry'; did you mean 'delivery'"):
        read_agent(tmp_path / "mesh" / "a")


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('planner = "10.0.0.1:7900"\n', "", "the line planner = is missing"),
        ('planner = "10.0.0.1:7900"', 'planner = "10.0.0.1"', "'10.0.0.1' is not HOST:PORT"),
        ("node = 0", 'node = "a"', "node = is 'a'; it must be a number"),
        ("node = 0", "node = 0\nnodes = 1", "this version knows no 'nodes'"),
        ("port = 1883", "", "the line port = of [broker] is missing"),
        ("[broker]", "[brokers]", "the line node = of [broker] is missing"),
        ('metrics = "127.0.0.1:11883"', "metrics = 11883", "11883 is not HOST:PORT"),
    ],
)
def test_what_is_wrong_in_an_agents_settings_is_said_in_words(tmp_path, old, new, why):
    path = inventory(tmp_path, "a,10.0.0.1,1883", "b,10.0.0.2,1883")
    init(InitRequest(path, tmp_path / "mesh"))
    file = tmp_path / "mesh" / "a" / "agent.toml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(InputError, match=re.escape(f"'{file}' cannot be used: {why}")):
        read_agent(tmp_path / "mesh" / "a")


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('metrics = "127.0.0.1:7901"\n', "", "the line metrics = is missing"),
        ('endpoint = "10.0.0.2:6883"\n', "", "the line endpoint = of [[brokers]] is missing"),
        ('"10.0.0.2:6883"', '"10.0.0.2"', "'10.0.0.2' is not HOST:PORT"),
        ("survive = 0", 'survive = "0"', "survive = is '0'; it must be a number"),
        ("node = 1", "node = 0", "two brokers have the same node number"),
    ],
)
def test_what_is_wrong_in_the_file_of_a_mesh_is_said_in_words(tmp_path, old, new, why):
    path = inventory(tmp_path, "a,10.0.0.1,1883", "b,10.0.0.2,1883")
    init(InitRequest(path, tmp_path / "mesh"))
    file = tmp_path / "mesh" / "mesh.toml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(InputError, match=re.escape(f"'{file}' cannot be used: {why}")):
        read_mesh(tmp_path / "mesh")


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
