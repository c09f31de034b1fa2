"""Progress of a pipeline on stderr: which step, how far, how long still.

Nothing is printed in the first two seconds, so quick commands stay quiet. On a terminal one line is
rewritten; a file or a pipe gets a line every ten seconds.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from meshwright.runtime.compile import compiling

# Takes the share that is done; a search adds in words how far it is.
ProgressCallback = Callable[..., None]
OnProgress = ProgressCallback | None

QUIET_SECONDS = 2.0


class Progress:
    """Report the steps of one run. Use `step` around each; it costs nothing when quiet.

    `share_done` is asked for the share of the running step that is done, 0 when unknown, unless
    the step reports its share by `update`.
    """

    def __init__(
        self,
        n_steps: int,
        share_done: Callable[[], float] | None = None,
        stream: TextIO | None = None,
        *,
        quiet_seconds: float = QUIET_SECONDS,
    ) -> None:
        self._n_steps = n_steps
        self._done = 0
        self._stream = stream if stream is not None else sys.stderr
        self._tty = self._stream.isatty()
        self._share_done = share_done or (lambda: 0.0)
        self._start = time.monotonic()
        self._quiet_seconds = quiet_seconds
        self._quiet_until = self._start + quiet_seconds
        self._printed = False
        self.update(0.0)

    def update(self, share: float, detail: str = "") -> None:
        """Report the share of the running step that is done, and in words how far it is."""
        self._share, self._detail = share, detail

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Report `what` as the running step until the block ends."""
        self.update(0.0)
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
        """Remove the line from the terminal."""
        if self._tty and self._printed:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._printed = False

    def _watch(self, what: str, finished: threading.Event) -> None:
        started = time.monotonic()
        pause = 0.3 if self._tty else 10.0
        first = max(0.0, self._quiet_until - started)
        if finished.wait(first if self._tty else max(first, self._quiet_seconds)):
            return
        while True:
            line = self._line(what, time.monotonic() - started)
            self._stream.write(f"\r\x1b[K{line}" if self._tty else f"{line}\n")
            self._stream.flush()
            self._printed = True
            if finished.wait(pause):
                return

    def _line(self, what: str, seconds: float) -> str:
        share = self._share or self._share_done()
        left = f", about {_duration(seconds * (1 - share) / share)} left" if share else ""
        percent = f" {share:.0%}" if share else ""
        step = f"[{min(self._done + 1, self._n_steps)}/{self._n_steps}]"
        detail = compiling() or self._detail
        return f"{step} {what}{percent}, {_duration(seconds)}{left}{detail and ': '}{detail}"


def no_progress() -> Progress:
    """Return a progress that does not print within a week."""
    return Progress(1_000_000, quiet_seconds=7 * 86_400)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
