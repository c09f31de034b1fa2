"""The most memory that this process and all below it had at once."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

EVERY = 0.25  # seconds


class Peak:
    """The largest sum seen so far, in megabytes."""

    megabytes = 0.0


@contextmanager
def peak_memory() -> Iterator[Peak]:
    """Watch the processes while the block runs (Linux)."""
    peak, done = Peak(), threading.Event()

    def watch() -> None:
        while not done.wait(EVERY):
            peak.megabytes = max(peak.megabytes, memory() / 1000)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        done.set()
        watcher.join()


def memory() -> int:
    """Return the kilobytes of this process and all below it; what they share counts once."""
    below: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:  # it ended meanwhile
            continue
        below.setdefault(parent, []).append(int(path.parent.name))
    total, queue = 0, [os.getpid()]
    while queue:
        process = queue.pop()
        queue += below.get(process, [])
        try:
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total
