"""Disks: records become durable in order and a little later; a crash loses what is not."""

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

    def put(self, action: Put, done: Callable[[], None]) -> None:
        """Store a record, then call back."""
        life = self._life

        def write() -> None:
            if life == self._life:
                store = self._stores.setdefault(action.store, {})
                store.pop(action.key, None)
                store[action.key] = action.value
                done()

        self._later(action.store, write)

    def drop(self, action: Drop) -> None:
        """Remove records, a little later."""
        life = self._life

        def remove() -> None:
            if life == self._life:
                for key in action.keys:
                    self._stores.get(action.store, {}).pop(key, None)

        self._later(action.store, remove)

    def crash(self) -> None:
        """Lose what is not durable."""
        self._life += 1

    def records(self) -> Records:
        """Return what is durable."""
        return {name: list(store.items()) for name, store in self._stores.items()}

    def _later(self, store: str, callback: Callable[[], None]) -> None:
        time = self._clock.now + self._clock.delay(0.0, 0.002)
        self._last[store] = max(self._last.get(store, 0.0), time)
        self._clock.at(self._last[store], callback)
