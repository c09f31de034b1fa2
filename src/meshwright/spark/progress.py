"""Progress of a pipeline on stderr: which step, how far, how long still.

Nothing is printed in the first two seconds, so quick commands stay quiet. On a terminal one line
is rewritten; in a file or a pipe a line appears every ten seconds.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from meshwright.kernels.compiling import compiling

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUIET_SECONDS = 2.0
COMPILING = "compiling, once after an install"


class Progress:
    """Report the steps of one run. Use `step` around each; it costs nothing when quiet."""

    def __init__(
        self,
        n_steps: int,
        spark: SparkSession | None = None,
        stream: TextIO | None = None,
        *,
        quiet_seconds: float = QUIET_SECONDS,
    ) -> None:
        self._n_steps = n_steps
        self._done = 0
        self._stream = stream if stream is not None else sys.stderr
        self._tty = self._stream.isatty()
        self._tracker = _status_tracker(spark)
        self._start = time.monotonic()
        self._quiet_until = self._start + quiet_seconds
        self._printed = False
        self._told = 0.0
        self._where = ""

    def tell(self, share: float, where: str = "") -> None:
        """Take the share of the step that is done, from work that knows it better than Spark.

        `where` says in words how far it is.
        """
        self._told, self._where = share, where

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Report `what` as the step under way until the block ends."""
        self._told, self._where = 0.0, ""
        finished = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(what, finished), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            finished.set()
            watcher.join()
            self._done += 1
            if self._done >= self._n_steps or sys.exc_info()[0] is not None:
                self.clear()

    def clear(self) -> None:
        """Take the line off the terminal."""
        if self._tty and self._printed:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._printed = False

    def _watch(self, what: str, finished: threading.Event) -> None:
        started = time.monotonic()
        pause = 0.3 if self._tty else 10.0
        first = max(0.0, self._quiet_until - started)
        if finished.wait(first if self._tty else max(first, QUIET_SECONDS)):
            return
        while True:
            line = self._line(what, time.monotonic() - started)
            self._stream.write(f"\r\x1b[K{line}" if self._tty else f"{line}\n")
            self._stream.flush()
            self._printed = True
            if finished.wait(pause):
                return

    def _line(self, what: str, seconds: float) -> str:
        share = self._share()
        left = f", about {_duration(seconds * (1 - share) / share)} left" if share else ""
        percent = f" {share:.0%}" if share else ""
        step = f"[{min(self._done + 1, self._n_steps)}/{self._n_steps}]"
        where = COMPILING if compiling() else self._where
        told = f": {where}" if where else ""
        return f"{step} {what}{percent}, {_duration(seconds)}{left}{told}"

    def _share(self) -> float:
        """Return the share of the tasks under way that is done, 0 when nothing is known."""
        if self._told or self._tracker is None:
            return self._told
        stages = [self._tracker.getStageInfo(i) for i in self._tracker.getActiveStageIds()]
        total = sum(stage.numTasks for stage in stages if stage)
        return sum(stage.numCompletedTasks for stage in stages if stage) / total if total else 0.0


def no_progress() -> Progress:
    """Return a progress that does not print within a week."""
    return Progress(1_000_000, quiet_seconds=7 * 86_400)


def _status_tracker(spark: SparkSession | None):  # type: ignore[no-untyped-def]
    """Return Spark's status tracker, None on Spark Connect, which has none."""
    if spark is None or "connect" in type(spark).__module__:
        return None
    return spark.sparkContext.statusTracker()


def _duration(seconds: float) -> str:
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60:02d} s"
