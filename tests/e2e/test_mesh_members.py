"""Brokers that are added to a running mesh and removed from it, while clients publish."""

import asyncio
import re
import signal
import subprocess
import sys

import pytest

from meshwright.errors import InputError
from meshwright.mesh.clients import MeshClient, until
from meshwright.mesh.config import read_agent, read_mesh
from meshwright.mesh.init import InitRequest, init
from meshwright.mesh.lab.running import LocalMesh
from meshwright.mesh.members import AddRequest, add, look_at, remove
from meshwright.mesh.shell.mqtt import Login
from meshwright.mesh.verify import verify
from tests.patience import SECONDS


def run(scene):
    asyncio.run(asyncio.wait_for(scene, 300))


async def client(mesh, node, name, **options):
    return await MeshClient.open(Login("127.0.0.1", mesh.brokers[node].port, name, **options))


def command(*words):
    line = [sys.executable, "-m", "meshwright", "mesh", *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, timeout=SECONDS)


class Stream:
    """Publishes numbered messages at a broker until it is stopped."""

    def __init__(self, sender, topic):
        self._sender, self.topic, self.sent, self._goes_on = sender, topic, [], True
        self._task = asyncio.create_task(self._run())

    async def _run(self):
        while self._goes_on:
            payload = b"%d" % len(self.sent)
            await self._sender.publish(self.topic, payload)
            self.sent.append(payload)
            await asyncio.sleep(0.002)

    async def stop(self):
        self._goes_on = False
        await self._task

    def got_by(self, receiver):
        return [g.payload for g in receiver.got if g.topic == self.topic]


async def flows(stream, receiver):
    assert await until(lambda: bool(stream.got_by(receiver)), SECONDS)


def test_brokers_come_and_go_under_load_and_others_notice_nothing(tmp_path):
    with LocalMesh(tmp_path / "lab", ["a", "b", "c"]) as mesh:
        mesh.wait_until_linked()

        async def scene():
            receiver = await client(mesh, "b", "receiver")
            await receiver.subscribe("load/#")
            senders = {node: await client(mesh, node, "sender") for node in ("a", "c")}
            streams = {node: Stream(sender, f"load/{node}") for node, sender in senders.items()}
            for stream in streams.values():
                await flows(stream, receiver)
            first = {node: stream.got_by(receiver)[0] for node, stream in streams.items()}

            await asyncio.to_thread(mesh.add, "d")
            await asyncio.to_thread(mesh.wait_until_linked)
            fourth = await client(mesh, "d", "newcomer")
            await fourth.subscribe("load/a")
            await flows(streams["a"], fourth)
            fresh = Stream(await client(mesh, "d", "new sender"), "load/d")
            await flows(fresh, receiver)

            # c goes while its client publishes; what it published before that arrives.
            before = len(streams["c"].sent)
            found = await asyncio.to_thread(mesh.remove, "c")
            assert found.is_gone
            await asyncio.to_thread(mesh.wait_until_linked)
            await asyncio.sleep(0.5)  # the others go on for a while
            for stream in (*streams.values(), fresh):
                await stream.stop()
            for node, stream in [("a", streams["a"]), ("d", fresh)]:

                def is_done(stream=stream):
                    return stream.got_by(receiver)[-1:] == stream.sent[-1:]

                assert await until(is_done, SECONDS)
                got = stream.got_by(receiver)
                assert got == stream.sent[stream.sent.index(got[0]) :], node
            a = streams["a"].sent
            assert streams["a"].got_by(receiver) == a[a.index(first["a"]) :]
            of_c, all_c = streams["c"].got_by(receiver), streams["c"].sent
            start = all_c.index(first["c"])
            assert len(of_c) >= before - start
            assert of_c == all_c[start : start + len(of_c)]

        run(scene())
        assert [member.node for member in read_mesh(mesh.config.place).brokers] == [0, 1, 3]
        assert verify(mesh.config.place).findings == []
        mesh.add("c")  # its name can be used again; its number not
        mesh.wait_until_linked()
        assert read_mesh(mesh.config.place).brokers[-1].node == 4
        assert verify(mesh.config.place).findings == []


