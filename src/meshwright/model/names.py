"""Names of nodes and topics: sequences that make a Python string only when it is read."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meshwright.runtime.arrays import Longs

LONGEST_NAME = 65_535  # bytes: what MQTT's length field can say
CONTROLS = r"[\x00-\x1f\x7f-\x9f]"  # characters that no name holds, as a regular expression


class NumberedNames(Sequence[str]):
    """``prefix-0000``, ``prefix-0001``, ...: padded, so that their order is that of the ids.

    Examples
    --------
    >>> list(NumberedNames("node", 3))
    ['node-0', 'node-1', 'node-2']
    """

    def __init__(self, prefix: str, count: int) -> None:
        self._prefix = prefix
        self._count = count
        self._width = number_width(count)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:  # a name, or a tuple of them for a slice
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(self._count)))
        if not -self._count <= index < self._count:
            raise IndexError(f"no name {index} among {self._count}")
        return f"{self._prefix}-{index % self._count:0{self._width}d}"


class ArrowNames(Sequence[str]):
    """Names held in one Arrow array, as read from a dataset."""

    def __init__(self, array: pa.Array) -> None:
        self._array = array

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, index: Any) -> Any:  # a name, or a tuple of them for a slice
        value = self._array[index]
        return tuple(value.to_pylist()) if isinstance(index, slice) else value.as_py()

    def __iter__(self) -> Iterator[str]:
        yield from self._array.to_pylist()


def number_width(count: int) -> int:
    """Return how many digits the largest of `count` numbered names needs."""
    return len(str(max(count - 1, 0)))


def arrow_names(names: Iterable[str]) -> pa.Array:
    """Return names as an Arrow array."""
    if isinstance(names, ArrowNames):
        return names._array
    return pa.array(list(names), type=pa.string())


def names_problem(names: pa.Array) -> str | None:
    """Return why names in id order are not sorted, distinct and valid; None if they are."""
    try:
        names.validate(full=True)
    except pa.ArrowInvalid:
        return "not all UTF-8"
    bad = pc.or_(
        pc.match_substring_regex(names, f"^$|{CONTROLS}"),
        pc.greater(pc.binary_length(names), LONGEST_NAME),
    )
    at = pc.index(bad, True).as_py()
    if at >= 0:
        return f"not all valid: {names[at].as_py()[:60]!r} is not a name"
    at = pc.index(pc.less(names[:-1], names[1:]), False).as_py()
    if at >= 0:
        before, after = names[at].as_py(), names[at + 1].as_py()
        return f"not sorted and distinct; {after[:60]!r} follows {before[:60]!r}"
    return None


def find_name(names: Sequence[str], name: str) -> int:
    """Return the id of a name among sorted names, or -1."""
    place = bisect_left(names, name)
    return place if place < len(names) and names[place] == name else -1


def merged_names(
    names: Sequence[str], *, add: Iterable[str], remove: Iterable[str]
) -> Sequence[str]:
    """Return sorted names with others added and removed; the same object if nothing changes."""
    new = {name for name in add if find_name(names, name) < 0}
    gone = {name for name in remove if find_name(names, name) >= 0}
    if not new and not gone:
        return names
    merged = list(names)
    for name in gone:
        merged.pop(bisect_left(merged, name))
    merged.extend(new)
    merged.sort()  # quick: all but the new ones are in order
    return tuple(merged)


def match_names(before: Sequence[str], after: Sequence[str]) -> Longs:
    """Return the id in `after` of each name of `before`, -1 if it is not there.

    Examples
    --------
    >>> match_names(["a", "b", "d"], ["b", "c", "d"]).tolist()
    [-1, 0, 2]
    """
    if before is after:
        return np.arange(len(before), dtype=np.int64)
    ids = dict(zip(after, range(len(after)), strict=True))
    return np.fromiter(map(ids.get, before, repeat(-1)), np.int64, len(before))
