"""The lab's own clients: one per broker, which publishes there and records what arrives there.

A message that crosses a link is published once more by the broker at its end, so a client that
subscribes to everything sees each crossing into its broker. That counts exactly, with TLS and
access lists as without, where the broker's own counters do not.
"""

import os
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from paho.mqtt import client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

from meshwright.deploy.lab.configurations import ACCOUNT, CERTIFICATES, Access
from meshwright.deploy.lab.processes import LOOPBACK, wait_until
from meshwright.deploy.plan import Plan
from meshwright.deploy.route import Link, Route
from meshwright.errors import DeployError

MARK = b"mw"
HEADER = struct.Struct(">2s4sBI")  # mark, run, kind, number
NUMBERED, PROBE = 1, 2
PROBE_SECONDS = 0.5  # between two tries of a probe that has not arrived


class Arrival(NamedTuple):
    """A message as a client received it."""

    kind: int
    number: int
    topic: str
    at: int  # nanoseconds of the clock that `publish` reads


class Probe(NamedTuple):
    """A message that arrives only if links are open: published at one broker, seen at others."""

    at: str
    topic: str
    seen_at: frozenset[str]
    seen_as: str  # the topic on which it arrives


def link_probes(plan: Plan, up: Iterable[str]) -> list[Probe]:
    """Return a probe for each direction of each link, with the first and last topic on it."""
    # A bridge subscribes to its topics one after the other, so these two are enough.
    running = set(up)
    carried: dict[Link, list[Route]] = {}  # by (from, to)
    for route in plan.routes:
        for crossing in route.crossings:
            carried.setdefault(crossing, []).append(route)
    return [
        Probe(one, route.example, frozenset({other}), route.example)
        for (one, other), routes in carried.items()
        if one in running and other in running
        for route in routes[:: max(len(routes) - 1, 1)]
    ]


class Client:
    """The client at one broker."""

    def __init__(self, node: str, access: Access, run: bytes, qos: int, topics: Sequence[str]):
        self.node = node
        self.arrivals: dict[int, deque[Arrival]] = {NUMBERED: deque(), PROBE: deque()}  # by kind
        self._run, self._qos, self._topics = run, qos, list(topics)
        self._ready = threading.Event()
        self._refusal = "no answer"
        self.connection = mqtt.Client(CallbackAPIVersion.VERSION2, client_id=f"lab-{run.hex()}")
        self.connection.username_pw_set(ACCOUNT, access.password)
        self.connection.max_queued_messages_set(0)
        self.connection.reconnect_delay_set(1, 1)
        if node in access.tls and access.certificate is not None:
            key = Path(access.certificate).with_name(CERTIFICATES["keyfile"])
            self.connection.tls_set(access.certificate, access.certificate, str(key))
        self.connection.on_socket_open = _send_at_once
        self.connection.on_connect = self._connected
        self.connection.on_subscribe = lambda *_: self._ready.set()
        self.connection.on_message = self._record
        self.connection.connect_async(LOOPBACK, access.ports[node])
        self.connection.loop_start()

    def wait(self, check: Callable[[], None]) -> None:
        """Wait until the subscription is in force, or until `check` raises."""

        def ready() -> bool:
            check()
            return self._ready.is_set()

        if not wait_until(ready):
            raise DeployError(f"the broker {self.node!r} refuses the lab: {self._refusal}.")

    def publish(self, topic: str, kind: int, number: int) -> int:
        """Publish a message and return the time."""
        now = time.perf_counter_ns()
        self.connection.publish(topic, HEADER.pack(MARK, self._run, kind, number), qos=self._qos)
        return now

    def listen_to(self, topics: Sequence[str]) -> None:
        """Subscribe to these topics instead of the ones before."""
        self.connection.unsubscribe(self._topics)
        self._topics = list(topics)
        self._ready.clear()
        self._subscribe()

    def _connected(self, _client: Any, _data: Any, _flags: Any, reason: Any, _more: Any) -> None:
        if reason.is_failure:
            self._refusal = str(reason)
        else:
            self._subscribe()

    def _subscribe(self) -> None:
        if self._topics:
            self.connection.subscribe([(topic, self._qos) for topic in self._topics])
        else:
            self._ready.set()

    def _record(self, _client: mqtt.Client, _data: Any, message: mqtt.MQTTMessage) -> None:
        now = time.perf_counter_ns()
        if len(message.payload) == HEADER.size:
            mark, run, kind, number = HEADER.unpack(message.payload)
            if (mark, run) == (MARK, self._run):  # a bridge may still hold those of an earlier run
                self.arrivals[kind].append(Arrival(kind, number, message.topic, now))


