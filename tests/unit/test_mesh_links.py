"""Connections between agents: who is let in, and what ends them."""

import asyncio
import re
import ssl
import struct
from pathlib import Path

import pytest

from meshwright.deploy.lab.configurations import CERTIFICATES, make_certificate
from meshwright.errors import InputError
from meshwright.mesh.core import frames, values
from meshwright.mesh.core.events import PLANNER, LinkLost, LinkUp, Received
from meshwright.mesh.shell import links
from meshwright.mesh.shell.codec import FrameError, Reader, decode, encode
from meshwright.mesh.shell.link import Identity
from meshwright.mesh.shell.links import Links
from meshwright.mesh.shell.tls import tls_contexts

ONE = values.Version(1, 7)
DATA = frames.Data(
    values.MessageId(3, 1, 9),
    values.Message("plant 1/größe", b"\x00payload", 2, True, 1.5, b"p"),
    ONE,
    1,
    0,
    (1, 2),
    frames.Previous(values.MessageId(3, 1, 8), ONE),
    (1, 5),
    (),
    values.Stamp(4, 3),
)
ENTRY = values.Entry(
    ONE,
    (
        values.Joined(3, "edge-3", "127.0.0.1:9"),
        values.Interests(3, ("a/#",), ()),
        values.Linked(values.Topology("tree", ((1, 2),))),
        values.Health((4,), ((1, 2),)),
    ),
)
ENTRY_FRAME = frames.Log((ENTRY,))
FRAMES = [
    frames.Hello("demo", 3, 1, ONE, 1),
    ENTRY_FRAME,
    DATA,
    frames.Acks(3, 4, 1, (values.MessageId(3, 1, 9),), (), 5),
    frames.Wants(3, True, ("a/#",), ()),
]


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: type(frame).__name__)
def test_a_frame_comes_back_as_it_was(frame):
    data = encode(frame)
    found = list(Reader(10_000).feed(data))
    assert found == [frame]
    assert type(found[0]) is type(frame)
    assert repr(found[0]) == repr(frame)  # nested values have their classes again


def test_frames_are_found_however_the_bytes_are_cut():
    data = b"".join(map(encode, FRAMES))
    for step in (1, 3, 7, len(data)):
        reader = Reader(10_000)
        found = [f for i in range(0, len(data), step) for f in reader.feed(data[i : i + step])]
        assert found == FRAMES


def test_a_frame_with_any_wrong_byte_is_refused_or_is_another_frame_of_the_right_types():
    data = encode(DATA)
    kind, body = data[4], data[5:]
    for i in range(len(body)):
        for wrong in (0x00, 0x7F, 0xC1, 0xFF):
            try:
                found = decode(kind, body[:i] + bytes([wrong]) + body[i + 1 :])
            except FrameError:
                continue
            assert type(found) is frames.Data
            assert type(found.message.topic) is str
            assert type(found.message.payload) is bytes


def test_a_frame_of_a_gigabyte_is_refused_by_its_head():
    head = struct.pack(">IB", 2**30, 6)
    with pytest.raises(FrameError, match="a frame of 1,073,741,824 bytes; at most 1,000 may come"):
        list(Reader(1_000).feed(head))


def test_an_unknown_kind_is_refused():
    with pytest.raises(FrameError, match="a frame of kind 100 is not valid"):
        list(Reader(1_000).feed(struct.pack(">IB", 1, 100) + b"\x90"))


class Side:
    """One end, with what it told its core."""

    def __init__(self, node, *, mesh="demo", secret=b"s", allowed=None, tls=(None, None)):
        self.events, self.notes = [], []
        identity = Identity(mesh, node, secret, 100_000, *tls)
        self.links = Links(
            identity, self.events.append, lambda what, why: self.notes.append((what, why)), allowed
        )

    async def until(self, condition):
        async with asyncio.timeout(20):
            while not condition():
                await asyncio.sleep(0.005)


def seen(side, event):
    """Return how often an event came; named tuples of different classes may be equal."""
    return sum(type(e) is type(event) and e == event for e in side.events)


def run(scene):
    asyncio.run(asyncio.wait_for(scene, 60))


