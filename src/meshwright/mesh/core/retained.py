"""Retained messages: the newest of all brokers wins, and who begins to want a topic gets it.

Each carries a stamp (Lamport time, origin). The larger stamp wins on every broker, and a loser is
published without the retain flag. When a broker begins to want a filter, every other agent fetches
what its own broker retains under it, and sends what its own clients have set. When the interest
ends, copies that came from others are cleared.
"""

from collections.abc import Callable, Iterable
from typing import Any

from meshwright.mesh.core.events import JOURNAL, STATE, Fetch
from meshwright.mesh.core.log import MeshLog
from meshwright.mesh.core.outbox import Outbox
from meshwright.mesh.core.receiver import Item
from meshwright.mesh.core.values import Entry, Interests, Message, MessageId, Snapshot, Stamp
from meshwright.patterns.filters import PatternIndex

RETAINED, SERVED = "retained", "served"
OLD = 1  # the Lamport time of a message that was retained before its agent was there

Originate = Callable[[Message, Iterable[int], Stamp], None]


class Retained:
    """The retained messages of one broker, as far as the mesh has to do with them."""

    def __init__(self, node: int, out: Outbox, log: MeshLog, originate: Originate) -> None:
        self._node = node
        self._out = out
        self._log = log
        self._originate = originate
        self._time = OLD
        self._stamps: dict[str, Stamp] = {}  # by topic: of what the broker retains, or cleared
        self._publishing: dict[str, dict[MessageId, Stamp]] = {}  # by topic, not taken yet
        self._wishes: list[tuple[int, int, tuple[str, ...]]] = []  # number, node, filters
        self._fetching: dict[int, tuple[int, int, tuple[str, ...]]] = {}  # wishes by token
        self._is_up = False  # the broker

    # --- set here ---

    def stamp(self, message: Message) -> Stamp | None:
        """Return the stamp of a message that a client of the own broker published."""
        if not message.retain:
            return None
        underway = self._publishing.get(message.topic)
        if underway:
            # The broker passed this one on before it took ours: so it will retain ours.
            return Stamp(max(underway.values()).time - 1, self._node)
        self._time += 1
        stamp = Stamp(self._time, self._node)
        self._remember(message.topic, stamp)
        return stamp

    # --- set elsewhere ---

    def before_publish(self, item: Item) -> Message | None:
        """Return what to publish for an item: with the retain flag only if it wins."""
        message, stamp = item.message, item.stamp
        if stamp is None:
            return message
        self._time = max(self._time, stamp.time)
        known = self._stamps.get(message.topic)
        if known is None and item.refresh and not message.payload:
            self._remember(message.topic, stamp)  # nothing to clear; older ones will lose
            return None
        if known is not None and stamp < known:
            return None if item.refresh else message._replace(retain=False)
        if known == stamp and item.refresh and not item.durable:
            return None
        self._remember(message.topic, stamp)
        if message.qos:
            self._publishing.setdefault(message.topic, {})[item.id] = stamp
        return message._replace(retain=True)

    def taken(self, item: Item) -> None:
        """Note that the broker has taken an item."""
        underway = self._publishing.get(item.message.topic, {})
        underway.pop(item.id, None)
        if not underway:
            self._publishing.pop(item.message.topic, None)

    def _remember(self, topic: str, stamp: Stamp) -> None:
        if self._stamps.get(topic) != stamp:
            self._stamps[topic] = stamp
            self._out.put(STATE, (RETAINED, topic), tuple(stamp))

    # --- somebody begins to want ---

    def follow(self, entry: Entry) -> None:
        """Serve those who begin to want something with this entry."""
        for change in entry.changes:
            if isinstance(change, Interests):
                self._wish(entry, change.node, change.added)
            elif isinstance(change, Snapshot):
                by_node: dict[int, list[str]] = {}
                for pattern, nodes in change.interests:
                    for node in nodes:
                        by_node.setdefault(node, []).append(pattern)
                for node, patterns in by_node.items():
                    self._wish(entry, node, tuple(patterns))
        self._serve()

    def _wish(self, entry: Entry, node: int, patterns: tuple[str, ...]) -> None:
        if node != self._node and patterns:
            self._wishes.append((entry.version.number, node, patterns))

    def _serve(self) -> None:
        if self._is_up:
            for wish in self._wishes:
                token = self._out.token()
                self._fetching[token] = wish
                self._out.actions.append(Fetch(token, wish[2]))
            self._wishes.clear()

    def fetched(self, token: int, messages: Iterable[Message]) -> None:
        """Send what the own broker's clients have set to the one who wants it."""
        wish = self._fetching.pop(token, None)
        if wish is None:
            return
        number, node, patterns = wish
        for message in (*messages, *self._cleared(patterns, {each.topic for each in messages})):
            stamp = self._stamps.get(message.topic)
            if stamp is None:
                stamp = Stamp(OLD, self._node)
                self._remember(message.topic, stamp)
            if stamp.origin == self._node:
                sent = message._replace(retain=True, qos=max(message.qos, 1))
                self._originate(sent, (node,), stamp)
        left = [*self._fetching.values(), *self._wishes]
        served = min((wish[0] for wish in left), default=number + 1) - 1
        put = lambda: self._out.put(STATE, (SERVED,), (max(served, 0),))  # noqa: E731
        # Served is what the journal holds; originate waits for the state in the same way.
        self._out.after(STATE, lambda: self._out.after(JOURNAL, put))

    def _cleared(self, patterns: Iterable[str], retained: set[str]) -> list[Message]:
        """Return what the own broker's clients have cleared: others may hold older messages.

        Who does not want a topic is not told that it was cleared, and serves what it retains.
        """
        index = PatternIndex(patterns)
        return [
            Message(topic, b"", 1, retain=True)
            for topic, stamp in self._stamps.items()
            if stamp.origin == self._node and topic not in retained and index.covering(topic)
        ]

    # --- the broker, and its interests ---

    def broker_up(self, wanted: PatternIndex) -> None:
        """Serve what waited, and clear what nobody wants any more."""
        self._is_up = True
        self.clear_unwanted(wanted)
        self._serve()

    def broker_lost(self) -> None:
        """Note that fetches and publishes are void."""
        self._is_up = False
        self._publishing.clear()
        self._wishes = [*self._fetching.values(), *self._wishes]
        self._fetching.clear()

    def clear_unwanted(self, wanted: PatternIndex) -> None:
        """Clear copies of other brokers' messages that no client here wants any more."""
        if not self._is_up:
            return
        for topic, stamp in list(self._stamps.items()):
            if stamp.origin != self._node and not wanted.covering(topic):
                del self._stamps[topic]
                self._out.drop(STATE, (RETAINED, topic))
                self._out.publish(Message(topic, b"", 1, retain=True), lambda _: None)

    def recover(self, rows: dict[str, list[tuple[Any, Any]]]) -> None:
        """Take over what the last life knew, and serve what it did not."""
        for key, value in rows.get(RETAINED, ()):
            self._stamps[key[1]] = Stamp(*value)
        self._time = max([OLD, *(stamp.time for stamp in self._stamps.values())])
        served = max((value[0] for _, value in rows.get(SERVED, ())), default=0)
        for entry in self._log.entries:
            if entry.version.number > served:
                self.follow(entry)
