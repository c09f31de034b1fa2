"""The time that compiling takes: kernels are compiled when first called, and kept on disk.

That happens once after an install and is no part of what a design takes, so `Stopwatch` leaves it
out, and progress says what one is waiting for. Numba itself is imported when a watch is started.
"""

from __future__ import annotations

import time


class _Watch:
    """Take note of when Numba compiles. Its compiler holds one lock, so calls never overlap."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.depth = 0  # a kernel that calls others has them compiled within its own turn
        self.listening = False
        self._since = 0.0

    def listen(self) -> None:
        if self.listening:
            return
        from numba.core.event import Listener, register

        watch = self

        class Compiled(Listener):
            def on_start(self, event: object) -> None:  # noqa: ARG002
                watch.begin()

            def on_end(self, event: object) -> None:  # noqa: ARG002
                watch.end()

        register("numba:compile", Compiled())
        self.listening = True

    def begin(self) -> None:
        if self.depth == 0:
            self._since = time.perf_counter()
        self.depth += 1

    def end(self) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.seconds += time.perf_counter() - self._since


_watch = _Watch()


def compiling() -> bool:
    """Return whether a kernel is being compiled, as far as a stopwatch was started before."""
    return _watch.depth > 0


class Stopwatch:
    """Seconds by the clock since it was made, without the compiling of kernels."""

    def __init__(self) -> None:
        _watch.listen()
        self._compiled = _watch.seconds
        self._started = time.perf_counter()

    @property
    def seconds(self) -> float:
        """The seconds so far."""
        return time.perf_counter() - self._started - (_watch.seconds - self._compiled)