async def linked(one, other):
    ports = [await side.links.listen("127.0.0.1", 0) for side in (one, other)]
    for side, peer, port in ((one, other, ports[1]), (other, one, ports[0])):
        side.links.keep({peer.links.identity.node: f"127.0.0.1:{port}"})
    return ports


async def close(*sides):
    for side in sides:
        await side.links.close()


def test_two_agents_of_a_plan_are_linked_and_frames_arrive_in_order():
    async def scene():
        one, other = Side(1), Side(2)
        await linked(one, other)
        await one.until(lambda: seen(one, LinkUp(2)) and seen(other, LinkUp(1)))
        for counter in range(500):
            one.links.send(2, frames.Ask(2, 1, values.MessageId(1, 1, counter), "a", 1, 3))
        await other.until(lambda: len(other.events) > 500)
        got = [e.frame.id.counter for e in other.events if isinstance(e, Received)]
        assert got == list(range(500))
        await close(one, other)

    run(scene())


@pytest.mark.parametrize(
    ("options", "why"),  # the first to notice says why
    [
        ({"mesh": "another"}, "the peer belongs to the mesh 'another', not 'demo'"),
        ({"secret": b"wrong"}, "the peer does not know the secret of the mesh"),
    ],
)
def test_who_is_of_another_mesh_or_does_not_know_the_secret_is_refused(options, why):
    async def scene():
        one, other = Side(1, **options), Side(2)
        await linked(one, other)
        await one.until(lambda: any(why in reason for _, reason in one.notes + other.notes))
        assert one.events == other.events == []
        await close(one, other)

    run(scene())


def test_with_two_secrets_both_sides_name_the_other_and_what_to_compare():
    async def scene():
        one, other = Side(1, secret=b"wrong"), Side(2)
        await linked(one, other)
        await one.until(lambda: one.notes and other.notes)
        for side in (one, other):
            assert side.notes[0][0] == "links_refused"
            assert re.match(r"127\.0\.0\.1 port \d+: the peer ", side.notes[0][1])
            assert "is the file secret the same in the directories of both?" in side.notes[0][1]
        await close(one, other)

    run(scene())


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "a frame of"),
        (struct.pack(">IB", 2**30, 0), "a frame of 1,073,741,824 bytes"),
        (encode(DATA), "did not introduce itself"),
    ],
)
def test_a_stranger_is_cut_off(data, why):
    async def scene():
        side = Side(2)
        port = await side.links.listen("127.0.0.1", 0)
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(data)
        await side.until(lambda: side.notes)
        assert side.notes[0][0] == "links_refused"
        assert why in side.notes[0][1]
        assert side.events == []
        writer.close()
        await close(side)

    run(scene())


def test_a_lost_connection_is_told_and_opened_again():
    async def scene():
        one, other = Side(1), Side(2)
        await linked(one, other)
        await one.until(lambda: seen(one, LinkUp(2)) and seen(other, LinkUp(1)))
        other.links._up[1].close("cut by the test")
        await one.until(lambda: seen(one, LinkUp(2)) == 2 and seen(other, LinkUp(1)) == 2)
        assert seen(one, LinkLost(2))
        assert seen(other, LinkLost(1))
        await close(one, other)

    run(scene())


def test_a_link_that_is_not_in_the_plan_any_more_is_closed():
    async def scene():
        one, other = Side(1), Side(2)
        await linked(one, other)
        await one.until(lambda: seen(one, LinkUp(2)) and seen(other, LinkUp(1)))
        one.links.keep({})
        await other.until(lambda: seen(other, LinkLost(1)) and seen(one, LinkLost(2)))
        await close(one, other)

    run(scene())


def test_a_silent_peer_is_lost(monkeypatch):
    monkeypatch.setattr(links, "SILENT_SECONDS", 0.2)
    monkeypatch.setattr(links, "PING_SECONDS", 0.05)

    async def scene():
        one, other = Side(1), Side(2)
        await linked(one, other)
        await one.until(lambda: seen(one, LinkUp(2)) and seen(other, LinkUp(1)))
        other.links._pinging.cancel()  # as if the process were stopped
        await one.until(lambda: any("silent" in why for _, why in one.notes))
        assert seen(one, LinkLost(2))
        await close(one)
        for link in list(other.links._up.values()):
            link.close("the test ends")
        other.links._server.close()

    run(scene())


