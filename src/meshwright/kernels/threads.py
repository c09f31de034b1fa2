"""Run a kernel over a range in parts, on several threads: kernels that release the GIL."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")

PARTS = 128  # rows differ in cost, so there are many more parts than threads
SMALLEST = 256  # a smaller part costs more to call than to run


def in_parts(
    work: Callable[[int, int], None],
    size: int,
    threads: int | None = None,
    *,
    smallest: int = SMALLEST,
) -> None:
    """Call work(first, last) for parts of range(size), in any order and on several threads."""
    step = max(smallest, -(-size // PARTS))
    parts = [(first, min(first + step, size)) for first in range(0, size, step)]
    threads = min(threads or len(os.sched_getaffinity(0)), len(parts))
    if threads < 2:
        for part in parts:
            work(*part)
        return
    pool = ThreadPoolExecutor(threads)
    try:
        for done in [pool.submit(work, *part) for part in parts]:
            done.result()
    finally:
        pool.shutdown(cancel_futures=True)


class Spares(Generic[T]):
    """What only one thread may work in at a time; as many are made as are in use at once."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._idle: SimpleQueue[T] = SimpleQueue()

    @contextmanager
    def one(self) -> Iterator[T]:
        """Lend one that is not in use."""
        try:
            lent = self._idle.get_nowait()
        except Empty:
            lent = self._make()
        yield lent
        self._idle.put(lent)
