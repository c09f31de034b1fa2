"""MQTT 3.1.1 as bytes: what paho writes and reads, we do, too."""

import mqtt5
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright.mesh.core.values import Message
from meshwright.mesh.shell.mqtt import Login
from meshwright.mesh.shell.packets5 import packet_size
from meshwright.mesh.shell.packets311 import Packets311

PACKETS = Packets311()
TOPICS = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="+#"), min_size=1
).filter(lambda text: len(text.encode()) < 65_536)


def read(data):
    return PACKETS.read(memoryview(data))


@given(TOPICS, st.binary(), st.integers(0, 2), st.integers(1, 65_535), st.booleans(), st.booleans())
def test_a_message_is_read_as_it_was_written(topic, payload, qos, packet, retain, duplicate):
    data = PACKETS.publish(Message(topic, payload, qos, retain), qos, packet, duplicate)
    assert packet_size(memoryview(data), 0) == len(data)
    found = read(data)
    assert (found.topic, found.payload, int(found.qos)) == (topic, payload, qos)
    assert (found.retain, found.duplicate) == (retain, duplicate)
    assert found.packet_id == (packet if qos else None)
    assert found.subscription_ids == []


@pytest.mark.parametrize("size", [0, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152])
def test_lengths_of_one_to_four_bytes(size):
    data = PACKETS.publish(Message("a", b"x" * size), 1, 7, False)
    assert packet_size(memoryview(data), 0) == len(data)
    assert len(read(data).payload) == size


def test_connect_as_the_standard_writes_it():
    """Sections 3.1.2 and 3.1.3."""
    login = Login("h", 1, "me", "user", "pw", clean=False)
    head = b"\x10\x18\x00\x04MQTT\x04\xc0\x00\x14"
    assert PACKETS.connect(login, 20) == head + b"\x00\x02me\x00\x04user\x00\x02pw"
    plain = PACKETS.connect(Login("h", 1, "me"), 20)
    assert plain == b"\x10\x0e\x00\x04MQTT\x04\x02\x00\x14\x00\x02me"


def test_subscriptions_as_the_standard_writes_them():
    """Sections 3.8 and 3.10, with the examples of figures 3.23 and 3.30."""
    filters = [
        mqtt5.TopicFilter("a/b", max_qos=mqtt5.QoS.AT_LEAST_ONCE),
        mqtt5.TopicFilter("c/d", max_qos=mqtt5.QoS.EXACTLY_ONCE),
    ]
    wanted = b"\x82\x0e\x00\x0a\x00\x03a/b\x01\x00\x03c/d\x02"
    assert PACKETS.subscribe(10, filters, 5) == wanted
    assert PACKETS.unsubscribe(10, ["a/b", "c/d"]) == b"\xa2\x0c\x00\x0a\x00\x03a/b\x00\x03c/d"


def test_answers_of_a_broker():
    granted = read(b"\x90\x05\x00\x0a\x00\x02\x80")
    assert granted.packet_id == 10
    assert [int(code) for code in granted.reason_codes] == [0, 2, 128]
    assert read(b"\xb0\x02\x00\x0a").packet_id == 10
    for first, kind in [
        (0x40, mqtt5.PubAckPacket),
        (0x50, mqtt5.PubRecPacket),
        (0x62, mqtt5.PubRelPacket),
        (0x70, mqtt5.PubCompPacket),
    ]:
        found = read(bytes((first, 2, 1, 2)))
        assert type(found) is kind
        assert found.packet_id == 258
    assert read(b"\x20\x02\x01\x00").session_present
    refused = read(b"\x20\x02\x00\x05")
    assert refused.reason_code == mqtt5.ConnAckReasonCode.NOT_AUTHORIZED


@pytest.mark.parametrize(
    "data",
    [
        b"\x36\x05\x00\x01a\x00\x01",  # QoS 3
        b"\x32\x05\x00\x09a\x00\x01",  # a topic that does not end
        b"\x32\x03\x00\x01a",  # no packet id
        b"\x32\x05\x00\x01a\x00\x00",  # packet id 0
        b"\x30\x03\x00\x01#",  # a filter is no name
        b"\x30\x03\x00\x01\xff",  # not UTF-8
        b"\x10\x02\x00\x00",  # brokers do not connect
        b"\x40\x01\x00",
        b"\x20\x00",
    ],
)
def test_what_breaks_the_rules_is_refused(data):
    with pytest.raises(ValueError, match=r"."):
        read(data)
