"""From the arguments of a command to the files that Spark reads: globs, formats, readability."""

import codecs
import glob
import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, cast
from urllib.parse import unquote

from meshwright.errors import InputError, check_choice, is_of_spark, refuse_other_encoding
from meshwright.runtime.paths import pattern
from meshwright.runtime.progress import Progress
from meshwright.storage.manifest import FILE as MANIFEST_FILE
from meshwright.storage.store import DAMAGED

FORMATS = ("csv", "tsv", "jsonl", "parquet", "edges", "mosquitto-log", "mesh-log")
LOGS = ("mosquitto-log", "mesh-log")
ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".edges": "edges",
    ".edgelist": "edges",
    ".log": "mosquitto-log",
    ".meshlog": "mesh-log",
}
OPEN = ".open"  # behind the name of a mesh log to which the planner writes
MESH_LOGS = ("*.meshlog", f"*.meshlog{OPEN}", "*.meshlog.gz")
# What logrotate puts behind the name of a log: .1 is newer than .2, or a date, and perhaps .gz.
ROTATION = r"(?:\.([0-9]{1,3})|[.-]([0-9]{4}-?[0-9]{2}-?[0-9]{2}(?:[T_-]?[0-9]{2,6})?))(?:\.gz)?"
ROTATED = re.compile(rf"\.log{ROTATION}$", re.IGNORECASE)
MAX_LINE = 1 << 20
LINE_LIMITS = 1 << 10, 1 << 30  # Spark holds a line as a whole, several times
HEAD = 1 << 16  # bytes of a text file that show how it was written
GZIP = b"\x1f\x8b"
ROW_BYTES = 20  # of text, at least in most files
PACKED = 10  # bytes of text in a byte of a compressed file
_URI = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_FETCH = "Nothing was written; fetch or unpack the file again."
# What Spark says about a file, and what that means for the user.
_TROUBLE = {
    "COLUMN_ALREADY_EXISTS": "has two columns whose names differ in nothing but case. Rename one.",
    "UNSUPPORTED_TIME_TYPE|PARQUET_TYPE_": "has a column of a type that Spark does not read "
    "({said}). Write it without this column, or cast it to text.",
    "DATA_TYPE_MISMATCH|CANNOT_MERGE_SCHEMAS": "has a column of another type than the files read "
    "together with it. Write them with one type, or ingest them apart.",
    f"{DAMAGED.pattern}|UNABLE_TO_INFER_SCHEMA": "{state}. " + _FETCH,
}


@dataclass(frozen=True, slots=True)
class Source:
    """One file that a command reads."""

    shown: str  # the path as the user will recognise it
    path: str  # the same, absolute and without `..`
    link: str = ""  # a link to the file, under a name that Spark reads

    @property
    def read(self) -> str:
        """The URI to give to Spark."""
        return pattern(Path(self.link or self.path))


def link_hidden(sources: Sequence[Source], place: Path) -> list[Source]:
    """Return the sources so that Spark reads them all, with links made in a directory.

    Spark skips files whose name begins with ``_`` or a dot, without a word. Of a mesh log that
    grows there is a copy of its complete lines: Spark may read a file more than once.
    """
    found = []
    for number, source in enumerate(sources):
        name = Path(source.path).name
        if name.endswith(OPEN):
            place.mkdir(exist_ok=True)
            copy = place / f"{number}-{name.removesuffix(OPEN)}"
            copy.write_bytes(_complete_lines(source))
            source = replace(source, link=str(copy))
        elif name.startswith(("_", ".")):
            link = place / f"{number}-{name}"  # the ending says how the file is compressed
            place.mkdir(exist_ok=True)
            link.symlink_to(source.path)
            source = replace(source, link=str(link))
        found.append(source)
    return found


def _complete_lines(source: Source) -> bytes:
    """Return the complete lines of a file that grows; its writer may have just renamed it."""
    for path in (source.path, source.path.removesuffix(OPEN)):
        try:
            data = Path(path).read_bytes()
        except FileNotFoundError:
            continue
        return data[: data.rfind(b"\n") + 1]
    raise InputError(f"'{source.shown}' was there a moment ago and is gone. Run this again.")


