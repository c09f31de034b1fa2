"""Versions of the protocol: recorded frames, and peers that are older or newer."""

import asyncio
import hashlib
import hmac
import json
import re
import struct
from pathlib import Path

import msgspec
import pytest

from meshwright.errors import InputError
from meshwright.mesh.core import frames, values
from meshwright.mesh.core.events import LinkUp, Received
from meshwright.mesh.shell import codec
from meshwright.mesh.shell.codec import OLDEST_WIRE, WIRE_VERSION, FrameError, Reader, encode
from meshwright.mesh.shell.link import Identity
from meshwright.mesh.shell.links import Links
from meshwright.mesh.shell.wire import VARIABLE, Spoken, spoken_here
from tests import golden
from tests.golden.values import said_by

ASK = frames.Ask(2, 1, values.MessageId(1, 1, 7), "a", 1, 3)
VERSIONS = range(OLDEST_WIRE, WIRE_VERSION + 1)
RECORDED = {
    version: json.loads((Path(golden.__file__).parent / f"frames-{version}.json").read_text())
    for version in VERSIONS
}
ALL = [(version, name) for version in VERSIONS for name in RECORDED[version]]


@pytest.mark.parametrize(("version", "name"), ALL)
def test_frames_of_each_version_are_read_and_written_as_they_were_recorded(version, name):
    recorded = bytes.fromhex(RECORDED[version][name])
    frame = said_by(version)[name]
    assert encode(frame, version) == recorded
    found = list(Reader(10_000).feed(recorded))
    assert repr(found) == repr([frame])  # nested values have their classes, too


@pytest.mark.parametrize("version", VERSIONS)
def test_every_kind_of_frame_and_change_of_a_version_is_recorded(version):
    known = codec.WIRES[version]
    said = said_by(version)
    assert said.keys() == RECORDED[version].keys()
    assert {type(frame) for frame in said.values()} == set(codec.KINDS[: known.n_kinds])
    logs = [frame for frame in said.values() if isinstance(frame, frames.Log)]
    changes = {type(c) for log in logs for entry in log.entries for c in entry.changes}
    assert changes == set(codec.CHANGES[: known.n_changes])


def longer(value):
    """Return a value with fields that a later version might add, at the end of each named tuple."""
    if hasattr(value, "_fields"):
        return [*map(longer, value), "new", {"more": [1]}]
    return list(map(longer, value)) if isinstance(value, tuple) else value


NOT_THESE = ("log", "log with a snapshot")  # their changes are looked at below
NAMES = [name for name in said_by(WIRE_VERSION) if name not in NOT_THESE]


@pytest.mark.parametrize(
    "name", [name for name in NAMES if "log" not in name or name == "need log"]
)
def test_fields_that_a_later_version_adds_are_ignored(name):
    frame = said_by(WIRE_VERSION)[name]
    kind = codec.KINDS.index(type(frame))
    body = msgspec.msgpack.encode(longer(frame))
    assert repr(codec.decode(kind, body)) == repr(frame)


def log_with(*changes):
    body = msgspec.msgpack.encode([[[[1, 2], list(changes)]]])
    return codec.decode(codec.KINDS.index(frames.Log), body)


def test_in_the_log_new_fields_and_optional_changes_are_ignored():
    health = values.Health((4,), ())
    kind = codec.CHANGES.index(values.Health)
    found = log_with([codec.OPTIONAL, ["what", 1]], [kind, [*health, "new"]], [200, None])
    assert found == frames.Log((values.Entry(values.Version(1, 2), (health,)),))


def test_a_change_that_must_be_known_is_refused():
    with pytest.raises(FrameError, match="a frame of kind 4 is not valid"):
        log_with([len(codec.CHANGES), [1]])


def test_an_optional_frame_of_an_unknown_kind_is_skipped_and_the_next_one_read():
    data = b"\xc0whatever it is"
    unknown = struct.pack(">IB", len(data), codec.OPTIONAL + 3) + data
    assert list(Reader(1_000).feed(encode(ASK) + unknown + encode(ASK))) == [ASK, ASK]


