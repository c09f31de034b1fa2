"""Clients of brokers that record what they get: for `verify`, the lab and the benchmark."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import mqtt5

from meshwright.errors import DeployError
from meshwright.mesh.core.values import Message
from meshwright.mesh.shell.mqtt import Connection, Login, connect

ANSWER_SECONDS = 30.0


class Got(NamedTuple):
    """A message that arrived."""

    topic: str
    payload: bytes
    at: float  # of the event loop's clock
    retain: bool


class MeshClient:
    """A client of one broker on the running event loop. Use `open`."""

    def __init__(self, on_message: Callable[[Got], None] | None = None) -> None:
        self.got: list[Got] = []
        self._on_message = on_message or self.got.append
        self._loop = asyncio.get_running_loop()
        self._answers: dict[tuple[str, int], asyncio.Future[None]] = {}
        self.connection: Connection
        self.lost: str | None = None
        self.ended = asyncio.Event()  # set when the broker is lost

    @classmethod
    async def open(
        cls, login: Login, on_message: Callable[[Got], None] | None = None
    ) -> "MeshClient":
        """Return a connected client."""
        made = cls(on_message)
        made.connection, _ = await connect(login, made, seconds=ANSWER_SECONDS)
        return made

    async def subscribe(self, *filters: str) -> None:
        """Subscribe with QoS 2 and wait for the broker's answer."""
        await self._answered("grant", self.connection.subscribe(list(map(_filter, filters))))

    async def unsubscribe(self, *filters: str) -> None:
        """Unsubscribe and wait for the broker's answer."""
        await self._answered("grant", self.connection.unsubscribe(filters))

    def send(self, message: Message) -> asyncio.Future[None] | None:
        """Publish; return what the broker's acknowledgement completes, or None for QoS 0."""
        packet = self.connection.take_id() if message.qos else 0
        if packet is None:
            raise DeployError("the broker does not acknowledge; all packet ids are in use.")
        self.connection.send(message, message.qos, packet)
        return self._expect("publish", packet) if message.qos else None

    async def publish(self, topic: str, payload: bytes = b"", **options: Any) -> None:
        """Publish and wait for the acknowledgement."""
        sent = self.send(Message(topic, payload, **options))
        if sent is not None:
            async with asyncio.timeout(ANSWER_SECONDS):
                await sent

    def close(self) -> None:
        """Disconnect."""
        self.connection.close()

    async def _answered(self, what: str, packet: int) -> None:
        async with asyncio.timeout(ANSWER_SECONDS):
            await self._expect(what, packet)

    def _expect(self, what: str, packet: int) -> asyncio.Future[None]:
        found = self._answers[what, packet] = self._loop.create_future()
        return found

    def _answer(self, what: str, packet: int) -> None:
        waiting = self._answers.pop((what, packet), None)
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    # What the connection calls

    def broker_message(self, packet: Any) -> None:
        """Record a message and acknowledge it."""
        self._on_message(Got(packet.topic, packet.payload, self._loop.time(), packet.retain))
        if int(packet.qos):
            self.connection.acknowledge(packet.packet_id, int(packet.qos))

    def broker_unreadable(self, packet_id: int | None, qos: int) -> None:
        """Acknowledge it."""
        if packet_id is not None:
            self.connection.acknowledge(packet_id, qos)

    def broker_release(self, packet_id: int) -> None:
        """Complete a message of QoS 2."""
        self.connection.complete(packet_id)

    def broker_acknowledged(self, packet_id: int, _reason: int) -> None:
        """A message of ours is at the broker."""
        self._answer("publish", packet_id)

    def broker_received(self, packet_id: int, _reason: int) -> None:
        """Go on with a message of QoS 2."""
        self.connection.release(packet_id)

    def broker_granted(self, packet_id: int, _reasons: Sequence[int]) -> None:
        """A subscription of ours is in force."""
        self._answer("grant", packet_id)

    def broker_lost(self, reason: str) -> None:
        """Fail what waits for an answer."""
        self.lost = reason
        self.ended.set()
        for waiting in self._answers.values():
            if not waiting.done():
                waiting.set_exception(DeployError(f"a broker was lost: {reason}."))
        self._answers.clear()


def _filter(name: str) -> Any:
    return mqtt5.TopicFilter(name, max_qos=mqtt5.QoS.EXACTLY_ONCE)


async def until(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait for a condition; return whether it became true in time."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while not condition():
        if loop.time() > deadline:
            return False
        await asyncio.sleep(0.005)
    return True
