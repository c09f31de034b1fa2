"""Drives a core: one event at a time in, its actions carried out in order.

Events that arrive in one turn of the event loop are handled together, and what they store is
written once, before the answers. This file and its two users, `agent.py` and `planner.py`, make no
decisions.
"""

import asyncio
import logging
import os
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Protocol, TypeVar

from meshwright import __version__
from meshwright.errors import InputError
from meshwright.mesh.core.events import (
    Drop,
    End,
    Note,
    NotStored,
    Put,
    Send,
    SetLinks,
    Start,
    Tick,
    Wake,
)
from meshwright.mesh.shell.links import Links
from meshwright.mesh.shell.summaries import KEPT_EVENTS, Happened
from meshwright.mesh.storage.stores import OWN_TOKEN, Stores

log = logging.getLogger(__name__)
T = TypeVar("T")

RETRY_SECONDS = 1.0  # until a disk that refused what the shell stores is asked again
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
        self.started = time.time()
        self.counters: Counter[str] = Counter()
        self.last_words: dict[str, str] = {}  # the last detail of each kind of trouble
        self.core: Core
        self.links: Links
        # Set when this one ends by itself: with an error, or because it has left the mesh.
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.has_left = False
        self._events: deque[Any] = deque()
        self._loop = asyncio.get_running_loop()
        self._scheduled = False
        self._timer: asyncio.TimerHandle | None = None
        self._retry: asyncio.TimerHandle | None = None
        self._said: dict[str, float] = {}
        self.events: deque[Happened] = deque(maxlen=KEPT_EVENTS)  # what was logged
        self._actions: dict[type, Callable[[Any], None]] = {
            Send: lambda action: self.links.send(action.peer, action.frame),
            SetLinks: lambda action: self.links.keep(self.with_planner(dict(action.peers))),
            Put: stores.put,
            Drop: stores.drop,
            Wake: self._wake,
            End: self._end,
            Note: lambda action: self.note(action.what, action.detail, action.times),
            **self.more_actions(),
        }

    def more_actions(self) -> Mapping[type, Callable[[Any], None]]:
        """Return how a subclass carries out further actions."""
        return {}

    def with_planner(self, peers: dict[int, str]) -> dict[int, str]:
        """Return the peers to dial: those that the core asks for, and any that a subclass adds."""
        return peers

    def posts(self) -> Mapping[str, Callable[[], Awaitable[dict[str, Any]]]]:
        """Return what can be asked over HTTP, by path; each returns its answer."""
        return {}

    def gets(self) -> Mapping[str, Callable[[], dict[str, Any]]]:
        """Return what else can be read over HTTP, by path, by those who may see the page."""
        return {}

    def after_turn(self) -> None:
        """Do what follows when the events of a turn are handled and their records are on disk."""
        return

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
        """Count something, and log its detail unless the like was logged just now."""
        self.counters[what] += times
        if detail:
            self.last_words[what] = detail
        if not detail:
            return
        now = time.monotonic()
        if now - self._said.get(what, -QUIET_SECONDS) >= QUIET_SECONDS:
            self._said[what] = now
            self.events.append(Happened(time.time(), what, detail))
            log.warning("%s: %s: %s", self.name, what.replace("_", " "), detail)

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Do some work in a thread that ends with the process: a signal must not wait for it."""
        done: asyncio.Future[T] = self._loop.create_future()

        def run() -> None:
            try:
                ending = partial(_set, done.set_result, work())
            except Exception as error:
                ending = partial(_set, done.set_exception, error)
            with suppress(RuntimeError):  # the loop is closed already
                self._loop.call_soon_threadsafe(ending)

        def _set(finish: Callable[[Any], None], value: Any) -> None:
            if not done.cancelled():
                finish(value)

        threading.Thread(target=run, daemon=True).start()
        return await done

    def status(self) -> dict[str, Any]:
        """Return what `mesh status` shows."""
        stores = self.stores.sizes().items()
        return {
            "name": self.name,
            "pid": os.getpid(),
            "software": __version__,
            "started": self.started,
            "version": list(self.core.log.newest),
            "links": self.links.up,
            "wires": self.links.wires,
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
                    elif isinstance(answer, NotStored):
                        self.note("adapter_failed", answer.reason)
                if self.stores.has_refused and self._retry is None:
                    self._retry = self._loop.call_later(RETRY_SECONDS, self._write_again)
            self.after_turn()
        except Exception as error:
            # A core that fails cannot be trusted with another event; its files are in order.
            log.exception("%s failed", self.name)
            if not self.failed.done():
                self.failed.set_exception(error)
        self._scheduled = False

    def _write_again(self) -> None:
        self._retry = None
        self.stores.retry()
        self.write_soon()

    def _end(self, action: End) -> None:
        self.has_left = not action.is_failure
        if self.failed.done():
            return
        if self.has_left:
            log.warning("%s: %s", self.name, action.why)
        if action.is_failure:
            self.failed.set_exception(InputError(action.why))
        else:
            self.failed.set_result(None)

    def _wake(self, action: Wake) -> None:
        if self._timer is not None:
            self._timer.cancel()
        pause = max(0.0, action.at - time.monotonic())
        self._timer = self._loop.call_later(pause, self.deliver, Tick())

    async def close(self) -> None:
        """Stop; the files are closed last."""
        for timer in (self._timer, self._retry):
            if timer is not None:
                timer.cancel()
        await self.links.close()
        self.stores.close()