class Clients:
    """The clients at all brokers that run. Use as a context: they disconnect at its end."""

    def __init__(
        self,
        access: Access,
        nodes: Iterable[str],
        require: Callable[[str], None],  # raises if a broker has ended
        *,
        qos: int,
        topics: Sequence[str],
    ):
        run = os.urandom(4)
        self._require = require
        self._clients = {node: Client(node, access, run, qos, topics) for node in nodes}
        self._next = 0
        try:
            for client in self._clients.values():
                client.wait(self.check)
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for client in self._clients.values():
            client.connection.disconnect()
        for client in self._clients.values():
            client.connection.loop_stop()

    def take_numbers(self, n: int) -> int:
        """Return the first of `n` numbers that no message had so far."""
        self._next += n
        return self._next - n

    def publish(self, node: str, topic: str, number: int) -> int:
        """Publish a numbered message at a broker and return the time."""
        return self._clients[node].publish(topic, NUMBERED, number)

    def news(self) -> Iterator[tuple[str, Arrival]]:
        """Yield the numbered messages that have arrived since the last call."""
        return self._take(NUMBERED)

    def listen_to(self, topics: Mapping[str, Sequence[str]]) -> None:
        """Let each client subscribe to its topics instead of everything."""
        for node, client in self._clients.items():
            client.listen_to(topics.get(node, ()))
        for client in self._clients.values():
            client.wait(self.check)

    def check(self) -> None:
        """Raise DeployError if a broker has ended; one that its client is connected to has not."""
        for node, client in self._clients.items():
            if not client.connection.is_connected():
                self._require(node)

    def wait_for(self, probes: Sequence[Probe], seconds: float) -> None:
        """Wait until every probe has arrived: then the links are open.

        A bridge that says it is connected may still be about to subscribe, so a message that came
        through is the only proof. Tries repeat, since the first may be too early.
        """
        waiting = {  # (number, broker) -> the topic on which it arrives there
            (number, node): probe.seen_as
            for number, probe in enumerate(probes)
            for node in probe.seen_at
        }
        list(self._take(PROBE))  # those of an earlier wait prove nothing

        def all_arrived() -> bool:
            self.check()
            for node, arrival in self._take(PROBE):
                if waiting.get((arrival.number, node)) == arrival.topic:
                    del waiting[arrival.number, node]
            return not waiting

        deadline = time.monotonic() + seconds
        pause = PROBE_SECONDS
        while waiting:
            for number in sorted({number for number, _ in waiting}):
                self._clients[probes[number].at].publish(probes[number].topic, PROBE, number)
            wait_until(all_arrived, pause)
            pause = min(2 * pause, 8 * PROBE_SECONDS)  # more tries must not become a load
            if waiting and time.monotonic() > deadline:
                closed = sorted({(probes[number].at, node) for number, node in waiting})
                listed = "; ".join(f"{u} to {v}" for u, v in closed[:5])
                raise DeployError(
                    f"{len(closed)} directions of links did not open in {seconds:.0f} s: {listed}. "
                    "The brokers' logs show the cause; `meshwright lab up CONF` leaves them in "
                    "CONF.lab/*/broker.log."
                )

    def _take(self, kind: int) -> Iterator[tuple[str, Arrival]]:
        """Yield the arrivals of a kind that no call has yielded yet, with their brokers."""
        for node, client in self._clients.items():
            for _ in range(len(client.arrivals[kind])):
                yield node, client.arrivals[kind].popleft()


def _send_at_once(_client: mqtt.Client, _data: Any, opened: Any) -> None:
    """Disable Nagle's algorithm: its delays would be measured as the brokers'."""
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
