"""The log of a real planner, read on Spark: what the mesh saw, over kill -9."""

import asyncio
import signal

import pytest

from meshwright.deploy.lab.processes import wait_until
from meshwright.mesh.clients import MeshClient
from meshwright.mesh.lab.running import LocalMesh
from meshwright.mesh.shell.mqtt import Login
from meshwright.workload.ingest import ingest
from tests.naive import mesh_log as naive
from tests.patience import SECONDS
from tests.spark.test_ingest_logs import published, wanted

NODES = ("edge-1", "Halle 3")


@pytest.fixture(scope="module")
def mesh(tmp_path_factory):
    place = tmp_path_factory.mktemp("mesh") / "lab"
    with LocalMesh(place, NODES, options={"count_seconds": 1}) as made:
        made.wait_until_linked()
        yield made


def log_place(mesh):
    return mesh.config.place / "planner" / "log"


def written(mesh) -> set[tuple[str, str]]:
    """Return what the log says now, by its complete lines."""
    found = []
    for path in sorted(log_place(mesh).iterdir()):
        found += [
            line for line in path.read_bytes().splitlines(keepends=True) if line[-1:] == b"\n"
        ]
    copy = mesh.config.place / "copy.meshlog"
    copy.write_bytes(b"".join(found))
    return naive.wanted(naive.lines_of([copy]))


def n_counted(mesh) -> int:
    """Return how many messages the log counts."""
    lines = naive.lines_of([mesh.config.place / "copy.meshlog"]) if written(mesh) else []
    return sum(row["n"] for line in lines for row in line.get("took", ()))


async def client(mesh, node, name):
    return await MeshClient.open(Login("127.0.0.1", mesh.brokers[node].port, name))


def test_a_planner_writes_what_brokers_want_also_after_kill_9(spark, mesh, tmp_path):
    async def scene():
        one, two = await client(mesh, "edge-1", "one"), await client(mesh, "Halle 3", "two")
        await one.subscribe("a", "größe/#", "$share/g/jobs")
        await two.subscribe("a", "b/+")
        first = {("edge-1", "a"), ("edge-1", "größe/#"), ("edge-1", "jobs")}
        both = first | {("Halle 3", "a"), ("Halle 3", "b/+")}
        assert await asyncio.to_thread(wait_until, lambda: written(mesh) == both, SECONDS)
        mesh.kill("planner", signal.SIGKILL)
        await one.unsubscribe("a")
        await two.subscribe("c")
        mesh.start_planner()
        after = (both - {("edge-1", "a")}) | {("Halle 3", "c")}
        assert await asyncio.to_thread(wait_until, lambda: written(mesh) == after, SECONDS)
        for _ in range(50):
            await one.publish("b/1", b"12345")
        assert await asyncio.to_thread(wait_until, lambda: n_counted(mesh) >= 50, SECONDS)
        ingest(spark, [str(log_place(mesh))], tmp_path / "w")
        assert wanted(tmp_path / "w") == after
        ((key, (rate, size)),) = published(tmp_path / "w").items()
        assert (key, size) == (("edge-1", "b/1"), 5.0)
        assert 0 < rate <= 50
        mesh.kill("planner", signal.SIGTERM)
        assert not list(log_place(mesh).glob("*.open"))  # it completes its file
        assert written(mesh) == after
        lines = naive.lines_of(sorted(log_place(mesh).glob("*.meshlog")))
        assert lines[0]["broker"] in NODES
        told = [line for line in lines if "took" not in line]
        rows = [(line["broker"], *line["version"]) for line in told]
        assert len(set(rows)) == len(rows)
        mesh.start_planner()
        for each in (one, two):
            each.close()

    asyncio.run(asyncio.wait_for(scene(), 600))
