"""Publish numbered messages over running brokers and record where each one arrives, and when."""

import random
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from meshwright.deploy.lab.clients import Clients
from meshwright.deploy.route import Route
from meshwright.runtime.progress import OnProgress

WINDOW = 64  # messages under way at once; far below the 1,000 a broker keeps for one client
QUIET_SECONDS = 1.0  # without any arrival, after which nothing more is on its way
MAX_SETTLE_SECONDS = 60.0  # a network that is not quiet by then has a storm
STORM = 20  # arrivals per expected one, from which on messages run in circles
PATIENCE = 20.0  # seconds without an awaited arrival; after the first such wait, a tenth of it


class Message(NamedTuple):
    """One message: where it is published and where it must arrive."""

    topic: str
    publisher: str
    sequence: int  # counts the messages of this publisher on this topic
    awaited: frozenset[str]  # brokers other than the publisher's


class Traffic:
    """Messages on their way, and the record of their arrivals."""

    def __init__(self, clients: Clients, messages: Sequence[Message], prefix: str, *, own: bool):
        self.messages = messages
        self.copies: list[Counter[str]] = [Counter() for _ in messages]  # by broker
        self.delays: list[int] = []  # nanoseconds, of awaited first copies
        self.n_renamed = 0  # arrivals under another topic than they were published on
        self.out_of_order: Counter[tuple[str, str, str]] = Counter()  # (broker, publisher, topic)
        self.storm = False  # messages were still arriving at the end
        self._clients, self._prefix, self._own = clients, prefix, own
        self._first = clients.take_numbers(len(messages))
        self._waiting: dict[int, set[str]] = {}  # message -> brokers that have not got it yet
        self._sent_at: dict[int, int] = {}
        self._latest: dict[tuple[str, str, str], int] = {}
        self._n_read = 0
        awaited = sum(len(message.awaited) for message in messages)
        self._limit = STORM * (awaited + len(messages) + 1000)

    def run(self, window: int, patience: float, on_progress: OnProgress) -> None:
        """Publish the messages, at most `window` under way, until all arrived or patience ends."""
        sent = 0
        progress = time.monotonic()
        while (sent < len(self.messages) or self._waiting) and not self.storm:
            while sent < len(self.messages) and len(self._waiting) < window:
                self._publish(sent)
                sent += 1
            if self._read():
                progress = time.monotonic()
                if on_progress:
                    on_progress(sent / len(self.messages))
            elif time.monotonic() - progress > patience:
                # Nothing that is under way arrives any more; the rest may still get through.
                self._waiting.clear()
                progress, patience = time.monotonic(), patience / 10
            else:
                self._clients.check()
                time.sleep(0.001)

    def settle(self, quiet: float) -> None:
        """Read until nothing has arrived for `quiet` seconds."""
        last = time.monotonic()
        deadline = last + MAX_SETTLE_SECONDS
        while time.monotonic() - last < quiet and not self.storm:
            n_read = self._n_read
            time.sleep(0.02)
            self._read()
            if self._n_read > n_read:
                last = time.monotonic()
                self.storm = self.storm or last > deadline

    def _publish(self, number: int) -> None:
        """Publish a message, and note who must get it and when it was sent."""
        message = self.messages[number]
        awaited = set(message.awaited) | ({message.publisher} if self._own else set())
        if awaited:
            self._waiting[number] = awaited
        topic = self._prefix + message.topic
        sent_at = self._clients.publish(message.publisher, topic, self._first + number)
        self._sent_at[number] = sent_at

    def _read(self) -> bool:
        """Record what has arrived; return whether an awaited message was among it."""
        found = False
        for node, arrival in self._clients.news():
            self._n_read += 1
            number = arrival.number - self._first
            if number < 0:  # of earlier traffic, late
                continue
            message = self.messages[number]
            self.copies[number][node] += 1
            own = node == message.publisher
            if arrival.topic != (self._prefix if own else "") + message.topic:
                self.n_renamed += 1
            stream = (node, message.publisher, message.topic)
            if message.sequence < self._latest.get(stream, -1):
                self.out_of_order[stream] += 1
            else:
                self._latest[stream] = message.sequence
            awaited = self._waiting.get(number, set())
            if node in awaited:
                found = True
                awaited.discard(node)
                if not own:
                    self.delays.append(arrival.at - self._sent_at[number])
                if not awaited:
                    del self._waiting[number]
        self.storm = self._n_read > self._limit
        return found


def send(
    clients: Clients,
    messages: Sequence[Message],
    *,
    window: int = WINDOW,  # messages under way at once
    prefix: str = "",  # of the topics at the publisher's broker; messages arrive elsewhere without
    own: bool = True,  # await the copy at the publisher's broker, too
    patience: float = PATIENCE,  # seconds without an awaited arrival, after which the rest is lost
    quiet: float = QUIET_SECONDS,  # without any arrival, to see unwanted copies before it ends
    on_progress: OnProgress = None,
) -> Traffic:
    """Publish the messages and return the record of their arrivals."""
    traffic = Traffic(clients, messages, prefix, own=own)
    traffic.run(window, patience, on_progress)
    traffic.settle(quiet)
    return traffic


def draw_publishers(
    routes: Sequence[Route], up: Iterable[str], most: int | None, seed: int
) -> list[tuple[Route, str]]:
    """Return (route, publisher) pairs: all that are up, or at most `most` publishers a topic."""
    running = set(up)
    draw = random.Random(seed)
    found = []
    for route in routes:
        able = [node for node in route.publishers if node in running]
        if most is not None and most < len(able):
            able = sorted(draw.sample(able, most))
        found += [(route, node) for node in able]
    return found
