"""How often a broker sends a message to a session with two filters that match it."""

import asyncio
import os
from typing import Any

import mqtt5

from meshwright.errors import DeployError
from meshwright.mesh.core.values import Message
from meshwright.mesh.shell.mqtt import Connection, Login, connect

SECONDS = 10.0
ROOT = "meshwright-copies"


class _Probe:
    def __init__(self) -> None:
        self.n_copies = 0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.connection: Connection | None = None

    def broker_message(self, packet: Any) -> None:
        if packet.payload == b"last":
            self._end(None)
        else:
            self.n_copies += 1
        if int(packet.qos) and self.connection is not None:
            self.connection.acknowledge(packet.packet_id, int(packet.qos))

    def broker_lost(self, reason: str) -> None:
        self._end(DeployError(f"the broker was lost: {reason}."))

    def _end(self, error: Exception | None) -> None:
        if not self.done.done():
            if error is None:
                self.done.set_result(None)
            else:
                self.done.set_exception(error)

    def __getattr__(self, name: str) -> Any:
        """What else a connection tells is of no interest."""
        if name.startswith("broker_"):
            return lambda *_: None
        raise AttributeError(name)


async def n_copies(login: Login) -> int:
    """Return how many copies of one message a session with two matching filters gets.

    Raises
    ------
    DeployError
        If the broker does not answer.
    """
    probe = _Probe()
    connection, _ = await connect(login, probe)
    probe.connection = connection
    run = os.urandom(4).hex()
    filters = (f"{ROOT}/{run}/+", f"{ROOT}/+/a")
    qos = mqtt5.QoS.AT_LEAST_ONCE
    try:
        connection.subscribe([mqtt5.TopicFilter(name, max_qos=qos) for name in filters])
        for end, payload in (("a", b"once"), ("b", b"last")):
            packet_id = connection.take_id() or 0
            connection.send(Message(f"{ROOT}/{run}/{end}", payload), 1, packet_id)
        async with asyncio.timeout(SECONDS):
            await probe.done
    except TimeoutError as error:
        raise DeployError("the broker did not answer a probe of its filters.") from error
    finally:
        connection.close()
    return probe.n_copies
