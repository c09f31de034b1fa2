"""The stores of an agent or planner: the core's records in segment files, in the order of puts.

A put of the core that the disk refuses is answered with `NotStored`; the core puts it again. What
the shell stores for itself (`OWN_TOKEN`), and removals, are kept here until the disk takes them.
"""

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from meshwright.mesh.core.events import Drop, NotStored, Put, Stored
from meshwright.mesh.storage.packing import pack, unpack
from meshwright.mesh.storage.segments import FullError, Segments

OWN_TOKEN = -1  # of records that the shell stores for itself
NUMBER = struct.Struct(">Q")  # in front of a value: copies between segments change their order


class Recovered(NamedTuple):
    """What was on disk."""

    records: dict[str, list[tuple[Any, Any]]]  # (key, value) of each store, in the order of puts
    damaged_bytes: int  # that hold no record, beside a last write that was not completed


class Stores:
    """Named stores, each a directory. Changes are gathered, and written by `flush`."""

    def __init__(self, place: Path, names: Iterable[str], *, fsync: bool = False) -> None:
        self.place = place
        self._files: dict[str, Segments] = {}
        self._changes: dict[str, dict[bytes, bytes | None]] = {}
        self._tokens: dict[str, list[int]] = {}
        self._own: set[tuple[str, bytes]] = set()  # store and key of what the shell put
        self._refused: dict[str, dict[bytes, bytes | None]] = {}  # to be tried again
        self._next = 0
        records = {}
        damaged = 0
        try:
            for name in names:
                opened = self._files[name] = Segments(place / name, fsync=fsync)
                found = sorted(
                    (NUMBER.unpack_from(value)[0], key, value) for key, value in opened.items()
                )
                records[name] = [(unpack(key), unpack(v[NUMBER.size :])) for _, key, v in found]
                self._next = max(self._next, found[-1][0] + 1 if found else 0)
                damaged += opened.damage.n_bytes - opened.damage.cut
        except BaseException:
            self.close()
            raise
        self.recovered = Recovered(records, damaged)

    def close(self) -> None:
        """Close the files; what was not flushed is not written."""
        for opened in self._files.values():
            opened.close()

    def put(self, action: Put) -> None:
        """Gather a record."""
        key = pack(action.key)
        changes = self._changes.setdefault(action.store, {})
        changes.pop(key, None)  # the new one comes last
        changes[key] = NUMBER.pack(self._next) + pack(action.value)
        if action.token == OWN_TOKEN:
            self._own.add((action.store, key))
        self._next += 1
        self._tokens.setdefault(action.store, []).append(action.token)

    def drop(self, action: Drop) -> None:
        """Gather removals; those of records that are not there are left out."""
        changes = self._changes.setdefault(action.store, {})
        opened = self._files[action.store]
        for each in action.keys:
            key = pack(each)
            changes.pop(key, None)
            if key in opened or key in self._refused.get(action.store, ()):
                changes[key] = None

    @property
    def is_dirty(self) -> bool:
        """Whether anything waits to be written."""
        return bool(self._changes)

    def flush(self) -> list[Stored | NotStored]:
        """Write what was gathered, one write for each store, and return what became of the puts."""
        answers: list[Stored | NotStored] = []
        changes, self._changes = self._changes, {}
        tokens, self._tokens = self._tokens, {}
        for store, changed in changes.items():
            changed = {**self._refused.pop(store, {}), **changed}
            try:
                if changed:
                    self._files[store].write(changed)
                answers += [Stored(token) for token in tokens.get(store, ())]
            except FullError as error:
                self._refused[store] = {
                    key: value
                    for key, value in changed.items()
                    if value is None or (store, key) in self._own
                }
                answers += [NotStored(token, str(error)) for token in tokens.get(store, ())]
        self._own = {
            (store, key)
            for store, kept in self._refused.items()
            for key in kept
            if kept[key] is not None
        }
        return answers

    @property
    def has_refused(self) -> bool:
        """Whether changes that nobody else puts again wait for the disk."""
        return any(self._refused.values())

    def retry(self) -> None:
        """Let the next `flush` write them, if nothing else is written there before."""
        for store in self._refused:
            self._changes.setdefault(store, {})

    def sizes(self) -> dict[str, tuple[int, int]]:
        """Return for each store its records and the bytes that its files take."""
        return {name: (len(opened), opened.disk_bytes) for name, opened in self._files.items()}
