"""MQTT filters as topics of a workload: what they match, where they meet, whom they add.

A *pattern* is a concrete topic name or a filter with ``+`` and ``#``. Two patterns that overlap
either contain one another or *cross*; the names that two crossing filters share are again those
of one pattern, their *meet* (``a/+`` and ``+/b`` meet in ``a/b``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from meshwright.errors import InputError
from meshwright.values import Instance

MOST_MEETS = 20_000  # filters can cross in exponentially many ways: then it is better to say so
FRESH = "any"  # how the levels of an example name begin

Levels = list[str]


def is_filter(name: str) -> bool:
    """Tell whether a name holds a wildcard."""
    return "+" in name or "#" in name


def covers(outer: str, inner: str) -> bool:
    """Tell whether `outer` matches every topic that `inner` matches (MQTT 3.1.1, section 4.7).

    Examples
    --------
    >>> covers("a/#", "a"), covers("+/b", "a/b"), covers("#", "$SYS/uptime")
    (True, True, False)
    >>> covers("a/#", "a/+/c"), covers("a/+", "a/#")
    (True, False)

    """
    wide, narrow = outer.split("/"), inner.split("/")
    if _apart(wide[0], narrow[0]):
        return False
    for i, level in enumerate(wide):
        if level == "#":
            return True
        if i == len(narrow) or narrow[i] == "#":
            return False
        if level not in ("+", narrow[i]):
            return False
    return len(narrow) == len(wide)


def meet(one: str, other: str) -> str | None:
    """Return the pattern of the names that both match, or None.

    Examples
    --------
    >>> meet("a/+/#", "+/b"), meet("a/+", "b/#"), meet("a/#", "+")
    ('a/b', None, 'a')

    """
    a, b = one.split("/"), other.split("/")
    if _apart(a[0], b[0]):
        return None
    found: Levels = []
    for i in range(max(len(a), len(b))):
        left = a[i] if i < len(a) else None
        right = b[i] if i < len(b) else None
        if left == "#" or right == "#":  # what the other still asks for, which may be nothing
            return "/".join([*found, *(b[i:] if left == "#" else a[i:])])
        if left is None or right is None:
            return None
        if left != right and "+" not in (left, right):
            return None
        found.append(right if left == "+" else left)
    return "/".join(found)


def examples(patterns: Iterable[str]) -> dict[str, str]:
    """Return for each pattern a name that it matches and that no other matches but those around it.

    A ``+`` becomes a word that no pattern uses, a ``#`` more levels than any pattern has.

    Examples
    --------
    >>> examples(["a/#", "a/+"])
    {'a/#': 'a/any-1/any-2', 'a/+': 'a/any-1'}

    """
    listed = list(patterns)
    used = {level for pattern in listed for level in pattern.split("/")}
    fresh = FRESH
    while any(level.startswith(fresh) for level in used):
        fresh += "x"
    n_levels = max((pattern.count("/") + 1 for pattern in listed), default=0)
    found = {}
    for pattern in listed:
        levels = pattern.split("/")
        if levels[-1] == "#":
            levels[-1:] = ["+"] * max(1, n_levels + 2 - len(levels))
        words = (f"{fresh}-{i}" if level == "+" else level for i, level in enumerate(levels))
        found[pattern] = "/".join(words)
    return found


def _apart(one: str, other: str) -> bool:
    """Tell whether a first level is out of reach of the other's wildcard (``$SYS`` and such)."""
    return any(a.startswith("$") and b in ("+", "#") for a, b in ((one, other), (other, one)))


@dataclass(slots=True)
class _Level:
    below: dict[str, _Level] = field(default_factory=dict)
    pattern: str | None = None


class PatternIndex:
    """Patterns by their levels: finds those that overlap one without trying them all."""

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._root = _Level()
        for pattern in patterns:
            self.add(pattern)

    def add(self, pattern: str) -> None:
        """Take one more pattern."""
        place = self._root
        for level in pattern.split("/"):
            place = place.below.setdefault(level, _Level())
        place.pattern = pattern

    def overlapping(self, pattern: str) -> list[str]:
        """Return the patterns that share a name with this one, itself included if it is there."""
        return sorted(set(_walk(self._root, pattern.split("/"), 0)))

    def covering(self, pattern: str) -> list[str]:
        """Return the patterns that match all that this one matches, itself included if there."""
        return [other for other in self.overlapping(pattern) if covers(other, pattern)]


def _walk(place: _Level, levels: Levels, i: int) -> Iterator[str]:
    wanted = levels[i] if i < len(levels) else None
    if wanted in (None, "#") and place.pattern is not None:
        yield place.pattern
    if wanted is not None and wanted not in ("+", "#"):
        near = [(level, place.below.get(level)) for level in {wanted, "+", "#"}]
    else:
        near = list(place.below.items())
    for level, below in near:
        if below is None or (i == 0 and wanted is not None and _apart(level, wanted)):
            continue
        if level == "#" and below.pattern is not None:
            yield below.pattern
        elif wanted == "#":
            yield from _everything(below)
        elif wanted is not None and level != "#":
            yield from _walk(below, levels, i + 1)


def _everything(place: _Level) -> Iterator[str]:
    if place.pattern is not None:
        yield place.pattern
    for below in place.below.values():
        yield from _everything(below)


def meets(patterns: Iterable[str]) -> set[str]:
    """Return where crossing filters meet, two, three or more of them, and no pattern stands yet.

    Examples
    --------
    >>> sorted(meets(["a/+", "+/b", "#"]))
    ['a/b']

    """
    given = set(patterns)
    known = set(given)
    filters = PatternIndex(name for name in given if is_filter(name))
    waiting = sorted(name for name in given if is_filter(name))
    while waiting:
        one = waiting.pop()
        for other in filters.overlapping(one):
            if covers(one, other) or covers(other, one):
                continue
            shared = meet(one, other)
            if shared is None or shared in known:
                continue
            known.add(shared)
            if len(known) - len(given) > MOST_MEETS:
                raise InputError(
                    f"the filters cross in more than {MOST_MEETS:,} ways, {one!r} and {other!r} "
                    "among them. Subscribe to fewer or narrower filters."
                )
            if is_filter(shared):
                filters.add(shared)
                waiting.append(shared)
    return known - given


def expand(instance: Instance, names: Iterable[str] = ()) -> Instance:
    """Return the instance in which a filter's node wants all that the filter matches.

    The node becomes a subscriber of every concrete topic and every narrower filter that its
    filter covers. Where filters cross, the names they share become a topic of their own, wanted
    by the subscribers of both. An instance without filters is returned as it is. Further `names`
    that a filter covers become topics too.

    Examples
    --------
    >>> whole = expand(Instance.from_pairs([("a", "x/1"), ("log", "#")]))
    >>> [whole.topic_names[t] for t in whole.topics_of(1)]
    ['#', 'x/1']

    """
    topics = list(instance.topic_names)
    if not any(map(is_filter, topics)):
        return instance
    filters = PatternIndex(name for name in topics if is_filter(name))
    wanted: dict[str, set[str]] = {name: set() for name in topics}
    for node, node_name in enumerate(instance.node_names):
        for topic in instance.topics_of(node).tolist():
            wanted[topics[topic]].add(node_name)
    listed = {*topics, *names}
    whole = {
        name: set(wanted.get(name, ())).union(*(wanted[wide] for wide in filters.covering(name)))
        for name in listed | meets(listed)
    }
    pairs = ((node, name) for name, nodes in whole.items() for node in nodes)
    return Instance.from_pairs(pairs, nodes=instance.node_names)
