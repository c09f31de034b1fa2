"""Any broker: what its clients want stands in a file, which is watched.

For brokers that do not tell what their clients subscribe to. The file has one topic filter on each
line; empty lines and those that begin with ``# `` (with the space: ``#`` alone is a filter) are
left out. It is read again when it changes. A file that cannot be used is noted, and what was wanted
before is kept.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from meshwright.errors import InputError, check_choice
from meshwright.mesh.adapters.adapter import Adapter, Capabilities, Surroundings, Teller
from meshwright.mesh.adapters.copies import n_copies
from meshwright.mesh.shell.mqtt import PROTOCOLS
from meshwright.patterns.filters import topic_error

FILE = "interests.txt"
EVERY = 0.25  # seconds between two looks at the file
TEXT = """\
# What the clients of this broker want from other brokers: one topic filter
# on each line. Lines that begin with "# " are comments. The agent reads the
# file again when it changes. With the next line `meshwright mesh verify`
# sends numbered messages here, too:
meshwright-verify/#
"""


class Declared:
    """Follows a file of interests."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._file = around.place / FILE
        self._seen: tuple[int, int, int] | None = None
        self._teller = Teller(around.deliver)
        self.remedy = f"write its clients' topic filters to '{self._file}', one on each line"

    async def check(self) -> None:
        """Refuse a broker of MQTT 3.1.1 that sends a message once for each matching filter."""
        if self._around.endpoint.login.protocol == "5":
            return  # subscriptions have identifiers, which tell copies apart
        if await n_copies(self._around.endpoint.of("copies")) > 1:
            raise InputError(
                "the broker sends a message once for each matching filter of a session, and MQTT "
                '3.1.1 cannot tell such copies apart. Set protocol = "5" in agent.toml if the '
                "broker speaks MQTT 5, or switch overlapping deliveries off at the broker."
            )

    async def run(self) -> None:
        """Look at the file again and again."""
        while True:
            self.look()
            await asyncio.sleep(EVERY)

    def look(self) -> None:
        """Read the file if it has changed, and tell the core what changed."""
        try:
            facts = self._file.stat()
            seen = (facts.st_mtime_ns, facts.st_size, facts.st_ino)
            if seen == self._seen:
                return
            self._seen = seen
            wanted = read_interests(self._file)
        except OSError as error:
            if self._seen != (0, 0, 0):
                self._seen = (0, 0, 0)
                words = f"'{self._file}' cannot be read: {error.strerror}"
                self._around.note("interests_unreadable", words)
            return
        except InputError as error:
            self._around.note("interests_unreadable", str(error))
            return
        self._teller.tell(wanted)

    def close(self) -> None:
        """Nothing is open."""

    @property
    def is_following(self) -> bool:
        """Whether the file could be read."""
        return self._teller.has_told

    def wanted(self) -> set[str]:
        """Return the filters of the file."""
        return self._teller.wanted

    def doubts(self) -> Mapping[str, int]:
        """Return nothing: what is declared counts."""
        return {}


def read_interests(path: Path) -> set[str]:
    """Return the filters of a file; raise InputError with all problems, or OSError."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"'{path}' is not UTF-8 text: {error.reason}.") from error
    names = {
        number: text
        for number, line in enumerate(lines, start=1)
        if (text := line.rstrip("\r")) and not text.startswith("# ")
    }
    wrong = [
        f"line {number}: {name!r} {reason}"
        for number, name in names.items()
        if (reason := topic_error(name) or ("begins with '$'" if name[0] == "$" else None))
    ]
    if wrong:
        more = f" and {len(wrong) - 1} more" if wrong[1:] else ""
        raise InputError(f"'{path}', {wrong[0]}{more}; what was wanted before is kept.")
    return set(names.values())


def capabilities(broker: Mapping[str, Any]) -> Capabilities:
    """Return what a broker of the given protocol must be able to do."""
    protocol = broker.get("protocol") or "5"
    check_choice("protocol", protocol, PROTOCOLS)
    if protocol == "5":
        return Capabilities(live=False)
    # QoS 1: with QoS 2 a message comes back after later ones, and the echo filter goes by order.
    return Capabilities(
        protocol=protocol, live=False, no_local=False, qos=1, retain_as_published=False, window=20
    )


DECLARED = Adapter(
    "any broker, interests by a file",
    capabilities,
    Declared,
    {FILE: TEXT},
    f"write the topic filters that clients of the broker want to {FILE}",
    ("protocol",),
)
