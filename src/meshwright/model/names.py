"""Names of nodes and topics: sequences that make a Python string only when it is read."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa


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
