"""`lab mesh`: a company's brokers on this machine, with clients that come and go under load.

Clients that stay decide about the mesh: each records what it gets, and each must get every message
on its topics once. Meanwhile others subscribe to topics and leave again; the time from their
subscription to the first message is measured. Faults strike where they are asked for.
"""

import asyncio
import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from meshwright.errors import DeployError
from meshwright.mesh.clients import Got, MeshClient, until
from meshwright.mesh.core.settings import AgentSettings
from meshwright.mesh.core.values import Message
from meshwright.mesh.lab.faults import FaultRunner
from meshwright.mesh.lab.records import Records, Verdict
from meshwright.mesh.lab.running import LocalMesh
from meshwright.mesh.shell.mqtt import Login
from meshwright.model.client_ids import AGENT

READY_SECONDS = 120.0
ARRIVE_SECONDS = 60.0
MOST_WAIT = 20.0  # seconds for a new subscriber's first message
N_WATCHED = 3  # brokers whose whole traffic is looked at: those that want least


class LoadRequest(NamedTuple):
    """What is to happen while messages flow."""

    seconds: float = 15.0  # longer where faults take longer
    rate: float = 100.0  # messages a second, in all
    faults: Sequence[str] = ()
    seed: int = 0


@dataclass(slots=True)
class LoadResult:
    """What became of the messages, as the clients saw it."""

    n_brokers: int
    n_processes: int
    n_links: int = 0
    verdict: Verdict = field(default_factory=Verdict)
    n_subscriptions: int = 0  # made while messages flowed
    first_ms: list[float] = field(default_factory=list)  # from subscribing to the first message
    n_without_first: int = 0
    copies_per_delivery: float | None = None  # over links, relays left out
    relays_per_delivery: float | None = None  # for brokers that began to want a topic just now
    start_seconds: float = 0.0
    load_seconds: float = 0.0
    most_repeated: int = 0  # that may be repeated at the broker of an agent that failed

    @property
    def is_well(self) -> bool:
        """Whether every promise was kept."""
        found = self.verdict
        broken = found.n_lost, found.n_doubled, found.n_out_of_order, found.n_unwanted
        return not (
            any(broken)
            or self.n_without_first
            or found.n_possibly_doubled > self.most_repeated * len(found.waits)
        )

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        found = asdict(self)
        waits = [wait._asdict() for wait in self.verdict.waits]
        return {**found, **found.pop("verdict"), "waits": waits, "well": self.is_well}

    def first_of(self, share: float) -> float | None:
        """Return the time that a share of new subscribers waited at most, in milliseconds."""
        if not self.first_ms:
            return None
        return sorted(self.first_ms)[min(len(self.first_ms) - 1, int(share * len(self.first_ms)))]

    def median(self) -> float | None:
        """Return the median of the same."""
        return statistics.median(self.first_ms) if self.first_ms else None


