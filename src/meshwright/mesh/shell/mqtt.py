"""One MQTT connection, packet by packet: the owner decides when a message is acknowledged.

MQTT 5 (the codec is `mqtt5`) or 3.1.1, as the login says. Client libraries send PUBREC themselves
as soon as a message of QoS 2 arrives (paho lost 5 of 5 in a crash), choose packet ids themselves,
and are slower (`scripts/bench mqtt_clients`). Nothing is sent again by this class: a connection
that is lost is over, and its owner opens the next one.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import mqtt5

from meshwright.errors import DeployError
from meshwright.mesh.core.values import Message
from meshwright.mesh.shell.packets5 import Packets, Packets5, packet_size, publish_id
from meshwright.mesh.shell.packets311 import Packets311

KEEP_ALIVE = 20  # seconds; a broker that is silent for one and a half of it counts as lost
LAST_ID = 65_535
FIRST_ID = 32_768  # smaller packet ids belong to the core: those of exactly-once delivery
PROTOCOLS: dict[str, Packets] = {"5": Packets5(), "3.1.1": Packets311()}


class Will(NamedTuple):
    """What the broker publishes when the connection is lost."""

    topic: str
    payload: bytes


class Login(NamedTuple):
    """How to connect."""

    host: str
    port: int
    client_id: str
    username: str = ""
    password: str = ""
    tls: ssl.SSLContext | None = None
    clean: bool = True  # begin without the messages that waited in the session
    expiry: int = 0  # seconds that the session outlives the connection
    max_packet: int = 0  # bytes; 0: no limit
    protocol: str = "5"  # of `PROTOCOLS`


class Owner(Protocol):
    """What a connection calls. No call may raise."""

    def broker_message(self, packet: Any) -> None:
        """Take a message (a `mqtt5.PublishPacket`); acknowledge it when it is safe."""

    def broker_unreadable(self, packet_id: int | None, qos: int) -> None:
        """Take note of a message that breaks the rules of MQTT, such as a malformed property."""

    def broker_release(self, packet_id: int) -> None:
        """Take note of PUBREL: a message of QoS 2 is ours now; `complete` it."""

    def broker_acknowledged(self, packet_id: int, reason: int) -> None:
        """Take note that a message of ours is at the broker (PUBACK, or PUBCOMP of QoS 2)."""

    def broker_received(self, packet_id: int, reason: int) -> None:
        """Take note of PUBREC; answer with `release` unless the reason is a failure (>= 128)."""

    def broker_granted(self, packet_id: int, reasons: Sequence[int]) -> None:
        """Take note of SUBACK or UNSUBACK."""

    def broker_lost(self, reason: str) -> None:
        """Take note that the connection is over; called once, after it was open."""


class Connection(asyncio.Protocol):
    """An open connection; made by `connect`."""

    def __init__(self, owner: Owner, packets: Packets) -> None:
        self._owner, self._packets = owner, packets
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._buffer = b""
        self._out: list[bytes] = []
        self._flushing = False
        self._paused = False  # from CONNACK on, until the owner has the connection
        self._answer: asyncio.Future[Any] = self._loop.create_future()
        self._open = False
        self._heard = self._loop.time()
        self._ping: asyncio.TimerHandle | None = None
        self._next_id = 0
        self._used: set[int] = set()  # packet ids of ours that are not acknowledged yet
        self._waiting: deque[tuple[int, bytes]] = deque()  # publishes beyond the window
        self._window = LAST_ID
        self._in_flight: set[int] = set()
        self._reason = "the broker closed the connection"

    # What the owner asks for

    def send(
        self, message: Message, qos: int, packet_id: int = 0, *, duplicate: bool = False
    ) -> None:
        """Publish; with QoS 1 or 2 it waits while the broker's window is full."""
        self.publish(packet_id, self._packets.publish(message, qos, packet_id, duplicate))

    def publish(self, packet_id: int, data: bytes) -> None:
        """Publish what is encoded already."""
        if packet_id and (self._waiting or len(self._in_flight) >= self._window):
            self._waiting.append((packet_id, data))
            return
        if packet_id:
            self._in_flight.add(packet_id)
        self.write(data)

    def take_id(self) -> int | None:
        """Return a packet id that is not in use, or None if all are; from FIRST_ID on."""
        if len(self._used) > LAST_ID - FIRST_ID:
            return None
        while True:
            self._next_id = max(FIRST_ID, (self._next_id + 1) % (LAST_ID + 1))
            if self._next_id not in self._used:
                self._used.add(self._next_id)
                return self._next_id

    def acknowledge(self, packet_id: int, qos: int) -> None:
        """Tell the broker that a message of QoS 1 or 2 is safe here."""
        first = b"\x40\x02" if qos == 1 else b"\x50\x02"
        self.write(first + packet_id.to_bytes(2, "big"))

    def complete(self, packet_id: int) -> None:
        """Answer PUBREL."""
        self.write(b"\x70\x02" + packet_id.to_bytes(2, "big"))

    def release(self, packet_id: int) -> None:
        """Answer PUBREC."""
        self.write(b"\x62\x02" + packet_id.to_bytes(2, "big"))

    def subscribe(self, filters: Sequence[Any], subscription_id: int | None = None) -> int:
        """Subscribe to `mqtt5.TopicFilter`s and return the packet id; SUBACK carries it."""
        packet_id = self._need_id()
        self.write(self._packets.subscribe(packet_id, filters, subscription_id))
        return packet_id

    def unsubscribe(self, patterns: Sequence[str]) -> int:
        """Unsubscribe and return the packet id; UNSUBACK carries it."""
        packet_id = self._need_id()
        self.write(self._packets.unsubscribe(packet_id, patterns))
        return packet_id

    def close(self) -> None:
        """Disconnect; the owner hears nothing more."""
        self._open = False
        if self._transport is not None:
            self.write(self._packets.disconnect())
            self._flush()
            self._transport.close()

    def abort(self, reason: str) -> None:
        """End the connection at once because of `reason`; the owner is told."""
        self._reason = reason
        if self._transport is not None:
            self._transport.abort()

    @property
    def n_waiting(self) -> int:
        """Publishes that wait for room in the broker's window."""
        return len(self._waiting)

    def write(self, data: bytes) -> None:
        """Send encoded packets, those of one turn of the loop together."""
        self._out.append(data)
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._flush)

    # What asyncio calls

    def connection_made(self, transport: Any) -> None:
        """Keep the transport."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Read all whole packets."""
        self._heard = self._loop.time()
        self._read(self._buffer + data if self._buffer else data)

    def _read(self, buffer: bytes) -> None:
        view, offset = memoryview(buffer), 0
        while not self._paused:
            size = packet_size(view, offset)
            if size == 0 or len(view) - offset < size:
                break
            if size < 0:
                self.abort("the broker sent a packet whose length is not valid")
                return
            self._take(view[offset : offset + size])
            offset += size
            if self._transport is None:
                return
        self._buffer = bytes(view[offset:])

    def connection_lost(self, error: Exception | None) -> None:
        """Tell the owner."""
        self._transport = None
        if self._ping is not None:
            self._ping.cancel()
        reason = str(error) if error else self._reason
        if not self._answer.done():
            self._answer.set_exception(ConnectionError(reason))
            self._answer.exception()  # nobody may wait for it: an agent that ends gives up dialling
        if self._open:
            self._open = False
            self._owner.broker_lost(reason)

    def eof_received(self) -> bool:
        """Close."""
        return False

    # Inside

    def _take(self, view: memoryview) -> None:
        try:
            packet = self._packets.read(view)
        except (ValueError, IndexError, EOFError) as error:
            if view[0] >> 4 != 3:
                self.abort(f"the broker sent a packet that is not {self._packets.name}: {error}")
                return
            self._owner.broker_unreadable(*publish_id(view))
            return
        take = _READERS.get(type(packet))
        if take is not None:
            take(self, packet)

    def _connack(self, packet: Any) -> None:
        if not self._answer.done():
            self._window = packet.receive_max
            # Messages of a session that goes on may be in the same bytes as CONNACK.
            self._paused = True
            self._answer.set_result(packet)

    def _publish(self, packet: Any) -> None:
        self._owner.broker_message(packet)

    def _puback(self, packet: Any) -> None:
        self._done(packet.packet_id)
        self._owner.broker_acknowledged(packet.packet_id, int(packet.reason_code))

    def _pubrec(self, packet: Any) -> None:
        reason = int(packet.reason_code)
        if reason >= 128:
            self._done(packet.packet_id)
        self._owner.broker_received(packet.packet_id, reason)

    def _pubrel(self, packet: Any) -> None:
        self._owner.broker_release(packet.packet_id)

    def _granted(self, packet: Any) -> None:
        self._used.discard(packet.packet_id)
        self._owner.broker_granted(packet.packet_id, [int(code) for code in packet.reason_codes])

    def _disconnected(self, packet: Any) -> None:
        self.abort(f"the broker disconnected us: {packet.reason_code.name.lower()}")

    def _done(self, packet_id: int) -> None:
        """Free a packet id, and send what waited for room in the window."""
        self._used.discard(packet_id)
        self._in_flight.discard(packet_id)
        while self._waiting and len(self._in_flight) < self._window:
            packet_id, data = self._waiting.popleft()
            self._in_flight.add(packet_id)
            self.write(data)

    def _need_id(self) -> int:
        found = self.take_id()
        if found is None:  # 65,535 requests without an answer
            raise DeployError("the broker does not answer; all packet ids are in use.")
        return found

    def _flush(self) -> None:
        self._flushing = False
        if self._transport is not None and self._out:
            self._transport.write(b"".join(self._out))
        self._out.clear()

    def _begin(self) -> None:
        self._open = True
        self._keep_alive()
        self._loop.call_soon(self._resume)  # after whatever awaited `connect`

    def _resume(self) -> None:
        self._paused = False
        if self._transport is not None:
            self._read(self._buffer)

    def _keep_alive(self) -> None:
        if self._loop.time() - self._heard > 1.5 * KEEP_ALIVE:
            self.abort(f"the broker has been silent for {1.5 * KEEP_ALIVE:.0f} s")
            return
        self.write(b"\xc0\x00")
        self._ping = self._loop.call_later(KEEP_ALIVE / 2, self._keep_alive)


