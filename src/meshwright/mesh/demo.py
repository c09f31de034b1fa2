"""`lab mesh`: a company's brokers on this machine, with clients that come and go under load.

Clients that stay decide about the mesh: each records what it gets, and each must get every message
on its topics once. Meanwhile others subscribe to topics and leave again; the time from their
subscription to the first message is measured.
"""

import asyncio
import random
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from meshwright.mesh.clients import Got, MeshClient, until
from meshwright.mesh.core.values import Message
from meshwright.mesh.lab import LocalMesh
from meshwright.mesh.shell.mqtt import Login

READY_SECONDS = 120.0
ARRIVE_SECONDS = 60.0
MOST_WAIT = 20.0  # seconds for a new subscriber's first message


@dataclass(slots=True)
class DemoResult:
    """What became of the messages, as the clients saw it."""

    n_brokers: int
    n_processes: int
    n_links: int = 0
    n_published: int = 0
    n_expected: int = 0
    n_delivered: int = 0
    n_lost: int = 0
    n_doubled: int = 0
    n_out_of_order: int = 0
    n_subscriptions: int = 0  # made while messages flowed
    first_ms: list[float] = field(default_factory=list)  # from subscribing to the first message
    n_without_first: int = 0
    copies_per_delivery: float | None = None
    start_seconds: float = 0.0
    load_seconds: float = 0.0

    @property
    def is_well(self) -> bool:
        """Whether every promise was kept."""
        return not (self.n_lost or self.n_doubled or self.n_out_of_order or self.n_without_first)

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {**asdict(self), "well": self.is_well}

    def first_of(self, share: float) -> float | None:
        """Return the time that a share of new subscribers waited at most, in milliseconds."""
        if not self.first_ms:
            return None
        return sorted(self.first_ms)[min(len(self.first_ms) - 1, int(share * len(self.first_ms)))]

    def median(self) -> float | None:
        """Return the median of the same."""
        return statistics.median(self.first_ms) if self.first_ms else None


