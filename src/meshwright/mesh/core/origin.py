"""The origin of messages: identity, acknowledgements, sending again, the journal, and order.

A message of the own broker's clients is first tied to an identity on disk, then sent along its
route. It is accepted from the broker when everybody has it or it is in the journal. What is missing
is sent again under the newest version, only to those who lack it and still want it.
"""

import heapq
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from meshwright.mesh.core.events import JOURNAL, STATE, Accept
from meshwright.mesh.core.frames import Acks, Ask, Data, Never, Previous, Refused
from meshwright.mesh.core.intake import Intake
from meshwright.mesh.core.log import MeshLog
from meshwright.mesh.core.outbox import Outbox
from meshwright.mesh.core.patience import Patience
from meshwright.mesh.core.pending import Pending
from meshwright.mesh.core.records import deadline_after
from meshwright.mesh.core.relay import MOST_HOPS, Relay
from meshwright.mesh.core.routes import START, Routes
from meshwright.mesh.core.settings import AgentSettings
from meshwright.mesh.core.values import NO_VERSION, Message, MessageId, Stamp, Version

FLOOR_EVERY = 0.25  # seconds: a floor that is too low does no harm
STUCK_AFTER = 5.0  # seconds without an answer, and an agent no longer holds up the floor
AT_ONCE = 200  # messages sent again in one go; the next ones follow 10 ms later
SOON = 0.2  # seconds for acknowledgements on their way, before a change makes us send again


