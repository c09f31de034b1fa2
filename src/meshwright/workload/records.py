"""Sources -> RECORDS: one row per line or row read, either (node, topic) or the reason against it.

Each format is a function ``lines -> RECORDS`` over Spark's built-in columns. Lines are read as
bytes and checked for valid UTF-8 before they are parsed: Spark's own CSV and JSON readers silently
replace bytes that they cannot decode.
"""

import contextlib
import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from meshwright.errors import InputError
from meshwright.runtime.paths import path_of
from meshwright.workload.files import Source

RECORDS = "node string, topic string, source string, record string, reason string"
SEPARATORS = {"csv": ",", "tsv": "\t"}
BOM = "\ufeff"
# `log_type subscribe` writes "time: client qos filter". With `log_type all` other messages stand
# between them; those that could be mistaken start with one of these words.
LOG_LINE = (
    r"^(?:[0-9][0-9T:./+ -]*: )?+"  # possessive: the words below must see past the time
    r"(?!\t|Received |Sending |New |Client |No will |Opening |Config |Saving |Socket |Warning|Error"
    r"|Bridge |Denied |Connecting |mosquitto version |Outgoing |Loading |Log |Reloading )"
    r"(.+?) ([012]) (.+)$"
)


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read the sources: the columns by name, and whether there is a header."""

    node: str | None = None
    topic: str | None = None
    header: bool = True


def read_records(
    spark: SparkSession, sources: Sequence[Source], format: str, reading: Reading
) -> DataFrame:
    """Return the RECORDS of the sources."""
    if format == "parquet":
        return _parquet(spark, sources, reading)
    lines = _lines(spark, sources)
    if format in SEPARATORS:
        return _delimited(lines, sources, SEPARATORS[format], reading)
    if format == "jsonl":
        return _json_lines(lines, sources, reading)
    if format == "edges":
        return _edges(lines)
    return _mosquitto_log(lines, sources, reading)


def source_path(sources: Sequence[Source]) -> Column:
    """Return the path of the file that a record comes from, not of a link to it."""
    path = path_of(F.col("source"))
    linked = [F.lit(text) for s in sources if s.link for text in (s.link, s.path)]
    return F.coalesce(F.create_map(*linked)[path], path) if linked else path


def _lines(spark: SparkSession, sources: Sequence[Source]) -> DataFrame:
    """Return (source, block_start, line) of each line not blank, without BOM and line end."""
    text = spark.read.option("lineSep", "\n").text([source.read for source in sources])
    line = F.rtrim("value", F.lit("\r"))  # byte-wise: a regular expression would repair bad UTF-8
    line = F.when(line.startswith(BOM), F.substring(line, 2, 2**31 - 1)).otherwise(line)
    frame = text.select(
        F.col("_metadata.file_path").alias("source"),
        F.col("_metadata.file_block_start").alias("block_start"),
        line.alias("line"),
    )
    return frame.where(F.length(F.trim("line")) > 0)


def _record(parsed: DataFrame, names: Iterable[Column], reason: Column) -> DataFrame:
    """Return RECORDS: the names of node and topic, or the line with the reason against it."""
    node, topic = names
    reason = F.when(~F.is_valid_utf8("line"), "not valid UTF-8").otherwise(reason)
    good = F.col("reason").isNull()
    return parsed.withColumn("reason", reason).select(
        F.when(good, node).alias("node"),
        F.when(good, topic).alias("topic"),
        "source",
        F.when(~good, F.make_valid_utf8("line")).alias("record"),
        "reason",
    )


def _delimited(
    lines: DataFrame, sources: Sequence[Source], separator: str, reading: Reading
) -> DataFrame:
    """CSV and TSV after RFC 4180; a quoted line break is refused, since no name may hold one."""
    first = _first_lines(lines, sources)
    header = next(iter(first.values()))
    columns = next(csv.reader([header], delimiter=separator))
    if not reading.header:
        columns = [str(i + 1) for i in range(len(columns))]
    for path, line in first.items():
        if reading.header and line != header:
            raise InputError(
                f"'{path}' begins with {line!r}, but the first file begins with {header!r}. "
                "Files read together need the same header; ingest them apart."
            )
    node, topic = choose_columns(columns, reading, next(iter(first)))
    # Parsed under plain names, as a header may hold any text; `b` takes what does not fit.
    schema = ", ".join([*(f"c{i} string" for i in range(len(columns))), "b string"])
    options = {"sep": separator, "escape": '"', "columnNameOfCorruptRecord": "b"}
    fields = F.from_csv("line", schema, options)
    quotes = F.length("line") - F.length(F.replace("line", F.lit('"'), F.lit("")))
    is_header = F.lit(reading.header) & (F.col("line") == header)
    if reading.header:
        data = lines.where(~is_header).select("source", "line")
        lines = data.unionByName(_all_but_one(lines.where(is_header)))
    parsed = lines.withColumn("fields", fields)
    reason = (
        F.when(is_header, "repeats the header")
        .when(quotes % 2 == 1, "unclosed quote")
        .when(F.col("fields.b").isNotNull(), f"wrong number of fields, {len(columns)} expected")
    )
    names = [F.col(f"fields.c{columns.index(column)}") for column in (node, topic)]
    return _record(parsed, names, reason)


def _all_but_one(headers: DataFrame) -> DataFrame:
    """Drop one header per file. They are all equal, so it does not matter which one goes."""
    per_file = headers.groupBy("source", "line").count()
    rest = F.array_repeat("line", (F.col("count") - 1).cast("int"))
    return per_file.select("source", F.explode(rest).alias("line"))


def _json_lines(lines: DataFrame, sources: Sequence[Source], reading: Reading) -> DataFrame:
    """One JSON object per line."""
    path, line = next(iter(_first_lines(lines, sources).items()))
    content = None
    with contextlib.suppress(ValueError):
        content = json.loads(line)
    if not isinstance(content, dict):
        raise InputError(
            f"'{path}' does not begin with a JSON object but with {line[:60]!r}. "
            "JSON lines hold one object per line."
        )
    node, topic = choose_columns(list(content), reading, path)
    # Parsed as a map: keys are the user's and may hold any character.
    parsed = lines.withColumn("fields", F.from_json("line", "map<string,string>"))
    # The readers stop after the first object, and let quotes, repeated keys and half characters
    # pass; `try_parse_json` is strict, and as an array's only element nothing can follow.
    alone = F.json_array_length(F.concat(F.lit("["), F.col("line"), F.lit("]"))) == 1
    strict = F.try_parse_json("line").isNotNull() & F.col("fields").isNotNull()
    whole = F.coalesce(alone & strict, F.lit(False))
    reason = F.when(~whole, "not a JSON object")
    names = {column: F.col("fields")[F.lit(column)] for column in (node, topic)}
    for column, name in names.items():
        absent = F.col("fields").isNotNull() & name.isNull()
        reason = reason.when(absent, f"field {column!r} is missing")
    return _record(parsed, names.values(), reason)


def _edges(lines: DataFrame) -> DataFrame:
    """Two names per line, white space between them; ``#`` begins a comment line."""
    data = lines.where(~F.ltrim("line").startswith("#"))
    data = data.withColumn("names", F.split(F.trim("line", F.lit(" \t")), r"[ \t]+"))
    n = F.size("names")
    reason = F.when(n != 2, F.format_string("2 names expected, got %d", n))
    return _record(data, [F.get("names", F.lit(i)) for i in (0, 1)], reason)


