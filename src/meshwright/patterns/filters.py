"""MQTT topic names and filters: what is valid, what matches, what covers what, where they overlap.

A *pattern* is a concrete topic name or a filter with ``+`` and ``#``. Two patterns that overlap
either cover one another or *cross*; the names that two crossing filters share are again those of
one pattern, their *meet* (``a/+`` and ``+/b`` meet in ``a/b``). The rules are those of MQTT 3.1.1,
section 4.7: a wildcard at the first level does not match a name that begins with ``$``.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from meshwright.errors import InputError
from meshwright.model.names import LONGEST_NAME

MAX_MEETS = 20_000  # filters can cross in exponentially many ways: refuse rather than run out
MAX_LEVELS = 200  # Mosquitto refuses more
WILDCARDS = ("+", "#")


def is_filter(pattern: str) -> bool:
    """Return whether a pattern has a wildcard."""
    return "+" in pattern or "#" in pattern


def covers(outer: str, inner: str) -> bool:
    """Return whether `outer` matches every name that `inner` matches.

    For a concrete name `inner`: whether `outer` matches it.

    Examples
    --------
    >>> covers("a/#", "a"), covers("+/b", "a/b"), covers("#", "$SYS/uptime")
    (True, True, False)
    >>> covers("a/#", "a/+/c"), covers("a/+", "a/#")
    (True, False)
    """
    return meet(outer, inner) == inner


def meet(one: str, other: str) -> str | None:
    """Return the pattern of the names that both match, or None where they do not overlap.

    Examples
    --------
    >>> meet("a/+/#", "+/b"), meet("a/+", "b/#"), meet("a/#", "+")
    ('a/b', None, 'a')
    """
    if _separated_by_dollar(one, other):
        return None
    a, b = one.split("/"), other.split("/")
    shared: list[str] = []
    for i, (left, right) in enumerate(zip_longest(a, b)):
        if left == "#" or right == "#":  # the rest of the other pattern, which may be empty
            return "/".join([*shared, *(b[i:] if left == "#" else a[i:])])
        if left is None or right is None or (left != right and "+" not in (left, right)):
            return None
        shared.append(right if left == "+" else left)
    return "/".join(shared)


def _separated_by_dollar(one: str, other: str) -> bool:
    """Return whether one pattern begins with ``$`` and the other with a wildcard."""
    return {one[:1], other[:1]} in ({"$", "+"}, {"$", "#"})


def topic_error(pattern: str) -> str | None:
    """Return why a pattern cannot be bridged between brokers, or None."""
    if not pattern:
        return "is empty"
    if len(pattern.encode()) > LONGEST_NAME:
        return f"is longer than {LONGEST_NAME:,} bytes"
    levels = pattern.split("/")
    if len(levels) > MAX_LEVELS:
        return f"has more than {MAX_LEVELS} levels"
    for i, level in enumerate(levels):
        if "#" in level and (level != "#" or i + 1 < len(levels)):
            return "has a '#' that is not its whole last level"
        if "+" in level and level != "+":
            return "has a '+' that is not a whole level"
    if levels[0] in ("$SYS", "$CONTROL"):
        return "belongs to each broker itself and is not bridged"
    if levels[0].startswith("$") and " " in levels[0]:
        return "has a space after its '$', which a bridge's topic line cannot hold"
    if levels[0] == "$share":
        return "is a shared subscription: give the filter without the group"
    if not all(map(is_allowed, pattern)):
        return "holds a control character, which Mosquitto refuses"
    return None


def is_allowed(character: str) -> bool:
    """Return whether Mosquitto accepts a character: no controls, surrogates or non-characters."""
    code = ord(character)
    return unicodedata.category(character) not in ("Cc", "Cs") and not (
        0xFDD0 <= code <= 0xFDEF or code & 0xFFFE == 0xFFFE
    )


class PatternIndex:
    """Patterns by their levels: finds those that overlap a pattern without trying them all."""

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._below: dict[str, PatternIndex] = {}  # by the next level
        self._pattern: str | None = None  # the one whose last level leads here
        for pattern in patterns:
            self.add(pattern)

    def add(self, pattern: str) -> None:
        """Add a pattern."""
        place = self
        for level in pattern.split("/"):
            place = place._below.setdefault(level, PatternIndex())
        place._pattern = pattern

    def discard(self, pattern: str) -> None:
        """Remove a pattern if it is there."""
        path: list[tuple[PatternIndex, str]] = []
        place = self
        for level in pattern.split("/"):
            if level not in place._below:
                return
            path.append((place, level))
            place = place._below[level]
        place._pattern = None
        for above, level in reversed(path):
            if above._below[level]._below or above._below[level]._pattern is not None:
                return
            del above._below[level]

    def overlapping(self, pattern: str) -> list[str]:
        """Return the patterns that share a name with this one, itself included if it is there."""
        found = set(self._overlapping(pattern.split("/"), 0))
        return sorted(other for other in found if not _separated_by_dollar(other, pattern))

    def covering(self, pattern: str) -> list[str]:
        """Return the patterns that cover this one, itself included if it is there."""
        return [other for other in self.overlapping(pattern) if covers(other, pattern)]

    def _overlapping(self, levels: Sequence[str], i: int) -> Iterator[str]:
        """Yield the patterns at and below this level that overlap the levels from `i` on."""
        wanted = levels[i] if i < len(levels) else None
        if wanted in (None, "#") and self._pattern is not None:
            yield self._pattern
        all_levels = wanted is None or wanted in WILDCARDS
        for level in self._below if all_levels else self._below.keys() & {wanted, *WILDCARDS}:
            below = self._below[level]
            if level == "#" and below._pattern is not None:
                yield below._pattern
            elif wanted == "#":
                yield from below._overlapping(levels, i)
            elif wanted is not None and level != "#":
                yield from below._overlapping(levels, i + 1)


def all_meets(patterns: Iterable[str]) -> set[str]:
    """Return the meets of two, three or more crossing filters that are not patterns yet.

    Examples
    --------
    >>> sorted(all_meets(["a/+", "+/b", "#"]))
    ['a/b']
    """
    given = set(patterns)
    known = set(given)
    filters = PatternIndex(filter(is_filter, given))
    waiting = sorted(filter(is_filter, given))
    while waiting:
        one = waiting.pop()
        for other in filters.overlapping(one):
            shared = meet(one, other)
            if shared is None or shared in known:  # known where one covers the other, too
                continue
            known.add(shared)
            if len(known) - len(given) > MAX_MEETS:
                raise InputError(
                    f"the filters cross in more than {MAX_MEETS:,} ways, {one!r} and {other!r} "
                    "among them. Subscribe to fewer or narrower filters."
                )
            if is_filter(shared):
                filters.add(shared)
                waiting.append(shared)
    return known - given


def pair_meets(patterns: Iterable[str], most: int = MAX_MEETS) -> tuple[set[str], int]:
    """Return the meets of crossing pairs that are not patterns yet, and how many were left out.

    An overlay that connects the subscribers of each pattern and of each such meet connects those
    of every name: any two filters that match it meet. At most `most` meets are returned.

    Examples
    --------
    >>> pair_meets(["a/+", "+/b", "#"]), pair_meets(["a/+", "+/b"], most=0)
    (({'a/b'}, 0), (set(), 1))
    """
    given = set(patterns)
    filters = PatternIndex(filter(is_filter, given))
    found: set[str] = set()
    n_left_out = 0
    for one in sorted(filter(is_filter, given)):
        for other in filters.overlapping(one):
            shared = meet(one, other) if one < other else None
            if shared is None or shared in given or shared in found:
                continue
            if len(found) < most:
                found.add(shared)
            else:
                n_left_out += 1
    return found, n_left_out


def example_names(patterns: Iterable[str]) -> dict[str, str]:
    """Return for each pattern a name that only it and the patterns that cover it match.

    A ``+`` becomes a word that no pattern uses, a ``#`` more levels than any pattern has.

    Examples
    --------
    >>> example_names(["a/#", "a/+"])
    {'a/#': 'a/any-1/any-2', 'a/+': 'a/any-1'}
    """
    listed = list(patterns)
    used = {level for pattern in listed for level in pattern.split("/")}
    word = "any"
    while any(level.startswith(word) for level in used):
        word += "x"
    n_levels = max((pattern.count("/") + 1 for pattern in listed), default=0)
    names = {}
    for pattern in listed:
        levels = pattern.split("/")
        if levels[-1] == "#":
            levels[-1:] = ["+"] * max(1, n_levels + 2 - len(levels))
        words = (f"{word}-{i}" if level == "+" else level for i, level in enumerate(levels))
        names[pattern] = "/".join(words)
    return names


def representative_names(patterns: Iterable[str]) -> list[str]:
    """Return names that stand for all: every set of patterns that can match a name matches one."""
    listed = set(patterns)
    return sorted(set(example_names(listed | all_meets(listed)).values()))


def wider_filters(patterns: Sequence[str]) -> dict[str, list[str]]:
    """Return the filters of a list that strictly cover each pattern, where there are any."""
    filters = PatternIndex(filter(is_filter, patterns))
    found = {p: [wide for wide in filters.covering(p) if wide != p] for p in patterns}
    return {pattern: wider for pattern, wider in found.items() if wider}


def nearest(wider: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the wider filters of each pattern that cover no other of its wider filters."""
    found = {}
    for pattern, filters in wider.items():
        beyond = {wide for near in filters for wide in wider.get(near, ())}
        found[pattern] = [near for near in filters if near not in beyond]
    return found


def match_all_filters(names: Iterable[str]) -> tuple[str, ...]:
    """Return filters that match all names: ``#`` does not match names that begin with ``$``."""
    first_levels = {name.split("/")[0] for name in names}
    return ("#", *(f"{level}/#" for level in sorted(first_levels) if level.startswith("$")))