def test_agents_dial_the_planner_and_only_those_of_the_inventory_are_let_in():
    async def scene():
        planner = Side(PLANNER, allowed={1: "edge-1"})
        port = await planner.links.listen("127.0.0.1", 0)
        known, stranger = Side(1), Side(9)
        for side in (known, stranger):
            await side.links.listen("127.0.0.1", 0)
            side.links.keep({PLANNER: f"127.0.0.1:{port}"})
        await known.until(lambda: seen(planner, LinkUp(1)) and seen(known, LinkUp(PLANNER)))
        await stranger.until(lambda: stranger.notes)
        assert not seen(planner, LinkUp(9))
        await close(known, stranger, planner)

    run(scene())


def test_with_certificates_agents_and_planner_are_linked_and_others_are_not(tmp_path):
    certificate = make_certificate(tmp_path)
    key = str(Path(certificate).with_name(CERTIFICATES["keyfile"]))
    tls = tls_contexts("the planner", certificate, certificate, key)
    unsure = ssl.create_default_context(cafile=certificate)  # it has no certificate to show

    async def scene():
        planner = Side(PLANNER, tls=tls)
        port = await planner.links.listen("127.0.0.1", 0)
        known, unknown, plain = Side(1, tls=tls), Side(2, tls=(tls[0], unsure)), Side(3)
        for side in (unknown, plain, known):
            await side.links.listen("127.0.0.1", 0)
            side.links.keep({PLANNER: f"127.0.0.1:{port}"})
        await known.until(lambda: seen(planner, LinkUp(1)) and seen(known, LinkUp(PLANNER)))
        known.links.send(PLANNER, DATA)
        await known.until(lambda: seen(planner, Received(1, DATA)))
        assert not seen(planner, LinkUp(2))
        assert not seen(planner, LinkUp(3))
        await close(known, unknown, plain, planner)

    run(scene())


@pytest.fixture
def authorities(tmp_path):
    """Two authorities that know nothing of each other, with a certificate each."""
    made = []
    for name in ("ours", "foreign"):
        (tmp_path / name).mkdir()
        certificate = make_certificate(tmp_path / name)
        made.append((certificate, str(Path(certificate).with_name(CERTIFICATES["keyfile"]))))
    return made


def test_a_certificate_of_a_foreign_authority_is_refused_and_its_owner_hears_why(authorities):
    (ours, our_key), (foreign, foreign_key) = authorities
    tls = tls_contexts("the planner", ours, ours, our_key)
    # It trusts the planner's authority, but shows a certificate of its own one.
    stranger_tls = tls_contexts("a stranger", ours, foreign, foreign_key)

    async def scene():
        planner = Side(PLANNER, tls=tls)
        port = await planner.links.listen("127.0.0.1", 0)
        known, stranger = Side(1, tls=tls), Side(2, tls=stranger_tls)
        for side in (stranger, known):
            await side.links.listen("127.0.0.1", 0)
            side.links.keep({PLANNER: f"127.0.0.1:{port}"})
        await known.until(lambda: seen(planner, LinkUp(1)) and seen(known, LinkUp(PLANNER)))
        await stranger.until(lambda: stranger.notes)
        assert {what for what, _ in stranger.notes} == {"links_refused"}
        assert "may not trust the certificate of this side" in stranger.notes[0][1]
        assert stranger.events == []
        assert not seen(planner, LinkUp(2))
        await close(known, stranger, planner)

    run(scene())


