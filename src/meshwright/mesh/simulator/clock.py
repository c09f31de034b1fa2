"""Virtual time: what happens next, in an order that a seed decides."""

import heapq
import random
from collections import deque
from collections.abc import Callable

LARGEST_DELAY = 0.004  # seconds on a pipe that is not slow


class Clock:
    """Runs callbacks in the order of their times; equal times in the order of their calls."""

    def __init__(self, seed: int) -> None:
        self.now = 0.0
        self.random = random.Random(seed)
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    def at(self, time: float, callback: Callable[[], None]) -> None:
        """Call back at a time, not before now."""
        self._count += 1
        heapq.heappush(self._queue, (max(time, self.now), self._count, callback))

    def after(self, seconds: float, callback: Callable[[], None]) -> None:
        """Call back later."""
        self.at(self.now + seconds, callback)

    def delay(self, low: float, high: float) -> float:
        """Draw a delay."""
        return self.random.uniform(low, high)

    def run(self, until: float) -> int:
        """Run everything up to a time; return how many callbacks that were."""
        count = 0
        while self._queue and self._queue[0][0] <= until:
            self.now, _, callback = heapq.heappop(self._queue)
            callback()
            count += 1
        self.now = until
        return count


class Pipe:
    """Delivers in order, each item after a drawn delay, until it is closed."""

    def __init__(self, clock: Clock, low: float = 0.0005, high: float = LARGEST_DELAY) -> None:
        self._clock = clock
        self.low, self.high = low, high
        self.is_open = True
        self.is_silent = False  # swallows everything
        self.reads: Callable[[], bool] = lambda: True  # whether the other end reads
        self._last = 0.0
        self._queue: deque[Callable[[], None]] = deque()

    def send(self, callback: Callable[[], None]) -> None:
        """Deliver by a callback, unless the pipe is closed before."""
        if not self.is_open or self.is_silent:
            return
        self._last = max(self._last, self._clock.now + self._clock.delay(self.low, self.high))
        self._queue.append(callback)
        self._clock.at(self._last, self._deliver)

    @property
    def waiting(self) -> int:
        """How many items are under way."""
        return len(self._queue)

    def _deliver(self) -> None:
        if self.is_open and not self.reads():
            self._clock.after(0.05, self._deliver)
            return
        callback = self._queue.popleft()
        if self.is_open and not self.is_silent:
            callback()

    def close(self) -> None:
        """Lose what is on its way."""
        self.is_open = False