class Load:
    """Clients at the brokers of a running mesh."""

    def __init__(
        self,
        mesh: LocalMesh,
        interests: Mapping[str, Sequence[str]],
        step: Callable[[str], None],
        request: LoadRequest,
    ) -> None:
        self._mesh, self._interests, self._step = mesh, interests, step
        self._request = request
        self._draw = random.Random(request.seed)
        self._faults = FaultRunner(mesh, step, request.seed)
        self._records = Records(interests)
        self._topics = sorted(self._records.wanting)
        self._publishers: dict[str, MeshClient] = {}  # of brokers that can be reached now

    async def run(self) -> LoadResult:
        """Subscribe, wait until the plan is in force, load it, and count."""
        result = LoadResult(len(self._interests), len(self._mesh.pids()))
        keepers: list[asyncio.Task[None]] = []
        try:
            self._step("clients subscribe")
            for node, topics in self._interests.items():
                take = self._records.got[node].append
                keepers.append(self._keep(node, "stays", take, topics))
                keepers.append(self._keep(node, "publishes"))
            fewest = sorted(self._interests, key=lambda node: len(self._interests[node]))
            for node in fewest[:N_WATCHED]:
                seen = self._records.seen[node] = []
                keepers.append(self._keep(node, f"{AGENT}watches", seen.append, ["#"]))
            await self._planned()
            before = await asyncio.to_thread(self._mesh.status)
            result.n_links = before.n_links_planned
            seconds = self._request.seconds
            self._step(f"messages flow for {seconds:.0f} s, while others subscribe and leave")
            await self._flow(result)
            self._step("the last messages arrive")
            await self._arrived()
            result.verdict = self._records.judge()
            after = await asyncio.to_thread(self._mesh.status)
            delivered = after.n_delivered - before.n_delivered
            if delivered > 0 and not self._request.faults:
                relayed = after.counters.get("relayed", 0) - before.counters.get("relayed", 0)
                received = after.n_received - before.n_received
                result.copies_per_delivery = (received - relayed) / delivered
                result.relays_per_delivery = relayed / delivered
        finally:
            for keeper in keepers:
                keeper.cancel()
            await asyncio.gather(*keepers, return_exceptions=True)
        return result

    async def _flow(self, result: LoadResult) -> None:
        loop = asyncio.get_running_loop()
        start = loop.time()
        working = [
            asyncio.create_task(self._publish_all()),
            asyncio.create_task(self._visit_all(result)),
        ]
        try:
            self._records.outages = await self._faults.run(self._request.faults)
            left = max(0.0, start + self._request.seconds - loop.time())
            await asyncio.wait(working, timeout=left, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            for task in working:
                task.cancel()
            ended = await asyncio.gather(*working, return_exceptions=True)
        for error in ended:
            if isinstance(error, Exception):
                raise error
        result.load_seconds = loop.time() - start

    # --- clients that stay ---

    def _keep(
        self,
        node: str,
        name: str,
        take: Callable[[Got], None] | None = None,
        filters: Sequence[str] = (),
    ) -> asyncio.Task[None]:
        """Keep a client connected and subscribed, also when its broker was restarted."""

        async def keep() -> None:
            client = None
            try:
                while True:
                    with suppress(DeployError, TimeoutError):
                        client = await self._client(node, name, take)
                        if filters:
                            await client.subscribe(*filters)
                        elif take is None:
                            self._publishers[node] = client
                        await client.ended.wait()
                    if take is None:
                        self._publishers.pop(node, None)
                    await asyncio.sleep(0.1)
            finally:
                if client is not None:
                    client.close()

        return asyncio.create_task(keep())

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

    # --- messages ---

    async def _publish_all(self) -> None:
        loop = asyncio.get_running_loop()
        start, n = loop.time(), 0
        while True:
            while n < (loop.time() - start) * self._request.rate:
                topic = self._draw.choice(self._topics)
                # Publishers are brokers that want the topic, as in `simulate`: others need relays.
                self._publish(self._draw.choice(self._records.wanting[topic]), topic)
                n += 1
            await asyncio.sleep(0.01)

    def _publish(self, node: str, topic: str) -> None:
        client = self._publishers.get(node)
        if client is None or client.lost is not None:
            return
        number = len(self._records.sent)
        payload = self._records.publish(node, topic, asyncio.get_running_loop().time())
        self._records.unsure.add(number)
        sent = client.send(Message(topic, payload))
        assert sent is not None
        sent.add_done_callback(lambda done: self._acknowledged(number, done))

    def _acknowledged(self, number: int, done: asyncio.Future[None]) -> None:
        if not done.cancelled() and done.exception() is None:
            self._records.unsure.discard(number)

    async def _arrived(self) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + ARRIVE_SECONDS
        while self._records.missing() and loop.time() < deadline:
            await asyncio.sleep(0.5)
        await asyncio.sleep(0.5)

    # --- clients that come and go ---

    async def _visit_all(self, result: LoadResult) -> None:
        """One after the other, clients subscribe to a topic of another broker and leave again."""
        while True:
            whole = [node for node in self._interests if node not in self._faults.struck]
            node = self._draw.choice(whole)
            foreign = [topic for topic in self._topics if topic not in self._interests[node]]
            topics = [t for t in foreign if set(self._records.wanting[t]) & set(whole)]
            if topics:
                topic = self._draw.choice(topics)
                senders = sorted(set(self._records.wanting[topic]) & set(whole))
                with suppress(DeployError, TimeoutError):  # its broker was killed
                    await self._visit(result, node, topic, self._draw.choice(senders))
            await asyncio.sleep(0.01)

    async def _visit(self, result: LoadResult, node: str, topic: str, sender: str) -> None:
        loop = asyncio.get_running_loop()
        client = await self._client(node, f"visitor {result.n_subscriptions}")
        self._records.visits.append((node, topic))
        try:
            start = loop.time()
            await client.subscribe(topic)
            result.n_subscriptions += 1
            hit = False  # by a fault: then the time says nothing
            while not client.got and loop.time() < start + MOST_WAIT and client.lost is None:
                self._publish(sender, topic)
                await until(lambda: bool(client.got), 0.02)
                hit = hit or bool(self._faults.struck & {node, sender})
            if client.got:
                result.first_ms.append(1000 * (client.got[0].at - start))
            elif not hit and client.lost is None:
                result.n_without_first += 1
        finally:
            client.close()


def run_load(
    mesh: LocalMesh,
    interests: Mapping[str, Sequence[str]],
    step: Callable[[str], None],
    request: LoadRequest,
) -> LoadResult:
    """Start the processes of a mesh, put it under load, and return what clients saw."""
    step("brokers, agents and the planner start")
    with mesh:
        started = mesh.wait_until_linked()
        result = asyncio.run(Load(mesh, interests, step, request).run())
    result.start_seconds = started
    result.most_repeated = 0 if mesh.is_exactly_once else AgentSettings("", 0).window
    return result