class Demo:
    """Clients at the brokers of a running mesh."""

    def __init__(
        self,
        mesh: LocalMesh,
        interests: Mapping[str, Sequence[str]],
        step: Callable[[str], None],
        seed: int = 0,
    ) -> None:
        self._mesh, self._interests, self._step = mesh, interests, step
        self._draw = random.Random(seed)
        self._topics = sorted({topic for topics in interests.values() for topic in topics})
        # Publishers are brokers that want the topic, as in `simulate`: others need relays.
        self._wanting = {
            topic: [node for node, own in interests.items() if topic in own]
            for topic in self._topics
        }
        self._arrived: dict[str, list[Got]] = {node: [] for node in interests}
        self._publishers: dict[str, MeshClient] = {}
        self._sent: dict[str, list[bytes]] = {topic: [] for topic in self._topics}
        self._number = 0

    async def run(self, seconds: float, rate: float) -> DemoResult:
        """Subscribe, wait until the plan is in force, load it, and count."""
        result = DemoResult(len(self._interests), len(self._mesh.pids()))
        stay: list[MeshClient] = []
        try:
            self._step("clients subscribe")
            for node, topics in self._interests.items():
                client = await self._client(node, "stays", self._arrived[node].append)
                if topics:
                    await client.subscribe(*topics)
                stay.append(client)
                self._publishers[node] = await self._client(node, "publishes")
            await self._planned()
            before = await asyncio.to_thread(self._mesh.status)
            result.n_links = before.n_links_up
            self._step(f"messages flow for {seconds:.0f} s, while others subscribe and leave")
            loop = asyncio.get_running_loop()
            start = loop.time()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._load(start + seconds, rate))
                tasks.create_task(self._churn(start + seconds, result))
            result.load_seconds = loop.time() - start
            self._step("the last messages arrive")
            await self._count(result)
            after = await asyncio.to_thread(self._mesh.status)
            delivered = after.n_delivered - before.n_delivered
            if delivered:
                received = after.n_received - before.n_received
                result.copies_per_delivery = received / delivered
        finally:
            for client in [*stay, *self._publishers.values()]:
                client.close()
        return result

    async def _client(
        self, node: str, name: str, take: Callable[[Got], None] | None = None
    ) -> MeshClient:
        port = self._mesh.brokers[node].port
        return await MeshClient.open(Login("127.0.0.1", port, f"{name} at {node}"), take)

    async def _planned(self) -> None:
        """Wait until all subscriptions are in a plan that every agent holds, and it rests."""
        wanted = sum(len(set(topics)) for topics in self._interests.values())
        quiet, version = 0, ""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + READY_SECONDS
        while quiet < 4 and loop.time() < deadline:
            await asyncio.sleep(1.0)
            found = await asyncio.to_thread(self._mesh.status)
            is_still = found.version == version and found.n_wanted >= wanted and not found.findings
            quiet = quiet + 1 if is_still else 0
            version = found.version

    async def _load(self, end: float, rate: float) -> None:
        loop = asyncio.get_running_loop()
        start, n = loop.time(), 0
        while loop.time() < end:
            while n < (loop.time() - start) * rate:
                topic = self._draw.choice(self._topics)
                self._publish(self._draw.choice(self._wanting[topic]), topic)
                n += 1
            await asyncio.sleep(0.01)

    def _publish(self, node: str, topic: str) -> None:
        payload = f"{node}\n{self._number}".encode()
        self._number += 1
        self._sent[topic].append(payload)
        self._publishers[node].send(Message(topic, payload))

    async def _churn(self, end: float, result: DemoResult) -> None:
        """One after the other, clients subscribe to a topic of another broker and leave again."""
        loop = asyncio.get_running_loop()
        while loop.time() < end:
            node = self._draw.choice(list(self._interests))
            foreign = [topic for topic in self._topics if topic not in self._interests[node]]
            if not foreign:
                continue
            topic = self._draw.choice(foreign)
            sender = self._draw.choice(self._wanting[topic])
            client = await self._client(node, f"visitor {result.n_subscriptions}")
            start = loop.time()
            await client.subscribe(topic)
            result.n_subscriptions += 1
            while not client.got and loop.time() < start + MOST_WAIT:
                self._publish(sender, topic)
                await until(lambda c=client: bool(c.got), 0.02)  # type: ignore[misc]
            if client.got:
                result.first_ms.append(1000 * (client.got[0].at - start))
            else:
                result.n_without_first += 1
            client.close()

    async def _count(self, result: DemoResult) -> None:
        expected = Counter(
            (node, topic, payload)
            for topic, payloads in self._sent.items()
            for payload in payloads
            for node in self._wanting[topic]
        )

        def counted() -> Counter[tuple[str, str, bytes]]:
            return Counter(
                (node, got.topic, got.payload)
                for node, all_ in self._arrived.items()
                for got in all_
            )

        due = expected.total()
        await until(lambda: sum(map(len, self._arrived.values())) >= due, ARRIVE_SECONDS)
        await asyncio.sleep(0.5)
        found = counted()
        result.n_published = sum(map(len, self._sent.values()))
        result.n_expected = expected.total()
        result.n_delivered = (found & expected).total()
        result.n_lost = (expected - found).total()
        result.n_doubled = (found - expected).total()
        for arrived in self._arrived.values():
            last: dict[tuple[str, str], int] = {}
            for got in arrived:
                publisher, _, number = got.payload.decode().rpartition("\n")
                key = got.topic, publisher
                result.n_out_of_order += int(number) < last.get(key, -1)
                last[key] = int(number)


def run_demo(
    mesh: LocalMesh,
    interests: Mapping[str, Sequence[str]],
    step: Callable[[str], None],
    *,
    seconds: float = 15.0,
    rate: float = 100.0,
    seed: int = 0,
) -> DemoResult:
    """Start the processes of a mesh, put it under load, and return what clients saw."""
    step("brokers, agents and the planner start")
    with mesh:
        started = mesh.wait_until_linked()
        result = asyncio.run(Demo(mesh, interests, step, seed).run(seconds, rate))
    result.start_seconds = started
    return result
