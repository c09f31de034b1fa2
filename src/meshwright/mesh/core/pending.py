"""A message of the own broker's clients until everybody has it."""

from meshwright.mesh.core.values import NO_VERSION, Message, MessageId, Stamp


class Pending:
    """A message that not everybody has."""

    __slots__ = (
        "accepted", "arrived", "attempt", "deadline", "first", "held", "id", "journaled",
        "message", "missing", "next_try", "packet", "refresh", "sent", "stamp",
    )  # fmt: skip

    def __init__(self, id_: MessageId, message: Message, now: float, packet: int | None) -> None:
        self.id = id_
        self.message = message
        self.packet = packet  # of the own broker, on the connection it came by
        self.arrived = now
        self.deadline = None if message.expiry is None else now + message.expiry
        self.first = NO_VERSION  # the version it was first sent under
        self.attempt = 0
        self.missing: set[int] = set()
        self.held: set[int] = set()
        self.accepted = packet is None
        self.journaled = False
        self.next_try = 0.0
        self.sent = now  # when it was sent last
        self.stamp: Stamp | None = None
        self.refresh = False
