"""The packets of MQTT 3.1.1 that an agent sends and reads, as bytes.

For brokers that speak no MQTT 5. What is read becomes the packet of MQTT 5 that says the same, so
that a connection and its owner need not know the difference. What the older protocol cannot say is
left out: properties, no-local, identifiers of subscriptions, and how to treat retained messages.

OASIS, "MQTT Version 3.1.1", chapters 2 and 3.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import mqtt5

from meshwright.mesh.core.values import Message

if TYPE_CHECKING:
    from meshwright.mesh.shell.mqtt import Login

NAME, LEVEL = b"\x00\x04MQTT", 4
CONNACK, PUBLISH, PUBACK, PUBREC, PUBREL, PUBCOMP = 2, 3, 4, 5, 6, 7
SUBSCRIBE, SUBACK, UNSUBSCRIBE, UNSUBACK = 8, 9, 10, 11
HAS_USER, HAS_PASSWORD, CLEAN = 0x80, 0x40, 0x02  # flags of CONNECT
DUPLICATE, RETAIN = 0x08, 0x01  # flags of PUBLISH
REFUSED = 0x80  # in SUBACK
LONGEST = 268_435_455  # bytes after the head of a packet

_QOS = (mqtt5.QoS.AT_MOST_ONCE, mqtt5.QoS.AT_LEAST_ONCE, mqtt5.QoS.EXACTLY_ONCE)
_CODE = mqtt5.ConnAckReasonCode
_REFUSALS = (  # the codes of CONNACK, table 3.1
    _CODE.SUCCESS,
    _CODE.UNSUPPORTED_PROTOCOL_VERSION,
    _CODE.CLIENT_ID_NOT_VALID,
    _CODE.SERVER_UNAVAILABLE,
    _CODE.BAD_USER_NAME_OR_PASSWORD,
    _CODE.NOT_AUTHORIZED,
)
_GRANTS = (
    mqtt5.SubAckReasonCode.GRANTED_QOS_AT_MOST_ONCE,
    mqtt5.SubAckReasonCode.GRANTED_QOS_AT_LEAST_ONCE,
    mqtt5.SubAckReasonCode.GRANTED_QOS_EXACTLY_ONCE,
)
_ANSWERS: dict[int, Any] = {
    PUBACK: mqtt5.PubAckPacket,
    PUBREC: mqtt5.PubRecPacket,
    PUBREL: mqtt5.PubRelPacket,
    PUBCOMP: mqtt5.PubCompPacket,
}


class Packets311:
    """MQTT 3.1.1."""

    name = "MQTT 3.1.1"

    def connect(self, login: "Login", keep_alive: int) -> bytes:
        """Return CONNECT; a session that outlives its connection is one that is not clean."""
        flags = CLEAN if login.clean and not login.expiry else 0
        body = _text(login.client_id)
        if login.username:
            flags |= HAS_USER | HAS_PASSWORD
            body += _text(login.username) + _text(login.password)
        head = NAME + bytes((LEVEL, flags)) + keep_alive.to_bytes(2, "big")
        return _packet(0x10, head + body)

    def publish(self, message: Message, qos: int, packet_id: int, duplicate: bool) -> bytes:
        """Return PUBLISH, without expiry and properties."""
        flags = qos << 1 | (DUPLICATE if duplicate else 0) | (RETAIN if message.retain else 0)
        number = packet_id.to_bytes(2, "big") if qos else b""
        return _packet(PUBLISH << 4 | flags, _text(message.topic) + number + message.payload)

    def subscribe(self, packet_id: int, filters: Sequence[Any], _number: int | None, /) -> bytes:
        """Return SUBSCRIBE; of each `mqtt5.TopicFilter` only its name and QoS are sent."""
        body = b"".join(_text(each.pattern) + bytes((int(each.max_qos),)) for each in filters)
        return _packet(SUBSCRIBE << 4 | 2, packet_id.to_bytes(2, "big") + body)

    def unsubscribe(self, packet_id: int, patterns: Sequence[str]) -> bytes:
        """Return UNSUBSCRIBE."""
        body = b"".join(map(_text, patterns))
        return _packet(UNSUBSCRIBE << 4 | 2, packet_id.to_bytes(2, "big") + body)

    def disconnect(self) -> bytes:
        """Return DISCONNECT."""
        return b"\xe0\x00"

    def read(self, view: memoryview) -> Any:
        """Return one whole packet as that of MQTT 5; raise ValueError if it breaks the rules."""
        start = next(i for i in range(1, 5) if view[i] < 0x80) + 1
        kind, flags, body = view[0] >> 4, view[0] & 0x0F, bytes(view[start:])
        if kind == PUBLISH:
            return _publish(flags, body)
        if kind in _ANSWERS:
            return _ANSWERS[kind](_number(body))
        if kind == SUBACK:
            return mqtt5.SubAckPacket(_number(body), [_grant(code) for code in body[2:]])
        if kind == UNSUBACK:
            return mqtt5.UnsubAckPacket(_number(body), [])
        if kind == CONNACK:
            return _connack(body)
        if kind == 13:
            return mqtt5.PingRespPacket()
        raise ValueError(f"a broker does not send packets of kind {kind}")


def _publish(flags: int, body: bytes) -> Any:
    qos = flags >> 1 & 3
    if qos == 3:
        raise ValueError("the QoS is 3")
    end = 2 + _number(body)
    if end > len(body):
        raise ValueError("the topic is longer than the packet")
    topic = body[2:end].decode()
    packet_id = None
    if qos:
        packet_id = _number(body[end:])
        end += 2
    if "\0" in topic or "+" in topic or "#" in topic or not topic or packet_id == 0:
        raise ValueError("the topic or packet id is not allowed")
    return mqtt5.PublishPacket(
        topic,
        body[end:],
        qos=_QOS[qos],
        retain=bool(flags & RETAIN),
        packet_id=packet_id,
        duplicate=bool(flags & DUPLICATE),
    )


def _connack(body: bytes) -> Any:
    present = bool(_number(body) >> 8 & 1)
    code = body[1]
    reason = _REFUSALS[code] if code < len(_REFUSALS) else _CODE.UNSPECIFIED_ERROR
    return mqtt5.ConnAckPacket(session_present=present, reason_code=reason)


def _grant(code: int) -> Any:
    return _GRANTS[code] if code < len(_GRANTS) else mqtt5.SubAckReasonCode.UNSPECIFIED_ERROR


def _number(body: bytes) -> int:
    if len(body) < 2:
        raise ValueError("the packet is too short")
    return int.from_bytes(body[:2], "big")


def _text(text: str) -> bytes:
    data = text.encode()
    if len(data) > 0xFFFF:
        raise ValueError(f"a text of {len(data):,} bytes is too long for MQTT")
    return len(data).to_bytes(2, "big") + data


def _packet(first: int, body: bytes) -> bytes:
    size = len(body)
    if size > LONGEST:
        raise ValueError(f"{size:,} bytes are too many for one packet of MQTT")
    head = bytearray((first,))
    while True:
        size, digit = size >> 7, size & 0x7F
        head.append(digit | (0x80 if size else 0))
        if not size:
            return bytes(head) + body
