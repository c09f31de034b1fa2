"""Connections between agents, and to the planner: dialled, authenticated, kept open.

Each side proves that it knows the secret of the mesh; with TLS it also shows a certificate. The
smaller number dials the larger one, agents dial the planner. Frames of one turn of the event loop
go out in one write. Nothing here ever stops reading: what waits to be sent is counted, and the core
is told when it is too much.
"""

import asyncio
import hashlib
import hmac
import logging
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from meshwright.errors import InputError
from meshwright.mesh.core.events import PLANNER, LinkFree, LinkFull, LinkLost, LinkUp, Received
from meshwright.mesh.core.frames import Data
from meshwright.mesh.shell.codec import (
    WIRE_VERSION,
    FrameError,
    Ping,
    Preface,
    Proof,
    Reader,
    encode,
)
from meshwright.mesh.shell.wire import Spoken, VersionError

log = logging.getLogger(__name__)

PING_SECONDS = 1.0
SILENT_SECONDS = 5.0  # after which a link counts as lost
FIRST_PAUSE, LAST_PAUSE = 0.05, 2.0  # seconds before dialling again, doubled each time
HIGH_WATER, LOW_WATER = 4 * 2**20, 2**20  # bytes that wait for a peer
PREFACE_BYTES = 2_000  # most that is read from a peer that has not proved who it is
OPENING_SECONDS = 5.0


class Identity(NamedTuple):
    """Who this side is, and how it knows the others."""

    mesh: str
    node: int
    secret: bytes
    most: int  # bytes of a frame
    server_tls: ssl.SSLContext | None = None
    client_tls: ssl.SSLContext | None = None
    spoken: Spoken = Spoken()


def tls_contexts(
    who: str, ca: str, cert: str, key: str
) -> tuple[ssl.SSLContext | None, ssl.SSLContext | None]:
    """Return how one side listens and dials; None without certificates in the inventory."""
    if not ca:
        return None, None
    try:
        server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=ca)
        server.verify_mode = ssl.CERT_REQUIRED
        client = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=ca)
        for context in (server, client):
            context.load_cert_chain(cert, key)
    except (OSError, ssl.SSLError) as error:
        raise InputError(
            f"the certificates of {who} cannot be used: {error}. Check ca, cert and key in its "
            ".toml file."
        ) from error
    return server, client


