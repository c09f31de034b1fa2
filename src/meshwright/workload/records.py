"""Sources -> RECORDS: one row per line or row read, either (node, topic) or the reason against it.

Each format is a function ``lines -> RECORDS``. Lines are read as bytes and checked for valid UTF-8
before they are parsed: Spark's own CSV and JSON readers silently replace bytes that they cannot
decode. JSON is parsed in Arrow functions, since Spark does not keep numbers as they are written.
"""

import csv
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    MapType,
    StringType,
    StructField,
    StructType,
    VariantType,
)

from meshwright.errors import InputError
from meshwright.runtime.paths import path_of
from meshwright.workload.files import Source, first_lines

RECORDS = "node string, topic string, source string, record string, reason string"
_PARSED = StructType(
    [
        StructField("source", StringType()),
        StructField("line", BinaryType()),
        *[StructField(name, StringType()) for name in ("node", "topic", "reason")],
    ]
)
Batches = Iterator[pa.RecordBatch]
SEPARATORS = {"csv": ",", "tsv": "\t"}
BOM = "\ufeff"
CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")  # all but the tab
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
    """Return (source, line) of each line not blank, without BOM and line end."""
    text = spark.read.option("lineSep", "\n").text([source.read for source in sources])
    line = F.rtrim("value", F.lit("\r"))  # byte-wise: a regular expression would repair bad UTF-8
    line = F.when(line.startswith(BOM), F.substring(line, 2, 2**31 - 1)).otherwise(line)
    frame = text.select(F.col("_metadata.file_path").alias("source"), line.alias("line"))
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
    first = first_lines(sources)
    path, header = next(iter(first.items()))
    try:
        if reading.header and CONTROL.search(header):
            raise csv.Error
        columns = next(csv.reader([header], delimiter=separator))
    except csv.Error as error:
        raise InputError(
            f"'{path}' begins with {header[:60]!r}, which is not a row of names: it holds control "
            f"characters, or a name longer than {csv.field_size_limit():,} characters. Check the "
            "file, or the --format."
        ) from error
    if not reading.header:
        columns = [str(i + 1) for i in range(len(columns))]
    for other, line in first.items():
        if reading.header and line != header:
            raise InputError(
                f"'{other}' begins with {line[:60]!r}, but '{path}' with {header[:60]!r}. "
                "Files read together need the same header; ingest them apart."
            )
    node, topic = choose_columns(columns, reading, path)
    # Parsed under plain names, as a header may hold any text; `b` takes what does not fit.
    schema = ", ".join([*(f"c{i} string" for i in range(len(columns))), "b string"])
    options = {"sep": separator, "escape": '"', "columnNameOfCorruptRecord": "b"}
    fields = F.from_csv("line", schema, options)
    quotes = F.length("line") - F.length(F.replace("line", F.lit('"'), F.lit("")))
    is_header = F.lit(reading.header) & (F.col("line") == header)
    if reading.header:
        lines = lines.where(~is_header).unionByName(_all_but_one(lines.where(is_header)))
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
    """One JSON object per line; numbers become names as they are written."""
    path, line = next(iter(first_lines(sources).items()))
    content, reason = _json_object(line)
    if reason:
        raise InputError(
            f"'{path}' begins with {line[:60]!r}, which is {reason}. "
            "JSON lines hold one object per line."
        )
    columns = choose_columns(list(content), reading, path)

    def parse(batches: Batches) -> Batches:
        for batch in batches:
            found = [_json_names(line, columns) for line in batch.column("line").to_pylist()]
            arrays = [pa.array([names[i] for names in found], pa.string()) for i in range(3)]
            yield pa.RecordBatch.from_arrays([*batch.columns, *arrays], _PARSED.names)

    raw = lines.select("source", F.col("line").cast("binary"))
    parsed = raw.mapInArrow(parse, _PARSED).withColumn("line", F.col("line").cast("string"))
    return _record(parsed, (F.col("node"), F.col("topic")), F.col("reason"))


def _json_names(line: bytes, columns: Sequence[str]) -> tuple[str | None, str | None, str | None]:
    """Return node and topic of a line of JSON, or the reason against it."""
    content, reason = _json_object(line.decode(errors="replace"))
    names = []
    for column in columns:
        name = content.get(column)
        if isinstance(name, bool):
            name = str(name).lower()
        if not isinstance(name, str):
            reason = reason or f"field {column!r} is {_NO_NAMES[type(name)]}"
        elif not name.isascii() and any("\ud800" <= c <= "\udfff" for c in name):
            reason = "not a JSON object"  # half a character
        names.append(name)
    return (None, None, reason) if reason else (names[0], names[1], None)


def _json_object(text: str) -> tuple[dict[str, Any], str | None]:
    """Return a line's object with its numbers as text, and infinity for what is too large.

    If there is no object, return the reason with an empty one.
    """
    try:
        content = _JSON.decode(text)
    except RecursionError:
        return {}, "nested too deeply"
    except ValueError:
        content = None
    return (content, None) if isinstance(content, dict) else ({}, "not a JSON object")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key twice")
    return found


def _finite(text: str) -> str | float:
    return text if math.isfinite(float(text)) else math.inf


def _no_json(text: str) -> NoReturn:
    raise ValueError(text)  # NaN and the like, which Python would take


_JSON = json.JSONDecoder(
    object_pairs_hook=_unique_keys, parse_int=str, parse_float=_finite, parse_constant=_no_json
)
_NO_NAMES = {
    type(None): "missing",
    dict: "an object",
    list: "an array",
    float: "not a finite number",
}


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
    for column in (node, topic):
        kind = frame.schema[column].dataType
        if isinstance(kind, ArrayType | MapType | StructType | VariantType):
            raise InputError(
                f"column {column!r} of '{sources[0].shown}' is {kind.simpleString()}; names are "
                "text or numbers. Choose another column with --node or --topic."
            )
    columns = [F.col(f"`{column.replace('`', '``')}`") for column in (node, topic)]
    columns += [F.col("_metadata.file_path"), F.lit(None), F.lit(None)]
    text = frame.select(*[column.cast("string") for column in columns])
    return text.toDF("node", "topic", "source", "record", "reason")


def choose_columns(columns: Sequence[str], reading: Reading, path: str) -> tuple[str, str]:
    """Return the columns of node and topic: as given, by their names, or the only two."""
    present = ", ".join(columns)[:1000]
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
