"""Records as bytes: MessagePack."""

from typing import Any

import msgspec

_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder()


def pack(value: Any) -> bytes:
    """Return a value made of numbers, text, bytes, None and tuples as bytes."""
    data: bytes = _ENCODER.encode(value)
    return data


def unpack(data: bytes) -> Any:
    """Return the value; sequences are tuples, also those that had names.

    Examples
    --------
    >>> unpack(pack((1, "a", b"b", None, (2.5, (True,)))))
    (1, 'a', b'b', None, (2.5, (True,)))
    """
    return _tuples(_DECODER.decode(data))


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