def test_a_field_of_the_wrong_type_is_refused_with_and_without_new_fields():
    kind = codec.KINDS.index(frames.Confirm)
    for fields in ([1, "two"], [1, "two", "new"], [1]):
        with pytest.raises(FrameError, match=f"a frame of kind {kind} is not valid"):
            codec.decode(kind, msgspec.msgpack.encode(fields))


class Side:
    """One end, with what it told its core."""

    def __init__(self, node, spoken):
        self.events, self.notes = [], []
        identity = Identity("demo", node, b"s", 100_000, spoken=spoken)
        self.links = Links(
            identity, self.events.append, lambda what, why: self.notes.append((what, why))
        )

    def refusals(self):
        """Return why peers were refused, and where they were, without their ports."""
        found = [why for what, why in self.notes if what == "versions_refused"]
        return [re.sub(r" port \d+:", ":", why, count=1) for why in found]


async def until(condition):
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.005)


async def linked(one, other):
    ports = [await side.links.listen("127.0.0.1", 0) for side in (one, other)]
    for side, peer, port in ((one, other, ports[1]), (other, one, ports[0])):
        side.links.keep({peer.links.identity.node: f"127.0.0.1:{port}"})


def run(scene):
    asyncio.run(asyncio.wait_for(scene, 60))


@pytest.mark.parametrize(
    ("dials", "answers"), [(3, 3), (3, 2), (2, 3), (2, 2)], ids=lambda version: f"v{version}"
)
def test_two_sides_speak_the_newest_version_that_both_know(dials, answers):
    async def scene():
        one, other = Side(1, Spoken(dials)), Side(2, Spoken(answers))
        await linked(one, other)
        await until(lambda: LinkUp(2) in one.events and LinkUp(1) in other.events)
        assert one.links.wires == {2: min(dials, answers)}
        assert other.links.wires == {1: min(dials, answers)}
        one.links.send(2, ASK)
        other.links.send(1, ASK)
        await until(lambda: Received(1, ASK) in other.events and Received(2, ASK) in one.events)
        for side in (one, other):
            assert side.refusals() == []
            await side.links.close()

    run(scene())


@pytest.mark.parametrize(
    ("dials", "answers", "dialler_says", "answerer_says"),
    [
        (
            Spoken(3, 3),
            Spoken(5, 4),
            "the peer needs version 4 of the protocol or later, this side speaks 3 at most; "
            "install a newer Meshwright on this host",
            "the peer speaks version 3 of the protocol at most, this side needs 4 or later; "
            "install a newer Meshwright on the peer's host",
        ),
        (
            Spoken(5, 4),
            Spoken(3, 3),
            "the peer speaks version 3 of the protocol at most, this side needs 4 or later; "
            "install a newer Meshwright on the peer's host",
            "the peer speaks version 5 of the protocol and did not go on with this side's 3; "
            "install a newer Meshwright on this host",
        ),
    ],
    ids=["too old dials", "too new dials"],
)
def test_who_is_too_old_or_too_new_is_refused_and_both_sides_say_so(
    dials, answers, dialler_says, answerer_says
):
    async def scene():
        one, other = Side(1, dials), Side(2, answers)
        await linked(one, other)
        await until(lambda: one.refusals() and other.refusals())
        assert set(one.refusals()) == {f"127.0.0.1: {dialler_says}"}
        assert set(other.refusals()) == {f"127.0.0.1: {answerer_says}"}
        assert one.events == other.events == []
        for side in (one, other):
            await side.links.close()

    run(scene())


