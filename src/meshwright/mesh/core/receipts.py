"""What was delivered here, and telling origins so.

The identity of every delivered message is on disk until its origin's floor has passed it. Below the
floor a message counts as delivered.
"""

from collections.abc import Callable, Iterable
from typing import Any

from meshwright.mesh.core.events import STATE
from meshwright.mesh.core.frames import Acks
from meshwright.mesh.core.outbox import Outbox
from meshwright.mesh.core.relay import MOST_HOPS, Relay
from meshwright.mesh.core.settings import AgentSettings
from meshwright.mesh.core.values import MessageId

DELIVERED, FLOOR = "delivered", "floor"
PRUNE_AT = 256  # identities of an origin that are looked through when its floor rises
MOST_IN_FRAME = 64  # acknowledgements


class Receipts:
    """The deliveries at one broker."""

    def __init__(self, settings: AgentSettings, out: Outbox, relay: Relay) -> None:
        self._settings = settings
        self._out = out
        self._relay = relay
        self.incarnation = 0
        self._delivered: dict[int, set[tuple[int, int]]] = {}  # by origin
        self._floors: dict[int, tuple[int, int]] = {}
        self._prune_at: dict[int, int] = {}  # how many identities of an origin are too many
        self._have: dict[int, list[MessageId]] = {}  # to be told, by origin
        self._held: dict[int, list[MessageId]] = {}

    def has(self, id_: MessageId) -> bool:
        """Return whether a message was delivered or settled."""
        own = id_[1:]
        if own < self._floors.get(id_.origin, (0, 0)):
            return True
        return own in self._delivered.get(id_.origin, ())

    def record(self, id_: MessageId, then: Callable[[], None]) -> None:
        """Record a delivery, then go on."""
        self._delivered.setdefault(id_.origin, set()).add(id_[1:])
        self._out.put(STATE, (DELIVERED, *id_), (), then)

    def raise_floor(self, origin: int, floor: tuple[int, int]) -> None:
        """Forget what an origin will never send again."""
        floor = (floor[0], floor[1])
        if floor <= self._floors.get(origin, (0, 0)):
            return
        self._floors[origin] = floor
        known = self._delivered.get(origin, set())
        if len(known) < self._prune_at.get(origin, PRUNE_AT):
            return
        gone = [own for own in known if own < floor]
        known.difference_update(gone)
        self._prune_at[origin] = max(PRUNE_AT, 2 * len(known))
        keys = [(DELIVERED, origin, *own) for own in gone]
        self._out.put(STATE, (FLOOR, origin), floor, lambda: self._out.drop(STATE, *keys))

    def have(self, id_: MessageId) -> None:
        """Tell an origin that its message is delivered."""
        self._gather(self._have, id_)

    def held(self, id_: MessageId) -> None:
        """Tell an origin that its message is here."""
        self._gather(self._held, id_)

    def _gather(self, rows: dict[int, list[MessageId]], id_: MessageId) -> None:
        waiting = rows.setdefault(id_.origin, [])
        waiting.append(id_)
        if len(waiting) >= MOST_IN_FRAME:
            self._tell(id_.origin)
        if len(self._have) + len(self._held) == 1 and len(waiting) == 1:
            self._out.wake("receipts", self._out.now + self._settings.ack_after)

    def tick(self) -> None:
        """Send what was gathered."""
        for origin in sorted(self._have.keys() | self._held.keys()):
            self._tell(origin)

    def _tell(self, origin: int) -> None:
        have, held = self._have.pop(origin, []), self._held.pop(origin, [])
        told = set(have)
        ids = (tuple(have), tuple(id_ for id_ in held if id_ not in told))
        frame = Acks(origin, self._settings.node, self.incarnation, *ids, MOST_HOPS)
        self._relay.answer(frame)

    def recover(
        self, floors: Iterable[tuple[Any, Any]], delivered: Iterable[tuple[Any, Any]]
    ) -> None:
        """Take over what the last life recorded."""
        for key, value in floors:
            self._floors[key[1]] = (value[0], value[1])
        for key, _ in delivered:
            self._delivered.setdefault(key[1], set()).add((key[2], key[3]))
