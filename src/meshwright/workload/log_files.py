"""Mosquitto's logs read in this process: what the clients of each broker want at their end.

`ingest` reads the same logs on Spark, messages included; this needs no JVM, and cron can run it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from meshwright.runtime.progress import Progress
from meshwright.workload.files import Source, unpacked
from meshwright.workload.mosquitto_log import CURRENT, OTHER, PART, TIME, broker_names, whole_path
from meshwright.workload.sessions import STARTING, BrokerLog, topic_of

EVERY = 4_096  # lines between two reports of progress
_TIME, _OTHER, _PART = re.compile(TIME), re.compile(OTHER), re.compile(PART)


@dataclass(slots=True)
class LogInterests:
    """What the log of one broker says."""

    wanted: set[str] = field(default_factory=set)  # filters that the broker must get
    in_doubt: Counter[str] = field(default_factory=Counter)  # of them, by what the log leaves open
    n_lines: int = 0
    n_unreadable: int = 0  # lines that are not valid UTF-8
    from_start: bool = False  # the log goes back to a start of the broker

    def joined(self, other: "LogInterests") -> "LogInterests":
        """Return what two logs of one broker say."""
        return LogInterests(
            self.wanted | other.wanted,
            self.in_doubt + other.in_doubt,
            self.n_lines + other.n_lines,
            self.n_unreadable + other.n_unreadable,
            self.from_start and other.from_start,
        )


def follow_logs(sources: Sequence[Source], progress: Progress) -> dict[str, LogInterests]:
    """Return what each log says at its end, by the name of its broker.

    A log and its rotated parts are read as one, the oldest first. Logs of one name in several
    directories are those of one broker.
    """
    logs: dict[str, list[Source]] = {}
    for source in sources:
        logs.setdefault(whole_path(source.path), []).append(source)
    found: dict[str, LogInterests] = {}
    for i, (path, parts) in enumerate(sorted(logs.items())):
        (name,) = broker_names([path], None)
        facts, log = LogInterests(), BrokerLog()
        for text in _lines(sorted(parts, key=_age), facts):
            if not _OTHER.match(text):
                facts.from_start |= STARTING.match(text) is not None
                log.read(text)
            if facts.n_lines % EVERY == 0:
                progress.update(i / len(logs), f"{facts.n_lines:,} lines of {name}")
        result = log.result()
        topics = (topic_of(pattern) for _, pattern in result.wanted)
        facts.wanted = {topic for topic in topics if topic is not None}
        facts.in_doubt = result.in_doubt
        found[name] = found[name].joined(facts) if name in found else facts
    return found


def _lines(parts: Sequence[Source], facts: LogInterests) -> Iterator[str]:
    """Yield the lines of a log without their times."""
    for part in parts:
        with unpacked(part) as (file, _):
            for line in file:
                facts.n_lines += 1
                try:
                    text = line.rstrip(b"\r\n").decode()
                except UnicodeDecodeError:
                    facts.n_unreadable += 1
                    continue
                yield _TIME.sub("", text, count=1)


def _age(part: Source) -> int:
    """Return a number by which the parts of a log are sorted, as `part_order` does on Spark."""
    match = _PART.search(part.path)
    if match is None:
        return CURRENT
    if match[2]:
        return -int(match[2])
    return int(re.sub("[^0-9]", "", match[3]).ljust(14, "0")[:14])
