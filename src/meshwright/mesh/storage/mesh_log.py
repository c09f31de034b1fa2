"""The planner's log for other programs: JSON lines, in files that grow and are then complete.

::

    00000001-whole.meshlog   begins with all that every broker wants
    00000002.meshlog         goes on where the file before it ends
    00000003.meshlog.open    grows; it gets its name when it is complete

A line says what a broker wants at a version of the log: all of it (`wants`), or what `came` and
`went`; or that the broker is `gone`. It may be read twice without harm. Another kind says which
messages of its own clients an agent `took` in how many milliseconds. docs/ingest.md describes the
fields.

The files survive kill -9: on the next start, lines of a version that was not written to its end are
cut off, and the log goes on after the last complete one. Old files are deleted from time to time;
what is left then begins with a whole file, so the last state can always be read from it.
"""

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from meshwright.mesh.core.frames import Took
from meshwright.mesh.core.log import MeshLog, is_snapshot
from meshwright.mesh.core.values import NO_VERSION, Entry, Interests, Joined, Version

ENDING, OPEN, WHOLE = ".meshlog", ".open", "-whole"
NAME = re.compile(rf"([0-9]{{8,18}})({WHOLE})?{re.escape(ENDING)}(?:{re.escape(OPEN)})?")
FILE_BYTES = 16 * 2**20
FILE_SECONDS = 300.0  # an open file is completed after so long: `ingest --follow` reads it then
MOST_FILES = 2_000
MOST_BYTES = 2**30
WHOLE_AFTER = 4 * 2**20  # bytes of changes, at least, between two whole files
WHOLE_FILES = 500  # files, at most, between two whole ones: older ones cannot be deleted alone
CHUNK = 2**20  # bytes of lines that are written at a time
_ENCODER, _DECODER = msgspec.json.Encoder(), msgspec.json.Decoder()


class _File(NamedTuple):
    """A complete file."""

    number: int
    is_whole: bool
    size: int


def wants_line(now: float, version: Version, broker: str, wants: Iterable[str], more: int) -> bytes:
    """Return the line of all that a broker wants; `more` lines of this version follow."""
    return _line(now, version, broker, {"wants": sorted(wants), "more": more})


def change_line(now: float, version: Version, broker: str, change: Interests, more: int) -> bytes:
    """Return the line of what a broker wants and no longer wants."""
    came, went = sorted(change.added), sorted(change.removed)
    return _line(now, version, broker, {"came": came, "went": went, "more": more})


def gone_line(now: float, version: Version, broker: str, more: int) -> bytes:
    """Return the line of a broker that no longer takes part."""
    return _line(now, version, broker, {"gone": True, "more": more})


def took_line(now: float, version: Version, broker: str, took: Took) -> bytes:
    """Return the line of the messages that an agent took in some time."""
    rows = [{"topic": topic, "n": n, "bytes": size} for topic, n, size in took.topics]
    ms = max(0, round(1000 * took.seconds))
    fields = {"took": rows, "others": took.others, "ms": ms, "more": 0}
    return _line(now, version, broker, fields)


def _line(now: float, version: Version, broker: str, fields: dict[str, Any]) -> bytes:
    head = {"time": round(now, 3), "version": list(version), "broker": broker}
    return _ENCODER.encode({**head, **fields}) + b"\n"


