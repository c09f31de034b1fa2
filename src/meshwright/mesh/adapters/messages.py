"""Messages of the core as packets of MQTT 5, and back. Properties travel unchanged."""

import math
from typing import Any

import mqtt5

from meshwright.mesh.core.values import Message
from meshwright.mesh.storage.packing import pack, unpack

_QOS = (mqtt5.QoS.AT_MOST_ONCE, mqtt5.QoS.AT_LEAST_ONCE, mqtt5.QoS.EXACTLY_ONCE)
NONE = (0, None, None, None, ())


def message_of(packet: Any) -> Message:
    """Return the message of a PUBLISH."""
    properties = (
        packet.payload_format_indicator,
        packet.content_type,
        packet.response_topic,
        packet.correlation_data,
        tuple(packet.user_properties),
    )
    return Message(
        packet.topic,
        packet.payload,
        int(packet.qos),
        packet.retain,
        packet.message_expiry_interval,
        b"" if properties == NONE else pack(properties),
    )


def packet_of(message: Message, qos: int, packet_id: int, duplicate: bool) -> bytes:
    """Return a PUBLISH as bytes."""
    options: dict[str, Any] = {}
    if message.expiry is not None:
        options["message_expiry_interval"] = max(1, math.ceil(message.expiry))
    if message.properties:
        indicator, content_type, response_topic, correlation, user = unpack(message.properties)
        options |= {
            "payload_format_indicator": indicator,
            "content_type": content_type,
            "response_topic": response_topic,
            "correlation_data": correlation,
            "user_properties": list(user),
        }
    packet = mqtt5.PublishPacket(
        message.topic,
        message.payload,
        qos=_QOS[qos],
        retain=message.retain,
        packet_id=packet_id or None,
        duplicate=duplicate,
        **options,
    )
    data: bytes = packet.write()
    return data
