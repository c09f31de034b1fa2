"""Publish numbered messages over running brokers and tally where each one arrives, and when."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from meshwright.lab.plan import Topic
from meshwright.lab.witness import Witnesses

WINDOW = 64  # messages under way at once; far below the 1,000 a broker keeps for one client
QUIET_SECONDS = 1.0  # without any arrival, after which nothing more is on its way
STORM = 20  # arrivals per expected one, from which on messages run in circles
PATIENCE = 20.0  # seconds without an awaited arrival; once in vain, a tenth of it is enough


@dataclass(frozen=True, slots=True)
class Message:
    """One message: where it is published and where it must arrive."""

    topic: str
    publisher: str
    sequence: int  # counts the messages of this publisher on this topic
    awaited: frozenset[str]  # brokers other than the publisher's


@dataclass
class Tally:
    """What became of the messages."""

    messages: Sequence[Message]
    copies: list[Counter[str]] = field(default_factory=list)  # of each message, by broker
    delays: list[int] = field(default_factory=list)  # nanoseconds, of awaited first copies
    renamed: int = 0  # arrivals under another topic than they were published on
    out_of_order: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    storm: bool = False  # messages were still arriving when we stopped looking

    @property
    def n_awaited(self) -> int:
        """Return how many arrivals at other brokers there should be."""
        return sum(len(message.awaited) for message in self.messages)


def exercise(
    witnesses: Witnesses,
    messages: Sequence[Message],
    *,
    window: int = WINDOW,
    prefix: str = "",
    own: bool = True,
    patience: float = PATIENCE,
    quiet: float = QUIET_SECONDS,
    tell: Callable[[float], None] = lambda _: None,
) -> Tally:
    """Publish the messages, at most `window` under way, and return the tally.

    With `prefix` they are published below it, and arrive with it at their own broker and without
    at the others. With `own` the copy at the publisher's broker is awaited too. It ends when all
    have arrived, or when for `patience` seconds none did; then it waits for `quiet` seconds in
    which nothing comes, to see copies nobody asked for.
    """
    tally = Tally(messages, [Counter() for _ in messages])
    reader = _Reader(witnesses, tally, prefix)
    limit = STORM * (tally.n_awaited + len(messages) + 1000)
    sent = 0
    progress = time.monotonic()
    while sent < len(messages) or reader.waiting:
        while sent < len(messages) and len(reader.waiting) < window:
            message = messages[sent]
            awaited = set(message.awaited) | ({message.publisher} if own else set())
            if awaited:
                reader.waiting[sent] = awaited
            reader.sent_at[sent] = witnesses.publish(
                message.publisher, prefix + message.topic, reader.first + sent
            )
            sent += 1
        if reader.read():
            progress = time.monotonic()
            tell(sent / len(messages))
        elif time.monotonic() - progress > patience:
            # Nothing of what is under way comes any more; the rest may still get through.
            reader.waiting.clear()
            progress, patience = time.monotonic(), patience / 10
        else:
            time.sleep(0.001)
        if reader.n_read > limit:
            tally.storm = True
            return tally
    settle(reader, limit, quiet)
    return tally


def settle(reader: _Reader, limit: int, quiet: float) -> None:
    """Read until nothing has come for a while."""
    last = time.monotonic()
    n_read = reader.n_read
    while time.monotonic() - last < quiet:
        time.sleep(0.02)
        reader.read()
        if reader.n_read > n_read:
            n_read, last = reader.n_read, time.monotonic()
        if n_read > limit:
            reader.tally.storm = True
            return


class _Reader:
    """Read what the clients saw into a tally, and know what is still awaited."""

    def __init__(self, witnesses: Witnesses, tally: Tally, prefix: str) -> None:
        self.tally = tally
        self.waiting: dict[int, set[str]] = {}
        self.sent_at: dict[int, int] = {}
        self.n_read = 0
        self.first = witnesses.take_numbers(len(tally.messages))
        self._witnesses = witnesses
        self._prefix = prefix
        self._latest: dict[tuple[str, str, str], int] = {}

    def read(self) -> bool:
        """Read the news; return whether something awaited was among them."""
        found = False
        tally = self.tally
        for node, arrival in self._witnesses.news():
            self.n_read += 1
            number = arrival.number - self.first
            if number < 0:  # of an earlier exercise, late
                continue
            message = tally.messages[number]
            tally.copies[number][node] += 1
            own = node == message.publisher
            if arrival.topic != (self._prefix if own else "") + message.topic:
                tally.renamed += 1
            stream = (node, message.publisher, message.topic)
            if message.sequence < self._latest.get(stream, -1):
                tally.out_of_order[stream] += 1
            else:
                self._latest[stream] = message.sequence
            awaited = self.waiting.get(number)
            if awaited and node in awaited:
                found = True
                awaited.discard(node)
                if not own:
                    tally.delays.append(arrival.at - self.sent_at[number])
                if not awaited:
                    del self.waiting[number]
        return found


def draw_publishers(
    topics: Sequence[Topic], up: Iterable[str], most: int | None, seed: int
) -> list[tuple[Topic, str]]:
    """Return (topic, publisher) pairs: all of them, or at most `most` publishers a topic.

    Only brokers that are up publish, and subscribers do where nobody is known to publish. Equal
    seeds draw equal publishers.
    """
    running = set(up)
    draw = random.Random(seed)
    found = []
    for topic in topics:
        able = [node for node in topic.publishers or topic.subscribers if node in running]
        if most is not None and most < len(able):
            able = sorted(draw.sample(able, most))
        found += [(topic, node) for node in able]
    return found
