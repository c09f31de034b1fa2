"""The values of the protocol: names of messages and versions, and the entries of the log."""

from typing import NamedTuple


class MessageId(NamedTuple):
    """Names a message for ever: the agent that took it, which life of that agent, and a count."""

    origin: int
    incarnation: int
    counter: int


class Version(NamedTuple):
    """A point of the log: the term of the planner that appended the entry, and its number."""

    term: int
    number: int


NO_VERSION = Version(0, 0)


class Message(NamedTuple):
    """What a client published."""

    topic: str
    payload: bytes
    qos: int = 1
    retain: bool = False
    expiry: float | None = None  # seconds left
    properties: bytes = b""  # those of MQTT 5 except expiry, as the shell writes them


class Stamp(NamedTuple):
    """When a retained message was set: the largest wins on every broker."""

    time: int  # a Lamport time
    origin: int


class Topology(NamedTuple):
    """The links of the overlay; on a small world the ring and the fingers that they are made of."""

    routing: str  # tree, po, pal or pie
    edges: tuple[tuple[int, int], ...]  # u < v, sorted
    ring: tuple[int, ...] = ()  # the node at each position
    fingers: tuple[tuple[int, ...], ...] = ()  # for each position, the position of each finger


class Joined(NamedTuple):
    """A broker takes part, under this number, with its agent at this endpoint ("host:port")."""

    node: int
    name: str
    endpoint: str


class Interests(NamedTuple):
    """Filters that the clients of a broker want, and no longer want."""

    node: int
    added: tuple[str, ...]
    removed: tuple[str, ...]


class Linked(NamedTuple):
    """The overlay from here on."""

    topology: Topology


class Health(NamedTuple):
    """Which agents are out of reach, and which links between the others are down."""

    away: tuple[int, ...]
    down: tuple[tuple[int, int], ...]


class Snapshot(NamedTuple):
    """All that the log says up to here, for those who hold none of it or too little."""

    joined: tuple[Joined, ...]
    topology: Topology
    health: Health
    interests: tuple[tuple[str, tuple[int, ...]], ...]  # each filter and who wants it
    leaving: tuple[int, ...] = ()


class Leaving(NamedTuple):
    """A broker goes: nothing is brought to it any more, and its agent sends what it still has."""

    node: int


class Left(NamedTuple):
    """A broker no longer takes part; nobody gets its number."""

    node: int


Change = Joined | Interests | Linked | Health | Snapshot | Leaving | Left


class Entry(NamedTuple):
    """One entry of the log: its version, and what changes with it."""

    version: Version
    changes: tuple[Change, ...]
