"""Fetching the retained messages of a broker, over a connection of its own."""

import asyncio
from collections.abc import Sequence
from typing import Any

import mqtt5

from meshwright.errors import DeployError
from meshwright.mesh.adapters.messages import message_of
from meshwright.mesh.core.values import Message
from meshwright.mesh.shell.mqtt import Connection, Login, connect

SECONDS = 30.0  # without any answer after which a fetch fails


class _Fetching:
    """The owner of the connection."""

    def __init__(self) -> None:
        self.found: dict[str, Message] = {}
        self.done: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self.connection: Connection | None = None
        self._ends: int | None = None  # the packet id of the last request
        self._filters: Sequence[str] = ()

    def ask(self, connection: Connection, filters: Sequence[str]) -> None:
        # The broker writes retained messages right after SUBACK, so all are here when it answers
        # the request that follows.
        self.connection, self._filters = connection, filters
        connection.subscribe([_filter(name) for name in filters])
        self._ends = connection.unsubscribe(list(filters))

    def broker_message(self, packet: Any) -> None:
        if packet.retain:  # those published just now have no such flag here
            self.found[packet.topic] = message_of(packet)
        if int(packet.qos) and self.connection is not None:
            self.connection.acknowledge(packet.packet_id, int(packet.qos))

    def broker_unreadable(self, packet_id: int | None, qos: int) -> None:
        if packet_id is not None and self.connection is not None:
            self.connection.acknowledge(packet_id, qos)

    def broker_release(self, packet_id: int) -> None:
        if self.connection is not None:
            self.connection.complete(packet_id)

    def broker_granted(self, packet_id: int, _reasons: Sequence[int]) -> None:
        if packet_id == self._ends and not self.done.done():
            self.done.set_result(None)

    def broker_acknowledged(self, packet_id: int, reason: int) -> None:
        """Not called: nothing is published here."""

    def broker_received(self, packet_id: int, reason: int) -> None:
        """Not called either."""

    def broker_lost(self, reason: str) -> None:
        if not self.done.done():
            self.done.set_result(reason)


async def fetch(login: Login, filters: Sequence[str]) -> tuple[Message, ...]:
    """Return the retained messages under some filters, by topic; raise DeployError."""
    if not filters:
        return ()
    owner = _Fetching()
    connection, _ = await connect(login, owner)
    try:
        owner.ask(connection, filters)
        async with asyncio.timeout(SECONDS):
            lost = await owner.done
    except TimeoutError as error:
        raise DeployError("the broker did not answer a request for retained messages.") from error
    finally:
        connection.close()
    if lost is not None:
        raise DeployError(f"the broker was lost while retained messages were fetched: {lost}.")
    return tuple(owner.found[topic] for topic in sorted(owner.found))


def _filter(name: str) -> Any:
    return mqtt5.TopicFilter(
        name,
        max_qos=mqtt5.QoS.EXACTLY_ONCE,
        retain_as_published=False,
        retain_handling=mqtt5.RetainHandling.SEND_ALWAYS,
    )