def find_sources(given: Sequence[str], format: str | None) -> tuple[list[Source], str]:
    """Return the files and their format; raise InputError with all complaints at once."""
    check_choice("format", format, FORMATS)
    complaints: list[str] = []
    once: dict[str, Source] = {}
    for text in given:
        for source in _expand(text, complaints, format):
            once.setdefault(source.path, source)
    sources = list(once.values())
    if complaints:
        raise InputError("\n".join(dict.fromkeys(complaints)))
    if not sources:
        raise InputError("no source given. Name at least one file, for example subscriptions.csv.")
    by_ending = {_kind(Path(source.shown), None) for source in sources}
    kind = format or (by_ending.pop() if len(by_ending) == 1 else None)
    if kind is None:
        shown = ", ".join(f"'{source.shown}'" for source in sources[:3])
        raise InputError(
            f"the format of {shown} cannot be guessed from the file name. "
            f"Pass --format with one of: {', '.join(FORMATS)}."
        )
    if kind != "parquet":
        complaints = [text for text in map(_not_text, sources) if text]
    if complaints:
        raise InputError("\n".join(complaints))
    return sources, kind


def expected_rows(sources: Sequence[Source]) -> int:
    """Return about how many rows some files hold, rather too many than too few."""
    n_bytes = 0
    for source in sources:
        packed = source.path.endswith((".gz", ".parquet"))
        n_bytes += Path(source.path).stat().st_size * (PACKED if packed else 1)
    return n_bytes // ROW_BYTES


def _not_text(source: Source) -> str | None:
    """Return what keeps a file from being read line by line, as far as its beginning shows."""
    name = Path(source.path).name
    try:
        with unpacked(source) as (file, _):
            head = file.read(HEAD)
    except InputError as error:
        return str(error)
    if head.startswith(GZIP):
        packed = name.endswith(".gz")
        advice = "Unpack it once first." if packed else f"Rename it to '{name}.gz'."
        return f"'{source.shown}' holds data compressed with gzip. {advice}"
    if b"\r" in head and b"\n" not in head:
        return (
            f"the lines of '{source.shown}' end with CR alone, as old Mac programs wrote them. "
            f"Convert them first: tr '\\r' '\\n' < {name} > new-{name}"
        )
    return None


def refuse_long_lines(
    sources: Sequence[Source], format: str, max_line: int, progress: Progress
) -> None:
    """Raise InputError if a text file holds a line of more than `max_line` bytes.

    A small gzip file can hold a line that does not fit the memory; here only a part of it is read.
    The progress then says how many lines there are.
    """
    least, most = LINE_LIMITS
    if not least <= max_line <= most:
        raise InputError(f"max_line is {max_line}; give {least:,} to {most:,} bytes.")
    if format == "parquet":
        return
    sizes, total = [Path(source.link or source.path).stat().st_size for source in sources], 0
    for i, source in enumerate(sources):
        with unpacked(source) as (file, raw):
            n_lines, block = 0, b""
            while len(block := block + file.read(max_line + 1 - len(block))) > max_line:
                end = block.rfind(b"\n") + 1
                if end == 0:
                    raise _long_line(source, n_lines + 1, max_line)
                n_lines += block.count(b"\n")
                block = block[end:]
                progress.update((sum(sizes[:i]) + raw.tell()) / max(1, sum(sizes)))
            total += n_lines + block.count(b"\n")
    progress.update(0.0, f"{total:,} lines")


def _long_line(source: Source, number: int, max_line: int) -> InputError:
    return InputError(
        f"line {number:,} of '{source.shown}' is longer than {max_line:,} bytes. "
        "Check the file, or allow longer lines with --max-line."
    )


def first_lines(sources: Sequence[Source], max_line: int = MAX_LINE) -> dict[str, str]:
    """Return the first line of each file that is not blank, as `records.py` reads lines.

    Raise InputError if that line has more than `max_line` bytes.
    """
    return {source.shown: _first_line(source, max_line) for source in sources}


def _first_line(source: Source, max_line: int) -> str:
    with unpacked(source) as (file, _):
        for number, line in enumerate(iter(lambda: file.readline(max_line + 1), b""), 1):
            if len(line) > max_line and not line.endswith(b"\n"):
                raise _long_line(source, number, max_line)
            text = line.rstrip(b"\r\n").removeprefix(codecs.BOM_UTF8)
            if text.strip(b" "):
                return text.decode(errors="replace")
    raise InputError(f"'{source.shown}' holds no line of data. Leave it out.")


