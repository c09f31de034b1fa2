"""What happens to an agent or the planner, and what they do: the interface of the core.

The core makes no system call. Whoever drives it (the simulator, or the shell that moves bytes) owns
one `Agent` for each broker, or one `Planner`, and calls

    actions = agent.handle(event, now)

with one event at a time and a clock that never goes back (seconds, any origin). It carries out the
actions in the order in which they are returned. Nothing inside waits: an action that takes time is
answered later by an event that carries its `token`. This may come at once, after the call returned.

| action                   | answered by                                                           |
|--------------------------|-----------------------------------------------------------------------|
| `Send`                   | nothing: frames of one link arrive in order, or the link is lost      |
| `SetLinks`               | `LinkUp` and `LinkLost` of each peer, as often as it changes          |
| `Put`                    | `Stored(token)` once a kill -9 cannot lose it, or `NotStored`         |
| `Drop`                   | nothing: a record that comes back after a crash does no harm          |
| `Publish`                | `Taken(token)` (PUBACK; PUBCOMP for QoS 2; handed over for QoS 0)     |
|                          | or `NotTaken` (refused for good); void once the broker is lost        |
| `Release`                | `Released` (PUBCOMP)                                                  |
| `Accept`                 | nothing: PUBACK (QoS 1) or PUBREC (QoS 2) for a packet of the broker  |
| `SetSubscriptions`       | `Subscribed` when the broker has confirmed these filters              |
| `Fetch`                  | `Fetched`, with the broker's retained messages under these filters    |
| `Design` (planner)       | `Designed`                                                            |
| `Record` (planner)       | nothing: counts may be lost with a crash                              |
| `Wake`                   | `Tick`, not before that time and soon after it; the latest `Wake` wins|
| `End`                    | nothing: it is said, and no further event is handed over              |
| `Note`                   | nothing: it is counted, and said in the log                           |

Stores
    `Put(token, store, key, value)` replaces what the store holds under the key; `Drop` removes
    keys. Puts of one store become durable in their order: with one that fails, those fail that were
    handed over before its answer. The core puts them again. After a crash, all records that are
    left are handed to the constructor, as (key, value), in the order in which they were put. Keys
    and values are tuples of numbers, strings, bytes, None and tuples, so any codec can write them.
    Three stores: `JOURNAL` (messages of this broker's clients that not everybody has), `MAILBOX`
    (messages for this broker that it has not taken) and `STATE` (small: identities, the log).
    Limits on messages and bytes are counted by the core (`Limits`), from the sizes of payloads.

Links
    A peer is the number of another agent, or `PLANNER`. The shell dials, authenticates and opens
    again; it says `LinkUp` when frames can be sent and `LinkLost` when what was sent may be lost,
    also of connections that it closes itself. It says `LinkFull` when more than its high-water
    mark waits for the peer, `LinkFree` when less than its low-water mark does, and it never stops
    reading. Silence of 5 s on a link that sends keep-alives is a loss.

Brokers
    `BrokerUp(resumed)` says that the data session is connected; `resumed` is the session-present
    flag. Messages that the broker sends again come as `Published(..., duplicate=True)`.
    `BrokerLost` voids packet ids and outstanding `Publish` actions. The session subscribes with
    no-local, retain-as-published and retain handling 2; of a message that comes once for each
    matching subscription the shell passes on one and accepts the others itself.
"""

from typing import Any, NamedTuple

from meshwright.mesh.core.frames import Frame, Took
from meshwright.mesh.core.values import Joined, Message, Topology

PLANNER = -1  # the peer that is the planner
JOURNAL, MAILBOX, STATE = "journal", "mailbox", "state"


class Start(NamedTuple):
    """The first event: everything is recovered, nothing is connected.

    `wall` is the time of day in seconds, for expiry across restarts.
    """

    wall: float = 0.0


class Tick(NamedTuple):
    """The time of the last `Wake` has come."""


class LinkUp(NamedTuple):
    """Frames can be sent to a peer."""

    peer: int


class LinkLost(NamedTuple):
    """Frames sent to a peer may be lost."""

    peer: int


class LinkFull(NamedTuple):
    """More waits for a peer than should."""

    peer: int


class LinkFree(NamedTuple):
    """A full link has room again."""

    peer: int


class Received(NamedTuple):
    """A frame came from a peer."""

    peer: int
    frame: Frame


class BrokerUp(NamedTuple):
    """The data session with the broker is connected."""

    resumed: bool


class BrokerLost(NamedTuple):
    """The broker is out of reach."""


