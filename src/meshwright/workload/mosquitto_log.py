"""Mosquitto's own log -> RECORDS: each log is a broker, what its clients want and what they send.

A log is a file and its rotated parts beside it (edge.log, edge.log.1, edge.log.2.gz), read as one,
the oldest first. Lines of sessions are followed log by log (`sessions.py`). Messages need no order:
they are counted per topic, and their rate is over the time between the first and the last line of
the log. Without times that can be read, or with one time only, the rate is unknown.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from meshwright.errors import InputError
from meshwright.workload.files import ROTATION, Source
from meshwright.workload.sessions import BRIDGE_CLIENT, follow, topic_of

# The time in front of a line: seconds since 1970, or as log_timestamp_format writes it.
TIME = r"^(?:[0-9][0-9TZ:./,+ -]*: )?+"  # possessive: what follows must see past the time
SECONDS = r"^([0-9]{1,12}(?:\.[0-9]+)?): "
DATE = (
    r"^([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,6})?)"
    r" ?(Z|[+-][0-9]{2}:?[0-9]{2})?: "
)
PUBLISH = (
    r"^Received PUBLISH from (.*?) \(d[01], q[0-2], r[01], m[0-9]+, '(.*)', "
    r"\.\.\. \(([0-9]+) bytes\)\)$"
)
# Lines that say nothing about sessions; most of a log.
OTHER = (
    r"^(?:(?:Received|Sending) (?:PUBLISH|PUBACK|PUBREC|PUBREL|PUBCOMP|PINGREQ|PINGRESP|DISCONNECT)"
    r"|New connection from|No will message)"
)
PART = rf"(\.(?:log|txt)){ROTATION}$"  # groups: the ending, a number or a date
ENDINGS = r"(\.(log|txt|gz))+$"  # of a log's file name, after the broker's
CURRENT = 10**15  # comes after every rotated part; dates have 14 digits
NO_TIME = "no time"  # notes of a log
RELAYED = "relayed"
MESSAGES = "messages"
SKIPPED = "skipped: "
IN_DOUBT = "in doubt: "
_FOLLOWED = "source string, topic string, note string, n long"
LOG_RECORDS = (
    "node string, topic string, source string, record string, reason string, "
    "published boolean, rate double, bytes double, note string, n long"
)


class Window(NamedTuple):
    """The time asked for, in seconds since 1970; None is open."""

    since: float | None = None
    until: float | None = None

    @classmethod
    def of(cls, since: str | None, until: str | None, at: str | None) -> "Window":
        """Return the window of the options; raise InputError if there is none."""
        if at is not None and (since is not None or until is not None):
            raise InputError("--at is one moment; leave out --since and --until.")
        window = cls(_moment("since", since), _moment("until" if at is None else "at", at or until))
        if window.since is not None and window.until is not None and window.since > window.until:
            raise InputError(f"--since {since} is later than --until {until}. Swap them.")
        return window


ALWAYS = Window()


def _moment(option: str, text: str | None) -> float | None:
    """Return the seconds since 1970 of a time as users write it; without a zone it is UTC."""
    if text is None:
        return None
    if re.fullmatch(r"[0-9]{1,12}(\.[0-9]+)?", text):
        return float(text)
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise InputError(
            f"--{option} is {text[:40]!r}; write a time like 2026-11-18T09:30:00, a day like "
            "2026-11-18, or seconds since 1970."
        ) from error
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


@dataclass(slots=True)
class LogFacts:
    """What was found in logs beside the records."""

    n_messages: int = 0
    n_relayed: int = 0  # messages that bridges of a mesh brought
    skipped: dict[str, int] = field(default_factory=dict)  # subscriptions, by reason
    in_doubt: dict[str, int] = field(default_factory=dict)  # subscriptions that are kept
    without_time: list[str] = field(default_factory=list)  # files

    def as_dict(self) -> dict[str, Any]:
        """Return the facts for a manifest."""
        return {
            "n_messages": self.n_messages,
            "n_relayed": self.n_relayed,
            "skipped": self.skipped,
            "in_doubt": self.in_doubt,
        }

    @classmethod
    def of(cls, wide: DataFrame) -> "LogFacts":
        """Return the facts that `log_records` noted."""
        facts = cls()
        notes = wide.where("note is not null").groupBy("source", "note").agg(F.sum("n").alias("n"))
        for source, note, n in sorted(map(tuple, notes.collect())):
            if note == NO_TIME:
                facts.without_time.append(source)
            elif note == RELAYED:
                facts.n_relayed += n
            elif note == MESSAGES:
                facts.n_messages += n
            else:
                group = facts.skipped if note.startswith(SKIPPED) else facts.in_doubt
                reason = note.removeprefix(SKIPPED).removeprefix(IN_DOUBT)
                group[reason] = group.get(reason, 0) + n
        return facts


def in_words(counts: Mapping[str, int]) -> str:
    """Return counts by reason as text."""
    return "; ".join(f"{n:,} {reason}" for reason, n in sorted(counts.items()))


def broker_name(path: Column) -> Column:
    """Return the name of the broker whose log is at a path."""
    file_name = F.regexp_extract(path, r"([^/]*)$", 1)
    return F.regexp_replace(whole_log(file_name), ENDINGS, "")


def whole_log(path: Column) -> Column:
    """Return the path of a log, the same for all of its parts."""
    return F.regexp_replace(path, PART, "$1")


def whole_path(path: str) -> str:
    """Return the path of a log, as `whole_log` does, for a path in this process."""
    return re.sub(PART, r"\1", path)


def part_order(path: Column) -> Column:
    """Return a number by which the parts of a log are sorted, the oldest first."""
    number, date = (F.regexp_extract(path, PART, i) for i in (2, 3))
    digits = F.rpad(F.regexp_replace(date, "[^0-9]", ""), 14, "0")
    return (
        F.when(F.length(number) > 0, -number.try_cast("long"))
        .when(F.length(date) > 0, digits.try_cast("long"))
        .otherwise(F.lit(CURRENT))
    )


def broker_names(paths: Iterable[str], node: str | None) -> list[str]:
    """Return the names of the brokers whose logs are at some paths; `node` is the one if given."""
    names = (re.sub(ENDINGS, "", whole_path(path.rpartition("/")[2])) for path in paths)
    return [node] if node else sorted(set(names))


def log_records(lines: DataFrame, node: Column, window: Window) -> DataFrame:
    """Return RECORDS with (note, n) besides; a row with a note is a fact, not a record.

    `lines` are (source, line, block, row): the position of a line in its file, by its block and
    its row there.
    """
    text = F.regexp_replace("line", TIME, "")
    valid = lines.where(F.is_valid_utf8("line"))
    timed = valid.select(
        whole_log(F.col("source")).alias("source"),
        part_order(F.col("source")).alias("part"),
        "block",
        "row",
        seconds().alias("seconds"),
        text.alias("text"),
    )
    wrong = lines.where(~F.is_valid_utf8("line")).select(
        "source",
        F.make_valid_utf8("line").alias("record"),
        F.lit("not valid UTF-8").alias("reason"),
    )
    wide = wrong
    for part in (_sessions(timed, window), _messages(timed, window)):
        wide = wide.unionByName(part, allowMissingColumns=True)
    wide = wide.withColumn("node", F.when(F.col("note").isNull() & F.col("reason").isNull(), node))
    names = [column.split()[0] for column in LOG_RECORDS.split(", ")]
    return wide.select(*names)


def seconds() -> Column:
    """Return the time in front of a line, in seconds since 1970; null if it cannot be read."""
    plain = F.regexp_extract("line", SECONDS, 1)
    day, time, zone = (F.regexp_extract("line", DATE, i) for i in (1, 2, 3))
    zone = F.regexp_replace(zone, r"^([+-][0-9]{2})([0-9]{2})$", "$1:$2")
    zone = F.when(F.length(zone) > 0, zone).otherwise("Z")
    moment = F.try_to_timestamp(
        F.concat(day, F.lit("T"), F.replace(time, F.lit(","), F.lit(".")), zone)
    )
    return F.coalesce(
        F.when(F.length(plain) > 0, plain.try_cast("double")),
        F.when(F.length(day) > 0, moment.cast("double")),
    )


def _sessions(timed: DataFrame, window: Window) -> DataFrame:
    """Follow the sessions of each log; return what its clients want, their wills, and notes."""
    since, until = window
    windowed = window != ALWAYS

    def follow_file(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        table = table.sort_by([(name, "ascending") for name in ("part", "block", "row")])
        times, texts = table.column("seconds").to_pylist(), table.column("text").to_pylist()
        found = follow(zip(times, texts, strict=True), since, until)
        rows: list[tuple[str | None, str | None, int | None]] = []
        rows += [(topic_of(name), None, None) for _, name in found.wanted]
        for topic in found.wills:
            if topic_of(topic) is not None:
                rows.append((topic, None, 1))  # n: a publication
        rows += [(None, SKIPPED + reason, n) for reason, n in found.skipped.items() if n]
        rows += [(None, IN_DOUBT + reason, n) for reason, n in found.in_doubt.items()]
        if windowed and all(time is None for time in times):
            rows.append((None, NO_TIME, len(times)))
        topics, notes, counts = zip(*rows, strict=True) if rows else ((), (), ())
        columns = {"source": [key[0].as_py()] * len(rows), "topic": topics, "note": notes}
        texts = {name: pa.array(column, pa.string()) for name, column in columns.items()}
        return pa.table({**texts, "n": pa.array(counts, pa.int64())})

    of_sessions = timed.where(~F.col("text").rlike(OTHER))
    followed = of_sessions.groupBy("source").applyInArrow(follow_file, _FOLLOWED)
    is_will = F.col("note").isNull() & F.col("n").isNotNull()
    published = F.when(F.col("note").isNull(), is_will)
    return followed.withColumn("published", published)


def _messages(timed: DataFrame, window: Window) -> DataFrame:
    """Count the messages of each log and topic; those that bridges brought are only noted."""
    if window.since is not None:
        timed = timed.where(F.col("seconds") >= window.since)
    if window.until is not None:
        timed = timed.where(F.col("seconds") <= window.until)
    span = timed.groupBy("source").agg((F.max("seconds") - F.min("seconds")).alias("span"))
    client, topic, size = (F.regexp_extract("text", PUBLISH, i) for i in (1, 2, 3))
    sent = timed.where(F.col("text").rlike(PUBLISH)).select(
        "source",
        topic.alias("topic"),
        size.try_cast("long").alias("size"),
        client.rlike(BRIDGE_CLIENT).alias("relayed"),
    )
    sent = sent.where(~F.col("topic").startswith("$SYS/"))
    counts = sent.groupBy("source", "topic", "relayed").agg(
        F.count(F.lit(1)).alias("n"), F.sum("size").alias("size")
    )
    n = F.col("n").cast("double")
    own = (
        counts.where("not relayed")
        .join(F.broadcast(span), "source")
        .select(
            "source",
            "topic",
            F.lit(True).alias("published"),
            F.when(F.col("span") > 0, n / F.col("span")).alias("rate"),
            (F.col("size") / n).alias("bytes"),
        )
    )
    note = F.when(F.col("relayed"), RELAYED).otherwise(MESSAGES)
    notes = counts.groupBy("source", note.alias("note")).agg(F.sum("n").alias("n"))
    return own.unionByName(notes, allowMissingColumns=True)


def refuse_untimed(facts: LogFacts, sources: Sequence[Source]) -> None:
    """Raise InputError if a time was asked for, and a log has none."""
    if facts.without_time:
        named = {Path(source.link or source.path).name: source.shown for source in sources}
        found = [unquote(path.rpartition("/")[2]) for path in facts.without_time[:3]]
        first = ", ".join(f"'{named.get(name, name)}'" for name in found)
        raise InputError(
            f"{first} has no times that can be read, so --since, --until and --at cannot be "
            "answered. Set `log_timestamp_format %Y-%m-%dT%H:%M:%S` in mosquitto.conf, or leave "
            "them out."
        )
