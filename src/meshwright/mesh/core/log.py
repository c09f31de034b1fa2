"""The numbered log in memory: who wants what, and over which links, at each of the last versions.

Interests are kept once, with the numbers of the versions between which they hold, so any version
that is still live can be asked without a copy of its state. A filter's nodes are two small arrays:
200,000 interests take a few megabytes.
"""

from array import array
from collections.abc import Iterator
from typing import NamedTuple

from meshwright.mesh.core.values import (
    NO_VERSION,
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
from meshwright.patterns.filters import PatternIndex

MOST_ENTRIES = 1_000  # live versions; at half, a message stamped 500 changes ago is sent again
KEPT_ENTRIES = MOST_ENTRIES // 2
NO_TOPOLOGY = Topology("tree", ())
ALL_WELL = Health((), ())


class Shape(NamedTuple):
    """The overlay at a version, and what of it cannot be used."""

    number: int  # of the version that made it so: shapes of one number are equal
    topology: Topology
    health: Health


class _Wanting:
    """Who wants one filter: now, and until recently."""

    __slots__ = ("ended", "nodes", "since")

    def __init__(self) -> None:
        self.nodes = array("I")
        self.since = array("I")  # the number of the version that contains each
        self.ended: list[tuple[int, int, int]] = []  # node, since, until

    def at(self, number: int) -> Iterator[int]:
        """Yield the nodes that want it at a version."""
        for node, since in zip(self.nodes, self.since, strict=True):
            if since <= number:
                yield node
        for node, since, until in self.ended:
            if since <= number < until:
                yield node

    def add(self, node: int, number: int) -> None:
        if node not in self.nodes:
            self.nodes.append(node)
            self.since.append(number)

    def remove(self, node: int, number: int) -> None:
        if node in self.nodes:
            i = self.nodes.index(node)
            self.ended.append((node, self.since.pop(i), number))
            self.nodes.pop(i)


class MeshLog:
    """The entries that are still live, and what they say."""

    def __init__(self) -> None:
        self.resets = 0  # how often all was replaced by a snapshot
        self._clear()

    def _clear(self) -> None:
        self.newest = NO_VERSION
        self.entries: list[Entry] = []  # the first may be a snapshot
        self.joined: dict[int, Joined] = {}
        self.leaving: set[int] = set()  # of these, the ones that go
        self.filters_of: dict[int, set[str]] = {}  # at the newest version
        self.shapes: list[Shape] = [Shape(0, NO_TOPOLOGY, ALL_WELL)]
        self._wanting: dict[str, _Wanting] = {}
        self._index = PatternIndex()
        self._matching: dict[str, list[_Wanting]] = {}  # by topic name

    @property
    def base(self) -> int:
        """The number of the oldest live version."""
        return self.entries[0].version.number if self.entries else 0

    @property
    def shape(self) -> Shape:
        """The overlay at the newest version."""
        return self.shapes[-1]

    def knows(self, version: Version) -> bool:
        """Return whether a version is live here."""
        place = version.number - self.base
        return 0 <= place < len(self.entries) and self.entries[place].version == version

    def follows(self, entry: Entry) -> bool:
        """Return whether an entry can be applied now."""
        if entry.version <= self.newest:
            return False
        is_next = entry.version.number == self.newest.number + 1 and bool(self.entries)
        return is_next or is_snapshot(entry)

    def apply(self, entry: Entry) -> None:
        """Append an entry; `follows` says whether it may be."""
        number = entry.version.number
        if is_snapshot(entry):
            self.resets += 1
            self._clear()
        for change in entry.changes:
            match change:
                case Snapshot(joined, topology, health, interests, leaving):
                    self.joined = {one.node: one for one in joined}
                    self.leaving = set(leaving)
                    self.shapes = [Shape(number, topology, health)]
                    for pattern, nodes in interests:
                        for node in nodes:
                            self._want(node, pattern, number)
                case Joined():
                    self.joined[change.node] = change
                    self.leaving.discard(change.node)
                case Leaving(node):
                    self.leaving.add(node)
                case Left(node):
                    self.joined.pop(node, None)
                    self.leaving.discard(node)
                case Interests(node, added, removed):
                    for pattern in removed:
                        self._unwant(node, pattern, number)
                    for pattern in added:
                        self._want(node, pattern, number)
                case Linked(topology):
                    self.shapes.append(Shape(number, topology, self.shape.health))
                case Health():
                    self.shapes.append(Shape(number, self.shape.topology, change))
        self.newest = entry.version
        self.entries.append(entry)
        if len(self.entries) > MOST_ENTRIES:
            self._forget(number - KEPT_ENTRIES)

    def shape_at(self, number: int) -> Shape:
        """Return the overlay at a live version."""
        for shape in reversed(self.shapes):
            if shape.number <= number:
                return shape
        return self.shapes[0]

    def wanting(self, name: str, number: int) -> frozenset[int]:
        """Return who wants a topic name at a live version: V(name)."""
        found = self._matching.get(name)
        if found is None:
            if len(self._matching) > 100_000:
                self._matching.clear()
            found = [self._wanting[pattern] for pattern in self._index.covering(name)]
            self._matching[name] = found
        return frozenset(node for wanting in found for node in wanting.at(number))

    def after(self, version: Version) -> tuple[Entry, ...]:
        """Return the entries after a version, or all that is known as a snapshot."""
        if self.knows(version):
            return tuple(self.entries[version.number - self.base + 1 :])
        return (self.snapshot(),) if self.entries else ()

    def snapshot(self) -> Entry:
        """Return one entry that says all that is known."""
        wanting: dict[str, list[int]] = {}
        for node in sorted(self.filters_of):
            for pattern in sorted(self.filters_of[node]):
                wanting.setdefault(pattern, []).append(node)
        interests = tuple((pattern, tuple(nodes)) for pattern, nodes in wanting.items())
        shape = self.shape
        joined = tuple(self.joined[node] for node in sorted(self.joined))
        leaving = tuple(sorted(self.leaving))
        whole = Snapshot(joined, shape.topology, shape.health, interests, leaving)
        return Entry(self.newest, (whole,))

    def _want(self, node: int, pattern: str, number: int) -> None:
        filters = self.filters_of.setdefault(node, set())
        if pattern in filters:
            return
        filters.add(pattern)
        if pattern not in self._wanting:
            self._wanting[pattern] = _Wanting()
            self._index.add(pattern)
            self._matching.clear()
        self._wanting[pattern].add(node, number)

    def _unwant(self, node: int, pattern: str, number: int) -> None:
        filters = self.filters_of.get(node, set())
        if pattern in filters:
            filters.discard(pattern)
            self._wanting[pattern].remove(node, number)

    def _forget(self, base: int) -> None:
        """Forget the versions before `base`."""
        self.entries = [entry for entry in self.entries if entry.version.number >= base]
        live = self.shape_at(base)
        self.shapes = [live, *(shape for shape in self.shapes if shape.number > base)]
        for pattern, wanting in list(self._wanting.items()):
            wanting.ended = [row for row in wanting.ended if row[2] > base]
            if not wanting.nodes and not wanting.ended:
                del self._wanting[pattern]
        self._index = PatternIndex(self._wanting)
        self._matching.clear()


def is_snapshot(entry: Entry) -> bool:
    """Return whether an entry says everything by itself."""
    return bool(entry.changes) and isinstance(entry.changes[0], Snapshot)
