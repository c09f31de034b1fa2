"""All connections of an agent or planner: dialled, kept open, and refused where they must be.

The smaller number dials the larger one, agents dial the planner. Nothing here ever stops reading:
what waits to be sent is counted, and the core is told when it is too much.
"""

import asyncio
import logging
import ssl
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from meshwright.mesh.core.events import PLANNER, LinkLost, LinkUp
from meshwright.mesh.shell.codec import Ping
from meshwright.mesh.shell.link import OPENING_SECONDS, Identity, Link
from meshwright.mesh.shell.rivals import Rivals

log = logging.getLogger(__name__)

PING_SECONDS = 1.0
SILENT_SECONDS = 5.0  # after which a link counts as lost
FIRST_PAUSE, LAST_PAUSE = 0.05, 2.0  # seconds before dialling again, doubled each time
TWINS_SECONDS = 15.0  # a second agent of the same number tries again every few seconds


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
    rivals: "Rivals[Link]" = field(init=False)
    twice: dict[int, tuple[float, str]] = field(default_factory=dict)  # when, and what was said
    _server: asyncio.Server | None = None
    _pinging: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        self.rivals = Rivals(self._use, self.refuse)

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

    @property
    def twins(self) -> list[str]:
        """What was said just now of two agents that say that they are the same."""
        now = asyncio.get_running_loop().time()
        return [why for at, why in self.twice.values() if now - at < TWINS_SECONDS]

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
        self.rivals.close()
        for link in list(self._up.values()):
            link._flush()
            if link.transport is not None:
                link.transport.close()

    # What a link calls

    def opened(self, link: Link) -> None:
        """Use a connection whose peer has proved who it is, unless two say that they are it."""
        assert link.peer is not None
        old = self._up.get(link.peer)
        if old is None or link.is_ours:
            self._use(link)
        else:
            self.rivals.wait(link.peer, link, old)

    def refuse(self, peer: int, link: Link, old: Link) -> None:
        """Refuse a connection whose peer is a second one, and say so."""
        name = (self.allowed or {}).get(peer) or _named(peer)
        why = (
            f"two agents say that they are {name}, from {old.address} and {link.address}: stop "
            "one of them. The later one is refused. Was a directory copied?"
        )
        self.twice[peer] = (asyncio.get_running_loop().time(), why)
        self.note("agents_twice", why)
        link.close("another agent with this number is connected")

    def _use(self, link: Link) -> None:
        """Use a connection; it replaces an older one."""
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
        link.release()

    def lost(self, link: Link) -> None:
        """Take note that a connection is over."""
        if link.peer is not None and self._up.get(link.peer) is link:
            del self._up[link.peer]
            if link.peer in self._wanted or PLANNER in (link.peer, self.identity.node):
                self.note("links_lost", f"link to {_named(link.peer)}: {link.why}")
            self.deliver(LinkLost(link.peer))
            self.rivals.go_on(link.peer)
        elif link.peer is None:
            self.note(link.refusal, f"{link.address}: {link.why}")

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
                if isinstance(error, ssl.SSLError):
                    why = f"{_named(peer)} at {endpoint} shows no certificate that is trusted here"
                    self.note("links_refused", f"{why}: {error}. Check ca, cert and key")
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
