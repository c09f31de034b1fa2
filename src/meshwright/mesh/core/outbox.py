"""What the parts of an agent share: the actions to return, the clock, and who waits for what."""

from collections.abc import Callable
from typing import Any

from meshwright.mesh.core.events import (
    PLANNER,
    Action,
    Drop,
    Note,
    Publish,
    Put,
    Send,
    Wake,
)
from meshwright.mesh.core.frames import Frame
from meshwright.mesh.core.values import Message

Then = Callable[[str | None], None]  # is called with None, or with why it failed


class Outbox:
    """Gathers the actions of one call of `handle`; remembers what to do when they are done."""

    def __init__(self) -> None:
        self.now = 0.0
        self.actions: list[Action] = []
        self.up: set[int] = set()  # peers whose links are up
        self.full: set[int] = set()  # of these, those with too much waiting
        self._token = 0
        self._waiting: dict[int, Then] = {}
        self._wishes: dict[str, float] = {}  # by part, when it wants to be woken
        self._wake: float | None = None

    def take(self) -> list[Action]:
        """Return the actions so far, with a `Wake` where the next time has changed."""
        wake = min(self._wishes.values(), default=None)
        if wake is not None and wake != self._wake:
            self.actions.append(Wake(wake))
        self._wake = wake
        actions, self.actions = self.actions, []
        return actions

    def wake(self, part: str, at: float | None) -> None:
        """Ask for a `Tick` at a time, instead of the part's earlier wish; None: for none."""
        if at is None:
            self._wishes.pop(part, None)
        else:
            self._wishes[part] = at

    def due(self, part: str) -> bool:
        """Return whether the time of a part has come, and forget its wish."""
        if self._wishes.get(part, self.now + 1) > self.now:
            return False
        del self._wishes[part]
        self._wake = None
        return True

    def token(self, then: Then | None = None) -> int:
        """Return a new token; `then` is called when its action is done."""
        self._token += 1
        if then is not None:
            self._waiting[self._token] = then
        return self._token

    def done(self, token: int, failure: str | None = None) -> None:
        """Call what waits for a token, once."""
        then = self._waiting.pop(token, None)
        if then is not None:
            then(failure)

    def forget(self, token: int) -> None:
        """Stop waiting for a token."""
        self._waiting.pop(token, None)

    def put(
        self, store: str, key: tuple[Any, ...], value: tuple[Any, ...], then: Then | None = None
    ) -> None:
        """Store a record, then go on."""
        self.actions.append(Put(self.token(then), store, key, value))

    def drop(self, store: str, *keys: tuple[Any, ...]) -> None:
        """Remove records."""
        if keys:
            self.actions.append(Drop(store, keys))

    def publish(
        self, message: Message, then: Then, packet: int | None = None, *, duplicate: bool = False
    ) -> int:
        """Publish at the own broker, then go on; return the token."""
        token = self.token(then)
        self.actions.append(Publish(token, message, packet, duplicate))
        return token

    def send(self, peer: int, frame: Frame) -> None:
        """Send a frame to a peer, if its link is up."""
        if peer in self.up:
            self.actions.append(Send(peer, frame))

    def to_planner(self, frame: Frame) -> None:
        """Send a frame to the planner, if it is there."""
        self.send(PLANNER, frame)

    @property
    def is_planner_up(self) -> bool:
        """Whether frames can be sent to the planner."""
        return PLANNER in self.up

    def note(self, what: str, detail: str = "", times: int = 1) -> None:
        """Count something, and say it."""
        self.actions.append(Note(what, detail, times))
