"""Time and memory of a piece of work, for every benchmark."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from meshwright.model.instance import Instance

SAMPLING_INTERVAL = 0.25  # seconds between two looks at the memory
REPEAT_FOR = 3.0  # seconds
PRODUCT_ROWS = 1_000  # rows of one block of the matrix product

Result = TypeVar("Result")


class Timed(NamedTuple, Generic[Result]):
    """The cost of a call and its result."""

    seconds: float  # by the clock
    cpu: float  # seconds of all processors: on a busy machine the better measure
    result: Result


def timed(work: Callable[[], Result], *, children: bool = False) -> Timed[Result]:
    """Run `work` and return its cost, with the processor time of child processes on request."""
    clock = cpu_seconds if children else time.process_time
    start, cpu = time.perf_counter(), clock()
    result = work()
    return Timed(time.perf_counter() - start, clock() - cpu, result)


def shortest(work: Callable[[], Any], *known: Timed[Any]) -> tuple[float, float]:
    """Return the least seconds and the least processor time of several runs.

    The work is repeated for REPEAT_FOR seconds, because the first run also pays for cold memory.
    `known` are runs that were timed already.
    """
    runs = list(known) or [timed(work)]
    while sum(run.seconds for run in runs) < REPEAT_FOR:
        runs.append(timed(work))
    return min(run.seconds for run in runs), min(run.cpu for run in runs)


def matrix_product(instance: Instance) -> None:
    """Multiply the node-by-topic matrix with its transpose, a block of rows at a time."""
    from scipy import sparse

    ones = np.ones(instance.n_subscriptions, dtype=np.int32)
    shape = (instance.n_nodes, instance.n_topics)
    interests = sparse.csr_matrix((ones, instance.topics, instance.indptr), shape=shape)
    subscribers = interests.T.tocsr()
    for start in range(0, instance.n_nodes, PRODUCT_ROWS):
        interests[start : start + PRODUCT_ROWS] @ subscribers


def cpu_seconds() -> float:
    """Return the processor time of this process and its descendants (Linux; elsewhere its own)."""
    if not Path("/proc/self/stat").exists():
        return sum(os.times()[:4])
    # Fields 11 to 14: its own time, and that of its children that ended.
    ticks = sum(sum(map(int, fields[11:15])) for fields in family().values())
    return ticks / os.sysconf("SC_CLK_TCK")


class Peak:
    """The largest amount of memory seen so far, in megabytes."""

    megabytes = 0.0


@contextmanager
def peak_memory() -> Iterator[Peak]:
    """Watch the memory of this process and its descendants while the block runs (Linux)."""
    peak, done = Peak(), threading.Event()

    def watch() -> None:
        while not done.wait(SAMPLING_INTERVAL):
            peak.megabytes = max(peak.megabytes, memory_kilobytes() / 1000)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        done.set()
        watcher.join()


def memory_kilobytes() -> int:
    """Return the memory of this process and its descendants; shared pages count once."""
    total = 0
    for process in family():
        try:
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        except OSError:  # it ended meanwhile
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total


def family() -> dict[int, list[str]]:
    """Return this process and its descendants, each with the fields of /proc/PID/stat from 3 on."""
    fields: dict[int, list[str]] = {}
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            found = path.read_text().rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        process = int(path.parent.name)
        fields[process] = found
        children.setdefault(int(found[1]), []).append(process)
    members, queue = {}, [os.getpid()]
    while queue:
        process = queue.pop()
        if process in fields:
            members[process] = fields[process]
        queue += children.get(process, [])
    return members