class Origin:
    """The messages of one broker's clients, until everybody has them."""

    def __init__(
        self, settings: AgentSettings, out: Outbox, log: MeshLog, routes: Routes, relay: Relay
    ) -> None:
        self.stamp_of: Callable[[Message], Stamp | None] = lambda _: None  # of retained messages
        self._settings = settings
        self._out = out
        self._log = log
        self._routes = routes
        self._relay = relay
        self.incarnation = 0
        self._counter = 0
        self.pending: dict[MessageId, Pending] = {}
        self.starting: dict[MessageId, Pending] = {}  # whose packets are not on disk yet
        self._unsettled: dict[tuple[str, int], list[MessageId]] = {}  # by topic and QoS, in order
        self._unaccepted: dict[MessageId, Pending] = {}  # not in the journal yet, oldest first
        self._to_journal: deque[tuple[float, MessageId]] = deque()
        self._tries: list[tuple[float, MessageId]] = []
        self._blocked: set[MessageId] = set()  # for which a link of ours had no room
        self._patience = Patience()
        self._lives: dict[int, int] = {}  # the incarnation of each agent that answered
        self.journal_bytes = 0
        self.journal_count = 0
        self._floor: tuple[int, int] = (0, 0)
        self._stuck: tuple[int, ...] = ()
        self._floor_at = -1.0
        self.wall = 0.0  # to add to the clock for times on disk
        self.intake: Intake

    # --- what the own broker's clients publish ---

    def take(self, message: Message, packet: int, *, duplicate: bool) -> None:
        """Take a message from the own broker."""
        known = self.intake.identify(message, packet, duplicate=duplicate) if packet else None
        if len(message.payload) > self._settings.max_message:
            self._out.note("too_large", f"{len(message.payload)} bytes on {message.topic!r}")
            self._accept(packet)
        elif message.qos == 0:
            self._send_once(message)
        elif known is None:
            pending = Pending(self._next_id(), message, self._out.now, packet)
            # Now, not when it is on disk: meanwhile the broker may take a message of others.
            pending.stamp = self.stamp_of(message)
            self.starting[pending.id] = pending
            self.intake.record(message, packet, pending.id, lambda: self._start(pending))
        elif known in self.starting or known in self.pending:
            pending = self.starting.get(known) or self.pending[known]
            pending.packet = packet
            if pending.accepted:
                self._accept(packet)
        elif known.incarnation == self.incarnation:
            self._accept(packet)  # settled meanwhile
        else:
            pending = Pending(known, message, self._out.now, packet)
            pending.stamp = self.stamp_of(message)
            self._start(pending)

    def originate(self, message: Message, targets: Iterable[int], stamp: Stamp) -> None:
        """Send a retained message that the broker holds to brokers that want it now."""
        pending = Pending(self._next_id(), message, self._out.now, None)
        pending.stamp, pending.refresh = stamp, True
        pending.missing = set(targets)

        def start() -> None:  # its identity must not be given again: this life is on disk
            self._start(pending)
            if pending.id in self.pending:
                self._journal(pending)

        self._out.after(STATE, start)

    def _next_id(self) -> MessageId:
        self._counter += 1
        return MessageId(self._settings.node, self.incarnation, self._counter)

    def _send_once(self, message: Message) -> None:
        """Send a message of QoS 0: no identity on disk, no answer, no promise."""
        version = self._log.newest
        route = self._routes.route(version, self._settings.node, message.topic)
        if route.wanted:
            stamp = self.stamp_of(message)
            frame = Data(self._next_id(), message, version, 1, START, (), None, (0, 0), (), stamp)
            self._relay.pass_on(frame, route, START)

    def _start(self, pending: Pending) -> None:
        self.starting.pop(pending.id, None)
        message = pending.message
        if not pending.refresh:
            newest = self._log.newest
            route = self._routes.route(newest, self._settings.node, message.topic)
            pending.missing = set(route.wanted)
        if not pending.missing:
            self._accept(pending.packet)
            return
        self.pending[pending.id] = pending
        if not pending.accepted:
            self._unaccepted[pending.id] = pending
            self._to_journal.append((self._out.now + self._settings.journal_after, pending.id))
            if len(self._unaccepted) > self._settings.packets:
                self._journal(next(iter(self._unaccepted.values())))
        self._send(pending)
        if pending.id in self.pending:
            insort(self._unsettled.setdefault((message.topic, message.qos), []), pending.id)

    def _send(self, pending: Pending) -> None:
        """Send a message to those who lack it, as far as they can be reached now."""
        now, message = self._out.now, pending.message
        if self._is_expired(pending):
            self._give_up(pending, "expired", f"{message.topic!r} waited longer than its expiry")
            return
        version = self._log.newest
        route = self._routes.route(version, self._settings.node, message.topic)
        pending.missing &= route.wanted
        if not pending.missing:
            self._settle(pending)
            return
        targets = pending.missing & route.reached
        if not targets:  # all are away: a change of the log brings the next attempt
            self._try_at(pending, now + self._settings.retry_most)
            return
        pending.attempt += 1
        pending.sent = now
        pending.held.clear()
        if pending.first == NO_VERSION:
            pending.first = version
        listed = () if targets == route.wanted else tuple(sorted(targets))
        if self._relay.pass_on(self._frame(pending, version, listed), route, START):
            self._blocked.add(pending.id)
        pause = max(self._settings.retry_after, self._patience.seconds)
        pause *= 2 ** min(pending.attempt - 1, 4)
        self._try_at(pending, now + min(pause, self._settings.retry_most))

    def _frame(self, pending: Pending, version: Version, targets: tuple[int, ...]) -> Data:
        message = pending.message
        if pending.deadline is not None:
            message = message._replace(expiry=pending.deadline - self._out.now)
        floor, stuck = self.floor()
        before = self._unsettled.get((message.topic, message.qos), [])
        previous = None
        if place := bisect_left(before, pending.id):
            previous = Previous(before[place - 1], self.pending[before[place - 1]].first)
        return Data(
            pending.id, message, version, pending.attempt, START, targets, previous,
            floor, stuck, pending.stamp, pending.refresh,
        )  # fmt: skip

    # --- answers ---

    def acknowledged(self, frame: Acks) -> None:
        """Note who has a message, or holds it."""
        if self._lives.get(frame.sender, frame.incarnation) != frame.incarnation:
            for pending in self.pending.values():  # what it held died with its last life
                if frame.sender in pending.held:
                    pending.held.discard(frame.sender)
                    self._try_soon(pending)
        self._lives[frame.sender] = frame.incarnation
        for id_ in frame.have:
            waiting = self.pending.get(MessageId(*id_))
            if waiting is not None:
                if frame.sender in waiting.missing:
                    self._patience.heard(self._out.now - waiting.arrived)
                waiting.missing.discard(frame.sender)
                if not waiting.missing:
                    self._settle(waiting)
        for id_ in frame.held:
            waiting = self.pending.get(MessageId(*id_))
            if waiting is not None and frame.sender in waiting.missing:
                waiting.held.add(frame.sender)
                if waiting.held >= waiting.missing:
                    self._try_at(waiting, self._out.now + self._settings.held_for)

    def refused(self, frame: Refused) -> None:
        """Try again soon where a message did not get through, and at once if the log moved on."""
        pending = self.pending.get(MessageId(*frame.id))
        if pending is None or frame.attempt != pending.attempt:
            return
        pause = min(0.1 * 2 ** min(pending.attempt, 6), self._settings.retry_most)
        self._try_at(pending, self._out.now + pause)

    def asked(self, frame: Ask) -> None:
        """Answer whether a message will come; and send it again."""
        id_ = MessageId(*frame.id)
        pending = self.pending.get(id_)
        if pending is None:
            if id_ in self.starting or not (
                self.intake.is_quiet or id_.incarnation == self.incarnation
            ):
                return  # the broker may send it again: nobody knows yet
        elif frame.sender in pending.missing:
            self._try_soon(pending)
            return
        owed = self._owed_before(frame)
        self._relay.answer(Never(frame.sender, self._settings.node, id_, owed, MOST_HOPS))

    def _owed_before(self, frame: Ask) -> Previous | None:
        """Return the last message before the one asked for that the asker still has to get."""
        before = self._unsettled.get((frame.topic, frame.qos), [])
        for id_ in reversed(before[: bisect_left(before, MessageId(*frame.id))]):
            if frame.sender in self.pending[id_].missing:
                return Previous(id_, self.pending[id_].first)
        return None

    # --- time and change ---

    def tick(self) -> None:
        """Journal what takes long, and send again what is due."""
        now = self._out.now
        while self._to_journal and self._to_journal[0][0] <= now:
            pending = self.pending.get(self._to_journal.popleft()[1])
            if pending is not None:
                self._journal(pending)
        count = 0
        while self._tries and self._tries[0][0] <= now and count < AT_ONCE:
            at, id_ = heapq.heappop(self._tries)
            pending = self.pending.get(id_)
            if pending is not None and pending.next_try == at:
                count += 1
                if now - pending.arrived > self._settings.journal.seconds:
                    self._give_up(pending, "dropped_old", f"{pending.message.topic!r}")
                else:
                    self._send(pending)
        self._wish(now + 0.01 if count == AT_ONCE else None)

    def reconsider(self) -> None:
        """Send again soon: agents or links have come or gone."""
        for pending in self.pending.values():
            pending.held -= pending.held & set(self._log.shape.health.away)
            if pending.missing - pending.held:
                self._try_soon(pending)

    def unblock(self) -> None:
        """Send what a link of this agent had no room for."""
        blocked, self._blocked = self._blocked, set()
        for id_ in blocked & self.pending.keys():
            self._try_at(self.pending[id_], self._out.now)

    def lose_packets(self) -> None:
        """Note that the packets of the last connection can no longer be accepted."""
        for pending in (*self.pending.values(), *self.starting.values()):
            pending.packet = None

    def _try_soon(self, pending: Pending) -> None:
        """Send again before it is due, but not while the answer may be on its way."""
        at = max(self._out.now + SOON, pending.sent + self._patience.seconds)
        self._try_at(pending, min(pending.next_try, at))

    def _try_at(self, pending: Pending, at: float) -> None:
        if at != pending.next_try:
            pending.next_try = at
            heapq.heappush(self._tries, (at, pending.id))
        self._wish(None)

    def _wish(self, at: float | None) -> None:
        times = [rows[0][0] for rows in (self._to_journal, self._tries) if rows]
        self._out.wake("origin", at if at is not None else min(times, default=None))

    def floor(self) -> tuple[tuple[int, int], tuple[int, ...]]:
        """Return the floor, and for whom it does not hold."""
        now = self._out.now
        if now < self._floor_at + FLOOR_EVERY or not self.intake.is_settled:
            return self._floor, self._stuck
        self._floor_at = now
        stuck: set[int] = set(self._log.shape.health.away)
        for pending in self.pending.values():
            if now - pending.arrived > STUCK_AFTER:
                stuck |= pending.missing
        ids = [id_ for id_, pending in self.pending.items() if not pending.missing <= stuck]
        lowest = min([*ids, *self.starting], default=None)
        floor = lowest[1:] if lowest is not None else (self.incarnation, self._counter + 1)
        self._floor, self._stuck = floor, tuple(sorted(stuck))
        return self._floor, self._stuck

    # --- endings ---

    def _accept(self, packet: int | None) -> None:
        if packet:
            self._out.actions.append(Accept(packet))
            self.intake.accept(packet)

    def _settle(self, pending: Pending) -> None:
        """Forget a message: everybody has it, or nobody will."""
        del self.pending[pending.id]
        self._unaccepted.pop(pending.id, None)
        key = (pending.message.topic, pending.message.qos)
        if pending.id in self._unsettled.get(key, ()):
            self._unsettled[key].remove(pending.id)
            if not self._unsettled[key]:
                del self._unsettled[key]
        if pending.journaled:
            self.journal_count -= 1
            self.journal_bytes -= len(pending.message.payload)
            self._out.drop(JOURNAL, tuple(pending.id))
        if not pending.accepted:
            self._accept(pending.packet)

    def _give_up(self, pending: Pending, what: str, detail: str) -> None:
        self._out.note(what, detail)
        self._settle(pending)

    def _is_expired(self, pending: Pending) -> bool:
        return pending.deadline is not None and pending.deadline <= self._out.now

    def _journal(self, pending: Pending) -> None:
        """Write a message to the journal, so that its broker need not hold it."""
        if pending.journaled:
            return
        limits, size = self._settings.journal, len(pending.message.payload)
        if (
            self.journal_count >= limits.messages
            or self.journal_bytes + size > limits.payload_bytes
        ):
            self._give_up(pending, "dropped_journal_full", f"{pending.message.topic!r}")
            return
        pending.journaled = True
        self._unaccepted.pop(pending.id, None)
        self.journal_count += 1
        self.journal_bytes += size
        wall = None if pending.deadline is None else pending.deadline + self.wall
        stamp = None if pending.stamp is None else tuple(pending.stamp)
        value = (
            tuple(pending.message),
            tuple(sorted(pending.missing)),
            wall,
            stamp,
            pending.refresh,
        )

        def kept() -> None:
            pending.accepted = True
            if pending.id in self.pending:
                self._accept(pending.packet)

        self._out.put(JOURNAL, tuple(pending.id), value, kept)

    def recover(self, incarnation: int, records: Iterable[tuple[Any, Any]], intake: Intake) -> None:
        """Take over what the last life left in the journal."""
        self.incarnation = incarnation
        self.intake = intake
        for key, (fields, missing, wall, stamp, refresh) in sorted(records):
            message = Message(*fields)
            pending = Pending(MessageId(*key), message, self._out.now, None)
            pending.deadline = deadline_after(pending.deadline, wall, self.wall)
            pending.missing = set(missing)
            pending.stamp = None if stamp is None else Stamp(*stamp)
            pending.refresh = bool(refresh)
            pending.journaled = True
            self.journal_count += 1
            self.journal_bytes += len(message.payload)
            self.pending[pending.id] = pending
            insort(self._unsettled.setdefault((message.topic, message.qos), []), pending.id)
            self._try_at(pending, self._out.now + self._settings.retry_after)
