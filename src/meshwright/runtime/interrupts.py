"""Signals that end a command: one handler, from the first instruction of the command to its last.

`raise_on` makes a signal an exception. Code that must not be cut in two, such as starting a process
and recording it, runs in `held`: what comes meanwhile is raised when the outermost block ends, or
inside it in a block of `let_in`. Without `raise_on` and in other threads all this does nothing.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

MESSAGE = "interrupted; no incomplete result was left behind."
EXIT_CODE = 130

_actions: list[Callable[[], object]] = []
_waiting: list[int] = []  # signals that came while they were held
_held = False
_interrupted = False  # whether KeyboardInterrupt was raised, also if a library has swallowed it


def raise_on(*numbers: int) -> None:
    """Make signals raise KeyboardInterrupt (SIGINT) or SystemExit, unless they are ignored."""
    for number in numbers:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup and `&` in scripts do
            signal.signal(number, _handle)


def came() -> bool:
    """Return whether an interrupt was raised: what fails after it may not say so itself."""
    return _interrupted


def before_raising(action: Callable[[], object]) -> None:
    """Call an action before a signal raises: to end what the command may be waiting for."""
    _actions.append(action)


@contextmanager
def held() -> Iterator[None]:
    """Hold signals back until the block ends."""
    with _set(True):
        yield
    _raise_waiting()


@contextmanager
def let_in() -> Iterator[None]:
    """Let signals in for a block inside one that holds them."""
    with _set(False):
        _raise_waiting()
        yield


@contextmanager
def _set(value: bool) -> Iterator[None]:
    global _held
    before, _held = _held, value
    try:
        yield
    finally:
        _held = before


def _handle(number: int, _frame: object) -> None:
    _waiting.append(number)
    _raise_waiting()


def _raise_waiting() -> None:
    global _interrupted
    if _held or not _waiting:
        return
    number = _waiting[0]
    _waiting.clear()
    _interrupted = _interrupted or number == signal.SIGINT
    for action in _actions:
        action()
    raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)
