"""What agents tell the planner about themselves every few seconds, and the rates in it.

Summaries travel over the connection that is there, so they also come from hosts whose status nobody
can ask. They are only for those who watch: nothing that the mesh does depends on them.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

EVERY = 2.0  # seconds between two summaries of an agent
STALE = 3 * EVERY  # without one for so long, rates are not known
MOST_EVENTS = 10  # in a summary
LONGEST = 300  # characters of an event's detail
KEPT_EVENTS = 100


class Happened(NamedTuple):
    """Something that was worth a line in the log."""

    at: float  # seconds since 1970
    what: str
    detail: str


class Stored(NamedTuple):
    """A journal or mailbox: messages and bytes of payload, and the most it may hold."""

    messages: int
    size: int
    most_messages: int
    most_size: int


class Summary(NamedTuple):
    """What an agent has counted since it started."""

    software: str
    started: float
    version: tuple[int, int]  # of the log
    broker_up: bool
    follows: bool  # the agent learns what clients want
    taken: int
    delivered: int
    relayed: int
    received: tuple[tuple[int, int], ...]  # peer, and the messages that came from it
    journal: Stored
    mailbox: Stored
    events: tuple[Happened, ...]  # since the summary before
    status: bytes = b""  # JSON, as the agent itself answers `mesh status`


class Rates(NamedTuple):
    """Messages a second between the last two summaries of an agent."""

    taken: float
    delivered: float
    relayed: float
    received: dict[int, float]  # by peer


class Sighting(NamedTuple):
    """A summary, and when it came."""

    at: float
    summary: Summary


class Sightings:
    """The last summaries of all agents."""

    def __init__(self) -> None:
        self.last: dict[int, Sighting] = {}
        self._before: dict[int, Sighting] = {}
        self.events: deque[tuple[int, Happened]] = deque(maxlen=KEPT_EVENTS)

    def take(self, node: int, summary: Summary, now: float) -> None:
        """Take the summary of an agent."""
        last = self.last.get(node)
        if last is not None and last.summary.started == summary.started:
            self._before[node] = last
        else:  # its first one, or it was started again and counts from zero
            self._before.pop(node, None)
        self.last[node] = Sighting(now, summary)
        self.events.extend((node, event) for event in summary.events[:MOST_EVENTS])

    def is_fresh(self, node: int, now: float) -> bool:
        """Return whether an agent was heard of just now."""
        return node in self.last and now - self.last[node].at <= STALE

    def rates(self, node: int, now: float) -> Rates | None:
        """Return the rates of an agent; None if they are not known."""
        if node not in self._before or not self.is_fresh(node, now):
            return None
        then, old = self._before[node]
        at, new = self.last[node]
        seconds = max(at - then, 1e-3)
        received = dict(old.received)
        return Rates(
            (new.taken - old.taken) / seconds,
            (new.delivered - old.delivered) / seconds,
            (new.relayed - old.relayed) / seconds,
            {peer: (n - received.get(peer, 0)) / seconds for peer, n in new.received},
        )


def clipped(events: Iterable[Happened]) -> Iterator[Happened]:
    """Yield events with details that are not too long."""
    for event in events:
        yield event._replace(detail=event.detail[:LONGEST])
