"""Packet ids towards the own broker, for exactly-once delivery.

A message is published with QoS 2 and a packet id that is on disk, in its record of the mailbox. The
broker keeps the packet id from PUBREC to PUBREL and takes a message with it once. PUBREL is sent
when the delivery is recorded; until PUBCOMP the packet id is not used again.
"""

from meshwright.mesh.core.events import MAILBOX, Release
from meshwright.mesh.core.outbox import Outbox
from meshwright.mesh.core.values import MessageId

MOST_PACKETS = 32_767  # the upper half is for what the shell sends by itself


class Packets:
    """The packet ids that an agent uses at its broker."""

    def __init__(self, out: Outbox) -> None:
        self._out = out
        self.used: set[int] = set()
        self._last = 0
        self._releasing: dict[int, MessageId] = {}

    def take(self) -> int:
        """Return a packet id that is not used."""
        while True:
            self._last = self._last % MOST_PACKETS + 1
            if self._last not in self.used:
                self.used.add(self._last)
                return self._last

    def release(self, packet: int, id_: MessageId) -> None:
        """Tell the broker that a delivery is recorded."""
        self._releasing[packet] = id_
        self._out.actions.append(Release(packet))

    def release_again(self) -> None:
        """Tell a broker that is back what it may have missed."""
        self._out.actions.extend(Release(packet) for packet in self._releasing)

    def released(self, packet: int) -> None:
        """Note PUBCOMP: the packet id is free."""
        id_ = self._releasing.pop(packet, None)
        if id_ is not None:
            self.used.discard(packet)
            self._out.drop(MAILBOX, tuple(id_))
