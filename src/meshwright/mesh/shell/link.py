"""One connection to an agent or the planner, from its first byte to its last.

Each side proves that it knows the secret of the mesh; with TLS it also shows a certificate. Frames
of one turn of the event loop go out in one write.
"""

import asyncio
import hashlib
import hmac
import socket
import ssl
from typing import TYPE_CHECKING, Any, NamedTuple

from meshwright.mesh.core.events import LinkFree, LinkFull, Received
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

if TYPE_CHECKING:
    from meshwright.mesh.shell.links import Links

HIGH_WATER, LOW_WATER = 4 * 2**20, 2**20  # bytes that wait for a peer
PREFACE_BYTES = 2_000  # most that is read from a peer that has not proved who it is
OPENING_SECONDS = 5.0
ONE_SECRET = "is the file secret the same in the directories of both?"
UNTRUSTED = (
    " before it introduced itself: it may not trust the certificate of this side. Check ca, cert "
    "and key at both ends"
)


class Identity(NamedTuple):
    """Who this side is, and how it knows the others."""

    mesh: str
    node: int
    secret: bytes
    most: int  # bytes of a frame
    server_tls: ssl.SSLContext | None = None
    client_tls: ssl.SSLContext | None = None
    spoken: Spoken = Spoken()


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
        self._held: list[Any] | None = None  # frames that wait for `release`
        self._flushing = self._full = False
        self.peer: int | None = None  # known once it has proved who it is
        self.transport: asyncio.Transport | None = None
        self.heard = self._loop.time()
        self.closed: asyncio.Future[None] = self._loop.create_future()
        self.why = "the peer closed the connection"
        self.address = "an unknown address"  # of the peer, in words

    def connection_made(self, transport: Any) -> None:
        """Introduce this side, if it dialled."""
        self.transport = transport
        if self.is_ours and transport.get_extra_info("sslcontext") is not None:
            # With TLS 1.3 a side learns of its refused certificate only by the end of a connection.
            self.why += UNTRUSTED
        peer = transport.get_extra_info("peername")
        if isinstance(peer, tuple):
            self.address = f"{peer[0]} port {peer[1]}"
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
                if self.peer is None:
                    self._introduce(frame)
                elif self._held is not None:
                    self._held.append(frame)
                else:
                    self._take(self.peer, frame)
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
        elif self.peer is None and not self._is_cut and theirs:
            self.why = f"{self.why} before it proved who it is; {ONE_SECRET}"
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

    def hold(self) -> None:
        """Read nothing more until `release`: the peer may be the wrong one."""
        self._held = []
        if self.transport is not None:
            self.transport.pause_reading()

    def release(self) -> None:
        """Take what has come, and read on."""
        held, self._held = self._held or (), None
        if self.transport is not None:
            self.transport.resume_reading()
        for frame in held:
            if self.peer is not None:
                self._take(self.peer, frame)

    def _take(self, peer: int, frame: Any) -> None:
        if type(frame) is not Ping:
            if type(frame) is Data:
                self._links.data_from[peer] += 1
            self._links.deliver(Received(peer, frame))

    def _flush(self) -> None:
        self._flushing = False
        if self.transport is not None and self._out:
            self.transport.write(b"".join(self._out))
        self._out.clear()

    @property
    def is_ours(self) -> bool:
        """Whether this side dialled."""
        return self._expected is not None

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
            self.why = self.why.removesuffix(UNTRUSTED)
            self._agree(frame)
            self.send(Proof(self._mac(dialled=self._expected is not None)))
        elif type(frame) is Proof:
            if not hmac.compare_digest(frame.mac, self._mac(dialled=self._expected is None)):
                raise FrameError(f"the peer does not know the secret of the mesh; {ONE_SECRET}")
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
