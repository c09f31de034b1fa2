"""What can happen to a workload: nodes come and go, and so do subscriptions and publications.

Changes name nodes and topics. Ids follow the sorted names, so they are never part of a change.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from meshwright.errors import InputError
from meshwright.model.instance import Instance, check_name, row_pointers
from meshwright.model.names import NumberedNames
from meshwright.model.publications import Publications
from meshwright.runtime.arrays import Bools, Ints, Longs
from meshwright.storage.digest import unpack


@dataclass(frozen=True, slots=True)
class Subscribe:
    """A node wants one more topic or filter, which may be new."""

    node: str
    topic: str


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """A node no longer wants a topic or filter."""

    node: str
    topic: str


@dataclass(frozen=True, slots=True)
class Publish:
    """A node publishes one more topic or filter, which may be new."""

    node: str
    topic: str


@dataclass(frozen=True, slots=True)
class Unpublish:
    """A node no longer publishes a topic or filter."""

    node: str
    topic: str


@dataclass(frozen=True, slots=True)
class Join:
    """A new node, with what it wants and publishes."""

    node: str
    topics: Iterable[str] = ()
    publishes: Iterable[str] = ()


@dataclass(frozen=True, slots=True)
class Leave:
    """A node goes. It keeps its links until others replace them."""

    node: str


@dataclass(frozen=True, slots=True)
class Crash:
    """A node is gone, and its links with it."""

    node: str


Change = Subscribe | Unsubscribe | Publish | Unpublish | Join | Leave | Crash


def apply_changes(workload: Instance, changes: Iterable[Change]) -> Instance:
    """Return the workload after some changes, one after the other.

    A topic that nobody wants or publishes any more is dropped. Raise InputError for a change that
    cannot be: a subscription that is there already or is not, an unknown node.

    Cost: a few copies of the arrays, whatever the number of changes.

    Examples
    --------
    >>> before = Instance.from_pairs([("a", "x"), ("b", "x")])
    >>> after = apply_changes(before, [Join("c", ["x", "y"]), Unsubscribe("a", "x")])
    >>> [(after.node_names[v], after.topic_names[t]) for v, t in zip(after.nodes, after.topics)]
    [('b', 'x'), ('c', 'x'), ('c', 'y')]
    """
    before, names = workload, (_tuple(workload.node_names), _tuple(workload.topic_names))
    if names[0] is not workload.node_names or names[1] is not workload.topic_names:
        workload = replace(workload, node_names=names[0], topic_names=names[1])
    wanted, published = _Sets(workload, _rows_wanted), _Sets(workload, _rows_published)
    known = _Known(workload.node_names)
    for change in changes:
        _apply(change, known, wanted, published)
    if not known.changed and not wanted.rows and not published.rows:
        return before
    return _rebuilt(workload, known, wanted, published)


def _apply(change: Change, known: _Known, wanted: _Sets, published: _Sets) -> None:
    """Apply one change to what is known of nodes, subscriptions and publications."""
    match change:
        case Join(node, topics, publishes):
            known.add(node)
            for sets, names in ((wanted, topics), (published, publishes)):
                if isinstance(names, str):
                    raise InputError(f"the topics of {node!r} are several names; got {names!r}.")
                sets.rows[node] = set(names)
                for name in sets.rows[node]:
                    check_name(name)
        case Leave(node) | Crash(node):
            known.remove(node)
            wanted.rows[node] = published.rows[node] = set()
        case Subscribe(node, topic):
            known.require(node)
            wanted.add(node, topic, "wants")
        case Unsubscribe(node, topic):
            known.require(node)
            wanted.remove(node, topic, "want")
        case Publish(node, topic):
            known.require(node)
            published.add(node, topic, "publishes")
        case Unpublish(node, topic):
            known.require(node)
            published.remove(node, topic, "publish")
        case _:
            raise InputError(
                "a change is one of Subscribe, Unsubscribe, Publish, Unpublish, Join, Leave and "
                f"Crash; got {change!r}."
            )


class _Known:
    """The nodes that there are, while changes are applied."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self.changed: dict[str, bool] = {}  # whether each node that came or went is there now

    def has(self, node: str) -> bool:
        check_name(node)
        if node in self.changed:
            return self.changed[node]
        return find_name(self._names, node) >= 0

    def add(self, node: str) -> None:
        if self.has(node):
            raise InputError(f"node {node!r} already exists; give another name, or subscribe it.")
        self.changed[node] = True

    def remove(self, node: str) -> None:
        self.require(node)
        self.changed[node] = False

    def require(self, node: str) -> None:
        if not self.has(node):
            raise InputError(
                f"there is no node {node!r} among {len(self._names):,}; let it join first."
            )


class _Sets:
    """The topics that nodes want, or publish: those of the nodes that changed, by name."""

    def __init__(self, workload: Instance, rows_of: Callable[[Instance, int], Ints]) -> None:
        self._workload = workload
        self._rows_of = rows_of
        self.rows: dict[str, set[str]] = {}

    def _row(self, node: str) -> set[str]:
        if node not in self.rows:
            ids = self._rows_of(self._workload, find_name(self._workload.node_names, node))
            names = self._workload.topic_names
            self.rows[node] = {names[t] for t in ids.tolist()}
        return self.rows[node]

    def add(self, node: str, topic: str, verb: str) -> None:
        check_name(topic)
        row = self._row(node)
        if topic in row:
            raise InputError(f"{node!r} {verb} {topic!r} already.")
        row.add(topic)

    def remove(self, node: str, topic: str, verb: str) -> None:
        check_name(topic)
        row = self._row(node)
        if topic not in row:
            raise InputError(f"{node!r} does not {verb} {topic!r}.")
        row.remove(topic)


