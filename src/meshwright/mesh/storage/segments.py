"""Records in segment files: a value under each key, whole after kill -9 at any byte.

A directory holds files 1.seg, 2.seg, ...; only the last one grows. Each entry has a mark, a
checksum and its length. Setting a key again or removing it appends an entry, too. When the files
take more than twice the space of their valid records, those of the oldest segment are copied to
the end and it is deleted. What a killed process left half written is cut off. After other damage
reading goes on at the next entry whose checksum holds, and the bytes that were skipped are counted.
"""

import os
import re
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Self

from meshwright.errors import InputError

MARK = b"\xd7seg"
HEAD = struct.Struct("<4sIII")  # mark, checksum of the rest, bytes of the key, bytes of the value
REMOVED = 0xFFFFFFFF  # in place of the value's length
NAME = re.compile(r"([0-9]{1,18})\.seg")
SEGMENT_BYTES = 8 * 2**20
# Files may take this many times the space of their valid records, and two segments: at 2 each byte
# is copied once on average, at 1.5 twice.
MOST_SPACE = 2
LOCK = "lock"


class FullError(Exception):
    """The limit of the directory is reached, or its disk is full; nothing was written."""


class Damage(NamedTuple):
    """What could not be read when the files were opened."""

    n_bytes: int  # that belong to no valid entry
    cut: int  # of these, at the end of the last segment: a write that was not completed


class _Place(NamedTuple):
    """Where the entry of a key is."""

    segment: int
    offset: int
    size: int  # of the whole entry


@dataclass(slots=True)
class _Segment:
    """One file: how much of it is written, and how much is still valid."""

    size: int = 0
    valid: int = 0
    keys: set[bytes] = field(default_factory=set)  # whose entry is here


