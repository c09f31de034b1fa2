"""What an ingest is asked for: the files, how to read them, and what is wrong without Spark."""

from collections.abc import Sequence
from typing import NamedTuple

from meshwright.errors import InputError
from meshwright.workload.files import MAX_LINE, Source, find_sources
from meshwright.workload.mosquitto_log import ALWAYS, Window
from meshwright.workload.records import Reading, check_columns

MAX_REJECTED = 0.01
NO_COLUMNS = {"edges": "an edge list", "mosquitto-log": "a Mosquitto log"}


class Part(NamedTuple):
    """Files that are read in one way."""

    files: list[Source]
    kind: str
    how: Reading


def check_request(
    sources: Sequence[str] = (),
    format: str | None = None,
    *,
    node: str | None = None,
    topic: str | None = None,
    header: bool = True,
    directed: bool | None = None,
    role: str | None = None,
    publications: Sequence[str] = (),
    rate: str | None = None,
    bytes: str | None = None,
    since: str | None = None,
    until: str | None = None,
    at: str | None = None,
    max_rejected: float = MAX_REJECTED,
    max_line: int = MAX_LINE,
) -> list[Part]:
    """Return the files to read and how; raise InputError for what is wrong without Spark.

    Whether the files can be read, their first lines and the columns, and the options.
    """
    if not 0 <= max_rejected <= 1:
        raise InputError(f"max_rejected is {max_rejected}; give a share between 0 and 1.")
    if (rate or bytes) and not (role or publications):
        raise InputError(
            "--rate and --bytes belong to publications; say which rows publish with --role, or "
            "give their files with --publications."
        )
    window, parts = Window.of(since, until, at), []
    if sources or not publications:
        files, kind = find_sources(sources, format)
        _check_options(kind, directed, node, topic, role)
        rated = (rate, bytes) if role else (None, None)
        how = Reading(node, topic, header, max_line, role, *rated, window=window)
        parts.append(Part(files, kind, how))
    if publications:
        files, kind = find_publications(publications, format)
        # For a log and an edge list --node is no column.
        columns = (None, None) if parts and parts[0].kind in NO_COLUMNS else (node, topic)
        how = Reading(*columns, header, max_line, None, rate, bytes, publishes=True)
        parts.append(Part(files, kind, how))
    if window != ALWAYS and not any(part.kind == "mosquitto-log" for part in parts):
        raise InputError("--since, --until and --at belong to Mosquitto logs; leave them out.")
    for part in parts:
        check_columns(part.files, part.kind, part.how)
    return parts


def find_publications(given: Sequence[str], format: str | None) -> tuple[list[Source], str]:
    """Return the files of publications and their format, which may differ from the sources'."""
    try:
        files, kind = find_sources(given, None)
    except InputError:
        files, kind = find_sources(given, format)
    if kind in NO_COLUMNS:
        raise InputError(
            f"'{files[0].shown}' is {kind}, which has no columns to read publications from. "
            "Give it as a source, or give csv, tsv, jsonl or parquet to --publications."
        )
    return files, kind


def _check_options(
    kind: str, directed: bool | None, node: str | None, topic: str | None, role: str | None
) -> None:
    if kind == "edges" and directed is None:
        raise InputError(
            "an edge list needs --directed (`a b`: a subscribes to b) or --undirected "
            "(a and b subscribe to each other)."
        )
    if kind != "edges" and directed is not None:
        raise InputError(f"--directed and --undirected belong to edge lists, not to {kind}.")
    if kind == "edges" and (node or topic):
        raise InputError("an edge list has no columns to name; leave out --node and --topic.")
    if kind in NO_COLUMNS and role:
        raise InputError(
            f"{NO_COLUMNS[kind]} has no role column; leave out --role. Give the publications as "
            "a file: --publications FILE."
        )
    if kind == "mosquitto-log" and topic:
        raise InputError("a Mosquitto log has no topic column; leave out --topic.")
