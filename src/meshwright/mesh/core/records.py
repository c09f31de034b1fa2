"""Entries of the log as plain tuples, as stores and codecs know them; and times on disk."""

from typing import Any

from meshwright.mesh.core.values import (
    Change,
    Entry,
    Health,
    Interests,
    Joined,
    Leaving,
    Left,
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
    "leaving": Leaving,
    "left": Left,
}
NAMES = {kind: name for name, kind in KINDS.items()}


def entry_record(entry: Entry) -> tuple[Any, ...]:
    """Return an entry as nested plain tuples."""
    changes = tuple(
        (NAMES[type(change)], *map(_plain, _as_before(change))) for change in entry.changes
    )
    return (tuple(entry.version), changes)


def _as_before(change: Change) -> tuple[Any, ...]:
    """Leave out a field that is empty and was not always there: older versions read the rest."""
    is_plain = isinstance(change, Snapshot) and not change.leaving
    return change[:-1] if is_plain else change


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
        joined, topology, health, interests, *leaving = values
        rows = tuple(Joined(*row) for row in joined)
        return Snapshot(rows, Topology(*topology), Health(*health), interests, *leaving)
    change: Change = KINDS[name](*values)
    return change


def deadline_after(latest: float | None, stored: float | None, wall: float) -> float | None:
    """Return when a message of an earlier life expires, on this life's clock.

    `stored` is its time of day, `wall` what to add to the clock for the time of day, `latest` the
    deadline if it had only come now: a clock that was set back must not make a message live longer.

    Examples
    --------
    >>> deadline_after(60.0, 1_030.0, 1_000.0), deadline_after(60.0, 1_030.0, 0.0)
    (30.0, 60.0)
    """
    return None if stored is None or latest is None else min(latest, stored - wall)