class Link(asyncio.Protocol):
    """One connection, from the first byte on."""

    def __init__(self, links: "Links", expected: int | None, offer: int = 0) -> None:
        self._links, self._expected = links, expected  # whom we dialled; None: we were dialled
        self._offer = offer  # the version of the protocol that this side offers, if it dials
        self.wire = WIRE_VERSION  # the one that both sides speak; prefaces are the same in all
        self._is_cut = False  # whether this side ended it
        self._reader = Reader(PREFACE_BYTES)
        self._loop = asyncio.get_running_loop()
        spoken = links.identity.spoken
        self._nonce = spoken.nonce(offer or spoken.newest)
        self._preface: Preface | None = None  # the peer's
        self._ours: Preface
        self.refusal = "links_refused"  # the counter, should it come to nothing
        self._out: list[bytes] = []
        self._flushing = self._full = False
        self.peer: int | None = None  # known once it has proved who it is
        self.transport: asyncio.Transport | None = None
        self.heard = self._loop.time()
        self.closed: asyncio.Future[None] = self._loop.create_future()
        self.why = "the peer closed the connection"

    def connection_made(self, transport: Any) -> None:
        """Introduce this side, if it dialled."""
        self.transport = transport
        opened = transport.get_extra_info("socket")
        if opened is not None and opened.family != socket.AF_UNIX:
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        transport.set_write_buffer_limits(high=HIGH_WATER, low=LOW_WATER)
        self._loop.call_later(OPENING_SECONDS, self._check_open)
        if self._expected is not None:
            self._introduce_us(self._expected, self._offer)

    def data_received(self, data: bytes) -> None:
        """Read frames; a peer that sends anything else is cut off."""
        self.heard = self._loop.time()
        try:
            for frame in self._reader.feed(data):
                if self.peer is not None:
                    if type(frame) is not Ping:
                        if type(frame) is Data:
                            self._links.data_from[self.peer] += 1
                        self._links.deliver(Received(self.peer, frame))
                else:
                    self._introduce(frame)
                if self.transport is None or self.transport.is_closing():
                    return
        except VersionError as error:
            self.refusal = "versions_refused"
            self.close(str(error), now=False)  # the peer learns our version, if we answered
        except FrameError as error:
            self.close(str(error))

    def pause_writing(self) -> None:
        """Tell the core that much waits for this peer."""
        self._full = True
        if self.peer is not None:
            self._links.deliver(LinkFull(self.peer))

    def resume_writing(self) -> None:
        """Tell the core that the peer reads again."""
        self._full = False
        if self.peer is not None:
            self._links.deliver(LinkFree(self.peer))

    def connection_lost(self, error: Exception | None) -> None:
        """Tell the core, if this is the connection that it uses."""
        self.transport = None
        if error is not None and not self._is_cut:
            self.why = str(error)
        theirs, spoken = self._preface, self._links.identity.spoken
        if self.peer is None and not self._is_cut and theirs and theirs.wire > spoken.newest:
            self.refusal, self.why = "versions_refused", spoken.gone(theirs.wire)
        if not self.closed.done():
            self.closed.set_result(None)
        self._links.lost(self)

    def send(self, frame: Any) -> None:
        """Send a frame, those of one turn of the loop together."""
        self._out.append(encode(frame, self.wire))
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._flush)

    def close(self, why: str, *, now: bool = True) -> None:
        """Cut the connection off; with `now` false after what waits to be sent."""
        self.why, self._is_cut = why, True
        if self.transport is not None:
            if now:
                self.transport.abort()
            else:
                self._flush()
                self.transport.close()

    def _flush(self) -> None:
        self._flushing = False
        if self.transport is not None and self._out:
            self.transport.write(b"".join(self._out))
        self._out.clear()

    @property
    def was_answered(self) -> bool:
        """Whether the peer introduced itself."""
        return self._preface is not None

    def _introduce_us(self, to: int, wire: int) -> None:
        own = self._links.identity
        self._ours = Preface(wire, own.mesh, own.node, to, self._nonce)
        self.send(self._ours)

    def _introduce(self, frame: Any) -> None:
        """Read what a peer says before it has proved who it is."""
        if self._preface is None:
            if type(frame) is not Preface:
                raise FrameError("the peer did not introduce itself")
            self._check_preface(frame)
            self._agree(frame)
            self.send(Proof(self._mac(dialled=self._expected is not None)))
        elif type(frame) is Proof:
            if not hmac.compare_digest(frame.mac, self._mac(dialled=self._expected is None)):
                raise FrameError("the peer does not know the secret of the mesh")
            self._reader.most = self._links.identity.most
            self.peer = self._preface.node
            self._links.opened(self)
        else:
            raise FrameError("the peer sent a frame before it proved who it is")

    def _check_preface(self, preface: Preface) -> None:
        own = self._links.identity
        if preface.mesh != own.mesh:
            raise FrameError(f"the peer belongs to the mesh {preface.mesh!r}, not {own.mesh!r}")
        if preface.to != own.node or self._expected not in (None, preface.node):
            raise FrameError(
                f"node {preface.node} answered as a peer of node {preface.to}; an endpoint is "
                "that of another agent"
            )

    def _agree(self, preface: Preface) -> None:
        """Agree on a version of the protocol; a dialled side answers with it."""
        spoken, self._preface = self._links.identity.spoken, preface
        if self._expected is not None:
            self.wire = spoken.take(preface.wire, self._offer)
            return
        spoken.refuse_fallback(preface.wire, preface.nonce)
        try:
            chosen = spoken.answer(preface.wire)
        except VersionError:
            self._introduce_us(preface.node, spoken.oldest)  # so that the peer can say it, too
            raise
        self._introduce_us(preface.node, chosen)
        self.wire = chosen

    def _mac(self, *, dialled: bool) -> bytes:
        """Return the proof of the side that dialled, or of the one that was dialled."""
        assert self._preface is not None
        ours, theirs = self._ours, self._preface
        first, second = (theirs, ours) if self._expected is None else (ours, theirs)
        text = b"|".join([b"dial" if dialled else b"answer", encode(first), encode(second)])
        return hmac.new(self._links.identity.secret, text, hashlib.sha256).digest()

    def _check_open(self) -> None:
        if self.peer is None:
            self.close("the peer did not prove who it is in time")