def _rows_wanted(workload: Instance, node: int) -> Ints:
    return workload.topics_of(node)


def _rows_published(workload: Instance, node: int) -> Ints:
    made = workload.publications
    first, last = np.searchsorted(made.nodes, [node, node + 1])
    return made.topics[first:last]


def _tuple(names: Sequence[str]) -> Sequence[str]:
    """Return names that are quick to read one by one."""
    return names if isinstance(names, tuple | NumberedNames) else tuple(names)


def find_name(names: Sequence[str], name: str) -> int:
    """Return the id of a name among sorted names, or -1."""
    place = bisect_left(names, name)
    return place if place < len(names) and names[place] == name else -1


class _Rows(NamedTuple):
    """Pairs of nodes and topics as codes of new ids: those of other nodes, and of changed ones."""

    stay: Longs  # rising
    goes: Bools  # of all pairs before, whether the node changed
    went: Longs  # the pairs of these nodes before; negative if the node is gone
    come: Longs  # rising, their pairs now


def _rebuilt(workload: Instance, known: _Known, wanted: _Sets, published: _Sets) -> Instance:
    """Return the workload with other rows for the nodes that changed."""
    old_nodes, old_topics = workload.node_names, workload.topic_names
    nodes = merged_names(
        old_nodes,
        add=[n for n, there in known.changed.items() if there],
        remove=[n for n, there in known.changed.items() if not there],
    )
    rows = (*wanted.rows.values(), *published.rows.values())
    topics = merged_names(old_topics, add={t for row in rows for t in row}, remove=())
    places = match_names(old_nodes, nodes), match_names(old_topics, topics)
    made = workload.publications
    used, lost = np.zeros((2, len(topics)), np.bool_)
    found: list[_Rows] = []
    for sets, of_nodes, of_topics in (
        (wanted, workload.nodes, workload.topics),
        (published, made.nodes, made.topics),
    ):
        is_changed = np.zeros(workload.n_nodes, np.bool_)
        is_changed[[v for v in (find_name(old_nodes, n) for n in sets.rows) if v >= 0]] = True
        goes = is_changed[of_nodes]
        now = places[1][of_topics]
        codes = (places[0][of_nodes] << 32) | now  # rise: so do the names
        come = _codes(sets.rows, nodes, topics)
        used[now[~goes]] = used[come & 0xFFFFFFFF] = True
        lost[now[goes]] = True
        found.append(_Rows(codes[~goes], goes, codes[goes], come))
    dropped = lost & ~used
    renumber = np.arange(len(topics))
    if dropped.any():
        gone = set(np.flatnonzero(dropped).tolist())
        topics = tuple(name for t, name in enumerate(topics) if t not in gone)
        renumber = np.cumsum(~dropped) - 1
    subscribed = found[0]
    at = np.searchsorted(subscribed.stay, subscribed.come)
    node, topic = unpack(np.insert(subscribed.stay, at, subscribed.come))
    return Instance(
        nodes,
        topics,
        row_pointers(node, len(nodes)),
        renumber[topic].astype(np.int32),
        _publications(made, found[1], renumber),
    )


def _publications(made: Publications, rows: _Rows, renumber: Longs) -> Publications:
    """Return the publications with others for the nodes that changed; known rates stay."""
    before = dict(zip(rows.went.tolist(), np.flatnonzero(rows.goes).tolist(), strict=True))
    both = np.concatenate((rows.stay, rows.come))
    order = np.argsort(both, kind="stable")
    nodes, topics = unpack(both[order])
    known = [before.get(pair, -1) for pair in rows.come.tolist()]
    rates, sizes = (
        np.concatenate((values[~rows.goes], np.append(values, np.nan)[known]))[order]
        for values in (made.rates, made.sizes)
    )
    return Publications(nodes, renumber[topics].astype(np.int32), rates, sizes)


def _codes(rows: dict[str, set[str]], nodes: Sequence[str], topics: Sequence[str]) -> Longs:
    pairs = [
        (find_name(nodes, node) << 32) | find_name(topics, topic)
        for node, row in rows.items()
        for topic in row
    ]
    return np.sort(np.array(pairs, np.int64))


def merged_names(
    names: Sequence[str], *, add: Iterable[str], remove: Iterable[str]
) -> Sequence[str]:
    """Return sorted names with others added and removed; the same object if nothing changes."""
    new = {name for name in add if find_name(names, name) < 0}
    gone = {name for name in remove if find_name(names, name) >= 0}
    if not new and not gone:
        return names
    return tuple(sorted({*names, *new} - gone))


def match_names(before: Sequence[str], after: Sequence[str]) -> Longs:
    """Return the id in `after` of each name of `before`, -1 if it is not there.

    Examples
    --------
    >>> match_names(["a", "b", "d"], ["b", "c", "d"]).tolist()
    [-1, 0, 2]
    """
    if before is after:
        return np.arange(len(before), dtype=np.int64)
    ids = {name: i for i, name in enumerate(after)}
    return np.array([ids.get(name, -1) for name in before], np.int64).reshape(-1)
