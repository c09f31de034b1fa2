"""The puts of one store: they count in their order, and what the disk refuses is put again.

A put fails when the disk is full or broken. It is then tried again every second, and what comes
after it waits, in memory. So whatever waits for a put may rely on all puts of the store before it,
and a full disk delays what depends on it instead of making it unsafe.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

Key = tuple[Any, ...]
Then = Callable[[], None]
AGAIN_AFTER = 1.0  # seconds until a disk that refused is asked again, with one put


class _Write:
    """A put that does not count yet."""

    __slots__ = ("is_done", "is_dropped", "is_under_way", "key", "then", "value")

    def __init__(self, key: Key | None, value: Key, then: Then | None) -> None:
        self.key = key  # None: only waits for the puts before it
        self.value = value
        self.then = then
        self.is_done = key is None
        self.is_under_way = False
        self.is_dropped = False  # meanwhile: then it need not be put again


class Writes:
    """The puts of one store that do not count yet, in their order.

    Parameters
    ----------
    issue
        Puts a record; the callback that it is given gets None, or why that failed.
    failed
        Is told why a put failed.
    wake
        Asks for a call of `retry` some seconds from now.
    """

    def __init__(
        self,
        issue: Callable[[Key, Key, Callable[[str | None], None]], None],
        failed: Callable[[str], None],
        wake: Callable[[float], None],
    ) -> None:
        self._issue, self._failed, self._wake = issue, failed, wake
        self._writes: deque[_Write] = deque()
        self._of_key: dict[Key, list[_Write]] = {}
        self._n_under_way = 0
        self._is_refused = False  # since the disk refused one, until it takes that one
        self._is_calling = False

    def put(self, key: Key, value: Key, then: Then | None) -> None:
        """Put a record; `then` is called when it and all before it are stored."""
        write = _Write(key, value, then)
        self._writes.append(write)
        self._of_key.setdefault(key, []).append(write)
        if not self._is_refused:
            self._send(write)

    def after(self, then: Then) -> None:
        """Call `then` when all puts so far are stored."""
        self._writes.append(_Write(None, (), then))
        self._count()

    def drop(self, key: Key) -> None:
        """Note that a record is not needed any more: what of it was refused is not put again."""
        for write in self._of_key.get(key, ()):
            write.is_dropped = True
            if not write.is_under_way:
                write.is_done = True
        self._count()

    def retry(self) -> None:
        """Ask the disk again, with the first put that it refused."""
        if self._n_under_way:
            self._wake(AGAIN_AFTER)
            return
        first = next((write for write in self._writes if not write.is_done), None)
        if first is None:
            self._is_refused = False
        else:
            self._send(first)

    def _send(self, write: _Write) -> None:
        assert write.key is not None
        write.is_under_way = True
        self._n_under_way += 1
        was_refused = self._is_refused
        answer = lambda failure: self._answered(write, failure, was_refused)  # noqa: E731
        self._issue(write.key, write.value, answer)

    def _answered(self, write: _Write, failure: str | None, is_retry: bool) -> None:
        write.is_under_way = False
        self._n_under_way -= 1
        if failure is not None:
            self._failed(failure)
            write.is_done = write.is_dropped
            if is_retry or not self._is_refused:
                self._is_refused = True
                self._wake(AGAIN_AFTER)
        elif is_retry:
            write.is_done, self._is_refused = True, False
            for waiting in self._writes:
                if not waiting.is_done:
                    self._send(waiting)
        else:  # one before it may have been refused: then it is put again, after that one
            write.is_done = write.is_dropped or not self._is_refused
        self._count()

    def _count(self) -> None:
        """Go on with what is stored, in order."""
        if self._is_calling:
            return
        self._is_calling = True
        while self._writes and self._writes[0].is_done:
            write = self._writes.popleft()
            if write.key is not None:
                same = self._of_key[write.key]
                same.remove(write)
                if not same:
                    del self._of_key[write.key]
            if write.then is not None:
                write.then()
        self._is_calling = False