def test_the_agent_of_a_removed_broker_ends_and_does_not_start_again(tmp_path):
    with LocalMesh(tmp_path / "lab", ["a", "b", "c"]) as mesh:
        mesh.wait_until_linked()
        told = command("remove", mesh.config.place, "c")
        assert told.returncode == 2
        assert "0 messages that not everybody has yet" in told.stdout
        assert "nothing was changed. To remove the broker" in told.stderr.replace("\n", " ")
        place = mesh.config.place
        # Removed at once while its agent is stopped: it hears of it when it starts.
        mesh.kill("agents-2", signal.SIGKILL)
        done = command("remove", place, "c", "--yes", "--now")
        assert done.returncode == 0, done.stderr
        assert "does not answer, so nobody knows" in done.stdout.replace("\n", " ")
        mesh._processes.pop("agents-2")
        aside = place / "removed" / "2-c"
        for words in ("was removed from the mesh", "was removed from the mesh"):
            again = command("agent", aside)
            assert again.returncode == 0, again.stderr
            assert again.stderr.count(words) == 1
        mesh.wait_until_linked()
        assert verify(place).findings == []


def test_what_a_broker_still_has_for_another_is_sent_before_it_goes(tmp_path):
    with LocalMesh(tmp_path / "lab", ["a", "b", "c"]) as mesh:
        mesh.wait_until_linked()

        async def scene():
            stays = {"clean": False, "expiry": 3600}
            receiver = await client(mesh, "b", "durable", **stays)
            await receiver.subscribe("kept/#")
            sender = await client(mesh, "c", "sender")
            probe = Stream(sender, "kept/probe")
            await flows(probe, receiver)
            await probe.stop()
            await asyncio.to_thread(mesh.kill, "agents-1", signal.SIGKILL)
            for i in range(50):
                await sender.publish("kept/data", b"%d" % i)
            found = await asyncio.to_thread(mesh.remove, "c", seconds=4.0)
            assert not found.is_gone
            assert found.waiting.journal >= 50
            told = await asyncio.to_thread(command, "remove", mesh.config.place, "c", "--yes",
                                           "--seconds", "1")  # fmt: skip
            assert told.returncode == 1
            assert re.search(r"its agent still holds \d+ messages", told.stderr.replace("\n", " "))
            mesh.start_agents(1)
            found = await asyncio.to_thread(mesh.remove, "c", seconds=SECONDS)
            assert found.is_gone
            data = lambda: [g.payload for g in receiver.got if g.topic == "kept/data"]  # noqa: E731
            assert await until(lambda: len(data()) >= 50, SECONDS)
            assert data() == [b"%d" % i for i in range(50)]

        run(scene())


def inventory(place, *rows):
    path = place / "more.csv"
    path.write_text("\n".join(["node,host,port", *rows]) + "\n")
    return path


@pytest.fixture
def written(tmp_path):
    rows = ("a,10.0.0.1,1883", "b,10.0.0.2,1883", "c,10.0.0.3,1883")
    init(InitRequest(inventory(tmp_path, *rows), tmp_path / "mesh"))
    return tmp_path / "mesh"


def test_add_writes_a_directory_and_a_number_that_nobody_had(written, tmp_path):
    found = add(AddRequest(written, inventory(tmp_path, "d,10.0.0.4,1883")))
    assert not found.planner_knows
    assert read_agent(written / "d").node == 3
    assert read_agent(written / "d").secret == read_mesh(written).secret
    scrape = written / "monitoring" / "prometheus.yml"
    assert "10.0.0.4:11883" in scrape.read_text()
    assert not remove(written, "d", at_once=True).planner_knows
    assert "10.0.0.4:11883" not in scrape.read_text()
    assert [member.name for member in read_mesh(written).removed] == ["d"]
    add(AddRequest(written, inventory(tmp_path, "e,10.0.0.4,1883")))
    assert read_agent(written / "e").node == 4


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("a,10.0.0.9,1883", "lists 'a', which is in the mesh already"),
        ("d,10.0.0.1,1883", "the broker 'a' and the broker 'd' would both listen at"),
    ],
)
def test_add_says_what_is_wrong_and_changes_nothing(written, tmp_path, row, why):
    before = (written / "mesh.toml").read_text()
    with pytest.raises(InputError, match=re.escape(why)):
        add(AddRequest(written, inventory(tmp_path, row)))
    assert (written / "mesh.toml").read_text() == before
    assert not (written / "d").exists()


def test_remove_says_what_is_wrong(written):
    with pytest.raises(InputError, match=r"the mesh has no broker 'x'\. It has: a, b, c"):
        look_at(written, "x")
    remove(written, "c", at_once=True)
    with pytest.raises(InputError, match="'a' cannot be removed: 1 broker would be left"):
        look_at(written, "a")


def test_a_mesh_file_without_numbers_counts_its_brokers(written):
    file = written / "mesh.toml"
    file.write_text(re.sub(r"node = \d\n", "", file.read_text()))
    assert [member.node for member in read_mesh(written).brokers] == [0, 1, 2]
