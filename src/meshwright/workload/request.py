"""The request for an ingest: the files, how to read them, and errors that need no Spark to find."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from meshwright.errors import InputError
from meshwright.workload.files import LOGS, MAX_LINE, Source, find_sources
from meshwright.workload.mosquitto_log import ALWAYS, Window
from meshwright.workload.records import Reading, check_columns

MAX_REJECTED = 0.01
NO_COLUMNS = {
    "edges": "an edge list",
    "mosquitto-log": "a Mosquitto log",
    "mesh-log": "a mesh log",
}


class Part(NamedTuple):
    """Files that are read in one way."""

    files: list[Source]
    kind: str
    how: Reading
    rows: Path | None = None  # what lines of logs say, if they were read before (`following/`)


@dataclass(frozen=True, slots=True)
class Request:
    """The options of an ingest."""

    sources: Sequence[str] = ()  # files, globs, or directories of Parquet parts
    format: str | None = None  # one of `FORMATS`; None: guess it from the file name
    node: str | None = None  # column of the node; for a Mosquitto log, the broker's name
    topic: str | None = None  # column of the topic
    header: bool = True  # CSV and TSV: the first line names the columns
    directed: bool | None = None  # edges: in ``a b`` a wants b, or both want each other
    role: str | None = None  # column that says whether a row subscribes or publishes
    publications: Sequence[str] = ()  # files of which every row publishes
    rate: str | None = None  # publications: column of messages per second
    bytes: str | None = None  # publications: column of the mean message size
    since: str | None = None  # logs: keep what clients wanted at some time after this,
    until: str | None = None  # and before this;
    at: str | None = None  # or at this time; by default, at the end of the log
    max_rejected: float = MAX_REJECTED  # the largest share of rows that may be wrong
    max_line: int = MAX_LINE  # bytes

    def parts(self) -> list[Part]:
        """Return the files to read and how to read them.

        Raise InputError for anything that can be found without Spark: files that cannot be read,
        missing columns, and options that do not fit together.
        """
        if not 0 <= self.max_rejected <= 1:
            raise InputError(f"max_rejected is {self.max_rejected}; give a share between 0 and 1.")
        if (self.rate or self.bytes) and not (self.role or self.publications):
            raise InputError(
                "--rate and --bytes belong to publications; say which rows publish with --role, or "
                "give their files with --publications."
            )
        window, parts = Window.of(self.since, self.until, self.at), []
        columns, lines = (self.node, self.topic), (self.header, self.max_line)
        if self.sources or not self.publications:
            files, kind = find_sources(self.sources, self.format)
            self._check_options(kind)
            rated = (self.rate, self.bytes) if self.role else (None, None)
            how = Reading(*columns, *lines, self.role, *rated, window=window)
            parts.append(Part(files, kind, how))
            if kind in NO_COLUMNS:  # its --node is not the name of a column
                columns = (None, None)
        if self.publications:
            files, kind = find_publications(self.publications, self.format)
            how = Reading(*columns, *lines, None, self.rate, self.bytes, publishes=True)
            parts.append(Part(files, kind, how))
        if window != ALWAYS and not any(part.kind in LOGS for part in parts):
            raise InputError("--since, --until and --at belong to logs; leave them out.")
        for part in parts:
            check_columns(part.files, part.kind, part.how)
        return parts

    def _check_options(self, kind: str) -> None:
        """Raise InputError for an option that sources of this format do not have."""
        if kind == "edges" and self.directed is None:
            raise InputError(
                "an edge list needs --directed (`a b`: a subscribes to b) or --undirected "
                "(a and b subscribe to each other)."
            )
        if kind != "edges" and self.directed is not None:
            raise InputError(f"--directed and --undirected belong to edge lists, not to {kind}.")
        if kind == "edges" and (self.node or self.topic):
            raise InputError("an edge list has no columns to name; leave out --node and --topic.")
        if kind in NO_COLUMNS and self.role:
            raise InputError(
                f"{NO_COLUMNS[kind]} has no role column; leave out --role. Give the publications "
                "as a file: --publications FILE."
            )
        if kind in LOGS and self.topic:
            raise InputError(f"{NO_COLUMNS[kind]} has no topic column; leave out --topic.")
        if kind == "mesh-log" and self.node:
            raise InputError("a mesh log names its brokers itself; leave out --node.")


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
