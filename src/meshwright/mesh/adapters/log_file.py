"""A broker's own log file: what its clients wanted before, and lines that the agent has missed."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from pathlib import Path

from meshwright.mesh.adapters.interests import Interests, is_dated, without_time

log = logging.getLogger(__name__)

AT_ONCE = 2_000  # lines that are read before others get their turn: some 10 ms


def read_log_file(interests: Interests, path: Path) -> None:
    """Learn from a broker's log file what its clients want, if it is there."""
    try:
        for line in _lines(path):
            interests.log.read(without_time(line))
    except OSError as error:
        log.warning("the broker's log '%s' cannot be read: %s", path, error.strerror)


async def catch_up(known: Interests, path: Path, line: str, client: str) -> tuple[Interests, str]:
    """Return what clients want after a line of the log file, and why that may not be all.

    Lines that were read before are read again, which changes nothing: the last line about a client
    and a filter decides. The file is used only if it has `line`, which the broker has just
    published: one that ends earlier would bring back what has ended since. It holds all that was
    missed if it has the start of an earlier connection of `client`, the agent's own.
    """
    if not is_dated(line):  # an old line could be taken for this one
        return known, f"log_file '{path}' was not used: the broker logs no times (log_timestamp)"
    connected = re.compile(rf"New client connected from \S+ as {re.escape(client)} \(")
    found = Interests()
    found.restore(known.log.state())
    found.in_doubt, found.bridges = known.in_doubt, known.bridges
    try:
        last, n_connections = 0, 0
        async for number, text in _in_turns(path):
            if text == line:
                last = number
        if not last:
            return known, f"log_file '{path}' was not used: the broker does not write to it"
        async for number, text in _in_turns(path):
            bare = without_time(text)
            n_connections += connected.match(bare) is not None
            found.log.read(bare)
            if number == last:
                break
    except OSError as error:
        return known, f"log_file '{path}' cannot be read: {error.strerror}"
    if n_connections < 2:  # beside the present one
        return found, f"log_file '{path}' begins later than the agent's connection before"
    return found, ""


async def _in_turns(path: Path) -> AsyncIterator[tuple[int, str]]:
    """Yield the numbered lines of a file, and let others have their turn."""
    numbered = enumerate(_lines(path), 1)
    while some := list(islice(numbered, AT_ONCE)):
        for each in some:
            yield each
        await asyncio.sleep(0)


def _lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            yield line.rstrip("\n")
