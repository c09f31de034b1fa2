"""Agents of two versions of the protocol in one mesh, and the step from one to the next."""

import asyncio
import signal

from meshwright.deploy.lab.processes import wait_until
from meshwright.mesh.clients import MeshClient, until
from meshwright.mesh.lab.running import LocalMesh
from meshwright.mesh.shell.codec import OLDEST_WIRE, WIRE_VERSION
from meshwright.mesh.shell.mqtt import Login
from meshwright.mesh.shell.wire import VARIABLE
from meshwright.mesh.status import ask_agent
from meshwright.mesh.verify import verify
from tests.patience import SECONDS

NODES = ("old-1", "new-1", "old-2", "new-2")
OLD = {VARIABLE: str(OLDEST_WIRE)}
ONCE = {"delivery": "exactly-once"}  # an agent that is restarted repeats nothing


def wires(mesh, node):
    """Return the version that an agent speaks with each of its peers."""
    member = next(each for each in mesh.config.brokers if each.name == node)
    return {int(peer): wire for peer, wire in ask_agent(mesh.config, member)["wires"].items()}


class Talk:
    """A client at each broker, which publishes on its own topic and wants those of all."""

    def __init__(self, mesh):
        self._mesh, self._clients, self._sent = mesh, {}, 0

    async def open(self):
        for node in NODES:
            login = Login("127.0.0.1", self._mesh.brokers[node].port, f"client at {node}")
            self._clients[node] = await MeshClient.open(login)
            await self._clients[node].subscribe("talk/+/+")
        for sender in NODES:  # until the subscriptions are known everywhere
            for i in range(600):
                await self._clients[sender].publish(f"talk/{sender}/probe", b"%d" % i)
                if await until(lambda sender=sender: self._all_heard(f"talk/{sender}/probe"), 0.1):
                    break

    def _all_heard(self, topic):
        return all(any(g.topic == topic for g in c.got) for c in self._clients.values())

    async def send(self, n):
        """Publish at every broker."""
        for _ in range(n):
            for node, client in self._clients.items():
                await client.publish(f"talk/{node}/data", b"%d" % self._sent)
            self._sent += 1

    async def check(self):
        """Check that everybody got everything once, in order; close."""
        expected = [b"%d" % i for i in range(self._sent)]

        def got(reader, sender):
            topic = f"talk/{sender}/data"
            return [g.payload for g in self._clients[reader].got if g.topic == topic]

        pairs = [(reader, sender) for reader in NODES for sender in NODES]
        await until(lambda: all(len(got(*pair)) >= self._sent for pair in pairs), SECONDS)
        for pair in pairs:
            assert got(*pair) == expected, pair
        for client in self._clients.values():
            client.close()


def test_agents_of_two_versions_share_a_mesh_and_each_can_be_upgraded_under_load(tmp_path):
    local = LocalMesh(tmp_path / "lab", NODES, options=ONCE)
    for i, node in enumerate(NODES):
        if node.startswith("old"):
            local.environment[f"agents-{i}"] = OLD
    with local as mesh:
        mesh.wait_until_linked()
        assert set(wires(mesh, "old-1").values()) == {OLDEST_WIRE}
        assert wires(mesh, "new-1")[-1] == WIRE_VERSION  # with the planner
        assert verify(mesh.config.place).findings == []

        async def scene():
            talk = Talk(mesh)
            await talk.open()
            await talk.send(50)
            for name in ("agents-0", "planner", "agents-2"):  # one after the other
                sending = asyncio.create_task(talk.send(50))
                await asyncio.to_thread(mesh.kill, name, signal.SIGTERM)
                mesh.environment.pop(name, None)
                if name == "planner":
                    mesh.start_planner()
                else:
                    mesh.start_agents(int(name.rpartition("-")[2]))
                await sending
                await asyncio.to_thread(mesh.wait_until_linked)
            await talk.check()

        asyncio.run(asyncio.wait_for(scene(), 400))
        found = {wire for node in NODES for wire in wires(mesh, node).values()}
        assert found == {WIRE_VERSION}


def test_an_old_planner_leads_new_agents_and_agents_can_go_back_to_the_old_version(tmp_path):
    local = LocalMesh(tmp_path / "lab", NODES, options=ONCE)
    local.environment["planner"] = OLD
    with local as mesh:
        mesh.wait_until_linked()

        async def scene():
            talk = Talk(mesh)
            await talk.open()
            sending = asyncio.create_task(talk.send(60))
            await asyncio.to_thread(mesh.kill, "agents-1", signal.SIGTERM)
            mesh.environment["agents-1"] = OLD
            mesh.start_agents(1)
            await sending
            await asyncio.to_thread(mesh.wait_until_linked)
            await talk.send(20)
            await talk.check()

        asyncio.run(asyncio.wait_for(scene(), 400))
        assert wires(mesh, "new-2")[-1] == OLDEST_WIRE
        assert set(wires(mesh, "new-1").values()) == {OLDEST_WIRE}
        assert wait_until(lambda: not mesh.status().findings, SECONDS)