class Segments:
    """A directory of records. One process opens it at a time.

    Parameters
    ----------
    max_bytes
        Most bytes that valid records may take; beyond it `write` raises FullError.
    fsync
        Wait until the disk has a write: it then survives a power failure too.
    """

    def __init__(
        self,
        place: Path,
        *,
        max_bytes: int | None = None,
        segment_bytes: int = SEGMENT_BYTES,
        fsync: bool = False,
    ) -> None:
        self.place, self.max_bytes = place, max_bytes
        self._segment_bytes, self._fsync = segment_bytes, fsync
        self._segments: dict[int, _Segment] = {}
        self._index: dict[bytes, _Place] = {}
        self.valid_bytes = 0  # that valid records take
        self._file = -1
        self._is_torn = False  # whether the last segment may end with half of an entry
        place.mkdir(parents=True, exist_ok=True)
        self._lock = _lock(place)
        try:
            self.damage = self._recover()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files and let another process open them."""
        for descriptor in (self._file, self._lock):
            if descriptor >= 0:
                os.close(descriptor)
        self._file = self._lock = -1

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, key: bytes) -> bool:
        return key in self._index

    def keys(self) -> list[bytes]:
        """Return the keys, in the order of their entries in the files."""
        return list(self._index)

    @property
    def disk_bytes(self) -> int:
        """The bytes that the files take."""
        return sum(segment.size for segment in self._segments.values())

    def get(self, key: bytes) -> bytes | None:
        """Return the value under a key; raise InputError if it was damaged after opening."""
        place = self._index.get(key)
        if place is None:
            return None
        with self._path(place.segment).open("rb") as file:
            file.seek(place.offset)
            entry = _entry_at(file.read(place.size), 0)
        if entry is None or entry.key != key or entry.value is None:
            raise InputError(
                f"'{self._path(place.segment)}' was changed while it is in use, at byte "
                f"{place.offset:,}. Stop what writes there."
            )
        return entry.value

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield keys with values, in the order of their entries in the files."""
        for key in self.keys():
            value = self.get(key)
            if value is not None:
                yield key, value

    def write(self, changes: dict[bytes, bytes | None]) -> None:
        """Set or remove (None) keys in one write: after a crash a first part of them may be there.

        Raises
        ------
        FullError
            If they do not fit; then nothing has changed. Removals always fit the limit.
        """
        entries = [(key, value is not None, _encode(key, value)) for key, value in changes.items()]
        added = sum(len(entry) for _, is_set, entry in entries if is_set)
        if added and self.max_bytes is not None and self.valid_bytes + added > self.max_bytes:
            raise FullError(f"'{self.place}' is at its limit of {self.max_bytes:,} bytes")
        segment, offset, _ = self._append(b"".join(entry for *_, entry in entries))
        for key, is_set, entry in entries:
            self._note(key, _Place(segment, offset, len(entry)) if is_set else None)
            offset += len(entry)
        self._tidy()

    def _append(self, data: bytes) -> _Place:
        """Write to the last segment, or leave it as it was; return where the data is."""
        last, done = max(self._segments), 0
        try:
            if self._is_torn or self._segments[last].size >= self._segment_bytes:
                last = self._begin(last + 1)
            segment = self._segments[last]
            while done < len(data):
                done += os.write(self._file, data[done:])
            if self._fsync:
                os.fdatasync(self._file)
        except OSError as error:
            self._cut(self._segments[last].size)
            raise FullError(f"'{self.place}' cannot be written: {error.strerror}") from error
        segment.size += len(data)
        return _Place(last, segment.size - len(data), len(data))

    def _cut(self, size: int) -> None:
        """Leave the last segment as it was; where the disk refuses even that, write to another."""
        try:
            os.ftruncate(self._file, size)
        except OSError:
            self._is_torn = True

    def _note(self, key: bytes, place: _Place | None) -> None:
        """Keep the books: an entry of a key was written or read."""
        before = self._index.pop(key, None)
        if before is not None:
            old = self._segments[before.segment]
            old.valid -= before.size
            old.keys.discard(key)
            self.valid_bytes -= before.size
        if place is not None:
            self._index[key] = place
            self._segments[place.segment].valid += place.size
            self._segments[place.segment].keys.add(key)
            self.valid_bytes += place.size

    def _tidy(self) -> None:
        """Move the records of the oldest segments to the end, and delete those segments.

        This is done while the files take too much space, or a segment holds nothing valid.

        Entries that remove a key are not copied: what they remove was older, and is gone as well.
        """
        while len(self._segments) > 1:
            oldest = min(self._segments)
            most = MOST_SPACE * self.valid_bytes + 2 * self._segment_bytes
            if self._segments[oldest].valid and self.disk_bytes <= most:
                return
            try:
                for key in list(self._segments[oldest].keys):
                    self._note(key, self._append(_encode(key, self.get(key))))
                self._path(oldest).unlink()
            except (FullError, OSError):
                return  # both copies are the same; the next write tries again
            del self._segments[oldest]

    def _recover(self) -> Damage:
        """Read all segments; cut off what a killed process left at the end of the last one."""
        found = (NAME.fullmatch(path.name) for path in self.place.iterdir())
        numbers = sorted(int(match[1]) for match in found if match)
        skipped = cut = 0
        for number in numbers:
            data = self._path(number).read_bytes()
            self._segments[number] = _Segment(size=len(data))
            end = 0
            for offset, entry in _entries(data):
                skipped += offset - end
                end = offset + entry.size
                is_set = entry.value is not None
                self._note(entry.key, _Place(number, offset, entry.size) if is_set else None)
            if number == numbers[-1]:
                cut = len(data) - end
                os.truncate(self._path(number), end)
                self._segments[number].size = end
            else:
                skipped += len(data) - end
        self._begin(numbers[-1] if numbers else 1)
        return Damage(skipped + cut, cut)

    def _begin(self, number: int) -> int:
        """Make a segment the last one, to which entries are appended."""
        opened = os.open(self._path(number), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        before, self._file, self._is_torn = self._file, opened, False
        self._segments.setdefault(number, _Segment())
        if before >= 0:
            with suppress(OSError):  # all that counts was written, and is what the index says
                os.close(before)
        return number

    def _path(self, number: int) -> Path:
        return self.place / f"{number}.seg"


class _Entry(NamedTuple):
    key: bytes
    value: bytes | None  # None: the key was removed
    size: int


def _encode(key: bytes, value: bytes | None) -> bytes:
    lengths = struct.pack("<II", len(key), REMOVED if value is None else len(value))
    body = lengths + key + (value or b"")
    return MARK + struct.pack("<I", zlib.crc32(body)) + body


def _entry_at(data: bytes, offset: int) -> _Entry | None:
    """Return the entry at an offset, or None if there is no valid one."""
    if len(data) - offset < HEAD.size:
        return None
    mark, checksum, n_key, n_value = HEAD.unpack_from(data, offset)
    start = offset + HEAD.size
    middle = start + n_key
    end = middle + (0 if n_value == REMOVED else n_value)
    if mark != MARK or end > len(data):
        return None
    if zlib.crc32(memoryview(data)[offset + 8 : end]) != checksum:
        return None
    value = None if n_value == REMOVED else data[middle:end]
    return _Entry(data[start:middle], value, end - offset)


def _entries(data: bytes) -> Iterator[tuple[int, _Entry]]:
    """Yield the valid entries of a segment with their offsets."""
    offset = 0
    while offset >= 0:
        entry = _entry_at(data, offset)
        if entry is not None:
            yield offset, entry
            offset += entry.size
        else:
            offset = data.find(MARK, offset + 1)


def _lock(place: Path) -> int:
    """Take the directory for this process; raise InputError if another one has it."""
    import fcntl

    descriptor = os.open(place / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise InputError(
            f"'{place}' is in use by another process. Stop that one first, or give this one a "
            "directory of its own."
        ) from error
    return descriptor