class MeshLogFiles:
    """The files of one planner, which is the only one that writes them.

    Methods that write raise OSError if they cannot; then nothing of it is in the files.
    """

    def __init__(self, place: Path, *, clock: Callable[[], float] = time.time) -> None:
        """Open a directory; cut off what a killed process left half written."""
        self.place, self._clock = place, clock
        place.mkdir(parents=True, exist_ok=True)
        self._file = -1
        self._size = 0  # of the open file
        self._path = place  # of the open file
        self._files: list[_File] = []
        self._last = NO_VERSION
        self._brokers: set[str] = set()  # that take part, as the files say
        self._recover()
        self._next = 1 + max((file.number for file in self._files), default=0)

    @property
    def is_open(self) -> bool:
        """Whether there is a file that is not complete."""
        return self._file >= 0

    def follow(self, log: MeshLog) -> None:
        """Write what is new in a log; all of it where it does not go on from the last version."""
        if log.newest != self._last:
            self._follow(log)
        if self._last == log.newest and len(self._brokers) != len(log.joined):
            gone = sorted(self._brokers - {joined.name for joined in log.joined.values()})
            now, last = self._clock(), len(gone) - 1
            self._write(gone_line(now, self._last, name, last - i) for i, name in enumerate(gone))
            self._brokers.difference_update(gone)

    def _follow(self, log: MeshLog) -> None:
        entries = log.after(self._last)
        is_apart = any(map(is_snapshot, entries))
        if is_apart and log.newest < self._last:
            return  # files that lost their end, and no entry of the new term yet
        if is_apart or self._size >= FILE_BYTES:
            self.complete()
        if not self.is_open and (is_apart or self._needs_whole()):
            self._write(_whole_lines(log, self._clock()), is_whole=True)
            self._brokers.update(joined.name for joined in log.joined.values())
        else:
            self._write(_changes(entries, log, self._clock()))
            changes = [change for entry in entries for change in entry.changes]
            came = {change.node for change in changes if isinstance(change, Joined)}
            self._brokers.update(log.joined[node].name for node in came if node in log.joined)
        self._last = log.newest

    def took(self, log: MeshLog, took: Took) -> None:
        """Write which messages of its own clients an agent took."""
        joined = log.joined.get(took.node)
        if joined is not None:
            self.follow(log)
            self._write([took_line(self._clock(), log.newest, joined.name, took)])

    def complete(self) -> None:
        """Give the open file its name; old files are deleted if there are too many."""
        if not self.is_open:
            return
        os.close(self._file)
        self._take_in(self._path, self._size)
        self._file, self._size = -1, 0
        while len(self._files) > MOST_FILES or sum(file.size for file in self._files) > MOST_BYTES:
            wholes = [i for i, file in enumerate(self._files) if file.is_whole and i]
            if not wholes:
                return
            for file in self._files[: wholes[0]]:
                self._named(file).unlink(missing_ok=True)
            del self._files[: wholes[0]]

    def _take_in(self, path: Path, size: int) -> None:
        """Name an open file as a complete one."""
        number, is_whole = _parsed(path)
        path.rename(path.with_name(path.name.removesuffix(OPEN)))
        self._files.append(_File(number, is_whole, size))

    def _needs_whole(self) -> bool:
        """Return whether the next file should begin with all that is wanted."""
        wholes = [i for i, file in enumerate(self._files) if file.is_whole]
        if not wholes:
            return True
        since = self._files[wholes[-1] + 1 :]
        enough = max(WHOLE_AFTER, 2 * self._files[wholes[-1]].size)
        return len(since) >= WHOLE_FILES or sum(file.size for file in since) > enough

    def _write(self, lines: Iterable[bytes], *, is_whole: bool = False) -> None:
        """Append lines to the open file, or to a new one; if that fails, to none."""
        was_open, before = self.is_open, self._size
        try:
            for chunk in _chunks(lines):
                if not self.is_open:
                    self._begin(is_whole=is_whole)
                rest = memoryview(chunk)
                while rest:
                    rest = rest[os.write(self._file, rest) :]
                self._size += len(chunk)
        except OSError:
            self._undo(before if was_open else None)
            raise

    def _undo(self, size: int | None) -> None:
        """Cut the open file to a size, or remove it."""
        if not self.is_open:
            return
        if size is not None:
            os.ftruncate(self._file, size)
            self._size = size
        else:
            os.close(self._file)
            self._path.unlink()
            self._file, self._size = -1, 0

    def _begin(self, *, is_whole: bool) -> None:
        name = f"{self._next:08d}{WHOLE if is_whole else ''}{ENDING}{OPEN}"
        self._path = self.place / name
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_TRUNC
        self._file = os.open(self._path, flags, 0o644)
        self._size = 0
        self._next += 1

    def _named(self, file: _File) -> Path:
        return self.place / f"{file.number:08d}{WHOLE if file.is_whole else ''}{ENDING}"

    def _recover(self) -> None:
        paths = sorted((_parsed(path)[0], path) for path in _log_files(self.place))
        for number, path in paths:
            if path.name.endswith(OPEN):
                size = _cut(path)
                if size:
                    self._take_in(path, size)
                else:
                    path.unlink()
            else:
                self._files.append(_File(number, _parsed(path)[1], path.stat().st_size))
        if self._files:
            self._last = _last_version(self._named(self._files[-1]))
        wholes = [i for i, file in enumerate(self._files) if file.is_whole]
        for file in self._files[wholes[-1] if wholes else 0 :]:
            for line in self._named(file).read_bytes().splitlines():
                said = _decoded(line)
                if said.get("gone"):
                    self._brokers.discard(said["broker"])
                elif "broker" in said:
                    self._brokers.add(said["broker"])


