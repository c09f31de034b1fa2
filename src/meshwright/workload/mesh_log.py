"""The log of a mesh's planner -> RECORDS: what brokers want, and what their own clients publish.

Lines are JSON objects (docs/ingest.md). What a broker wants follows from the versions of its lines,
so files may come in any order, and a line of interests may come twice. A line becomes EVENTS, one
for each filter that came or went. `merge_events` returns fewer events that say the same, whatever
comes later: a workload that follows a log keeps what the brokers want, and no history.
"""

import re
from collections.abc import Callable
from functools import partial, reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import Window as Over
from pyspark.sql import functions as F

from meshwright.workload.mosquitto_log import BROKER, LOG_RECORDS, MESSAGES, UNNAMED, Window

OWN_TOPICS = "meshwright-verify/"  # begins those of `mesh verify`, which nobody plans for
NOT_A_LINE = "not a line of a mesh log"
LINE = (
    "time double, version array<bigint>, broker string, "
    "wants array<string>, came array<string>, went array<string>, gone boolean, "
    "took array<struct<topic: string, n: bigint, bytes: bigint>>, others bigint, ms bigint, "
    "bad string"
)
# A row is an event (`name` came or went at a version; without a name, the broker itself), a count
# of messages (`n`), the time over which messages were counted (`ms`), or a wrong line (`reason`).
EVENTS = (
    "source string, broker string, name string, wanted boolean, is_whole boolean, "
    "term long, number long, time double, n long, size long, ms long, others long, "
    "record string, reason string"
)
ROW = {  # the columns of EVENTS of which a line has many
    "name": "string",
    "wanted": "boolean",
    "n": "long",
    "size": "long",
    "ms": "long",
    "others": "long",
}
NAMES = re.findall(r"(\w+) \w+(?:, |$)", EVENTS)
_INTEREST = "reason is null and n is null and ms is null"


def mesh_events(lines: DataFrame, window: Window) -> DataFrame:
    """Return the EVENTS of lines (source, line), without those that are not asked for."""
    fields = F.from_json("line", LINE, {"columnNameOfCorruptRecord": "bad"})
    parsed = lines.withColumn("parsed", fields).select(
        "source", "line", F.is_valid_utf8("line").alias("is_text"), "parsed.*"
    )
    kinds = [F.col(name).isNotNull() for name in ("wants", "came", "went", "gone", "took")]
    good = (
        F.col("is_text")
        & F.col("bad").isNull()
        & (F.size("version") == 2)
        & F.forall("version", lambda part: part.isNotNull())
        & F.coalesce((F.col("time") >= 0) & (F.col("time") < 1e12), F.lit(False))
        & F.col("broker").isNotNull()
        & reduce(or_, kinds)
        & F.coalesce(F.col("ms") >= 0, F.col("took").isNull())
    )
    parsed = parsed.withColumn("good", F.coalesce(good, F.lit(False)))
    parsed = parsed.where(_asked(window))
    reason = F.when(~F.col("is_text"), "not valid UTF-8").otherwise(NOT_A_LINE)
    wrong = ~F.col("good")
    # All rows of a line in one array: so a line is parsed once.
    rows = (
        F.when(wrong, _rows(F.array(F.lit(0)), lambda _: {}))
        .when(F.col("took").isNotNull(), _counted())
        .otherwise(_came_and_went())
    )
    columns = {
        "source": F.when(wrong, F.col("source")),
        "broker": F.when(~wrong, F.col("broker")),
        "is_whole": (F.col("wants").isNotNull() | _is_gone()) & F.col("took").isNull() & ~wrong,
        "term": F.get("version", F.lit(0)),
        "number": F.get("version", F.lit(1)),
        "time": F.col("time"),
        "record": F.when(wrong, F.make_valid_utf8("line")),
        "reason": F.when(wrong, reason),
    }
    named = [column.alias(name) for name, column in columns.items()]
    found = parsed.select(*named, F.explode(rows).alias("row"))
    return found.select(*columns, "row.*").select(NAMES)


def _asked(window: Window) -> Column:
    """Return whether a line is asked for; one that is wrong is, since its time is unknown."""
    asked = F.lit(True)
    if window.until is not None:
        asked = asked & (F.col("time") <= window.until)
    if window.since is not None:  # older lines of interests say what was wanted then
        asked = asked & (F.col("took").isNull() | (F.col("time") >= window.since))
    return ~F.col("good") | asked


def _rows(values: Column, fields: Callable[[Column], dict[str, Column]]) -> Column:
    """Return an array of rows with the columns ROW, null where they are not given."""

    def row(value: Column) -> Column:
        given = fields(value)
        columns = [
            given.get(name, F.lit(None)).cast(kind).alias(name) for name, kind in ROW.items()
        ]
        return F.struct(*columns)

    return F.transform(values, row)


def _came_and_went() -> Column:
    """Return a row for each filter that came or went, and one of the broker itself."""
    parts = [_rows(F.array(~_is_gone()), lambda there: {"wanted": there})]
    for column, wanted in (("wants", True), ("came", True), ("went", False)):
        names = F.coalesce(F.col(column), F.array().cast("array<string>"))
        names = F.filter(names, lambda name: ~name.startswith(OWN_TOPICS))
        parts.append(_rows(names, partial(_event, wanted=wanted)))
    return F.concat(*parts)


def _is_gone() -> Column:
    return F.coalesce("gone", F.lit(False))


def _event(name: Column, *, wanted: bool) -> dict[str, Column]:
    return {"name": name, "wanted": F.lit(wanted)}


