"""From the arguments of a command to the files that Spark reads: globs, formats, readability."""

import glob
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote

from meshwright.errors import InputError, unknown_choice
from meshwright.runtime.paths import pattern
from meshwright.storage.manifest import FILE as MANIFEST_FILE

FORMATS = ("csv", "tsv", "jsonl", "parquet", "edges", "mosquitto-log")
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
}
_URI = re.compile(r"[a-z][a-z0-9+.-]+://")
_DAMAGED = re.compile(r"FAILED_READ_FILE|CANNOT_READ_FILE_FOOTER|UNABLE_TO_INFER_SCHEMA")


@dataclass(frozen=True, slots=True)
class Source:
    """One file that a command reads."""

    shown: str  # the path as the user will recognise it
    path: str  # the same, absolute and without `..`; or a URI
    link: str = ""  # a link to the file, under a name that Spark reads

    @property
    def read(self) -> str:
        """The path or URI to give to Spark."""
        return self.path if _URI.match(self.path) else pattern(Path(self.link or self.path))


def link_hidden(sources: Sequence[Source], place: Path) -> list[Source]:
    """Return the sources so that Spark reads them all, with links made in a directory.

    Spark skips files whose name begins with ``_`` or a dot, without a word.
    """
    found = []
    for number, source in enumerate(sources):
        name = Path(source.path).name
        if name.startswith(("_", ".")) and not _URI.match(source.path):
            link = place / f"{number}-{name}"  # the ending says how the file is compressed
            place.mkdir(exist_ok=True)
            link.symlink_to(source.path)
            source = replace(source, link=str(link))
        found.append(source)
    return found


def find_sources(given: Sequence[str], format: str | None) -> tuple[list[Source], str]:
    """Return the files and their format; raise InputError with all complaints at once."""
    if format is not None and format not in FORMATS:
        raise unknown_choice("format", format, FORMATS)
    complaints: list[str] = []
    once: dict[str, Source] = {}
    for text in given:
        for source in _expand(text, complaints):
            once.setdefault(source.path, source)
    sources = list(once.values())
    if complaints:
        raise InputError("\n".join(dict.fromkeys(complaints)))
    if not sources:
        raise InputError("no source given. Name at least one file, for example subscriptions.csv.")
    by_ending = {ENDINGS.get(Path(s.shown.removesuffix(".gz")).suffix.lower()) for s in sources}
    kind = format or (by_ending.pop() if len(by_ending) == 1 else None)
    if kind is None:
        shown = ", ".join(f"'{source.shown}'" for source in sources[:3])
        raise InputError(
            f"the format of {shown} cannot be guessed from the file name. "
            f"Pass --format with one of: {', '.join(FORMATS)}."
        )
    return sources, kind


@contextmanager
def reading(sources: Sequence[Source]) -> Iterator[None]:
    """Turn Spark's error about a file into InputError, with the file's name as the user gave it."""
    try:
        yield
    except Exception as error:
        text = unquote(str(error))
        # Some come as PySpark's own, some as the bare Java exception.
        of_spark = type(error).__module__.startswith(("pyspark", "py4j"))
        if not (of_spark and _DAMAGED.search(text)):
            raise
        named = next((s for s in sources if Path(s.shown).name in text), sources[0])
        what = "is truncated or corrupt" if named.shown.endswith(".gz") else "cannot be read"
        raise InputError(
            f"'{named.shown}' {what}. Nothing was written; fetch or unpack the file again."
        ) from error


def _expand(text: str, complaints: list[str]) -> list[Source]:
    """Return the files of one argument; problems are added to `complaints`."""
    if _URI.match(text) and not text.startswith("file://"):
        return [Source(text, text)]
    text = text.removeprefix("file://")
    paths = [Path(text)] if Path(text).exists() else sorted(map(Path, glob.glob(text)))  # noqa: PTH207 (absolute or not)
    if not paths:
        complaints.append(f"'{text}' does not exist and matches no file. Check the path.")
    found: list[Source] = []
    for path in paths:
        files = _files_of(path, complaints) if path.is_dir() else [path]
        # Spark names files by paths without `..`. Only the directory is resolved: the name of a
        # log is that of its broker, whatever it is a link to.
        found += [
            Source(str(file), str(file.parent.resolve() / file.name))
            for file in files
            if _readable(file, complaints)
        ]
    return found


def _files_of(directory: Path, complaints: list[str]) -> list[Path]:
    """Return the Parquet parts of a directory, as Spark writes them."""
    if (directory / MANIFEST_FILE).is_file():
        complaints.append(
            f"'{directory}' is a Meshwright dataset already. Use it as it is: "
            f"meshwright stats {directory}"
        )
        return []
    parts = sorted(p for p in directory.glob("*.parquet") if not p.name.startswith(("_", ".")))
    if not parts:
        complaints.append(
            f"'{directory}' is a directory without Parquet files. Name the files in it, "
            f"for example '{directory}/*.csv'."
        )
    return parts


def _readable(path: Path, complaints: list[str]) -> bool:
    if not path.is_file():  # a pipe would be waited for, and cannot be read twice
        complaints.append(f"'{path}' is not a regular file. Save its content to a file first.")
        return False
    try:
        with path.open("rb") as file:
            if file.read(1):
                return True
        complaints.append(f"'{path}' is empty. Leave it out, or check how it was written.")
    except OSError as error:
        complaints.append(f"'{path}' cannot be read: {error.strerror}. Check its permissions.")
    return False
