"""Which message a packet of the own broker is: the table that survives a crash of the agent.

A broker sends again, with the same packet id and the DUP flag, what was not acknowledged. Such a
packet must get the identity it had, or other brokers would deliver it twice. The table maps packet
ids to identities, with a digest of the content: a broker that was restored from an older save sends
old packet ids with other content.

An entry holds while the broker may still send the packet again. That is over when the broker sends
something new on a later connection (it sends again first what it has to), when the session is new,
or some time after the packet was accepted, if the connection lasted. An entry that was kept longer
could swallow a new message of equal content under a packet id used again.

Some brokers give new packet ids to what they send again (`same_packet_ids` of the settings is
false; the shell then numbers packets without end). There the content tells: of the entries of
earlier connections with the same digest, the oldest that was not claimed yet. Equal messages may
change places, which nobody can see. But if one of two equal messages was accepted just before a
crash, and the other had not been recorded, then the other is taken for the first.
"""

import hashlib
from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from meshwright.mesh.core.events import STATE
from meshwright.mesh.core.outbox import Outbox
from meshwright.mesh.core.values import Message, MessageId
from meshwright.mesh.core.writes import Then

ACCEPTED_FOR = 10.0  # seconds after which a broker surely has an acknowledgement
REPEATS_FOR = 10.0  # seconds of silence after which nothing more comes again
PACKET = "packet"


class Known(NamedTuple):
    """What is remembered of a packet."""

    id: MessageId
    digest: bytes
    epoch: int  # counts the connections on which the broker sent something new


class Intake:
    """The packets of one broker."""

    def __init__(
        self, out: Outbox, records: Iterable[tuple[Any, ...]], *, same_ids: bool = True
    ) -> None:
        """Recover from the records (key, value) whose keys begin with PACKET."""
        self._out = out
        self._same_ids = same_ids
        self.table: dict[int, Known] = {}
        for key, value in records:
            self.table[key[1]] = Known(MessageId(*value[0]), bytes(value[1]), value[2])
        self.epoch = max((known.epoch for known in self.table.values()), default=0)
        for packet in [p for p, known in self.table.items() if known.epoch < self.epoch]:
            del self.table[packet]
        self.is_settled = not self.table  # whether nothing can come again any more
        self._repeated_at: float | None = None  # when a packet last came again
        self._again: set[int] = set()  # packets that came again on this connection
        self._before: dict[bytes, deque[int]] = {}  # by digest: packets of earlier connections
        self._accepted: deque[tuple[float, int, MessageId]] = deque()

    @property
    def is_quiet(self) -> bool:
        """Whether the broker has sent again what it had to, as far as one can tell."""
        repeated = self._repeated_at
        return self.is_settled or (repeated is not None and self._out.now > repeated + REPEATS_FOR)

    def connect(self, *, resumed: bool) -> None:
        """Begin a connection: what was not acknowledged comes again, if the session is the old."""
        self._again.clear()
        self._accepted.clear()
        self.is_settled = not resumed
        self._repeated_at = self._out.now
        if not resumed:
            self._out.drop(STATE, *((PACKET, packet) for packet in self.table))
            self.table.clear()
            self.epoch += 1
        self._before.clear()
        if not self._same_ids:
            for packet in sorted(self.table, key=lambda packet: self.table[packet].id):
                self._before.setdefault(self.table[packet].digest, deque()).append(packet)

    def identify(self, message: Message, packet: int, *, duplicate: bool) -> MessageId | None:
        """Return the identity that a packet had, or None for a new one."""
        if not duplicate:
            self._end_of_repeats()
            return None
        self._repeated_at = self._out.now
        known = self.table.get(packet) if self._same_ids else self._renumber(message, packet)
        if known is None or known.digest != digest(message):
            return None
        self._again.add(packet)
        return known.id

    def _renumber(self, message: Message, packet: int) -> Known | None:
        """Return what is known of a packet that comes again under a new number."""
        before = self._before.get(digest(message))
        old = before.popleft() if before else None
        known = self.table.pop(old, None) if old is not None else None
        if known is not None:
            self._remember(packet, known, lambda: self._out.drop(STATE, (PACKET, old)))
        return known

    def record(self, message: Message, packet: int, id_: MessageId, then: Then) -> None:
        """Remember a packet, then go on."""
        self._remember(packet, Known(id_, digest(message), self.epoch), then)
        self._again.add(packet)

    def accept(self, packet: int) -> None:
        """Note that a packet was acknowledged."""
        known = self.table.get(packet)
        if known is not None:
            self._accepted.append((self._out.now + ACCEPTED_FOR, packet, known.id))
            self._out.wake(PACKET, self._accepted[0][0])

    def tick(self) -> None:
        """Forget packets whose acknowledgement surely arrived."""
        gone = []
        while self._accepted and self._accepted[0][0] <= self._out.now:
            _, packet, id_ = self._accepted.popleft()
            if packet in self.table and self.table[packet].id == id_:
                del self.table[packet]
                gone.append((PACKET, packet))
        self._out.drop(STATE, *gone)
        self._out.wake(PACKET, self._accepted[0][0] if self._accepted else None)

    def lose(self) -> None:
        """Note that the connection is lost, and with it perhaps acknowledgements."""
        self._repeated_at = None
        self._accepted.clear()
        self._out.wake(PACKET, None)

    def _end_of_repeats(self) -> None:
        """Make the entries void that the broker did not need."""
        if self.is_settled:
            return
        self.is_settled = True
        self.epoch += 1
        gone = [packet for packet in self.table if packet not in self._again]
        for packet in gone:
            del self.table[packet]
        self._out.drop(STATE, *((PACKET, packet) for packet in gone))
        for packet, known in self.table.items():  # still to be accepted: they hold on
            self._remember(packet, known._replace(epoch=self.epoch), None)

    def _remember(self, packet: int, known: Known, then: Then | None) -> None:
        self.table[packet] = known
        value = (tuple(known.id), known.digest, known.epoch)
        self._out.put(STATE, (PACKET, packet), value, then)


def digest(message: Message) -> bytes:
    """Return eight bytes that tell messages apart."""
    parts = (message.topic.encode(), message.payload, message.properties)
    head = bytes((message.qos, message.retain))
    sizes = b"".join(len(part).to_bytes(4, "big") for part in parts)
    return hashlib.blake2b(head + sizes + b"".join(parts), digest_size=8).digest()
