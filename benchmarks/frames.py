"""Codecs for the frames between agents: msgspec against struct and msgpack.

One message of 100 bytes on a topic of 30, with all the fields of a hop. struct is written by hand
for this one frame; msgpack, if it is installed, returns plain tuples, of which the values are made
again.
"""

import importlib
import importlib.util
import struct
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from meshwright.mesh.core.frames import Data, Previous
from meshwright.mesh.core.values import Message, MessageId, Version
from meshwright.mesh.shell import codec

FRAME = Data(
    MessageId(3, 1, 123_456),
    Message("plant2/line1/press/temperature", bytes(100)),
    Version(1, 77),
    1,
    2,
    (),
    Previous(MessageId(3, 1, 123_455), Version(1, 77)),
    (1, 123_000),
    (),
)
HEAD = struct.Struct(">iiqiqiiBBHHdiiqiqiqI")


def by_hand(frame: Data) -> bytes:
    message, before = frame.message, frame.previous
    assert before is not None
    topic = message.topic.encode()
    lengths = len(topic), len(message.properties)
    flags = message.qos, message.retain, *lengths, message.expiry or -1.0
    head = (*frame.id, *frame.version, frame.attempt, frame.hop, *flags)
    links = (*before.id, *before.version, *frame.floor, len(message.payload))
    return HEAD.pack(*head, *links) + topic + message.properties + message.payload


def by_hand_back(data: bytes) -> Data:
    f = HEAD.unpack_from(data)
    middle = HEAD.size + f[9]
    topic, rest = data[HEAD.size : middle].decode(), middle + f[10]
    expiry = None if f[11] < 0 else f[11]
    message = Message(topic, data[rest:], f[7], bool(f[8]), expiry, data[middle:rest])
    before = Previous(MessageId(*f[12:15]), Version(*f[15:17]))
    return Data(MessageId(*f[:3]), message, Version(*f[3:5]), f[5], f[6], (), before, f[17:19], ())


def again(f: Any) -> Data:
    before = Previous(MessageId(*f[6][0]), Version(*f[6][1]))
    ids, version = MessageId(*f[0]), Version(*f[2])
    return Data(ids, Message(*f[1]), version, f[3], f[4], f[5], before, f[7], f[8], f[9], f[10])


def microseconds(work: Callable[[], Any], n: int) -> float:
    start = time.process_time()
    for _ in range(n):
        work()
    return 1e6 * (time.process_time() - start) / n


def measure(n: int) -> None:
    ways: dict[str, tuple[Callable[[Data], bytes], Callable[[bytes], Any]]] = {
        "msgspec": (codec.encode, lambda data: next(codec.Reader(10_000).feed(data))),
        "struct": (by_hand, by_hand_back),
    }
    if importlib.util.find_spec("msgpack"):
        msgpack = importlib.import_module("msgpack")
        unpack = lambda data: again(msgpack.unpackb(data, use_list=False))  # noqa: E731
        ways["msgpack"] = (msgpack.packb, unpack)
    print(f"{'codec':<10}{'bytes':>8}{'encode us':>12}{'decode us':>12}")
    for name, (encode, decode) in ways.items():
        data = encode(FRAME)
        assert decode(data) == FRAME, name
        there = microseconds(partial(encode, FRAME), n)
        back = microseconds(partial(decode, data), n)
        print(f"{name:<10}{len(data):>8}{there:>12.2f}{back:>12.2f}")


def run(_arguments: list[str]) -> None:
    measure(100_000)


def smoke() -> None:
    measure(100)