def _counted() -> Column:
    """Return a row for each topic of which messages are counted, and one for the time of it."""
    named = F.filter(
        "took",
        lambda one: (
            one["topic"].isNotNull() & (one["n"] > 0) & ~one["topic"].startswith(OWN_TOPICS)
        ),
    )
    others = F.coalesce("others", F.lit(0))
    return F.concat(
        _rows(named, lambda one: {"name": one["topic"], "n": one["n"], "size": one["bytes"]}),
        _rows(F.array("ms"), lambda ms: {"ms": ms, "others": others}),
    )


def merge_events(events: DataFrame) -> DataFrame:
    """EVENTS -> EVENTS, fewer of them: of what each broker wants now nothing is lost.

    An event counts no more when a later one says the same of the filter, or when all that its
    broker wants was said later. The order in which events are merged does not matter.
    """
    newest = _newest(events.where(_INTEREST), None)
    order, whole = F.col("newest.order"), F.col("whole")
    is_whole = F.coalesce(order == whole, F.lit(False))
    last = F.struct("newest.wanted", is_whole.alias("is_whole"), order.alias("order"))
    # Of a broker itself it is known when all that it wants was said last.
    said = F.struct(
        F.lit(None).cast("boolean").alias("wanted"),
        F.lit(True).alias("is_whole"),
        whole.alias("order"),
    )
    rows = F.when(F.col("name").isNull() & (order > whole), F.array(last, said))
    kept = newest.where("whole is null or newest.order >= whole").select(
        "broker", "name", F.explode(F.coalesce(rows, F.array(last))).alias("row")
    )
    kept = kept.select("broker", "name", "row.wanted", "row.is_whole", "row.order.*")
    counted = events.where("n is not null").groupBy("broker", "name")
    watched = events.where("ms is not null").groupBy("broker")
    parts = (
        kept,
        counted.agg(F.sum("n").alias("n"), F.sum("size").alias("size")),
        watched.agg(F.sum("ms").alias("ms"), F.sum("others").alias("others")),
    )
    found = events.where("reason is not null")
    for part in parts:
        found = found.unionByName(part, allowMissingColumns=True)
    return found.select(NAMES)


def mesh_records(events: DataFrame, window: Window) -> DataFrame:
    """EVENTS -> LOG_RECORDS: what is wanted at the end, or at some time since the window began."""
    wide = events.where("reason is not null").select("source", "record", "reason")
    interests = events.where(_INTEREST)
    brokers = _newest(interests.where("name is null"), window.since)
    gone = brokers.where(~_stands()).select("broker")
    there = events.join(gone, "broker", "left_anti")
    for part in (_wanted(_newest(interests, window.since)), *_published(there)):
        wide = wide.unionByName(part, allowMissingColumns=True)
    return wide.select([column.split()[0] for column in LOG_RECORDS.split(", ")])


def _newest(interests: DataFrame, since: float | None) -> DataFrame:
    """Return for each broker and filter, and for each broker, what was said of it.

    `newest` is the last that was said before the time asked for, `whole` when all was said last
    before it, and `later` whether the filter was wanted after it.
    """
    order, of_broker = _order(), Over.partitionBy("broker")
    timed = interests.withColumn("is_before", F.lit(True))
    if since is not None:
        begins = F.min(F.when(F.col("time") >= since, order)).over(of_broker)
        timed = interests.withColumn("begins", begins)
        is_before = F.col("begins").isNull() | (order < F.col("begins"))
        timed = timed.withColumn("is_before", is_before)
    whole = F.max(F.when(F.col("is_whole") & F.col("is_before"), order)).over(of_broker)
    said = F.when(F.col("is_before"), F.struct(order.alias("order"), "wanted"))
    later = F.when(~F.col("is_before"), F.col("wanted"))
    timed = timed.withColumn("whole", whole)
    return timed.groupBy("broker", "name").agg(
        F.max("whole").alias("whole"), F.max(said).alias("newest"), F.max(later).alias("later")
    )


def _stands() -> Column:
    """Return whether what `_newest` found of a filter, or of a broker, holds."""
    last = F.col("newest.wanted") & (
        F.col("whole").isNull() | (F.col("newest.order") >= F.col("whole"))
    )
    return F.coalesce(last, F.lit(False)) | F.coalesce("later", F.lit(False))


def _wanted(newest: DataFrame) -> DataFrame:
    """Return the subscriptions, and a note for each broker."""
    is_broker = F.col("name").isNull()
    n = F.count("name").over(Over.partitionBy("broker"))
    return newest.where(_stands()).select(
        F.col("broker").alias("node"),
        F.col("name").alias("topic"),
        F.when(~is_broker, F.lit(False)).alias("published"),
        F.when(is_broker, BROKER).alias("note"),
        F.when(is_broker, n).alias("n"),
    )


def _published(events: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Return the publications, and notes of the messages."""
    counted = events.where("n is not null").groupBy("broker", "name")
    counts = counted.agg(F.sum("n").alias("n"), F.sum("size").alias("size"))
    watched = events.where("ms is not null").groupBy("broker")
    times = watched.agg(F.sum("ms").alias("ms"), F.sum("others").alias("others"))
    n = F.col("n").cast("double")
    published = counts.join(times, "broker").select(
        F.col("broker").alias("node"),
        F.col("name").alias("topic"),
        F.lit(True).alias("published"),
        F.when(F.col("ms") > 0, F.lit(1000.0) * n / F.col("ms")).alias("rate"),
        (F.col("size") / n).alias("bytes"),
    )
    messages = counts.select(F.lit(MESSAGES).alias("note"), "n")
    others = times.select(F.lit(UNNAMED).alias("note"), F.col("others").alias("n"))
    return published, messages.union(others)


def _order() -> Column:
    """Return what a broker's lines are in the order of: their versions, then their times."""
    return F.struct("term", "number", "time")