class Published(NamedTuple):
    """A client of this broker published what this agent subscribes to."""

    message: Message
    packet: int  # 0 for QoS 0
    duplicate: bool  # the DUP flag


class Wanted(NamedTuple):
    """What the clients of this broker subscribe to, in all (`whole`) or what changed."""

    whole: bool
    added: tuple[str, ...]
    removed: tuple[str, ...] = ()


class Stored(NamedTuple):
    """A `Put` is durable."""

    token: int


class NotStored(NamedTuple):
    """A `Put` failed, for instance because the disk is full."""

    token: int
    reason: str


class Taken(NamedTuple):
    """The broker has taken a message."""

    token: int


class NotTaken(NamedTuple):
    """The broker refused a message for good."""

    token: int
    reason: str


class Released(NamedTuple):
    """PUBCOMP came for a packet: it can be used again."""

    packet: int


class Subscribed(NamedTuple):
    """The broker has confirmed the subscriptions of an action."""

    token: int


class Fetched(NamedTuple):
    """The retained messages that the broker holds under the filters of a `Fetch`."""

    token: int
    messages: tuple[Message, ...]


class Replan(NamedTuple):
    """An operator asks the planner for a design from scratch."""


class Members(NamedTuple):
    """Who takes part, as the operator's list says now; a planner is started with one, too."""

    brokers: tuple[Joined, ...]
    leaving: tuple[int, ...] = ()  # brokers that go once their agents have sent what they have
    removed: tuple[int, ...] = ()  # and those that are gone, in any case


class Designed(NamedTuple):
    """A design is ready; None where there was nothing to design."""

    token: int
    topology: Topology | None


Event = (
    Start
    | Tick
    | LinkUp
    | LinkLost
    | LinkFull
    | LinkFree
    | Received
    | BrokerUp
    | BrokerLost
    | Published
    | Wanted
    | Stored
    | NotStored
    | Taken
    | NotTaken
    | Released
    | Subscribed
    | Fetched
    | Replan
    | Members
    | Designed
)


class Send(NamedTuple):
    """Send a frame to a peer whose link is up."""

    peer: int
    frame: Frame


class SetLinks(NamedTuple):
    """Keep a connection to each of these agents, and to no other one."""

    peers: tuple[tuple[int, str], ...]  # number, endpoint


class Put(NamedTuple):
    """Store a record."""

    token: int
    store: str
    key: tuple[Any, ...]
    value: tuple[Any, ...]


class Drop(NamedTuple):
    """Remove records."""

    store: str
    keys: tuple[tuple[Any, ...], ...]


class Publish(NamedTuple):
    """Publish at this agent's broker, `retain` as in the message.

    With a `packet` (exactly-once delivery): with this packet id and QoS 2, with DUP if `duplicate`.
    Then PUBREC is answered by `Taken`, and PUBREL waits for `Release`. Its
    packet ids go up to 32,767; the shell takes larger ones for messages without a `packet`.
    """

    token: int
    message: Message
    packet: int | None = None
    duplicate: bool = False


class Release(NamedTuple):
    """Send PUBREL for a packet of a `Publish`; may come more than once, also after a reconnect."""

    packet: int


class Accept(NamedTuple):
    """Acknowledge a packet of the broker: it must not be sent again."""

    packet: int


class SetSubscriptions(NamedTuple):
    """Subscribe the data session to these filters and to no others."""

    token: int
    added: tuple[str, ...]
    removed: tuple[str, ...]


class Fetch(NamedTuple):
    """Fetch the broker's retained messages under these filters, over another connection."""

    token: int
    filters: tuple[str, ...]


class Design(NamedTuple):
    """Design an overlay for these nodes and their filters (`meshwright.mesh.design`)."""

    token: int
    nodes: tuple[int, ...]
    interests: tuple[tuple[int, tuple[str, ...]], ...]
    forbidden: tuple[tuple[int, int], ...]  # links that are down
    before: Topology | None
    fresh: bool = False  # from scratch; otherwise as many links as possible stay


class Record(NamedTuple):
    """Write down which messages an agent took, for programs that read the planner's log."""

    took: Took


class Wake(NamedTuple):
    """Send `Tick` at this time; instead of an earlier wish."""

    at: float


class End(NamedTuple):
    """Stop this agent or planner for good, and say why."""

    why: str
    is_failure: bool


class Note(NamedTuple):
    """Something to count and to say: `what` is the name of the counter."""

    what: str
    detail: str = ""
    times: int = 1


Action = (
    Send
    | SetLinks
    | Put
    | Drop
    | Publish
    | Release
    | Accept
    | SetSubscriptions
    | Fetch
    | Design
    | Record
    | Wake
    | End
    | Note
)
