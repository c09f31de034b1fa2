"""`mesh verify`: numbered messages through the real mesh, each expected at certain brokers only.

Clients at some of the brokers subscribe to topics made for this run, names and filters. Watchers at
all brokers see what arrives there; their client ids are those of agents, so that what they listen
to does not count as wanted.

Brokers differ (`Capabilities`), and each is judged by what its adapter declares: where interests
stand in a file, that file says what must arrive; a name that a broker would change is published
where it can be and expected where it can arrive.
"""

import asyncio
import os
import random
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from meshwright.errors import DeployError
from meshwright.mesh.adapters.adapter import Capabilities
from meshwright.mesh.clients import Got, MeshClient, until
from meshwright.mesh.config import read_agent, read_mesh
from meshwright.mesh.core.values import Message
from meshwright.mesh.shell.mqtt import Login
from meshwright.mesh.shell.process import agent_adapter, agent_login
from meshwright.mesh.status import mesh_status
from meshwright.model.client_ids import AGENT, TRIAL
from meshwright.patterns.filters import covers

MOST_PUBLISHERS = 10
READY_SECONDS = 30.0  # for subscriptions to be known everywhere
ARRIVE_SECONDS = 30.0
QUIET_SECONDS = 0.5  # after the last arrival, for what should not come
PROBE = b"probe"
ODD = "deep/v1.0 of a*b"  # a name that some brokers would change


@dataclass(slots=True)
class Verified:
    """What became of the messages."""

    n_brokers: int
    n_published: int = 0
    n_expected: int = 0  # deliveries to other brokers
    n_delivered: int = 0
    n_missing: int = 0
    n_doubled: int = 0
    n_unwanted: int = 0
    n_out_of_order: int = 0
    seconds: float = 0.0
    findings: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return asdict(self)


def verify(place: Path, *, n_messages: int = 3, seed: int = 0) -> Verified:
    """Send numbered messages from several brokers and return what arrived where.

    Raises
    ------
    DeployError
        If a part of the mesh is not there: then nothing is published.
    """
    config = read_mesh(place)
    status = mesh_status(place)
    missing = [words for words in status.findings if "version" not in words]
    if missing:
        raise DeployError(f"{missing[0]}; verify needs the whole mesh. See `mesh status {place}`.")
    brokers = {}
    for member in config.brokers:
        agent = read_agent(place / member.directory)
        can = agent_adapter(agent)[1]
        declared = None if can.live else status.declared[member.name]
        brokers[member.name] = _Broker(agent_login(agent), can, declared)
    return asyncio.run(_Verification(place, brokers, n_messages, seed).run())


class _Broker(NamedTuple):
    """A broker of the mesh, as verify sees it."""

    login: Login
    can: Capabilities
    declared: list[str] | None  # the filters of its file of interests


