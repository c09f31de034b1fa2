"""Frames as bytes: a length, a kind, and the fields in MessagePack.

msgspec checks every field against the annotations of `core.frames` as it decodes, so a frame that
arrives in the core has the types it should; it is the quickest of those that were tried, too
(`scripts/bench frames`).
"""

import struct
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, get_args

import msgspec

from meshwright.mesh.core import frames, values

LENGTH = struct.Struct(">IB")  # bytes after this head, kind
ROOM = 2**16  # bytes of a frame beside the payload
WIRE_VERSION = 1


class FrameError(Exception):
    """What arrived is no frame of ours."""


class Preface(NamedTuple):
    """The first words of each side of a connection: who it is, and a number never used before."""

    wire: int
    mesh: str
    node: int
    to: int
    nonce: bytes


class Proof(NamedTuple):
    """Shows that the sender knows the secret of the mesh."""

    mac: bytes


class Ping(NamedTuple):
    """Says that the sender is alive."""


class _Entries(NamedTuple):
    """A `Log` on the wire: each change with its kind."""

    entries: tuple[tuple[values.Version, tuple[tuple[int, msgspec.Raw], ...]], ...]


# The place of a class is its kind: append only, and change WIRE_VERSION with a class.
KINDS: tuple[type, ...] = (Preface, Proof, Ping, *get_args(frames.Frame))
CHANGES: tuple[type, ...] = get_args(values.Change)
_KIND_OF = {kind: i for i, kind in enumerate(KINDS)}
_CHANGE_OF = {kind: i for i, kind in enumerate(CHANGES)}
_ENCODER = msgspec.msgpack.Encoder()
_LOG = _KIND_OF[frames.Log]
_DECODERS: list[Any] = [
    msgspec.msgpack.Decoder(_Entries if kind is frames.Log else kind, strict=True) for kind in KINDS
]
_CHANGE_DECODERS: list[Any] = [msgspec.msgpack.Decoder(kind, strict=True) for kind in CHANGES]


def encode(frame: Any) -> bytes:
    """Return a frame with its head."""
    kind = _KIND_OF[type(frame)]
    body: bytes = _ENCODER.encode(_tagged(frame) if kind == _LOG else frame)
    return LENGTH.pack(len(body), kind) + body


def decode(kind: int, body: bytes | memoryview) -> Any:
    """Return the frame of a kind; raise FrameError if it is none."""
    try:
        found = _DECODERS[kind].decode(body)
        return frames.Log(tuple(_entries(found))) if kind == _LOG else found
    except (msgspec.MsgspecError, IndexError, UnicodeDecodeError) as error:
        raise FrameError(f"a frame of kind {kind} is not valid: {error}") from error


class Reader:
    """Cuts a stream of bytes into frames."""

    def __init__(self, most: int) -> None:
        self.most = most  # bytes of a frame; a longer one is an error before it is read
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[Any]:
        """Yield the frames that are complete; raise FrameError at the first that is none."""
        buffer = self._rest + data if self._rest else data
        view, offset = memoryview(buffer), 0
        try:
            while len(view) - offset >= LENGTH.size:
                size, kind = LENGTH.unpack_from(view, offset)
                if size > self.most:
                    raise FrameError(f"a frame of {size:,} bytes; at most {self.most:,} may come")
                end = offset + LENGTH.size + size
                if end > len(view):
                    break
                frame = decode(kind, view[offset + LENGTH.size : end])
                offset = end
                yield frame
        finally:
            self._rest = bytes(view[offset:])


def _tagged(log: frames.Log) -> _Entries:
    raw: Any = ((v, tuple((_CHANGE_OF[type(c)], c) for c in changes)) for v, changes in log.entries)
    return _Entries(tuple(raw))


def _entries(found: _Entries) -> Iterable[values.Entry]:
    for version, changes in found.entries:
        made = tuple(_CHANGE_DECODERS[kind].decode(raw) for kind, raw in changes)
        yield values.Entry(version, made)
