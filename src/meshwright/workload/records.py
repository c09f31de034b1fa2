"""Sources -> RECORDS: one row per line or row read, either (node, topic) or the reason against it.

A record is a subscription, or a publication with rate and bytes where they are known (`roles.py`).

Each format is a function ``lines -> RECORDS``. Lines are read as bytes and checked for valid UTF-8
before they are parsed: Spark's own CSV and JSON readers silently replace bytes that they cannot
decode. JSON is parsed in Arrow functions, since Spark does not keep numbers as they are written.
"""

import csv
import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, types
from pyspark.sql import functions as F

from meshwright.errors import InputError
from meshwright.workload import logs
from meshwright.workload.files import LOGS, MAX_LINE, Source, first_lines, parquet_columns
from meshwright.workload.lines import read_lines
from meshwright.workload.mosquitto_log import ALWAYS, Window
from meshwright.workload.roles import Facts, Fields, read_facts

RECORDS = (
    "node string, topic string, source string, record string, reason string, "
    "published boolean, rate double, bytes double"
)
FIELDS = ("node", "topic", "role", "rate", "bytes")
_PARSED = types.StructType(
    [
        types.StructField("source", types.StringType()),
        types.StructField("line", types.BinaryType()),
        *[types.StructField(name, types.StringType()) for name in (*FIELDS, "reason")],
    ]
)
Batches = Iterator[pa.RecordBatch]
SEPARATORS = {"csv": ",", "tsv": "\t"}
CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")  # all but the tab


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read the sources: the columns by name, whether there is a header, long lines."""

    node: str | None = None
    topic: str | None = None
    header: bool = True
    max_line: int = MAX_LINE
    role: str | None = None
    rate: str | None = None
    bytes: str | None = None
    publishes: bool = False  # every row is a publication
    window: Window = ALWAYS  # of a log


class Columns(NamedTuple):
    """The columns to read, by name; None if there is no such column."""

    node: str
    topic: str
    role: str | None = None
    rate: str | None = None
    bytes: str | None = None


def read_records(
    spark: SparkSession, sources: Sequence[Source], format: str, reading: Reading
) -> DataFrame:
    """Return the RECORDS of the sources; of logs LOG_RECORDS."""
    if format == "parquet":
        return _parquet(spark, sources, reading)
    lines = read_lines(spark, sources, placed=format in LOGS)
    if format in SEPARATORS:
        return _delimited(lines, sources, SEPARATORS[format], reading)
    if format == "jsonl":
        return _json_lines(lines, sources, reading)
    if format == "edges":
        return _edges(lines)
    rows = logs.rows_of(lines, format, reading.window)
    return logs.records_of(rows, sources, format, reading.node, reading.window)


def check_columns(sources: Sequence[Source], format: str, reading: Reading) -> None:
    """Raise InputError if the files do not have the columns to read; this needs no Spark."""
    if format in SEPARATORS:
        _header(sources, SEPARATORS[format], reading)
    elif format == "jsonl":
        _json_columns(sources, reading)
    elif format == "parquet":
        choose_columns(parquet_columns(sources[0]), reading, sources[0].shown)


def _record(parsed: DataFrame, fields: Fields, reason: Column) -> DataFrame:
    """Return RECORDS: the names of node and topic, or the line with the reason against it."""
    facts = read_facts(fields)
    invalid = F.when(~F.is_valid_utf8("line"), "not valid UTF-8")
    good = F.col("reason").isNull()
    return parsed.withColumn("reason", F.coalesce(invalid, reason, facts.reason)).select(
        F.when(good, fields.node).alias("node"),
        F.when(good, fields.topic).alias("topic"),
        "source",
        F.when(~good, F.make_valid_utf8("line")).alias("record"),
        "reason",
        *_published(facts, good),
    )


def _published(facts: Facts, good: Column) -> list[Column]:
    """Return the columns of RECORDS that make a record a publication."""
    values = {"published": facts.published, "rate": facts.rate, "bytes": facts.bytes}
    return [F.when(good, value).alias(name) for name, value in values.items()]


def _delimited(
    lines: DataFrame, sources: Sequence[Source], separator: str, reading: Reading
) -> DataFrame:
    """CSV and TSV after RFC 4180; a quoted line break is refused, since no name may hold one."""
    header, columns, chosen = _header(sources, separator, reading)
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
    texts = {
        name: F.col(f"fields.c{columns.index(column)}")
        for name, column in chosen._asdict().items()
        if column is not None
    }
    return _record(parsed, Fields(**texts, publishes=reading.publishes), reason)


def _header(
    sources: Sequence[Source], separator: str, reading: Reading
) -> tuple[str, list[str], Columns]:
    """Return the first line, the columns that it names, and those to read."""
    first = first_lines(sources, reading.max_line)
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
    return header, columns, choose_columns(columns, reading, path)


def _all_but_one(headers: DataFrame) -> DataFrame:
    """Drop one header per file. They are all equal, so it does not matter which one goes."""
    per_file = headers.groupBy("source", "line").count()
    rest = F.array_repeat("line", (F.col("count") - 1).cast("int"))
    return per_file.select("source", F.explode(rest).alias("line"))


def _json_lines(lines: DataFrame, sources: Sequence[Source], reading: Reading) -> DataFrame:
    """One JSON object per line; numbers become names as they are written."""
    columns = _json_columns(sources, reading)

    def parse(batches: Batches) -> Batches:
        for batch in batches:
            found = [_json_texts(line, columns) for line in batch.column("line").to_pylist()]
            arrays = [pa.array(texts, pa.string()) for texts in zip(*found, strict=True)]
            yield pa.RecordBatch.from_arrays([*batch.columns, *arrays], _PARSED.names)

    raw = lines.select("source", F.col("line").cast("binary"))
    parsed = raw.mapInArrow(parse, _PARSED).withColumn("line", F.col("line").cast("string"))
    texts = {name: F.col(name) for name, column in columns._asdict().items() if column is not None}
    return _record(parsed, Fields(**texts, publishes=reading.publishes), F.col("reason"))


def _json_columns(sources: Sequence[Source], reading: Reading) -> Columns:
    """Return the fields to read, as the first object has them."""
    path, line = next(iter(first_lines(sources[:1], reading.max_line).items()))
    content, reason = _json_object(line)
    if reason:
        raise InputError(
            f"'{path}' begins with {line[:60]!r}, which is {reason}. "
            "JSON lines hold one object per line."
        )
    return choose_columns(list(content), reading, path)


def _json_texts(line: bytes, columns: Columns) -> tuple[str | None, ...]:
    """Return the FIELDS of a line of JSON as text, and the reason against it or None."""
    content, reason = _json_object(line.decode(errors="replace"))
    texts: list[str | None] = []
    for name, column in columns._asdict().items():
        text = content.get(column) if column is not None else None
        if isinstance(text, bool):
            text = str(text).lower()
        if text is None and name in ("role", "rate", "bytes"):
            pass  # said later, or nothing is wrong
        elif not isinstance(text, str):
            reason = reason or f"field {column!r} is {_NO_NAMES[type(text)]}"
        elif not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
            reason = "not a JSON object"  # half a character
        texts.append(text)
    return (*[None] * len(FIELDS), reason) if reason else (*texts, None)


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
    return _record(data, Fields(F.get("names", F.lit(0)), F.get("names", F.lit(1))), reason)


def _parquet(spark: SparkSession, sources: Sequence[Source], reading: Reading) -> DataFrame:
    frame = spark.read.parquet(*[source.read for source in sources])
    columns = choose_columns(frame.columns, reading, sources[0].shown)
    texts = {}
    for name, column in columns._asdict().items():
        if column is None:
            continue
        kind = frame.schema[column].dataType
        if isinstance(kind, types.ArrayType | types.MapType | types.StructType | types.VariantType):
            raise InputError(
                f"column {column!r} of '{sources[0].shown}' is {kind.simpleString()}; names are "
                f"text or numbers. Choose another column with --{name}."
            )
        texts[name] = F.col(f"`{column.replace('`', '``')}`").cast("string")
    facts = read_facts(Fields(**texts, publishes=reading.publishes))
    good = facts.reason.isNull()
    row = F.struct(*[F.make_valid_utf8(text).alias(name) for name, text in texts.items()])
    return frame.select(
        F.when(good, texts["node"]).alias("node"),
        F.when(good, texts["topic"]).alias("topic"),
        F.col("_metadata.file_path").alias("source"),
        F.when(~good, F.to_json(row)).alias("record"),
        facts.reason.alias("reason"),
        *_published(facts, good),
    )


def choose_columns(columns: Sequence[str], reading: Reading, path: str) -> Columns:
    """Return the columns to read: as given, by their names, or the only two.

    A file of publications may name node and topic otherwise than the file of subscriptions.
    """
    present = ", ".join(columns)[:1000]
    asked = {name: getattr(reading, name) for name in FIELDS}
    if reading.publishes:
        asked |= {name: None for name in ("node", "topic") if asked[name] not in columns}
    for name, column in asked.items():
        if column is not None and column not in columns:
            raise InputError(f"'{path}' has no column {column!r} (--{name}); it has: {present}.")
    named = ("node", "topic", *(("rate", "bytes") if reading.publishes or reading.role else ()))
    found = {n: asked[n] or (n if n in named and n in columns else None) for n in FIELDS}
    rest = [column for column in columns if column not in found.values()]
    if len(rest) + sum(found[n] is not None for n in ("node", "topic")) == 2:
        for name in ("node", "topic"):
            found[name] = found[name] or rest.pop(0)
    used = [column for column in found.values() if column is not None]
    repeated = len(set(used)) < len(used) or any(columns.count(column) > 1 for column in used)
    node, topic = found["node"], found["topic"]
    if node is None or topic is None or repeated:
        raise InputError(
            f"'{path}' has {len(columns)} columns ({present}); say which hold node and topic "
            "with --node and --topic."
        )
    return Columns(node, topic, found["role"], found["rate"], found["bytes"])
