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
from meshwright.model.client_ids import OWN_CLIENT
from meshwright.workload.files import ROTATION, Source
from meshwright.workload.sessions import follow, topic_of

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
UNNAMED = "unnamed"  # messages of a mesh log whose topics it does not name
BROKER = "broker"  # a broker in a mesh log, with the number of filters that it wants
SKIPPED = "skipped: "
IN_DOUBT = "in doubt: "
_FOLLOWED = "source string, topic string, note string, n long"
# A row is a line of sessions (`text`), a count of messages (`n`), or a line that is no text
# (`record`); each may have the times between which it lies, if these are asked for.
LOG_ROWS = (
    "source string, part long, block long, row long, seconds double, text string, "
    "topic string, relayed boolean, n long, size long, low double, high double, record string"
)
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
    n_relayed: int = 0  # messages that bridges and agents of a mesh brought
    n_unnamed: int = 0  # messages of a mesh log whose topics it does not name
    skipped: dict[str, int] = field(default_factory=dict)  # subscriptions, by reason
    in_doubt: dict[str, int] = field(default_factory=dict)  # subscriptions that are kept
    without_time: list[str] = field(default_factory=list)  # files

    def as_dict(self) -> dict[str, Any]:
        """Return the facts for a manifest."""
        return {
            "n_messages": self.n_messages,
            "n_relayed": self.n_relayed,
            "n_unnamed": self.n_unnamed,
            "skipped": self.skipped,
            "in_doubt": self.in_doubt,
        }

    @classmethod
    def of(cls, wide: DataFrame) -> "LogFacts":
        """Return the facts that `log_records` noted."""
        facts = cls()
        noted = wide.where(F.col("note") != BROKER)
        notes = noted.groupBy("source", "note").agg(F.sum("n").alias("n"))
        for source, note, n in sorted(map(tuple, notes.collect())):
            if note == NO_TIME:
                facts.without_time.append(source)
            elif note == RELAYED:
                facts.n_relayed += n
            elif note == MESSAGES:
                facts.n_messages += n
            elif note == UNNAMED:
                facts.n_unnamed += n
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


def log_rows(lines: DataFrame, window: Window) -> DataFrame:
    """Return the LOG_ROWS of lines.

    `lines` are (source, line, block, row): the position of a line in its file, by its block and
    its row there.
    """
    timed = lines.select(
        "source",
        "block",
        "row",
        "line",
        F.is_valid_utf8("line").alias("valid"),
        seconds().alias("seconds"),
        F.regexp_replace("line", TIME, "").alias("said"),
    )
    inside = F.col("valid")
    if window.since is not None:
        inside = inside & (F.col("seconds") >= window.since)
    if window.until is not None:
        inside = inside & (F.col("seconds") <= window.until)
    client, topic, size = (F.regexp_extract("said", PUBLISH, i) for i in (1, 2, 3))
    sent = inside & F.col("said").rlike(PUBLISH) & ~topic.startswith("$SYS/")
    whole, moment = F.when(F.col("valid"), whole_log(F.col("source"))), F.col("seconds")
    columns = {
        "source": F.coalesce(whole, "source"),
        "part": part_order(F.col("source")),
        "block": F.col("block"),
        "row": F.col("row"),
        "seconds": F.when(F.col("valid"), moment),
        "text": F.when(F.col("valid") & ~F.col("said").rlike(OTHER), F.col("said")),
        "topic": F.when(sent, topic),
        "relayed": F.when(sent, client.rlike(OWN_CLIENT)),
        "n": F.when(sent, F.lit(1).cast("long")),
        "size": F.when(sent, size.try_cast("long")),
        "low": F.when(inside, moment),
        "high": F.when(inside, moment),
        "record": F.when(~F.col("valid"), F.make_valid_utf8("line")),
    }
    return timed.select(*[column.alias(name) for name, column in columns.items()])


def merge_rows(rows: DataFrame) -> DataFrame:
    """LOG_ROWS -> LOG_ROWS, fewer of them: counts of messages are added.

    Lines of sessions stay, since one that is older may still come. The order in which rows are
    merged does not matter.
    """
    counts, spans = _counted(rows)
    kept = rows.where("text is not null or record is not null")
    for part in (counts, spans):
        kept = kept.unionByName(part, allowMissingColumns=True)
    return kept.select(*[column.split()[0] for column in LOG_ROWS.split(", ")])


def log_records(rows: DataFrame, node: Column, window: Window) -> DataFrame:
    """LOG_ROWS -> LOG_RECORDS; a row with a note is a fact, not a record."""
    wide = rows.where("record is not null").select(
        "source", "record", F.lit("not valid UTF-8").alias("reason")
    )
    for part in (_sessions(rows.where("text is not null"), window), _messages(rows)):
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

    columns = timed.select("source", "part", "block", "row", "seconds", "text")
    followed = columns.groupBy("source").applyInArrow(follow_file, _FOLLOWED)
    is_will = F.col("note").isNull() & F.col("n").isNotNull()
    published = F.when(F.col("note").isNull(), is_will)
    return followed.withColumn("published", published)


def _counted(rows: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Return the messages of each log and topic, and the times between which each log lies."""
    counts = rows.where("n is not null").groupBy("source", "topic", "relayed")
    spans = rows.where("low is not null").groupBy("source")
    return (
        counts.agg(F.sum("n").alias("n"), F.sum("size").alias("size")),
        spans.agg(F.min("low").alias("low"), F.max("high").alias("high")),
    )


def _messages(rows: DataFrame) -> DataFrame:
    """Count the messages of each log and topic; those that bridges brought are only noted."""
    counts, spans = _counted(rows)
    spans = spans.select("source", (F.col("high") - F.col("low")).alias("span"))
    n = F.col("n").cast("double")
    own = (
        counts.where("not relayed")
        .join(F.broadcast(spans), "source", "left")
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
