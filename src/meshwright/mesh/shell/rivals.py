"""Two agents that say that they are the same one: a directory was copied, and both run.

A peer that connects again may have lost its connection before this side noticed; then the new one
replaces it. If the old one is still alive, there are two peers. Each would replace the other for
ever, and messages of both would bear the same numbers. So a new connection waits until it is known
whether the old one is alive, which pings show, and is refused if it is.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

ALIVE_SECONDS = 1.5  # later than this after a new connection came, only a second peer pings
JUDGE_SECONDS = 3.0  # by when it has; pings come every second
LATE_SECONDS = 0.5  # this side was busy or stopped, and has pings yet to read


class Connected(Protocol):
    """What is asked of a connection."""

    transport: Any
    heard: float  # by the clock of the loop

    def hold(self) -> None:
        """Read nothing more."""

    def close(self, why: str) -> None:
        """Cut it off."""


C = TypeVar("C", bound=Connected)


class Rivals(Generic[C]):
    """New connections of peers that have one already; one of each peer waits at most.

    Parameters
    ----------
    use
        Takes a connection that is the only one of its peer.
    refuse
        Takes a peer, its second connection and the first one, which is alive.
    """

    def __init__(self, use: Callable[[C], None], refuse: Callable[[int, C, C], None]) -> None:
        self._use, self._refuse = use, refuse
        self._waiting: dict[int, C] = {}

    def wait(self, peer: int, new: C, old: C) -> None:
        """Hold a connection back until it is known whether the older one is alive."""
        before = self._waiting.pop(peer, None)
        if before is not None:
            before.close("the peer opened a new connection")
        self._waiting[peer] = new
        new.hold()
        self._judge_later(peer, new, old)

    def go_on(self, peer: int) -> None:
        """Use what waits: the older connection is over."""
        new = self._waiting.pop(peer, None)
        if new is not None and new.transport is not None:
            self._use(new)

    def close(self) -> None:
        """Cut off all that wait."""
        for new in self._waiting.values():
            new.close("this side ends")
        self._waiting.clear()

    def _judge_later(self, peer: int, new: C, old: C) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(JUDGE_SECONDS, self._judge, peer, new, old, loop.time())

    def _judge(self, peer: int, new: C, old: C, since: float) -> None:
        if self._waiting.get(peer) is not new:
            return
        if asyncio.get_running_loop().time() - since > JUDGE_SECONDS + LATE_SECONDS:
            self._judge_later(peer, new, old)
        elif old.transport is not None and old.heard - since > ALIVE_SECONDS:
            del self._waiting[peer]
            self._refuse(peer, new, old)
        else:
            self.go_on(peer)
