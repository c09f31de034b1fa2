"""Fetching the retained messages of a broker, over a connection of its own; and its bridges."""

import asyncio
from collections.abc import Sequence
from typing import Any

import mqtt5

from meshwright.errors import DeployError
from meshwright.mesh.adapters.messages import message_of
from meshwright.mesh.core.values import Message
from meshwright.mesh.shell.mqtt import Connection, Login, connect
from meshwright.model.client_ids import is_bridge

CONNECTIONS = "$SYS/broker/connection/+/state"  # retained: the bridges of a broker
SECONDS = 30.0  # without any answer after which a fetch fails


async def end_session(login: Login) -> None:
    """End a session for good, with all that the broker keeps for it; raise DeployError."""
    fresh = login._replace(clean=True, expiry=0)
    connection, _ = await connect(fresh, Fetcher(fresh))
    connection.close()


class Fetcher:
    """A connection for fetching, opened with the first fetch and then kept. One fetch at a time."""

    def __init__(self, login: Login) -> None:
        self._login = login
        self._connection: Connection | None = None
        self._found: dict[str, Message] = {}
        self._done: asyncio.Future[str | None]  # why the connection was lost, or None
        self._ends: int | None = None  # the packet id of the last request

    async def fetch(self, filters: Sequence[str]) -> tuple[Message, ...]:
        """Return the retained messages under some filters, by topic; raise DeployError."""
        if not filters:
            return ()
        self._done = asyncio.get_running_loop().create_future()
        if self._connection is None:
            self._connection, _ = await connect(self._login, self)
        self._found.clear()
        # The broker writes retained messages right after SUBACK, so all are here when it answers
        # the request that follows.
        self._connection.subscribe([_filter(name) for name in filters])
        self._ends = self._connection.unsubscribe(list(filters))
        try:
            async with asyncio.timeout(SECONDS):
                lost = await self._done
        except BaseException as error:  # what still comes must not be taken for the next answer
            self.close()
            if not isinstance(error, TimeoutError):
                raise
            raise DeployError(
                "the broker did not answer a request for retained messages."
            ) from error
        if lost is not None:
            raise DeployError(f"the broker was lost while retained messages were fetched: {lost}.")
        return tuple(self._found[topic] for topic in sorted(self._found))

    def close(self) -> None:
        """Disconnect."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # What the connection calls

    def broker_message(self, packet: Any) -> None:
        """Keep a retained message."""
        if packet.retain:  # those published just now have no such flag here
            self._found[packet.topic] = message_of(packet)
        if int(packet.qos) and self._connection is not None:
            self._connection.acknowledge(packet.packet_id, int(packet.qos))

    def broker_unreadable(self, packet_id: int | None, qos: int) -> None:
        """Let the broker forget it."""
        if packet_id is not None and self._connection is not None:
            self._connection.acknowledge(packet_id, qos)

    def broker_release(self, packet_id: int) -> None:
        """Complete a message of QoS 2."""
        if self._connection is not None:
            self._connection.complete(packet_id)

    def broker_granted(self, packet_id: int, _reasons: Sequence[int]) -> None:
        """Notice the end of an answer."""
        if packet_id == self._ends and not self._done.done():
            self._done.set_result(None)

    def broker_acknowledged(self, packet_id: int, reason: int) -> None:
        """Not called: nothing is published here."""

    def broker_received(self, packet_id: int, reason: int) -> None:
        """Not called either."""

    def broker_lost(self, reason: str) -> None:
        """Connect again with the next fetch."""
        self._connection = None
        if not self._done.done():
            self._done.set_result(reason)


async def fetch(login: Login, filters: Sequence[str]) -> tuple[Message, ...]:
    """Return the retained messages under some filters, over a connection for them alone."""
    fetcher = Fetcher(login)
    try:
        return await fetcher.fetch(filters)
    finally:
        fetcher.close()


def _filter(name: str) -> Any:
    return mqtt5.TopicFilter(
        name,
        max_qos=mqtt5.QoS.EXACTLY_ONCE,
        retain_as_published=False,
        retain_handling=mqtt5.RetainHandling.SEND_ALWAYS,
    )


async def own_bridges(login: Login) -> list[str]:
    """Return the client ids of the bridges of ours that a broker is configured with."""
    found = await fetch(login, (CONNECTIONS,))
    return sorted(client for message in found if (client := bridge_of(message.topic)))


def bridge_of(topic: str) -> str | None:
    """Return the client id of one of our bridges whose state a topic tells.

    Examples
    --------
    >>> bridge_of("$SYS/broker/connection/mesh.edge-1.edge-2/state")
    'mesh.edge-1.edge-2'
    >>> bridge_of("$SYS/broker/connection/backup/state")
    """
    parts = topic.split("/")
    is_state = parts[:3] == ["$SYS", "broker", "connection"] and parts[-1] == "state"
    client = "/".join(parts[3:-1])
    return client if is_state and is_bridge(client) else None
