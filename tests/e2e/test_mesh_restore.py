"""A planner whose directory was lost: it refuses to begin anew, and restores the agents' log."""

import asyncio
import shutil
import signal
import subprocess
import sys

from meshwright.mesh.clients import MeshClient, until
from meshwright.mesh.lab.running import LocalMesh
from meshwright.mesh.shell.mqtt import Login
from meshwright.mesh.verify import verify
from tests.patience import SECONDS


async def client(mesh, node, name):
    return await MeshClient.open(Login("127.0.0.1", mesh.brokers[node].port, name))


async def arrives(sender, topic, receiver):
    for i in range(600):
        await sender.publish(topic, b"probe %d" % i)
        if await until(lambda: any(g.topic == topic for g in receiver.got), 0.1):
            return
    raise AssertionError(f"{topic} did not arrive in a minute")


def test_a_lost_planner_is_restored_from_the_agents_and_nothing_is_lost_meanwhile(tmp_path):
    with LocalMesh(tmp_path / "lab", ["a", "b", "c"]) as mesh:
        mesh.wait_until_linked()
        place = mesh.config.place

        async def scene():
            sender, receiver = await client(mesh, "a", "sender"), await client(mesh, "b", "reader")
            await receiver.subscribe("kept/#")
            await arrives(sender, "kept/probe", receiver)
            payloads = [b"%d" % i for i in range(300)]
            before = mesh.status().version
            await asyncio.to_thread(mesh.kill, "planner", signal.SIGKILL)
            shutil.rmtree(place / "planner")
            for payload in payloads[:100]:
                await sender.publish("kept/data", payload)

            line = [sys.executable, "-m", "meshwright", "mesh", "planner", str(place)]
            done = await asyncio.to_thread(
                subprocess.run, line, capture_output=True, text=True, timeout=SECONDS
            )
            assert done.returncode == 2
            words = done.stderr.replace("\n", " ")
            assert "this planner has no log: its files were lost" in words
            assert "with --restore" in words

            late = await client(mesh, "c", "late reader")
            await late.subscribe("new/#")
            for payload in payloads[100:200]:
                await sender.publish("kept/data", payload)
            await asyncio.to_thread(mesh.start_planner, "--restore")
            await asyncio.to_thread(mesh.wait_until_linked)
            await arrives(sender, "new/topic", late)  # subscriptions work again
            for payload in payloads[200:]:
                await sender.publish("kept/data", payload)
            data = lambda: [g.payload for g in receiver.got if g.topic == "kept/data"]  # noqa: E731
            assert await until(lambda: len(data()) >= 300, SECONDS)
            assert data() == payloads
            old, new = (tuple(map(int, v.split("."))) for v in (before, mesh.status().version))
            assert new[0] > old[0]
            assert new[1] > old[1]
            said = (tmp_path / "lab" / "planner.log").read_text()
            assert "restored: the log of the agents was taken over" in said

        asyncio.run(asyncio.wait_for(scene(), 300))
        assert verify(place).findings == []
        assert (place / "planner" / "meshwright-planner.service").exists()
        # From here on it starts as any other, from its own files.
        mesh.kill("planner", signal.SIGKILL)
        mesh.start_planner()
        mesh.wait_until_linked()
        assert verify(place).findings == []