class _Verification:
    def __init__(
        self, place: Path, brokers: dict[str, _Broker], n_messages: int, seed: int
    ) -> None:
        self._place, self._brokers, self._n = place, brokers, n_messages
        self._run = os.urandom(4).hex()
        self._root = f"meshwright-verify/{self._run}"
        draw = random.Random(seed)
        nodes = list(brokers)
        self._filters: dict[str, set[str]] = {node: set() for node in nodes}
        for name in ("plain", "two/levels", "+/levels", "deep/#"):
            for node in draw.sample(nodes, max(1, len(nodes) // 2)):
                if brokers[node].declared is None:
                    self._filters[node].add(f"{self._root}/{name}")
        for node, broker in brokers.items():
            self._filters[node].update(broker.declared or ())
        ends = ("plain", "two/levels", "new/levels", "deep/er/still", ODD, "unwanted")
        self._topics = [f"{self._root}/{end}" for end in ends]
        self._publishers = draw.sample(nodes, min(MOST_PUBLISHERS, len(nodes)))
        self._arrived: dict[str, list[Got]] = {node: [] for node in nodes}

    async def run(self) -> Verified:
        start = time.monotonic()
        watchers, clients = {}, {}
        try:
            for node, (login, _, declared) in self._brokers.items():
                name = f"{AGENT}verify.{self._run}"
                watcher = await MeshClient.open(
                    login._replace(client_id=name), self._arrived[node].append
                )
                await watcher.subscribe(f"{self._root}/#")
                watchers[node] = watcher
                if self._filters[node] and declared is None:
                    name = f"{TRIAL}{self._run}"
                    client = await MeshClient.open(login._replace(client_id=name))
                    await client.subscribe(*sorted(self._filters[node]))
                    clients[node] = client
            await self._ready(watchers)
            await self._publish(watchers)
            found = await self._check()
        except TimeoutError as error:
            raise DeployError("a broker did not answer in time; see `mesh status`.") from error
        finally:
            # An agent cannot know whether a session of MQTT 5 outlives its connection.
            for node, client in clients.items():
                with suppress(DeployError, TimeoutError):
                    await client.unsubscribe(*sorted(self._filters[node]))
            for client in [*watchers.values(), *clients.values()]:
                client.close()
        found.seconds = time.monotonic() - start
        return found

    def _wants(self, node: str, topic: str) -> bool:
        wants = any(covers(name, topic) for name in self._filters[node])
        return wants and self._brokers[node].can.carries(topic)

    def _sends(self, node: str, topic: str) -> bool:
        return self._brokers[node].can.carries(topic)

    def _sent_by(self, node: str) -> list[str]:
        return [topic for topic in self._topics if self._sends(node, topic)]

    async def _ready(self, watchers: dict[str, MeshClient]) -> None:
        """Send probes until every subscription works, and all agents hold the same plan."""
        publishers = self._publishers
        loop = asyncio.get_running_loop()
        deadline = loop.time() + READY_SECONDS

        def missing() -> list[str]:
            return [
                f"{topic} at {node!r}"
                for node in self._brokers
                for topic in self._topics
                if self._wants(node, topic)
                and any(self._sends(p, topic) for p in publishers)
                and not any(g.topic == topic and g.payload == PROBE for g in self._arrived[node])
            ]

        while missing() and loop.time() < deadline:
            for topic in self._topics:
                able = [node for node in publishers if self._sends(node, topic)]
                if able:
                    await watchers[able[0]].publish(topic, PROBE)
            await until(lambda: not missing(), 0.5)
        while loop.time() < deadline:
            status = await asyncio.to_thread(mesh_status, self._place)
            if status.is_level:
                break
        await asyncio.sleep(QUIET_SECONDS)

    async def _publish(self, watchers: dict[str, MeshClient]) -> None:
        for number in range(self._n):
            for publisher in self._publishers:
                for topic in self._sent_by(publisher):
                    text = f"{publisher}\n{number}".encode()
                    watchers[publisher].send(Message(topic, text))

    def _expected(self) -> Counter[tuple[str, str, str, int]]:
        return Counter(
            (node, topic, publisher, number)
            for node in self._brokers
            for publisher in self._publishers
            for topic in self._sent_by(publisher)
            if node == publisher or self._wants(node, topic)
            for number in range(self._n)
        )

    def _counted(self) -> Counter[tuple[str, str, str, int]]:
        return Counter(
            (node, got.topic, *_read(got.payload))
            for node, arrived in self._arrived.items()
            for got in arrived
            if got.payload != PROBE
        )

    async def _check(self) -> Verified:
        """Wait for what should come, a little longer for what should not, and compare."""
        expected = self._expected()
        await until(lambda: not expected - self._counted(), ARRIVE_SECONDS)
        await asyncio.sleep(QUIET_SECONDS)
        counted = self._counted()
        found = Verified(len(self._brokers))
        found.n_published = self._n * sum(len(self._sent_by(node)) for node in self._publishers)
        for key, n in (expected - counted).items():
            found.n_missing += n
            found.findings.append(f"{_named(key)} did not arrive")
        for key, n in (counted - expected).items():
            if key in expected:
                found.n_doubled += n
                found.findings.append(f"{_named(key)} arrived {n + 1} times")
            else:
                found.n_unwanted += n
                found.findings.append(f"{_named(key)} arrived although nobody there wants it")
        due = Counter({key: n for key, n in expected.items() if key[0] != key[2]})
        found.n_expected = due.total()
        found.n_delivered = (counted & due).total()
        self._check_order(found)
        return found

    def _check_order(self, found: Verified) -> None:
        for node, arrived in self._arrived.items():
            last: dict[tuple[str, str], int] = {}
            for got in arrived:
                if got.payload == PROBE:
                    continue
                publisher, number = _read(got.payload)
                if number < last.get((got.topic, publisher), -1):
                    found.n_out_of_order += 1
                    found.findings.append(
                        f"{_named((node, got.topic, publisher, number))} arrived out of order"
                    )
                last[got.topic, publisher] = number


def _read(payload: bytes) -> tuple[str, int]:
    publisher, _, number = payload.decode().rpartition("\n")
    return publisher, int(number)


def _named(key: tuple[str, str, str, int]) -> str:
    node, topic, publisher, number = key
    return f"message {number} of {publisher!r} on {topic.partition('/')[2]} at {node!r}"
