"""The lab's own clients: one per broker, which publishes there and records what arrives there.

A message that crosses a link is published once more by the broker at its end, so a client that
subscribes to everything sees each crossing into its broker. That counts exactly, with TLS and
access lists as without, where the broker's own counters do not.
"""

from __future__ import annotations

import os
import socket
import ssl
import struct
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paho.mqtt import client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

from meshwright.errors import DeployError
from meshwright.lab.prepare import ACCOUNT, CERTIFICATES, Access
from meshwright.lab.processes import LOOPBACK, PATIENCE, wait_until

MARK = b"mw"
HEADER = struct.Struct(">2s4sBI")  # mark, run, kind, number
NUMBERED, PROBE = 1, 2
PROBE_SECONDS = 0.5  # between two tries of a probe that has not arrived


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message as a client got it."""

    kind: int
    number: int
    topic: str
    at: int  # nanoseconds of the clock that `publish` reads


@dataclass(frozen=True, slots=True)
class Probe:
    """A message that arrives only when links are there: published at one broker, seen at others."""

    at: str
    topic: str
    seen_at: frozenset[str]
    seen_as: str


class Witness:
    """The client at one broker."""

    def __init__(
        self, node: str, access: Access, *, run: bytes, qos: int, topics: Sequence[str]
    ) -> None:
        self.node = node
        self._run = run
        self.arrivals: list[Arrival] = []  # appended to by the client's thread only
        self._qos = qos
        self._topics = list(topics)
        self._ready = threading.Event()
        self._refusal = ""
        self._client = mqtt.Client(CallbackAPIVersion.VERSION2, client_id=f"lab-{run.hex()}")
        self._client.username_pw_set(ACCOUNT, access.password)
        self._client.max_queued_messages_set(0)
        self._client.reconnect_delay_set(1, 1)
        if node in access.tls and access.authority is not None:
            authority = Path(access.authority)
            self._client.tls_set(
                ca_certs=access.authority,
                certfile=str(authority.with_name(CERTIFICATES["certfile"])),
                keyfile=str(authority.with_name(CERTIFICATES["keyfile"])),
                cert_reqs=ssl.CERT_REQUIRED,
            )
        self._client.on_socket_open = _send_at_once
        self._client.on_connect = self._connected
        self._client.on_subscribe = self._subscribed
        self._client.on_message = self._take
        self._client.connect_async(LOOPBACK, access.ports[node])
        self._client.loop_start()

    def wait(self) -> None:
        """Wait until the subscription is in force."""
        if not self._ready.wait(PATIENCE):
            reason = self._refusal or "no answer"
            raise DeployError(f"the broker {self.node!r} does not let the lab in: {reason}.")

    def publish(self, topic: str, kind: int, number: int) -> int:
        """Publish a message and return when that was."""
        now = time.perf_counter_ns()
        self._client.publish(topic, HEADER.pack(MARK, self._run, kind, number), qos=self._qos)
        return now

    def listen_to(self, topics: Sequence[str]) -> None:
        """Subscribe to these instead of what was before."""
        self._client.unsubscribe(self._topics)
        self._topics = list(topics)
        self._ready.clear()
        self._subscribe()

    def close(self) -> None:
        """Leave the broker; `join` waits for the client's thread."""
        self._client.disconnect()

    def join(self) -> None:
        """Wait for the end of the client's thread."""
        self._client.loop_stop()

    def _connected(
        self, _client: mqtt.Client, _data: Any, _flags: Any, reason: Any, _properties: Any
    ) -> None:
        if reason.is_failure:
            self._refusal = str(reason)
            return
        self._subscribe()

    def _subscribe(self) -> None:
        if self._topics:
            self._client.subscribe([(topic, self._qos) for topic in self._topics])
        else:
            self._ready.set()

    def _subscribed(self, *_: Any) -> None:
        self._ready.set()

    def _take(self, _client: mqtt.Client, _data: Any, message: mqtt.MQTTMessage) -> None:
        now = time.perf_counter_ns()
        if len(message.payload) != HEADER.size:
            return
        mark, run, kind, number = HEADER.unpack(message.payload)
        if (mark, run) == (MARK, self._run):  # a bridge may still hold messages of an earlier run
            self.arrivals.append(Arrival(kind, number, message.topic, now))