def parquet_columns(source: Source) -> list[str]:
    """Return the columns of a Parquet file; raise InputError if it is none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return list(pq.read_schema(source.path).names)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"'{source.shown}' cannot be read. {_FETCH}") from error


@contextmanager
def unpacked(source: Source) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Open a file; yield its text and its bytes on disk. Raise InputError if it is damaged."""
    try:
        with Path(source.link or source.path).open("rb") as raw:
            text = gzip.GzipFile(fileobj=raw) if source.path.endswith(".gz") else raw
            yield cast("BinaryIO", text), raw
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"'{source.shown}' is truncated or corrupt. {_FETCH}") from error


@contextmanager
def reading(sources: Sequence[Source]) -> Iterator[None]:
    """Turn Spark's error about a file into InputError, with the file's name as the user gave it."""
    try:
        yield
    except Exception as error:
        text = unquote(str(error))
        found = [means for said, means in _TROUBLE.items() if re.search(said, text)]
        if not (is_of_spark(error) and found):
            raise
        named = next((s for s in sources if Path(s.shown).name in text), sources[0])
        state = "is truncated or corrupt" if named.shown.endswith(".gz") else "cannot be read"
        said = text.partition("] ")[2].partition(" SQLSTATE")[0].rstrip(".")
        raise InputError(f"'{named.shown}' {found[0].format(said=said, state=state)}") from error


def _expand(text: str, complaints: list[str], format: str | None) -> list[Source]:
    """Return the files of one argument; problems are added to `complaints`."""
    if _URI.match(text) and not text.startswith("file://"):
        complaints.append(
            f"'{text}' is not on this machine, and only local files are read. Download it, or "
            "mount the place where it is, and give the local path."
        )
        return []
    text = text.removeprefix("file://")
    paths = [Path(text)] if Path(text).exists() else sorted(map(Path, glob.glob(text)))  # noqa: PTH207 (absolute or not)
    if not paths:
        complaints.append(f"'{text}' does not exist and matches no file. Check the path.")
    found: list[Source] = []
    for path in paths:
        files = _files_of(path, complaints, format) if path.is_dir() else [path]
        # Spark names files by paths without `..`. Only the directory is resolved: the name of a
        # log is that of its broker, whatever it is a link to.
        found += [
            Source(str(file), str(file.parent.resolve() / file.name))
            for file in files
            if _readable(file, complaints, may_be_empty=_kind(file, format) in LOGS)
        ]
    return found


def _files_of(directory: Path, complaints: list[str], format: str | None) -> list[Path]:
    """Return the Parquet parts of a directory, as Spark writes them, or the files of a mesh log."""
    if (directory / MANIFEST_FILE).is_file():
        complaints.append(
            f"'{directory}' is a Meshwright dataset already. Use it as it is: "
            f"meshwright stats {directory}"
        )
        return []
    if format in (None, "mesh-log"):
        logs = sorted(path for ending in MESH_LOGS for path in directory.glob(ending))
        if logs:
            return logs
    parts = sorted(p for p in directory.glob("*.parquet") if not p.name.startswith(("_", ".")))
    if not parts:
        complaints.append(
            f"'{directory}' is a directory without Parquet files. Name the files in it, "
            f"for example '{directory}/*.csv'."
        )
    return parts


def _kind(path: Path, format: str | None) -> str | None:
    """Return the format of a file: as given, or by its name."""
    if format is None and ROTATED.search(path.name):
        return "mosquitto-log"
    name = path.name.removesuffix(".gz").removesuffix(OPEN)
    return format or ENDINGS.get(Path(name).suffix.lower())


def _readable(path: Path, complaints: list[str], *, may_be_empty: bool) -> bool:
    if not path.is_file():  # a pipe would be waited for, and cannot be read twice
        complaints.append(f"'{path}' is not a regular file. Save its content to a file first.")
        return False
    try:
        with path.open("rb") as file:
            if file.read(1):
                refuse_other_encoding(path.parent.resolve() / path.name)
                return True
        if may_be_empty:  # a broker at which nothing happened
            return True
        complaints.append(f"'{path}' is empty. Leave it out, or check how it was written.")
    except OSError as error:
        complaints.append(f"'{path}' cannot be read: {error.strerror}. Check its permissions.")
    except InputError as error:
        complaints.append(str(error))
    return False
