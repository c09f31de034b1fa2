"""What the parts of an agent share: the actions to return, the clock, and who waits for what."""

from collections.abc import Callable

from meshwright.mesh.core.events import (
    JOURNAL,
    MAILBOX,
    PLANNER,
    STATE,
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
from meshwright.mesh.core.writes import Key, Writes
from meshwright.mesh.core.writes import Then as Next

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
        self._writes = {store: self._writes_of(store) for store in (STATE, JOURNAL, MAILBOX)}

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

    def _writes_of(self, store: str) -> Writes:
        def issue(key: Key, value: Key, answer: Then) -> None:
            self.actions.append(Put(self.token(answer), store, key, value))

        return Writes(
            issue,
            lambda why: self.note(f"{store}_failed", why),
            lambda seconds: self.wake(store, self.now + seconds),
        )

    def put(self, store: str, key: Key, value: Key, then: Next | None = None) -> None:
        """Store a record; go on when it and all that was put there before are stored."""
        self._writes[store].put(key, value, then)

    def after(self, store: str, then: Next) -> None:
        """Go on when all that was put so far is stored."""
        self._writes[store].after(then)

    def drop(self, store: str, *keys: Key) -> None:
        """Remove records."""
        if keys:
            for key in keys:
                self._writes[store].drop(key)
            self.actions.append(Drop(store, keys))

    def tick(self) -> None:
        """Put again what a disk refused, where that is due."""
        for store, writes in self._writes.items():
            if self.due(store):
                writes.retry()

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
