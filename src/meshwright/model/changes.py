"""What can happen to a workload: nodes come and go, and so do subscriptions and publications.

Changes name nodes and topics. Ids follow the sorted names, so they are never part of a change.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from meshwright.errors import InputError
from meshwright.model.instance import Instance, check_name, publication_row, row_pointers
from meshwright.model.names import NumberedNames, find_name, match_names, merged_names
from meshwright.model.publications import Publications
from meshwright.runtime.arrays import Ints, Longs

LOOKUPS_FOR_TABLE = 8  # looking up one name of 8 costs about as much as a table of all


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
    """A node publishes one more topic or filter, which may be new, so often and so much."""

    node: str
    topic: str
    rate: float | None = None  # messages per second
    bytes: float | None = None  # the mean size of a message


@dataclass(frozen=True, slots=True)
class Unpublish:
    """A node no longer publishes a topic or filter."""

    node: str
    topic: str


@dataclass(frozen=True, slots=True)
class Join:
    """A new node, with what it wants and publishes.

    What it publishes is a topic, or (topic, messages per second), or these and the mean bytes.
    """

    node: str
    topics: Iterable[str] = ()
    publishes: Iterable[str | tuple[Any, ...]] = ()


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
    made = workload.publications
    wanted = _Pairs(workload, workload.indptr, workload.topics)
    pointers = row_pointers(made.nodes, workload.n_nodes) if len(made) else None
    published = _Pairs(workload, pointers, made.topics)
    known = _Known(workload.node_names)
    for change in changes:
        _apply(change, known, wanted, published)
    if not known.changed and not wanted.changed and not published.changed:
        return before
    return _rebuilt(workload, known, wanted, published)


def _apply(change: Change, known: _Known, wanted: _Pairs, published: _Pairs) -> None:
    """Apply one change to what is known of nodes, subscriptions and publications."""
    match change:
        case Join(node, topics, publishes):
            known.add(node)
            for names in (topics, publishes):
                if isinstance(names, str):
                    raise InputError(f"the topics of {node!r} are several names; got {names!r}.")
            rows = [
                (node, *row) if isinstance(row, tuple | list) else (node, row) for row in publishes
            ]
            for row in rows:
                published.tell(row)
            for pairs, named in ((wanted, topics), (published, [row[1] for row in rows])):
                pairs.added[node] = set(named)
                for name in pairs.added[node]:
                    check_name(name)
        case Leave(node) | Crash(node):
            known.remove(node)
            wanted.clear(node)
            published.clear(node)
        case Subscribe(node, topic):
            known.require(node)
            wanted.add(node, topic, "wants")
        case Unsubscribe(node, topic):
            known.require(node)
            wanted.remove(node, topic, "want")
        case Publish(node, topic, rate, size):
            known.require(node)
            published.add(node, topic, "publishes")
            published.tell((node, topic, rate, size))
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


class _Pairs:
    """The topics that nodes want, or publish: those before, and what came and went, by name."""

    def __init__(self, workload: Instance, indptr: Longs | None, topics: Ints) -> None:
        self.names, self.topic_names = workload.node_names, workload.topic_names
        self.indptr = np.zeros(len(self.names) + 1, np.int64) if indptr is None else indptr
        self.topics = topics
        self.added: dict[str, set[str]] = {}
        self.removed: dict[str, set[str]] = {}  # topics of before
        self.cleared: set[str] = set()  # nodes without any topic of before
        self.told: dict[tuple[str, str], tuple[float, float]] = {}  # rate and bytes, NaN: unknown

    @property
    def changed(self) -> bool:
        pairs = (*self.added.values(), *self.removed.values(), self.told)
        return bool(self.cleared) or any(map(len, pairs))

    def tell(self, row: tuple[Any, ...]) -> None:
        """Note the rate and the mean bytes of (node, topic[, rate[, bytes]]), if one is given."""
        node, topic, *figures = publication_row(row)
        if not np.isnan(figures).all():
            self.told[node, topic] = (figures[0], figures[1])

    def slot(self, node: str, topic: str) -> int:
        """Return the slot of a pair among those before, or -1."""
        v, t = find_name(self.names, node), find_name(self.topic_names, topic)
        if v < 0 or t < 0:
            return -1
        first, last = int(self.indptr[v]), int(self.indptr[v + 1])
        at = first + int(np.searchsorted(self.topics[first:last], t))
        return at if at < last and self.topics[at] == t else -1

    def has(self, node: str, topic: str) -> bool:
        check_name(topic)
        if topic in self.added.get(node, ()):
            return True
        is_gone = node in self.cleared or topic in self.removed.get(node, ())
        return not is_gone and self.slot(node, topic) >= 0

    def add(self, node: str, topic: str, verb: str) -> None:
        if self.has(node, topic):
            raise InputError(f"{node!r} {verb} {topic!r} already.")
        if topic in self.removed.get(node, ()):
            self.removed[node].remove(topic)
        else:
            self.added.setdefault(node, set()).add(topic)

    def remove(self, node: str, topic: str, verb: str) -> None:
        if not self.has(node, topic):
            raise InputError(f"{node!r} does not {verb} {topic!r}.")
        self.told.pop((node, topic), None)
        if topic in self.added.get(node, ()):
            self.added[node].remove(topic)
        else:
            self.removed.setdefault(node, set()).add(topic)

    def clear(self, node: str) -> None:
        self.added.pop(node, None)
        self.removed.pop(node, None)
        self.cleared.add(node)
        self.told = {pair: figures for pair, figures in self.told.items() if pair[0] != node}


def _tuple(names: Sequence[str]) -> Sequence[str]:
    """Return names that are quick to read one by one."""
    return names if isinstance(names, tuple | NumberedNames) else tuple(names)


class _Rows(NamedTuple):
    """The topics of all nodes in a new numbering, row by row, and where those of old pairs went."""

    indptr: Longs  # int64[nodes now + 1]
    topics: Ints  # rising within a node
    source: Longs  # int64[n], which old pair each one is, -1 for a new one; int64[0] if not asked
    lost: Ints  # topics of pairs that went


def _rebuilt(workload: Instance, known: _Known, wanted: _Pairs, published: _Pairs) -> Instance:
    """Return the workload with the pairs that came, and without those that went."""
    old_nodes, old_topics = workload.node_names, workload.topic_names
    nodes = merged_names(
        old_nodes,
        add=[n for n, there in known.changed.items() if there],
        remove=[n for n, there in known.changed.items() if not there],
    )
    new = {t for pairs in (wanted, published) for row in pairs.added.values() for t in row}
    topics = merged_names(old_topics, add=new, remove=())
    places = match_names(old_nodes, nodes), match_names(old_topics, topics)
    made = workload.publications
    subscribed = _spliced(wanted, places, (nodes, topics))
    if not len(made) and not any(published.added.values()):
        topics, renumber = _used_names(topics, [subscribed])
        now = subscribed.topics if renumber is None else renumber[subscribed.topics]
        return Instance(nodes, topics, subscribed.indptr, now)
    spoken = _spliced(published, places, (nodes, topics), with_source=True)
    rates, sizes = (np.append(v, np.nan)[spoken.source] for v in (made.rates, made.sizes))
    for (node, topic), figures in published.told.items():
        first, last = spoken.indptr[find_name(nodes, node) :][:2]
        at = first + np.searchsorted(spoken.topics[first:last], find_name(topics, topic))
        rates[at], sizes[at] = figures
    topics, renumber = _used_names(topics, [subscribed, spoken])
    now_wanted, now_published = (rows.topics for rows in (subscribed, spoken))
    if renumber is not None:
        now_wanted, now_published = renumber[now_wanted], renumber[now_published]
    publishers = np.repeat(np.arange(len(nodes), dtype=np.int32), np.diff(spoken.indptr))
    publications = Publications(publishers, now_published, rates, sizes)
    return Instance(nodes, topics, subscribed.indptr, now_wanted, publications)


def _spliced(
    pairs: _Pairs,
    places: tuple[Longs, Longs],
    names: tuple[Sequence[str], Sequence[str]],
    *,
    with_source: bool = False,
) -> _Rows:
    """Return the rows of topics after changes; those of all other nodes are copied as they are.

    `places` are the new ids of nodes and topics, `names` the new names.
    """
    nodes, topic_now = places
    gone, added = _gone_slots(pairs)
    stays = np.delete(np.arange(len(pairs.topics)), gone) if with_source else np.zeros(0, np.int64)
    kept = np.delete(pairs.topics, gone) if len(gone) else pairs.topics
    lost = pairs.topics[gone]
    if len(topic_now) and topic_now[-1] != len(topic_now) - 1:  # they rise: the same numbers else
        kept, lost = (topic_now[ids].astype(np.int32) for ids in (kept, lost))
    sizes = np.diff(pairs.indptr)
    np.subtract.at(sizes, np.searchsorted(pairs.indptr, gone, side="right") - 1, 1)
    now = np.zeros(len(names[0]) + 1, np.int64)
    now[nodes[nodes >= 0] + 1] = sizes[nodes >= 0]
    first = np.cumsum(now)
    find = _finder(names[1], sum(map(len, added.values())))
    at: list[Longs] = [np.zeros(0, np.int64)]
    new: list[Ints] = [np.zeros(0, np.int32)]
    for name in sorted(added):
        v = find_name(names[0], name)
        row = np.array(sorted(map(find, added[name])), np.int32)
        places_in_row: Longs = np.searchsorted(kept[first[v] : first[v + 1]], row)
        at.append(first[v] + places_in_row)
        new.append(row)
        now[v + 1] += len(row)
    if len(at) > 1:
        where = np.concatenate(at)
        kept = np.insert(kept, where, np.concatenate(new))
        stays = np.insert(stays, where, -1) if with_source else stays
    return _Rows(np.cumsum(now), kept, stays, lost)


def _gone_slots(pairs: _Pairs) -> tuple[Longs, dict[str, set[str]]]:
    """Return the slots of the pairs that went, and the topics that came, node by node.

    A node that left and joined again keeps the pairs that it had before.
    """
    gone: list[int] = []
    added = {node: row for node, row in pairs.added.items() if row}
    for node in pairs.cleared:
        v = find_name(pairs.names, node)
        if v < 0:
            continue
        row, again = range(pairs.indptr[v], pairs.indptr[v + 1]), added.pop(node, set())
        had = {pairs.topic_names[pairs.topics[slot]]: slot for slot in row}
        gone += [slot for topic, slot in had.items() if topic not in again]
        if again - had.keys():
            added[node] = again - had.keys()
    gone += [pairs.slot(node, topic) for node, row in pairs.removed.items() for topic in row]
    return np.array(sorted(gone), np.int64), added


def _finder(names: Sequence[str], n_wanted: int) -> Callable[[str], int]:
    """Return a function from a name that is there to its id; a table pays off for many names."""
    if LOOKUPS_FOR_TABLE * n_wanted < len(names):
        return partial(bisect_left, names)
    return {name: i for i, name in enumerate(names)}.__getitem__


def _used_names(topics: Sequence[str], rows: Sequence[_Rows]) -> tuple[Sequence[str], Ints | None]:
    """Return the names without topics that nobody has any more, and their new numbers.

    A topic that nobody had before stays. The numbers are None if no topic is dropped.
    """
    dropped = np.zeros(len(topics), np.bool_)
    for each in rows:
        dropped[each.lost] = True
    if dropped.any():
        for each in rows:
            dropped[each.topics] = False
    if not dropped.any():
        return topics, None
    kept = tuple(compress(topics, (~dropped).tolist()))
    return kept, (np.cumsum(~dropped) - 1).astype(np.int32)