@dataclass(slots=True)
class Links:
    """All connections of one agent or planner."""

    identity: Identity
    deliver: Callable[[Any], None]  # takes the events of the core
    note: Callable[[str, str], None]  # counts and logs what went wrong: a name, and details
    allowed: Mapping[int, Any] | None = None  # who may dial; None: whoever knows the secret
    data_from: Counter[int] = field(default_factory=Counter)  # messages that each peer sent
    _up: dict[int, Link] = field(default_factory=dict)
    _wanted: dict[int, str] = field(default_factory=dict)  # endpoints
    _dialling: dict[int, asyncio.Task[None]] = field(default_factory=dict)
    _server: asyncio.Server | None = None
    _pinging: asyncio.Task[None] | None = None

    async def listen(self, host: str, port: int) -> int:
        """Accept connections; return the port."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Link(self, None), host, port, ssl=self.identity.server_tls
        )
        self._pinging = loop.create_task(self._ping())
        found: int = self._server.sockets[0].getsockname()[1]
        return found

    def keep(self, peers: Mapping[int, str]) -> None:
        """Be linked with these peers and no others; the planner stays."""
        before, self._wanted = self._wanted, dict(peers)
        for peer, link in list(self._up.items()):
            if peer not in self._wanted and peer != PLANNER and self.identity.node != PLANNER:
                link.close("the plan has no such link any more")
        for peer in before.keys() - self._wanted.keys() | {
            peer for peer in before if before[peer] != self._wanted.get(peer)
        }:
            task = self._dialling.pop(peer, None)
            if task is not None:
                task.cancel()
        for peer, endpoint in self._wanted.items():
            if self._dials(peer) and peer not in self._dialling:
                task = asyncio.get_running_loop().create_task(self._dial(peer, endpoint))
                self._dialling[peer] = task

    def send(self, peer: int, frame: Any) -> None:
        """Send a frame if the peer is linked; otherwise the core hears of the loss anyway."""
        link = self._up.get(peer)
        if link is not None:
            link.send(frame)

    @property
    def wires(self) -> dict[int, int]:
        """The version of the protocol that is spoken with each peer."""
        return {peer: link.wire for peer, link in sorted(self._up.items())}

    @property
    def up(self) -> list[int]:
        """The peers that are linked now."""
        return sorted(self._up)

    async def close(self) -> None:
        """Close everything."""
        tasks = [*self._dialling.values(), *([self._pinging] if self._pinging else [])]
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task
        if self._server is not None:
            self._server.close()
        for link in list(self._up.values()):
            link._flush()
            if link.transport is not None:
                link.transport.close()

    # What a link calls

    def opened(self, link: Link) -> None:
        """Use a connection whose peer has proved who it is; it replaces an older one."""
        peer = link.peer
        assert peer is not None
        if self.allowed is not None and peer not in self.allowed:
            link.close(f"node {peer} is not in the inventory")
            return
        is_planner = PLANNER in (peer, self.identity.node)
        if not is_planner and peer not in self._wanted:
            # It may know a newer plan than this side: it dials again, and by then so do we.
            link.close("the plan has no such link here")
            return
        old = self._up.get(peer)
        self._up[peer] = link
        if old is not None:
            old.close("the peer opened a new connection")
            self.deliver(LinkLost(peer))
        self.deliver(LinkUp(peer))

    def lost(self, link: Link) -> None:
        """Take note that a connection is over."""
        if link.peer is not None and self._up.get(link.peer) is link:
            del self._up[link.peer]
            if link.peer in self._wanted or PLANNER in (link.peer, self.identity.node):
                self.note("links_lost", f"link to {_named(link.peer)}: {link.why}")
            self.deliver(LinkLost(link.peer))
        elif link.peer is None:
            self.note(link.refusal, link.why)

    # Inside

    def _dials(self, peer: int) -> bool:
        return peer == PLANNER or (self.identity.node != PLANNER and self.identity.node < peer)

    async def _dial(self, peer: int, endpoint: str) -> None:
        """Keep a connection to a peer, for ever."""
        host, _, port = endpoint.rpartition(":")
        tls = self.identity.client_tls
        loop, pause = asyncio.get_running_loop(), FIRST_PAUSE
        offer = self.identity.spoken.newest
        while True:
            try:
                async with asyncio.timeout(OPENING_SECONDS):
                    _, link = await loop.create_connection(
                        partial(Link, self, peer, offer), host.strip("[]"), int(port), ssl=tls
                    )
                opened = loop.time()
                await link.closed
                was_used = link.peer is not None and loop.time() - opened > PING_SECONDS
                pause = FIRST_PAUSE if was_used else min(2 * pause, LAST_PAUSE)
                spoken, silent = self.identity.spoken, not link.was_answered
                offer = spoken.after_silence(offer) if silent else spoken.newest
            except (OSError, TimeoutError) as error:
                log.debug("link to %s at %s: %s", peer, endpoint, error)
                pause = min(2 * pause, LAST_PAUSE)
            await asyncio.sleep(pause)

    async def _ping(self) -> None:
        """Say that this side is alive, and notice who is not."""
        while True:
            await asyncio.sleep(PING_SECONDS)
            now = asyncio.get_running_loop().time()
            for link in list(self._up.values()):
                if now - link.heard > SILENT_SECONDS:
                    link.close(f"silent for {SILENT_SECONDS:.0f} s")
                else:
                    link.send(Ping())


def _named(peer: int) -> str:
    """Return a peer in words; agents are numbered in the order of mesh.toml, from 0."""
    return "the planner" if peer == PLANNER else f"agent {peer}"
