"""Brokers as agents see them: sessions, packet ids, repeats with DUP, saves and crashes.

A client's publish is acknowledged at once. The agent's session outlives the agent. A broker comes
back from a crash with all it had (`kept`), with what it had some time ago (`saved`), or with
nothing (`wiped`).
"""

import copy
from collections.abc import Callable, Iterable
from typing import NamedTuple

from meshwright.mesh.core import events as ev
from meshwright.mesh.core.values import Message
from meshwright.mesh.simulator.clock import Clock, Pipe
from meshwright.patterns.filters import PatternIndex, covers


class Arrival(NamedTuple):
    """A message that an agent published at its broker."""

    time: float
    message: Message
    wanted: bool  # whether a client of the broker wanted it


class Queued(NamedTuple):
    """A message in a session, and since when: its expiry runs there, too."""

    message: Message
    since: float

    def left(self, now: float) -> Message | None:
        """Return the message with the time that is left, or None if it has expired."""
        if self.message.expiry is None:
            return self.message
        left = self.message.expiry - (now - self.since)
        return self.message._replace(expiry=left) if left > 0 else None


class Session:
    """The session of the agent at its broker."""

    def __init__(self) -> None:
        self.filters: set[str] = set()
        self.queue: list[Queued] = []
        self.inflight: dict[int, Queued] = {}  # by packet id, in the order they were sent
        self.received: set[int] = set()  # packet ids of QoS 2 from PUBLISH to PUBREL
        self.last = 0


class State:
    """What a broker would save."""

    def __init__(self) -> None:
        self.session: Session | None = None
        self.clients: dict[str, int] = {}  # filters of clients, and how many want them
        self.retained: dict[str, Message] = {}


class Broker:
    """One broker; an agent is connected while `_to` is there."""

    def __init__(self, clock: Clock, *, reuses_packets: bool, same_packet_ids: bool = True) -> None:
        self._clock = clock
        self._same_ids = same_packet_ids  # otherwise what comes again has another number
        self._last = 0  # number of a packet, if numbers go on without end
        self._reuses = reuses_packets  # the lowest free packet id, instead of the next one
        self.state = State()
        self.is_up = True
        self.arrivals: list[Arrival] = []
        self.slow = 0.0  # seconds until PUBACK
        self._save: State | None = None
        self._to: Pipe | None = None
        self._from: Pipe | None = None
        self._tell: Callable[[ev.Event], None] = lambda _: None

    # --- clients ---

    def subscribe(self, pattern: str) -> None:
        """Let a client subscribe."""
        self.state.clients[pattern] = self.state.clients.get(pattern, 0) + 1

    def unsubscribe(self, pattern: str) -> None:
        """Let a client unsubscribe."""
        count = self.state.clients.get(pattern, 0) - 1
        if count > 0:
            self.state.clients[pattern] = count
        else:
            self.state.clients.pop(pattern, None)

    def publish(self, message: Message) -> None:
        """Let a client publish."""
        self._retain(message)
        session = self.state.session
        if session is None or not any(covers(f, message.topic) for f in session.filters):
            return
        if message.qos or self._to is not None:
            session.queue.append(Queued(message, self._clock.now))
        self._send_queue()

    def _retain(self, message: Message) -> None:
        if message.retain and message.payload:
            self.state.retained[message.topic] = message
        elif message.retain:
            self.state.retained.pop(message.topic, None)

    def fetch(self, filters: Iterable[str]) -> tuple[Message, ...]:
        """Return the retained messages under some filters."""
        wanted = list(filters)
        found = sorted(self.state.retained.items())
        return tuple(m for topic, m in found if any(covers(f, topic) for f in wanted))

    # --- the agent ---

    def connect(self, tell: Callable[[ev.Event], None]) -> None:
        """Accept the agent's connection and resume its session.

        `tell` gets the events after the delays of the connection.
        """
        self.disconnect()
        self._tell = tell
        resumed = self.state.session is not None
        if self.state.session is None:
            self.state.session = Session()
        self._to, self._from = Pipe(self._clock), Pipe(self._clock)
        self._say(ev.BrokerUp(resumed))
        inflight, self.state.session.inflight = self.state.session.inflight, {}
        for before, queued in inflight.items():
            message = queued.left(self._clock.now)
            if message is not None:
                packet = before if self._same_ids else self._packet(self.state.session)
                self.state.session.inflight[packet] = queued
                self._say(ev.Published(message, packet, True))
        self._send_queue()

    def disconnect(self) -> None:
        """Lose the connection; what is under way is lost, the session stays."""
        for pipe in (self._to, self._from):
            if pipe is not None:
                pipe.close()
        self._to = self._from = None

    def hear(self, action: ev.Action) -> None:
        """Take what the agent sends over its connection."""
        if self._from is not None:
            self._from.send(lambda: self._take(action))

    def _take(self, action: ev.Action) -> None:
        session = self.state.session
        assert session is not None
        match action:
            case ev.Accept(packet):
                session.inflight.pop(packet, None)
                self._send_queue()
            case ev.SetSubscriptions(token, added, removed):
                session.filters = (session.filters | set(added)) - set(removed)
                self._say(ev.Subscribed(token))
            case ev.Release(packet):
                session.received.discard(packet)
                self._say(ev.Released(packet))
            case ev.Publish(token, message, packet, _):
                if packet is None or packet not in session.received:
                    wanted = bool(PatternIndex(self.state.clients).covering(message.topic))
                    self.arrivals.append(Arrival(self._clock.now, message, wanted))
                    self._retain(message)
                if packet is not None:
                    session.received.add(packet)
                if self.slow:
                    pipe = self._to
                    self._clock.after(self.slow, lambda: self._say_on(pipe, ev.Taken(token)))
                else:
                    self._say(ev.Taken(token))

    def _say(self, event: ev.Event) -> None:
        self._say_on(self._to, event)

    def _say_on(self, pipe: Pipe | None, event: ev.Event) -> None:
        tell = self._tell
        if pipe is not None:
            pipe.send(lambda: tell(event))

    def _send_queue(self) -> None:
        session = self.state.session
        if self._to is None or session is None:
            return
        while session.queue:
            queued = session.queue.pop(0)
            message = queued.left(self._clock.now)
            if message is None:
                continue
            packet = 0
            if message.qos:
                packet = self._packet(session)
                session.inflight[packet] = queued
            self._say(ev.Published(message, packet, False))

    def _packet(self, session: Session) -> int:
        if not self._same_ids:
            self._last += 1
            return self._last
        if self._reuses:
            return next(p for p in range(1, 65_536) if p not in session.inflight)
        session.last = session.last % 65_535 + 1
        return session.last

    # --- faults ---

    def save(self) -> None:
        """Write a save that a crash can fall back to."""
        self._save = copy.deepcopy(self.state)

    def crash(self, mode: str) -> None:
        """Go down; `mode` says what will be there afterwards."""
        self.is_up = False
        self.disconnect()
        if mode == "wiped":
            self.state = State()
        elif mode == "saved" and self._save is not None:
            clients = self.state.clients
            self.state = copy.deepcopy(self._save)
            self.state.clients = clients

    def restart(self) -> None:
        """Come back."""
        self.is_up = True
