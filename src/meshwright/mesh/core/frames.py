"""Frames: what agents send to each other and to the planner."""

from typing import NamedTuple

from meshwright.mesh.core.values import Entry, Message, MessageId, Stamp, Version


class Hello(NamedTuple):
    """The first frame each way on a link."""

    mesh: str  # the name of the mesh: agents of another one are refused
    node: int
    incarnation: int
    version: Version  # the newest this side holds
    term: int  # the highest planner term this side has confirmed (a planner: its own)


class Log(NamedTuple):
    """Entries in order, each following the one before; the first may be a snapshot."""

    entries: tuple[Entry, ...]


class NeedLog(NamedTuple):
    """Asks for the entries after a version."""

    after: Version


class Previous(NamedTuple):
    """The message of the same origin, topic and QoS to be delivered before this one."""

    id: MessageId
    version: Version  # under which it was first sent


class Data(NamedTuple):
    """A message on one hop of its route, which (version, origin, topic) determine."""

    id: MessageId
    message: Message
    version: Version
    attempt: int
    hop: int  # the index of this hop in the route
    targets: tuple[int, ...]  # who still has to get it; empty: everybody who wants it
    previous: Previous | None
    floor: tuple[int, int]  # (incarnation, counter): older messages of the origin are settled
    stuck: tuple[int, ...]  # agents for whom the floor does not hold
    stamp: Stamp | None = None  # of a retained message
    refresh: bool = False  # an old retained message, only for brokers that have none newer


class Acks(NamedTuple):
    """Tells an origin which of its messages a broker has; goes from agent to agent."""

    to: int
    sender: int
    incarnation: int  # of the sender
    have: tuple[MessageId, ...]
    held: tuple[MessageId, ...]  # here, but not yet at the broker: no need to send again
    hops_left: int


class Refused(NamedTuple):
    """Tells an origin that a copy went no further, and whom it was for."""

    to: int
    sender: int
    id: MessageId
    attempt: int
    nodes: tuple[int, ...]
    reason: str  # full, lost (link), stale (version), size
    hops_left: int


class Ask(NamedTuple):
    """Asks an origin for a message that another one, of this topic and QoS, has to wait for."""

    to: int
    sender: int
    id: MessageId
    topic: str
    qos: int
    hops_left: int


class Never(NamedTuple):
    """Answers that a message will not come: it is settled, dropped, or not for the asker."""

    to: int
    sender: int
    id: MessageId
    instead: Previous | None  # an older one that the asker still has to wait for
    hops_left: int


class Wants(NamedTuple):
    """Tells the planner all filters of a broker (`whole`), or what changed."""

    node: int
    whole: bool
    added: tuple[str, ...]
    removed: tuple[str, ...]


class Neighbours(NamedTuple):
    """Tells the planner which links of an agent are up and which are not."""

    node: int
    up: tuple[int, ...]
    lost: tuple[int, ...]


class Confirm(NamedTuple):
    """An agent confirms the planner's term, and with it that it obeys no lower one."""

    node: int
    term: int


class Drained(NamedTuple):
    """The agent of a broker that leaves has sent all that it had."""

    node: int


class Took(NamedTuple):
    """Tells the planner how many messages of its broker's clients an agent took in some time."""

    node: int
    seconds: float
    topics: tuple[tuple[str, int, int], ...]  # topic, messages, bytes of their payloads
    others: int  # messages of further topics


Frame = (
    Hello
    | Log
    | NeedLog
    | Data
    | Acks
    | Refused
    | Ask
    | Never
    | Wants
    | Neighbours
    | Confirm
    | Drained
    | Took
)
