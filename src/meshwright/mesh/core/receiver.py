"""The receiving end: each message once to the own broker, in order, or into its mailbox.

A message is acknowledged when its identity is on disk and the broker has taken it, or when it is in
the mailbox. It goes to the mailbox when the broker is away or slow; then everything after it does,
until the mailbox is empty.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from meshwright.mesh.core.events import MAILBOX
from meshwright.mesh.core.frames import Ask, Data, Never, Previous
from meshwright.mesh.core.log import MeshLog
from meshwright.mesh.core.outbox import Outbox
from meshwright.mesh.core.packets import Packets
from meshwright.mesh.core.receipts import Receipts
from meshwright.mesh.core.records import deadline_after
from meshwright.mesh.core.relay import MOST_HOPS, Relay
from meshwright.mesh.core.settings import AgentSettings
from meshwright.mesh.core.values import Message, MessageId, Stamp, Version
from meshwright.mesh.core.writes import Then
from meshwright.patterns.filters import PatternIndex

MOST_WAITING = 10_000  # messages that wait for the ones before them


class Item:
    """A message for the own broker that it has not taken."""

    __slots__ = (
        "arrived", "boxed", "deadline", "durable", "id", "message", "packet", "previous",
        "refresh", "sent", "stamp", "tied", "waits",
    )  # fmt: skip

    def __init__(self, id_: MessageId, message: Message, now: float) -> None:
        self.id = id_
        self.message = message
        self.arrived = now
        self.deadline = None if message.expiry is None else now + message.expiry
        self.previous: Previous | None = None
        self.stamp: Stamp | None = None
        self.refresh = False
        self.waits = False  # whether it waits for the one before it
        self.boxed = False  # whether it is on its way into the mailbox
        self.durable = False  # whether it is there
        self.packet: int | None = None  # the packet id that it is published with
        self.tied = False  # whether that is on disk
        self.sent = False  # whether the message was perhaps published with it


class Receiver:
    """The messages of other brokers for one broker."""

    def __init__(
        self,
        settings: AgentSettings,
        out: Outbox,
        log: MeshLog,
        relay: Relay,
        receipts: Receipts,
    ) -> None:
        self._settings = settings
        self._out = out
        self._log = log
        self._relay = relay
        self.receipts = receipts
        self.wanted: PatternIndex = PatternIndex()  # what the own broker's clients subscribe to
        self.is_up = False  # the broker
        self.wall = 0.0
        self.held: dict[MessageId, Item] = {}  # here and not yet recorded as delivered
        self._waiting: dict[MessageId, list[Item]] = {}  # by the message they wait for
        self._asked: deque[tuple[float, MessageId]] = deque()  # when to ask for it
        self._queue: deque[Item] = deque()  # to be published, in order
        self._inflight: dict[int, Item] = {}  # by token, in order
        self._n_recording = 0  # delivered, and that is not on disk: a crash would repeat them
        self._n_waiting = 0
        self.mailbox_count = 0
        self.mailbox_bytes = 0
        self.packets = Packets(out)
        self.before_publish: Callable[[Item], Message | None] = lambda item: item.message
        self.after_taken: Callable[[Item], None] = lambda _: None

    # --- arrival ---

    def accept(self, frame: Data) -> None:
        """Take a message for the own broker."""
        id_ = frame.id
        if frame.message.qos == 0:
            self._deliver_once(frame)
            return
        if self._settings.node not in frame.stuck:
            self.receipts.raise_floor(id_.origin, frame.floor)
        if id_ in self.held:
            if self.held[id_].durable:
                self.receipts.have(id_)
            else:
                self.receipts.held(id_)
            return
        if self.receipts.has(id_):
            self.receipts.have(id_)
            return
        item = Item(id_, frame.message, self._out.now)
        item.previous, item.stamp, item.refresh = frame.previous, frame.stamp, frame.refresh
        if not self._has_room(item):
            self._relay.refuse(frame, (self._settings.node,), "full")
            return
        self.held[id_] = item
        if self._must_wait(frame.previous, frame.message.topic):
            self._wait(item)
        else:
            self._deliver(item)

    def _wait(self, item: Item) -> None:
        assert item.previous is not None
        item.waits = True
        self._n_waiting += 1
        self._waiting.setdefault(item.previous.id, []).append(item)
        self._asked.append((self._out.now + self._settings.ask_after, item.previous.id))
        self._out.wake("receiver", self._asked[0][0])
        self.receipts.held(item.id)

    def _must_wait(self, previous: Previous | None, topic: str) -> bool:
        """Return whether a message has to wait for the one before it."""
        if previous is None or self.receipts.has(previous.id):
            return False
        if self._log.joined and previous.id.origin not in self._log.joined:
            return False  # that broker has left the mesh: nobody sends it any more
        if previous.id in self.held:
            return self.held[previous.id].waits
        version = previous.version
        if self._log.knows(version):
            return self._settings.node in self._log.wanting(topic, version.number)
        return True

    def _deliver_once(self, frame: Data) -> None:
        if self.is_up and self._wants(frame.message.topic):
            item = Item(frame.id, frame.message, self._out.now)
            item.stamp, item.refresh = frame.stamp, frame.refresh
            message = self.before_publish(item)
            if message is not None:
                self._out.publish(message, lambda _: None)

    def _wants(self, topic: str) -> bool:
        return bool(self.wanted.covering(topic))

    # --- delivery ---

    def _deliver(self, *items: Item) -> None:
        """Publish at the own broker, or queue; then whatever waited for these."""
        ready = deque(items)
        while ready:
            item = ready.popleft()
            if self._queue or not self.is_up or not self._has_window():
                self._queue.append(item)
                self._box(item)
            else:
                self._publish(item)
            ready.extend(self._released(item.id))

    def _released(self, id_: MessageId) -> list[Item]:
        """Return the items that waited for a message: they wait no longer."""
        items = self._waiting.pop(id_, [])
        self._n_waiting -= len(items)
        for item in items:
            item.waits = False
        return items

    def _publish(self, item: Item) -> None:
        if item.deadline is not None:
            left = item.deadline - self._out.now
            if left <= 0:
                self._out.note("expired", f"{item.message.topic!r} waited longer than its expiry")
                self._finish(item)
                return
            item.message = item.message._replace(expiry=left)
        if self._out.now - item.arrived > self._settings.mailbox.seconds:
            self._out.note("dropped_old", f"{item.message.topic!r} for the own broker")
            self._finish(item)
            return
        message = self.before_publish(item) if self._wants(item.message.topic) else None
        if message is None:  # nobody wants it any more, or a newer retained message is there
            self._finish(item)
        elif not self._settings.exactly_once:
            self._send(item, message)
        elif item.tied:
            self._send(item, message._replace(qos=2), again=item.sent)
            item.sent = True
        else:
            self._tie(item)

    def _tie(self, item: Item) -> None:
        """Tie a packet id to a message on disk, then publish: a crash must not do so twice."""
        if item.packet is None:
            item.packet = self.packets.take()
        token = self._out.token()
        self._inflight[token] = item  # keeps its place in the window

        def stored() -> None:
            item.tied = True
            if self._inflight.pop(token, None) is item:  # else the broker was lost meanwhile
                self._publish(item)

        self._box(item, then=stored)

    def _send(self, item: Item, message: Message, *, again: bool = False) -> None:
        token = self._out.publish(
            message,
            lambda why: self._taken(item, token, why),
            item.packet,
            duplicate=again,
        )
        self._inflight[token] = item

    def _taken(self, item: Item, token: int, failure: str | None) -> None:
        self._inflight.pop(token, None)
        self.after_taken(item)
        if failure is not None:
            self._out.note("broker_refused", f"{item.message.topic!r}: {failure}")
        self._finish(item)
        self.pump()

    def _finish(self, item: Item) -> None:
        """Record a message as delivered; acknowledge it when that is on disk."""
        self._n_recording += 1
        self.receipts.record(item.id, lambda: self._recorded(item))

    def _recorded(self, item: Item) -> None:
        self._n_recording -= 1
        self.held.pop(item.id, None)
        if item.boxed:
            self.mailbox_count -= 1
            self.mailbox_bytes -= len(item.message.payload)
            if item.packet is None:
                self._out.drop(MAILBOX, tuple(item.id))
            else:
                self.packets.release(item.packet, item.id)
        self.receipts.have(item.id)
        self.pump()

    def pump(self) -> None:
        """Publish from the queue while the broker takes it."""
        while self._queue and self.is_up and self._has_window():
            self._publish(self._queue.popleft())

    def _has_window(self) -> bool:
        """Return whether one more may be published that a crash would repeat."""
        return len(self._inflight) + self._n_recording < self._settings.window

    # --- the mailbox ---

    def _has_room(self, item: Item) -> bool:
        limits = self._settings.mailbox
        return (
            self._n_waiting < MOST_WAITING
            and self.mailbox_count < limits.messages
            and self.mailbox_bytes + len(item.message.payload) <= limits.payload_bytes
        )

    def _box(self, item: Item, then: Then | None = None) -> None:
        """Write a message to the mailbox, then acknowledge it and go on."""
        if item.boxed and then is None:
            return
        if not item.boxed:
            item.boxed = True
            self.mailbox_count += 1
            self.mailbox_bytes += len(item.message.payload)
        wall = None if item.deadline is None else item.deadline + self.wall
        stamp = None if item.stamp is None else tuple(item.stamp)
        value: tuple[Any, ...] = (tuple(item.message), wall, stamp, item.refresh, item.packet)
        before = item.previous
        if before is not None and not self.receipts.has(before.id):
            # Perhaps that one is only on its way to the broker: a crash must not let it overtake.
            value = (*value, (tuple(before.id), tuple(before.version)))
        self._out.put(MAILBOX, tuple(item.id), value, lambda: self._boxed(item, then))

    def _boxed(self, item: Item, then: Then | None) -> None:
        if item.id in self.held and not item.durable:
            item.durable = True
            self.receipts.have(item.id)
        if then is not None:
            then()

    # --- the broker comes and goes ---

    def broker_lost(self) -> None:
        """Put everything that the broker has not confirmed back, before the rest."""
        self.is_up = False
        for token in self._inflight:
            self._out.forget(token)
        unsure = list(self._inflight.values())
        if unsure and not self._settings.exactly_once:
            self._out.note("possibly_doubled", "the broker may have taken them", len(unsure))
        self._inflight.clear()
        for item in unsure:
            self._box(item)
        self._queue.extendleft(reversed(unsure))

    def broker_up(self) -> None:
        """Publish what waited."""
        self.is_up = True
        self.packets.release_again()
        self.pump()

    # --- questions ---

    def tick(self) -> None:
        """Ask origins for messages that others wait for."""
        now = self._out.now
        while self._asked and self._asked[0][0] <= now:
            id_ = self._asked.popleft()[1]
            items = self._waiting.get(id_)
            if not items:
                continue
            if now - items[0].arrived > self._settings.order_for:
                self._out.note("order_given_up", f"{items[0].message.topic!r}")
                self._deliver(*self._released(id_))
                continue
            message, me = items[0].message, self._settings.node
            ask = Ask(id_.origin, me, id_, message.topic, message.qos, MOST_HOPS)
            self._relay.answer(ask)
            self._asked.append((now + 1.0, id_))
        self._out.wake("receiver", self._asked[0][0] if self._asked else None)

    def never(self, frame: Never) -> None:
        """Stop waiting for a message that will not come; wait for an older one, if there is one."""
        id_ = MessageId(*frame.id)
        if id_ in self.held:
            return
        for item in self._released(id_):
            item.previous = frame.instead
            if self._must_wait(item.previous, item.message.topic):
                self._wait(item)
            else:
                self._deliver(item)

    def give_up(self, origin: int) -> None:
        """Wait no longer for messages of a broker that is gone."""
        for id_ in [id_ for id_ in self._waiting if id_.origin == origin]:
            self._deliver(*self._released(id_))

    # --- recovery ---

    def recover(self, records: Iterable[tuple[Any, Any]]) -> None:
        """Take over the mailbox of the last life."""
        found = []
        for key, (fields, wall, stamp, refresh, packet, *previous) in records:
            id_ = MessageId(*key)
            if packet is not None:
                self.packets.used.add(packet)
            if self.receipts.has(id_):  # taken, only not removed
                if packet is not None:
                    self.packets.release(packet, id_)
                else:
                    self._out.drop(MAILBOX, tuple(id_))
                continue
            item = Item(id_, Message(*fields), self._out.now)
            item.deadline = deadline_after(item.deadline, wall, self.wall)
            item.stamp = None if stamp is None else Stamp(*stamp)
            item.refresh = bool(refresh)
            item.boxed = item.durable = True
            item.packet, item.tied, item.sent = packet, packet is not None, packet is not None
            self.mailbox_count += 1
            self.mailbox_bytes += len(item.message.payload)
            for before, version in previous:
                item.previous = Previous(MessageId(*before), Version(*version))
            self.held[id_] = item
            found.append(item)
        for item in found:
            if self._must_wait(item.previous, item.message.topic):
                self._wait(item)
            else:
                self._queue.append(item)
        if self._queue and not self._settings.exactly_once:
            self._out.note(
                "possibly_doubled", "perhaps published before the last stop", len(self._queue)
            )