class Version2:
    """An agent as version 2 was: another version is cut off without an answer.

    Written from the code of that version, with bytes instead of its codec.
    """

    def __init__(self):
        self.offers, self.got = [], []

    async def serve(self, reader, writer):
        try:
            kind, theirs = await self.frame(reader)
            assert kind == 0
            wire, mesh, node, to, _ = msgspec.msgpack.decode(theirs[5:])
            self.offers.append(wire)
            if wire != 2 or (mesh, to) != ("demo", 2):
                writer.transport.abort()
                return
            fields = msgspec.msgpack.encode([2, "demo", 2, node, bytes(16)])
            ours = struct.pack(">IB", len(fields), 0) + fields
            writer.write(ours)
            proof = msgspec.msgpack.encode([self.mac(b"answer", theirs, ours)])
            writer.write(struct.pack(">IB", len(proof), 1) + proof)
            kind, data = await self.frame(reader)
            assert (kind, data[5:]) == (
                1,
                msgspec.msgpack.encode([self.mac(b"dial", theirs, ours)]),
            )
            writer.write(bytes.fromhex(RECORDED[2]["hello"]))
            while True:
                self.got.append((await self.frame(reader))[1])
        except asyncio.IncompleteReadError:
            writer.close()

    @staticmethod
    def mac(word, theirs, ours):
        return hmac.new(b"s", b"|".join([word, theirs, ours]), hashlib.sha256).digest()

    @staticmethod
    async def frame(reader):
        head = await reader.readexactly(5)
        size, kind = struct.unpack(">IB", head)
        return kind, head + await reader.readexactly(size)


def test_an_agent_of_version_2_that_knows_no_other_is_spoken_to_in_version_2():
    async def scene():
        old, side = Version2(), Side(1, Spoken())
        server = await asyncio.start_server(old.serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        await side.links.listen("127.0.0.1", 0)
        side.links.keep({2: f"127.0.0.1:{port}"})
        await until(lambda: Received(2, said_by(2)["hello"]) in side.events)
        assert side.links.wires == {2: 2}
        assert old.offers == [WIRE_VERSION, 2]
        side.links.send(2, ASK)
        await until(lambda: encode(ASK, 2) in old.got)
        await side.links.close()
        server.close()

    run(scene())


def test_nobody_who_cuts_connections_holds_two_new_agents_at_the_old_version():
    async def scene():
        one, other = Side(1, Spoken()), Side(2, Spoken())
        port = await other.links.listen("127.0.0.1", 0)
        offers = []

        async def meddle(reader, writer):
            """Cut the first connection; pass on the others."""
            head = await reader.readexactly(5)
            first = head + await reader.readexactly(struct.unpack(">IB", head)[0])
            offers.append(msgspec.msgpack.decode(first[5:])[0])
            if len(offers) == 1:
                writer.transport.abort()
                return
            there, back = await asyncio.open_connection("127.0.0.1", port)
            back.write(first)

            async def pump(source, goal):
                while data := await source.read(1_000):
                    goal.write(data)
                goal.close()

            await asyncio.gather(pump(reader, back), pump(there, writer))

        server = await asyncio.start_server(meddle, "127.0.0.1", 0)
        await one.links.listen("127.0.0.1", 0)
        other.links.keep({1: "127.0.0.1:1"})
        one.links.keep({2: f"127.0.0.1:{server.sockets[0].getsockname()[1]}"})
        await until(lambda: LinkUp(2) in one.events)
        assert offers == [WIRE_VERSION, 2, WIRE_VERSION]
        assert one.links.wires == {2: WIRE_VERSION}
        assert "though both sides speak a newer one" in other.notes[0][1]
        for side in (one, other):
            await side.links.close()
        server.close()

    run(scene())


def test_the_environment_can_hold_a_process_at_an_older_version(monkeypatch):
    monkeypatch.setenv(VARIABLE, "2")
    assert spoken_here() == Spoken(2)
    monkeypatch.setenv(VARIABLE, "1")
    with pytest.raises(InputError, match="MESHWRIGHT_WIRE is '1'; give a version of the protocol"):
        spoken_here()
    monkeypatch.delenv(VARIABLE)
    assert spoken_here() == Spoken(WIRE_VERSION)