def _mosquitto_log(lines: DataFrame, sources: Sequence[Source], reading: Reading) -> DataFrame:
    """Mosquitto's own log: each file is a broker, each subscribe line a topic it must get.

    ``$SYS`` stays inside a broker and is left out; a shared subscription counts as its filter.
    """
    matched = lines.where(F.col("line").rlike(LOG_LINE) | ~F.is_valid_utf8("line"))
    topic = F.regexp_replace(F.regexp_extract("line", LOG_LINE, 3), r"^\$share/[^/]*/", "")
    matched = matched.withColumn("topic", topic).where(~F.col("topic").startswith("$SYS/"))
    file_name = F.regexp_extract(source_path(sources), r"([^/]*)$", 1)
    broker = F.regexp_replace(file_name, r"(\.(log|txt|gz))+$", "")
    node = F.lit(reading.node) if reading.node else broker
    return _record(matched, (node, F.col("topic")), F.lit(None).cast("string"))


def _parquet(spark: SparkSession, sources: Sequence[Source], reading: Reading) -> DataFrame:
    frame = spark.read.parquet(*[source.read for source in sources])
    node, topic = choose_columns(frame.columns, reading, sources[0].shown)
    columns = [F.col(f"`{column.replace('`', '``')}`") for column in (node, topic)]
    columns += [F.col("_metadata.file_path"), F.lit(None), F.lit(None)]
    text = frame.select(*[column.cast("string") for column in columns])
    return text.toDF("node", "topic", "source", "record", "reason")


def choose_columns(columns: Sequence[str], reading: Reading, path: str) -> tuple[str, str]:
    """Return the columns of node and topic: as given, by their names, or the only two."""
    present = ", ".join(columns)
    for option, asked in (("--node", reading.node), ("--topic", reading.topic)):
        if asked is not None and asked not in columns:
            raise InputError(f"'{path}' has no column {asked!r} ({option}); it has: {present}.")
    node = reading.node or ("node" if "node" in columns else None)
    topic = reading.topic or ("topic" if "topic" in columns else None)
    rest = [column for column in columns if column not in (node, topic)]
    if len(columns) == 2:
        node = node or rest.pop(0)
        topic = topic or rest.pop(0)
    repeated = any(columns.count(column) > 1 for column in (node, topic))
    if node is None or topic is None or node == topic or repeated:
        raise InputError(
            f"'{path}' has {len(columns)} columns ({present}); say which hold node and topic "
            "with --node and --topic."
        )
    return node, topic


def _first_lines(lines: DataFrame, sources: Sequence[Source]) -> dict[str, str]:
    """Return the first line of each file, in the order of the sources.

    `first` is safe here: a file's rows are seen in order by the one task that reads its start.
    """
    starts = lines.where("block_start = 0").groupBy(source_path(sources))
    found: dict[str, str] = dict(starts.agg(F.first("line")).collect())
    shown = {source.path: source.shown for source in sources}
    missing = [name for path, name in shown.items() if path not in found and "://" not in name]
    if missing:
        raise InputError(f"'{missing[0]}' holds no line of data. Leave it out.")
    return {shown.get(path, path): found[path] for path in sorted(found)}