class Witnesses:
    """The clients at all brokers that run, and what they have seen so far."""

    def __init__(
        self, access: Access, nodes: Iterable[str], *, qos: int, topics: Sequence[str]
    ) -> None:
        run = os.urandom(4)
        self._one = {node: Witness(node, access, run=run, qos=qos, topics=topics) for node in nodes}
        self._read = dict.fromkeys(self._one, 0)
        self._next = 0
        try:
            for witness in self._one.values():
                witness.wait()
        except BaseException:
            self.close()
            raise

    @property
    def nodes(self) -> tuple[str, ...]:
        """Return the brokers that have a client."""
        return tuple(self._one)

    def take_numbers(self, n: int) -> int:
        """Return the first of `n` numbers that no message had so far."""
        first = self._next
        self._next += n
        return first

    def publish(self, node: str, topic: str, number: int) -> int:
        """Publish a numbered message at a broker and return when that was."""
        return self._one[node].publish(topic, NUMBERED, number)

    def news(self) -> Iterator[tuple[str, Arrival]]:
        """Yield the numbered messages that have arrived since the last call."""
        for node, witness in self._one.items():
            end = len(witness.arrivals)
            for arrival in witness.arrivals[self._read[node] : end]:
                if arrival.kind == NUMBERED:
                    yield node, arrival
            self._read[node] = end

    def listen_to(self, topics: Mapping[str, Sequence[str]]) -> None:
        """Let each client subscribe to its topics instead of everything."""
        for node, witness in self._one.items():
            witness.listen_to(topics.get(node, ()))
        for witness in self._one.values():
            witness.wait()

    def wait_for(self, probes: Sequence[Probe], patience: float) -> None:
        """Wait until every probe has got through; the links are there then.

        A bridge that says it is connected may still be about to subscribe, so a message that came
        through is the only proof. Tries repeat, since the first may be too early.
        """
        waiting = {number: set(probe.seen_at) for number, probe in enumerate(probes)}
        seen = {node: len(witness.arrivals) for node, witness in self._one.items()}
        end = time.monotonic() + patience
        pause = PROBE_SECONDS
        while waiting:
            for number in waiting:
                self._one[probes[number].at].publish(probes[number].topic, PROBE, number)
            wait_until(lambda: self._arrived(probes, waiting, seen), pause)
            pause = min(2 * pause, 8 * PROBE_SECONDS)  # more tries must not become a load
            if waiting and time.monotonic() > end:
                apart = sorted({(probes[n].at, v) for n, left in waiting.items() for v in left})
                listed = "; ".join(f"{u} to {v}" for u, v in apart[:5])
                raise DeployError(
                    f"{len(apart)} ways over links did not open in {patience:.0f} s: {listed}. "
                    "The brokers' logs tell why; `meshwright lab up CONF` leaves them in "
                    "CONF.lab/*/broker.log."
                )

    def close(self) -> None:
        """Leave all brokers."""
        for witness in self._one.values():
            witness.close()
        for witness in self._one.values():
            witness.join()

    def _arrived(
        self, probes: Sequence[Probe], waiting: dict[int, set[str]], seen: dict[str, int]
    ) -> bool:
        """Take out the probes that have arrived; return whether none is left."""
        for node, witness in self._one.items():
            end = len(witness.arrivals)
            for arrival in witness.arrivals[seen[node] : end]:
                left = waiting.get(arrival.number) if arrival.kind == PROBE else None
                if left and arrival.topic == probes[arrival.number].seen_as:
                    left.discard(node)
                    if not left:
                        del waiting[arrival.number]
            seen[node] = end
        return not waiting


def _send_at_once(_client: mqtt.Client, _data: Any, opened: Any) -> None:
    """Keep the system from holding back our small packets, which would be timed as the brokers'."""
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


@contextmanager
def witnesses(
    access: Access, nodes: Iterable[str], *, qos: int, topics: Sequence[str] = ("#",)
) -> Iterator[Witnesses]:
    """Connect a client to each broker, subscribed to the topics; they leave when the block ends."""
    found = Witnesses(access, nodes, qos=qos, topics=topics)
    try:
        yield found
    finally:
        found.close()
