"""Cut work into parts, and run a kernel over them on several threads (kernels release the GIL)."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

import numpy as np

from meshwright.runtime.arrays import Longs
from meshwright.runtime.machine import cpu_count

T = TypeVar("T")

PARTS = 128  # rows differ in cost, so there are many more parts than threads
SMALLEST = 256  # a smaller part costs more to call than to run


def cut(costs: Longs, part: int) -> Longs:
    """Return where parts of about equal cost begin, and where the last one ends."""
    before = np.cumsum(costs)
    marks = np.arange(part, int(before[-1]) if len(before) else 0, part)
    inner = np.searchsorted(before, marks) + 1
    return np.unique(np.concatenate(([0], inner, [len(costs)]))).astype(np.int64)


def in_parts(
    work: Callable[[int, int], None],
    size: int,
    threads: int | None = None,
    *,
    smallest: int = SMALLEST,
) -> None:
    """Call work(first, last) for parts of range(size), in any order and on several threads."""
    firsts = range(0, size, max(smallest, -(-size // PARTS)))
    ends = [*firsts[1:], size]
    threads = min(threads or cpu_count(), len(firsts))
    if threads < 2:
        list(map(work, firsts, ends))
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, firsts, ends))  # an error cancels the parts that have not begun


class ScratchPool(Generic[T]):
    """Scratch space that one thread uses at a time; as many are made as are in use at once."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._idle: SimpleQueue[T] = SimpleQueue()

    @contextmanager
    def borrow(self) -> Iterator[T]:
        """Lend scratch space that is not in use."""
        try:
            lent = self._idle.get_nowait()
        except Empty:
            lent = self._make()
        yield lent
        self._idle.put(lent)
