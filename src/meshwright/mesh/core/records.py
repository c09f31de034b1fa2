"""Entries of the log as plain tuples, as stores and codecs know them."""

from typing import Any

from meshwright.mesh.core.values import (
    Change,
    Entry,
    Health,
    Interests,
    Joined,
    Linked,
    Snapshot,
    Topology,
    Version,
)

KINDS: dict[str, Any] = {
    "joined": Joined,
    "interests": Interests,
    "linked": Linked,
    "health": Health,
    "snapshot": Snapshot,
}
NAMES = {kind: name for name, kind in KINDS.items()}


def entry_record(entry: Entry) -> tuple[Any, ...]:
    """Return an entry as nested plain tuples."""
    changes = tuple((NAMES[type(change)], *map(_plain, change)) for change in entry.changes)
    return (tuple(entry.version), changes)


def entry_from(record: Any) -> Entry:
    """Return the entry of a record; lists are read as tuples."""
    version, changes = record
    return Entry(Version(*version), tuple(_change(*change) for change in changes))


def _plain(value: Any) -> Any:
    return tuple(map(_plain, value)) if isinstance(value, tuple) else value


def _deep(value: Any) -> Any:
    return tuple(map(_deep, value)) if isinstance(value, list | tuple) else value


def _change(name: str, *fields: Any) -> Change:
    values = [_deep(field) for field in fields]
    if name == "linked":
        return Linked(Topology(*values[0]))
    if name == "snapshot":
        joined, topology, health, interests = values
        rows = tuple(Joined(*row) for row in joined)
        return Snapshot(rows, Topology(*topology), Health(*health), interests)
    change: Change = KINDS[name](*values)
    return change
