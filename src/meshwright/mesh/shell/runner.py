"""Drives a core: one event at a time in, its actions carried out in order.

Events that arrive in one turn of the event loop are handled together, and what they store is
written once, before the answers. This file and its two users, `agent.py` and `planner.py`, make no
decisions.
"""

import asyncio
import logging
import os
import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from meshwright.mesh.core.events import Drop, Note, Put, Send, SetLinks, Start, Tick, Wake
from meshwright.mesh.shell.links import Links
from meshwright.mesh.storage.stores import Stores

log = logging.getLogger(__name__)

OWN_TOKEN = -1  # of records that the shell stores for itself
QUIET_SECONDS = 10.0  # the same kind of trouble is logged once in so many seconds


class Core(Protocol):
    """An agent or a planner without I/O."""

    log: Any  # the numbered log, of which `newest` is the last version

    def handle(self, event: Any, now: float) -> list[Any]:
        """Return what to do."""


class Runner(ABC):
    """One core with its clock, files and links; subclasses add further actions."""

    def __init__(self, name: str, stores: Stores) -> None:
        self.name, self.stores = name, stores
        self.counters: Counter[str] = Counter()
        self.last_words: dict[str, str] = {}  # the last detail of each kind of trouble
        self.core: Core
        self.links: Links
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._events: deque[Any] = deque()
        self._loop = asyncio.get_running_loop()
        self._scheduled = False
        self._timer: asyncio.TimerHandle | None = None
        self._said: dict[str, float] = {}
        self._actions: dict[type, Callable[[Any], None]] = {
            Send: lambda action: self.links.send(action.peer, action.frame),
            SetLinks: lambda action: self.links.keep(self.with_planner(dict(action.peers))),
            Put: stores.put,
            Drop: stores.drop,
            Wake: self._wake,
            Note: lambda action: self.note(action.what, action.detail, action.times),
            **self.more_actions(),
        }

    def more_actions(self) -> Mapping[type, Callable[[Any], None]]:
        """Return how a subclass carries out further actions."""
        return {}

    def with_planner(self, peers: dict[int, str]) -> dict[int, str]:
        """Return the peers to dial beside those that the core asks for."""
        return peers

    def posts(self) -> Mapping[str, Callable[[], None]]:
        """Return what can be asked over HTTP, by path."""
        return {}

    @abstractmethod
    async def open(self) -> None:
        """Begin to listen and to dial."""

    def start(self) -> None:
        """Let the core begin."""
        self.deliver(Start(time.time()))

    def deliver(self, event: Any) -> None:
        """Take an event; it is handled in this turn of the event loop, after those before it."""
        self._events.append(event)
        self.write_soon()

    def write_soon(self) -> None:
        """Handle events and write records in this turn of the event loop."""
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._drain)

    def note(self, what: str, detail: str = "", times: int = 1) -> None:
        """Count something, and log it unless its like was logged just now."""
        self.counters[what] += times
        if detail:
            self.last_words[what] = detail
        now = time.monotonic()
        if now - self._said.get(what, -QUIET_SECONDS) >= QUIET_SECONDS:
            self._said[what] = now
            words = what.replace("_", " ")
            log.warning("%s: %s%s", self.name, words, detail and f": {detail}")

    def status(self) -> dict[str, Any]:
        """Return what `mesh status` shows."""
        stores = self.stores.sizes().items()
        return {
            "name": self.name,
            "pid": os.getpid(),
            "version": list(self.core.log.newest),
            "links": self.links.up,
            "counters": dict(self.counters),
            "last_words": self.last_words,
            "stores": {name: {"records": n, "bytes": size} for name, (n, size) in stores},
        }

    def _drain(self) -> None:
        """Handle all events; write what is to be stored; handle the answers."""
        try:
            while self._events or self.stores.is_dirty:
                while self._events:
                    event = self._events.popleft()
                    for action in self.core.handle(event, time.monotonic()):
                        self._actions[type(action)](action)
                for answer in self.stores.flush():
                    if answer.token != OWN_TOKEN:
                        self._events.append(answer)
        except Exception as error:
            # A core that fails cannot be trusted with another event; its files are in order.
            log.exception("%s failed", self.name)
            if not self.failed.done():
                self.failed.set_exception(error)
        self._scheduled = False

    def _wake(self, action: Wake) -> None:
        if self._timer is not None:
            self._timer.cancel()
        pause = max(0.0, action.at - time.monotonic())
        self._timer = self._loop.call_later(pause, self.deliver, Tick())

    async def close(self) -> None:
        """Stop; the files are closed last."""
        if self._timer is not None:
            self._timer.cancel()
        await self.links.close()
        self.stores.close()