def _whole_lines(log: MeshLog, now: float) -> Iterator[bytes]:
    """Yield a line for each broker: all that it wants."""
    for more, node in zip(range(len(log.joined) - 1, -1, -1), sorted(log.joined), strict=True):
        wants = log.filters_of.get(node, ())
        yield wants_line(now, log.newest, log.joined[node].name, wants, more)


def _changes(entries: Iterable[Entry], log: MeshLog, now: float) -> Iterator[bytes]:
    """Yield the lines of some entries; a broker that joins wants what it wants now."""
    for entry in entries:
        if is_snapshot(entry):
            yield from _whole_lines(log, now)
            continue
        told = [change for change in entry.changes if isinstance(change, Joined | Interests)]
        told = [change for change in told if change.node in log.joined]
        for more, change in zip(range(len(told) - 1, -1, -1), told, strict=True):
            name = log.joined[change.node].name
            if isinstance(change, Joined):
                wants = log.filters_of.get(change.node, ())
                yield wants_line(now, entry.version, name, wants, more)
            else:
                yield change_line(now, entry.version, name, change, more)


def _chunks(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines together, so that a system call writes many."""
    some: list[bytes] = []
    size = 0
    for line in lines:
        some.append(line)
        size += len(line)
        if size >= CHUNK:
            yield b"".join(some)
            some, size = [], 0
    if some:
        yield b"".join(some)


def _log_files(place: Path) -> Iterator[Path]:
    return (path for path in place.iterdir() if NAME.fullmatch(path.name))


def _parsed(path: Path) -> tuple[int, bool]:
    """Return the number of a file, and whether it begins with all that is wanted."""
    match = NAME.fullmatch(path.name)
    assert match is not None, path
    return int(match[1]), match[2] is not None


def _cut(path: Path) -> int:
    """Cut off the lines of a version that was not written to its end; return the size."""
    data = path.read_bytes()
    size = data.rfind(b"\n") + 1
    while size:
        start = data.rfind(b"\n", 0, size - 1) + 1
        if _decoded(data[start:size]).get("more") == 0:
            break
        size = start
    os.truncate(path, size)
    return size


def _last_version(path: Path) -> Version:
    """Return the version of the last line of a file; of a damaged one that of no line."""
    last = _decoded(path.read_bytes().rstrip(b"\n").rpartition(b"\n")[2]).get("version")
    return Version(*last) if isinstance(last, list) and len(last) == 2 else NO_VERSION


def _decoded(line: bytes) -> dict[str, Any]:
    try:
        found = _DECODER.decode(line)
    except msgspec.MsgspecError:  # a block that the disk did not get
        return {}
    return found if isinstance(found, dict) else {}
