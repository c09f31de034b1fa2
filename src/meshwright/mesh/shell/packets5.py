"""The packets of MQTT 5 as bytes, and what both versions of the protocol have in common."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import mqtt5

from meshwright.mesh.adapters.messages import packet_of
from meshwright.mesh.core.values import Message

if TYPE_CHECKING:
    from meshwright.mesh.shell.mqtt import Login

# Messages that the broker sends before we acknowledge one. The codec leaves the default of MQTT,
# 65,535, out of the packet, and Mosquitto 2.0.11 then takes its own, 20.
RECEIVE_MAXIMUM = 65_534


class Packets(Protocol):
    """A version of MQTT: how packets are written and read."""

    name: str

    def connect(self, login: "Login", keep_alive: int) -> bytes:
        """Return CONNECT."""

    def publish(self, message: Message, qos: int, packet_id: int, duplicate: bool) -> bytes:
        """Return PUBLISH."""

    def subscribe(self, packet_id: int, filters: Sequence[Any], number: int | None, /) -> bytes:
        """Return SUBSCRIBE to `mqtt5.TopicFilter`s."""

    def unsubscribe(self, packet_id: int, patterns: Sequence[str]) -> bytes:
        """Return UNSUBSCRIBE."""

    def disconnect(self) -> bytes:
        """Return DISCONNECT."""

    def read(self, view: memoryview) -> Any:
        """Return one whole packet as an object of `mqtt5`."""


class Packets5:
    """MQTT 5."""

    name = "MQTT 5"

    def connect(self, login: "Login", keep_alive: int) -> bytes:
        """Return CONNECT."""
        packet = mqtt5.ConnectPacket(
            login.client_id,
            username=login.username or None,
            password=login.password.encode() if login.username else None,
            clean_start=login.clean,
            keep_alive=keep_alive,
            session_expiry_interval=login.expiry,
            receive_max=RECEIVE_MAXIMUM,
            max_packet_size=login.max_packet or None,
        )
        return bytes(packet.write())

    def publish(self, message: Message, qos: int, packet_id: int, duplicate: bool) -> bytes:
        """Return PUBLISH."""
        return packet_of(message, qos, packet_id, duplicate)

    def subscribe(self, packet_id: int, filters: Sequence[Any], number: int | None, /) -> bytes:
        """Return SUBSCRIBE to `mqtt5.TopicFilter`s."""
        packet = mqtt5.SubscribePacket(packet_id, list(filters), subscription_id=number)
        return bytes(packet.write())

    def unsubscribe(self, packet_id: int, patterns: Sequence[str]) -> bytes:
        """Return UNSUBSCRIBE."""
        return bytes(mqtt5.UnsubscribePacket(packet_id, list(patterns)).write())

    def disconnect(self) -> bytes:
        """Return DISCONNECT."""
        return bytes(mqtt5.DisconnectPacket().write())

    def read(self, view: memoryview) -> Any:
        """Return one whole packet."""
        return mqtt5.read(view)[0]


def packet_size(view: memoryview, offset: int) -> int:
    """Return the bytes of the packet at an offset; 0 if too few are here, -1 if there is none."""
    size = 0
    for i in range(4):
        if offset + 1 + i >= len(view):
            return 0
        byte = view[offset + 1 + i]
        size |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            return size + i + 2
    return -1


def publish_id(view: memoryview) -> tuple[int | None, int]:
    """Return the packet id and QoS of a PUBLISH that cannot be read."""
    qos = (view[0] >> 1) & 3
    start = next(i for i in range(1, 5) if view[i] < 0x80) + 1
    start += 2 + int.from_bytes(view[start : start + 2], "big")
    if qos not in (1, 2) or len(view) < start + 2:
        return None, qos
    return int.from_bytes(view[start : start + 2], "big"), qos