def test_a_listener_with_a_certificate_of_a_foreign_authority_is_told_nothing(authorities):
    (ours, our_key), (foreign, foreign_key) = authorities
    false_tls = tls_contexts("a false planner", foreign, foreign, foreign_key)
    tls = tls_contexts("the agent", ours, ours, our_key)

    async def scene():
        planner, agent = Side(PLANNER, tls=false_tls), Side(1, tls=tls)
        port = await planner.links.listen("127.0.0.1", 0)
        await agent.links.listen("127.0.0.1", 0)
        agent.links.keep({PLANNER: f"127.0.0.1:{port}"})
        await agent.until(lambda: agent.notes)
        what, why = agent.notes[0]
        assert what == "links_refused"
        assert f"the planner at 127.0.0.1:{port} shows no certificate that is trusted here" in why
        assert "Check ca, cert and key" in why
        assert agent.events == planner.events == []
        await close(agent, planner)

    run(scene())


def test_a_certificate_for_another_host_is_refused(authorities):
    (ours, our_key), _ = authorities
    tls = tls_contexts("the agent", ours, ours, our_key)

    async def scene():
        planner, agent = Side(PLANNER, tls=tls), Side(1, tls=tls)
        port = await planner.links.listen("127.0.0.2", 0)
        await agent.links.listen("127.0.0.1", 0)
        agent.links.keep({PLANNER: f"127.0.0.2:{port}"})
        await agent.until(lambda: agent.notes)
        assert "IP address mismatch" in agent.notes[0][1]
        assert agent.events == planner.events == []
        await close(agent, planner)

    run(scene())


@pytest.mark.parametrize("is_secure", [False, True])
def test_a_second_agent_of_the_same_number_is_refused_while_the_first_is_alive(
    is_secure, authorities
):
    (ours, our_key), _ = authorities
    tls = tls_contexts("both", ours, ours, our_key) if is_secure else (None, None)

    async def scene():
        planner = Side(PLANNER, allowed={1: "edge-1"}, tls=tls)
        port = await planner.links.listen("127.0.0.1", 0)
        first, copy = Side(1, tls=tls), Side(1, tls=tls)
        for side in (first, copy):
            await side.links.listen("127.0.0.1", 0)
        first.links.keep({PLANNER: f"127.0.0.1:{port}"})
        await first.until(lambda: seen(planner, LinkUp(1)))
        copy.links.keep({PLANNER: f"127.0.0.1:{port}"})
        await copy.until(lambda: seen(copy, LinkUp(PLANNER)))
        copy.links.send(PLANNER, DATA)
        await copy.until(lambda: len(planner.notes) >= 2)  # it tries again, and is refused again
        assert {what for what, _ in planner.notes} == {"agents_twice"}
        assert "two agents say that they are edge-1, from 127.0.0.1 port" in planner.notes[0][1]
        assert planner.links.twins == [planner.notes[-1][1]]
        first.links.send(PLANNER, ENTRY_FRAME)
        await first.until(lambda: seen(planner, Received(1, ENTRY_FRAME)))
        assert not seen(planner, Received(1, DATA))
        assert not seen(planner, LinkLost(1))
        await close(first)  # then the other one may take its place
        await copy.until(lambda: seen(planner, LinkUp(1)) == 2)
        await close(copy, planner)

    run(scene())


def test_an_agent_whose_old_connection_is_dead_is_let_in_again():
    async def scene():
        planner = Side(PLANNER)
        port = await planner.links.listen("127.0.0.1", 0)
        stopped, again = Side(1), Side(1)
        stopped.links.keep({PLANNER: f"127.0.0.1:{port}"})
        await stopped.until(lambda: seen(planner, LinkUp(1)))  # it never pings, as if cut off
        again.links.keep({PLANNER: f"127.0.0.1:{port}"})
        await again.until(lambda: seen(again, LinkUp(PLANNER)))
        again.links.send(PLANNER, DATA)
        await again.until(lambda: seen(planner, Received(1, DATA)))
        found = [type(event) for event in planner.events]
        assert found == [LinkUp, LinkLost, LinkUp, Received]
        assert "agents_twice" not in dict(planner.notes)
        await close(again, stopped, planner)

    run(scene())


def test_certificates_that_cannot_be_read_are_said(tmp_path):
    with pytest.raises(
        InputError, match=r"the certificates of the planner cannot be used: .*Check"
    ):
        tls_contexts("the planner", str(tmp_path / "ca.crt"), "c", "k")
