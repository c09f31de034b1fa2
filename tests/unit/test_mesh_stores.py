"""Stores on a disk that is full for a while: what is refused, what is kept, what nobody misses."""

import asyncio
import errno
import os

import pytest

from meshwright.errors import InputError
from meshwright.mesh.config import MESH_FILE, read_mesh
from meshwright.mesh.core.events import Drop, NotStored, Put, Stored
from meshwright.mesh.init import InitRequest, init, write_mesh_file
from meshwright.mesh.shell.planner import PlannerRunner, planner_options
from meshwright.mesh.storage.stores import OWN_TOKEN, Stores
from tests.patience import SECONDS

NAMES = ("state", "adapter")


@pytest.fixture
def full(monkeypatch):
    """Return a switch for the disk."""
    write = os.write
    is_full = [False]

    def write_or_not(descriptor, data):
        if is_full[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", write_or_not)
    return is_full


def left(place):
    stores = Stores(place, NAMES)
    stores.close()
    return {name: dict(rows) for name, rows in stores.recovered.records.items()}


def test_a_full_disk_says_no_to_the_core_which_puts_again(tmp_path, full):
    stores = Stores(tmp_path, NAMES)
    full[0] = True
    stores.put(Put(1, "state", ("a",), (1,)))
    (answer,) = stores.flush()
    assert type(answer) is NotStored
    assert "No space left on device" in answer.reason
    assert not stores.is_dirty
    assert not stores.has_refused
    full[0] = False
    stores.put(Put(2, "state", ("b",), (2,)))
    assert stores.flush() == [Stored(2)]
    stores.close()
    assert left(tmp_path)["state"] == {("b",): (2,)}


def test_what_the_shell_stores_and_what_is_removed_waits_for_the_disk(tmp_path, full):
    stores = Stores(tmp_path, NAMES)
    stores.put(Put(1, "state", ("a",), (1,)))
    stores.put(Put(OWN_TOKEN, "adapter", ("old",), (1,)))
    stores.flush()
    full[0] = True
    stores.drop(Drop("state", (("a",),)))
    stores.drop(Drop("adapter", (("old",),)))
    stores.put(Put(OWN_TOKEN, "adapter", ("new",), (1,)))
    assert [type(answer) for answer in stores.flush()] == [NotStored]
    stores.put(Put(OWN_TOKEN, "adapter", ("new",), (2,)))
    stores.flush()
    assert stores.has_refused
    assert not stores.is_dirty  # it does not try without end
    stores.retry()
    stores.flush()
    assert stores.has_refused
    full[0] = False
    stores.retry()
    assert stores.is_dirty
    stores.flush()
    assert not stores.has_refused
    stores.close()
    assert left(tmp_path) == {"state": {}, "adapter": {("new",): (2,)}}


def test_a_removal_that_waits_does_not_remove_what_is_put_after_it(tmp_path, full):
    stores = Stores(tmp_path, NAMES)
    stores.put(Put(1, "state", ("a",), (1,)))
    stores.flush()
    full[0] = True
    stores.drop(Drop("state", (("a",),)))
    stores.flush()
    stores.put(Put(2, "state", ("a",), (2,)))
    assert [type(answer) for answer in stores.flush()] == [NotStored]
    full[0] = False
    stores.put(Put(3, "state", ("a",), (2,)))  # as the core does
    assert stores.flush() == [Stored(3)]
    stores.retry()
    stores.flush()
    stores.close()
    assert left(tmp_path)["state"] == {("a",): (2,)}


def made(tmp_path):
    inventory = tmp_path / "brokers.csv"
    inventory.write_text("node,host,port\na,127.0.0.1,1883\nb,127.0.0.1,1884\n")
    return init(InitRequest(inventory, tmp_path / "mesh", name="plant"))


def test_fsync_of_mesh_toml_reaches_the_planners_disk(tmp_path, monkeypatch):
    config = made(tmp_path)
    assert not planner_options(read_mesh(config.place)).fsync
    with (config.place / MESH_FILE).open("a") as file:
        file.write("\n[options]\nfsync = true\n")
    write_mesh_file(read_mesh(config.place))  # as `mesh add` does
    synced = []
    monkeypatch.setattr(os, "fdatasync", synced.append)

    async def main():
        runner = PlannerRunner(planner_options(read_mesh(config.place)))
        runner.start()
        async with asyncio.timeout(SECONDS):
            while not synced:
                await asyncio.sleep(0.01)
        await runner.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("line", "words"),
    [("fsync = 1", "fsync is 1; it must be of type bool"), ("sync = true", "did you mean 'fsync'")],
)
def test_a_wrong_option_of_mesh_toml_is_said(tmp_path, line, words):
    config = made(tmp_path)
    with (config.place / MESH_FILE).open("a") as file:
        file.write(f"\n[options]\n{line}\n")
    with pytest.raises(InputError, match=words):
        read_mesh(config.place)


def test_what_the_shell_cannot_store_is_counted_and_tried_again(tmp_path, full):
    config = made(tmp_path)

    async def main():
        runner = PlannerRunner(planner_options(config))
        full[0] = True
        runner.stores.put(Put(OWN_TOKEN, "state", ("own",), (1,)))
        runner.write_soon()
        async with asyncio.timeout(SECONDS):
            while not runner.counters["adapter_failed"]:
                await asyncio.sleep(0.01)
            assert "No space left" in runner.last_words["adapter_failed"]
            full[0] = False
            while runner.stores.has_refused:
                await asyncio.sleep(0.01)
        place = runner.stores.place
        await runner.close()
        return place

    stores = Stores(asyncio.run(main()), ("state",))
    stores.close()
    assert stores.recovered.records["state"] == [(("own",), (1,))]