_READERS = {
    mqtt5.PublishPacket: Connection._publish,
    mqtt5.PubAckPacket: Connection._puback,
    mqtt5.PubRecPacket: Connection._pubrec,
    mqtt5.PubRelPacket: Connection._pubrel,
    mqtt5.PubCompPacket: Connection._puback,
    mqtt5.SubAckPacket: Connection._granted,
    mqtt5.UnsubAckPacket: Connection._granted,
    mqtt5.ConnAckPacket: Connection._connack,
    mqtt5.DisconnectPacket: Connection._disconnected,
}


async def connect(login: Login, owner: Owner, *, seconds: float = 10.0) -> tuple[Connection, bool]:
    """Return an open connection, and whether the broker kept the session of an earlier one.

    Raises
    ------
    DeployError
        If there is no answer, or the broker refuses.
    """
    endpoint = f"{login.host}:{login.port}"
    packets = PROTOCOLS[login.protocol]
    loop = asyncio.get_running_loop()
    connection = None
    try:
        async with asyncio.timeout(seconds):
            host = login.host if login.tls else None
            _, connection = await loop.create_connection(
                lambda: Connection(owner, packets),
                login.host,
                login.port,
                ssl=login.tls,
                server_hostname=host,
            )
            connection.write(packets.connect(login, KEEP_ALIVE))
            answer = await connection._answer
    except (OSError, TimeoutError) as error:
        if connection is not None:
            connection.abort("no answer")
        why = "it does not answer" if isinstance(error, TimeoutError) else str(error)
        raise DeployError(f"the broker at {endpoint} is out of reach: {why}.", endpoint) from error
    if int(answer.reason_code) != 0:
        connection.abort("refused")
        why = answer.reason_code.name.lower().replace("_", " ")
        raise DeployError(
            f"the broker at {endpoint} refuses {login.client_id!r}: {why}. Check the user name and "
            "password of the inventory, and the broker's log.",
            endpoint,
        )
    connection._begin()
    return connection, bool(answer.session_present)
