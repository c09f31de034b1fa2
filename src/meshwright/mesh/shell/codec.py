"""Frames as bytes: a length, a kind, and the fields in MessagePack.

msgspec checks every field against the annotations of `core.frames` as it decodes, so a frame that
arrives in the core has the types it should; it is the quickest of those that were tried, too
(`scripts/bench frames`).

A peer may speak an older version of the protocol: `encode` then leaves out what that version cannot
say. A peer may also be newer than this code knows: fields that it adds at the end of a frame or
value are ignored, and so are frames and changes of a kind that is marked as optional.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping
from types import NoneType, UnionType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from meshwright.mesh.core import frames, values
from meshwright.mesh.shell.summaries import Summary

LENGTH = struct.Struct(">IB")  # bytes after this head, kind
ROOM = 2**16  # bytes of a frame beside the payload
WIRE_VERSION, OLDEST_WIRE = 3, 2  # spoken here, and still understood
OPTIONAL = 0x80  # kinds from here on are skipped by those who do not know them


class FrameError(Exception):
    """Received data is not a valid frame."""


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


class _Wire(NamedTuple):
    """What a version of the protocol can say."""

    n_kinds: int
    n_changes: int
    n_fields: Mapping[type, int]  # of classes that had fewer fields than now
    n_optional: int = 0


# The place of a class is its kind. Append only: a class, or a field with a default at the end. What
# older versions cannot say goes to WIRES; tests hold the bytes of each version (tests/golden).
KINDS: tuple[type, ...] = (Preface, Proof, Ping, *get_args(frames.Frame))
CHANGES: tuple[type, ...] = get_args(values.Change)
OPTIONAL_KINDS: tuple[type, ...] = (Summary,)  # their kinds begin at OPTIONAL
WIRES = {
    2: _Wire(14, 5, {values.Snapshot: 4}),
    WIRE_VERSION: _Wire(len(KINDS), len(CHANGES), {}, len(OPTIONAL_KINDS)),
}
_KIND_OF = {kind: i for i, kind in enumerate(KINDS)}
_KIND_OF |= {kind: OPTIONAL + i for i, kind in enumerate(OPTIONAL_KINDS)}
_CHANGE_OF = {kind: i for i, kind in enumerate(CHANGES)}
_ENCODER = msgspec.msgpack.Encoder()
_LOG = _KIND_OF[frames.Log]
_DECODERS: list[Any] = [
    msgspec.msgpack.Decoder(_Entries if kind is frames.Log else kind, strict=True) for kind in KINDS
]
_OPTIONAL_DECODERS: list[Any] = [
    msgspec.msgpack.Decoder(kind, strict=True) for kind in OPTIONAL_KINDS
]
_CHANGE_DECODERS: list[Any] = [msgspec.msgpack.Decoder(kind, strict=True) for kind in CHANGES]


def encode(frame: Any, wire: int = WIRE_VERSION) -> bytes:
    """Return a frame with its head; empty if a version of the protocol has no such frame."""
    kind, known = _KIND_OF[type(frame)], WIRES[wire]
    if kind >= (OPTIONAL + known.n_optional if kind >= OPTIONAL else known.n_kinds):
        return b""
    body: bytes = _ENCODER.encode(_tagged(frame, known) if kind == _LOG else _cut(frame, known))
    return LENGTH.pack(len(body), kind) + body


def decode(kind: int, body: bytes | memoryview) -> Any:
    """Return the frame of a kind; None if it is not known and optional.

    Raises
    ------
    FrameError
        If it is no frame of its kind.
    """
    if kind >= OPTIONAL:
        return _decode_optional(kind - OPTIONAL, body)
    try:
        found = _read(_DECODERS[kind], body)
        return frames.Log(tuple(_entries(found))) if kind == _LOG else found
    except (msgspec.MsgspecError, IndexError, UnicodeDecodeError) as error:
        raise FrameError(f"a frame of kind {kind} is not valid: {error}") from error


def _decode_optional(place: int, body: bytes | memoryview) -> Any:
    """Return an optional frame; None if it cannot be read: nobody depends on it."""
    try:
        return _read(_OPTIONAL_DECODERS[place], body)
    except (msgspec.MsgspecError, IndexError, UnicodeDecodeError):
        return None


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
                if frame is not None:
                    yield frame
        finally:
            self._rest = bytes(view[offset:])


def _tagged(log: frames.Log, known: _Wire) -> _Entries:
    raw: Any = (
        (
            version,
            tuple(
                (_CHANGE_OF[type(change)], _cut(change, known))
                for change in changes
                if _CHANGE_OF[type(change)] < known.n_changes
            ),
        )
        for version, changes in log.entries
    )
    return _Entries(tuple(raw))


def _cut(value: Any, known: _Wire) -> Any:
    """Return a value without the fields that a version does not have."""
    n_fields = known.n_fields.get(type(value))
    return value if n_fields is None else tuple(value[:n_fields])


def _entries(found: _Entries) -> Iterable[values.Entry]:
    for version, changes in found.entries:
        made = tuple(
            _read(_CHANGE_DECODERS[kind], raw)
            for kind, raw in changes
            if kind < max(len(CHANGES), OPTIONAL)
        )
        yield values.Entry(version, made)


def _read(decoder: Any, body: Any) -> Any:
    """Decode a value; fields that a newer version added at an end are ignored."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError:
        kept = _without_more(msgspec.msgpack.decode(body), decoder.type)
        return msgspec.convert(kept, decoder.type, strict=True)


def _without_more(value: Any, kind: Any) -> Any:
    if not isinstance(value, list):
        return value
    if hasattr(kind, "_fields"):
        hints = get_type_hints(kind).values()
        return [_without_more(field, hint) for field, hint in zip(value, hints, strict=False)]
    inner = [hint for hint in get_args(kind) if hint not in (NoneType, Ellipsis)]
    if get_origin(kind) is UnionType:
        return _without_more(value, inner[0])
    if get_origin(kind) is tuple and Ellipsis in get_args(kind):
        return [_without_more(item, inner[0]) for item in value]
    return value
