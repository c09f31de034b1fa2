"""Disks: records become durable in order and a little later; a crash loses what is not.

A disk that is full refuses some puts or all, and leaves removals for later, as the stores do. With
a put it refuses those that came after it and wait: the stores write what they gather at once.
"""

from collections.abc import Callable
from typing import Any

from meshwright.mesh.core.events import Drop, Put
from meshwright.mesh.simulator.clock import Clock

Records = dict[str, list[tuple[Any, Any]]]


class Disk:
    """The stores of one agent or planner."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._stores: dict[str, dict[tuple[Any, ...], tuple[Any, ...]]] = {}
        self._last: dict[str, float] = {}
        self._life = 0
        self._refuses: list[float] = []  # for each fault, the share of puts that it refuses
        self._n_puts = 0
        self._refused_to: dict[str, int] = {}  # by store: the last put that is refused in any case
        self._left: list[Drop] = []  # removals that a full disk did not take

    def put(self, action: Put, answer: Callable[[str | None], None]) -> None:
        """Store a record, then call back with None, or with why that failed."""
        life = self._life
        self._n_puts += 1
        number = self._n_puts

        def write() -> None:
            if life != self._life:
                return
            if number <= self._refused_to.get(action.store, 0):
                answer("no space left on device")
            elif any(self._clock.random.random() < share for share in self._refuses):
                self._refused_to[action.store] = self._n_puts
                answer("no space left on device")
            else:
                store = self._stores.setdefault(action.store, {})
                store.pop(action.key, None)
                store[action.key] = action.value
                answer(None)

        self._later(action.store, write)

    def drop(self, action: Drop) -> None:
        """Remove records, a little later."""
        life = self._life

        def remove() -> None:
            if life == self._life:
                self._left.append(action)
                self._remove()

        self._later(action.store, remove)

    def fill(self, share: float) -> None:
        """Refuse a share of the puts, until `free`."""
        self._refuses.append(share)

    def free(self, share: float) -> None:
        """Undo a `fill`."""
        self._refuses.remove(share)
        self._remove()

    def _remove(self) -> None:
        if self._refuses:
            return
        for action in self._left:
            for key in action.keys:
                self._stores.get(action.store, {}).pop(key, None)
        self._left.clear()

    def crash(self) -> None:
        """Lose what is not durable."""
        self._life += 1
        self._left.clear()

    def wipe(self) -> None:
        """Lose everything."""
        self.crash()
        self._stores.clear()

    def records(self) -> Records:
        """Return what is durable."""
        return {name: list(store.items()) for name, store in self._stores.items()}

    def _later(self, store: str, callback: Callable[[], None]) -> None:
        time = self._clock.now + self._clock.delay(0.0, 0.002)
        self._last[store] = max(self._last.get(store, 0.0), time)
        self._clock.at(self._last[store], callback)
