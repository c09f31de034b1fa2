"""Directory datasets on disk: written to a hidden sibling, checked, and made current in one step.

A writer works in a hidden sibling of its target (`replacing.py`) and makes it the current version
when complete (`versions.py`), so a killed run leaves either the old dataset or the new one. Readers
pin the version that they read, and change nothing on disk.
"""

import errno
import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from meshwright.errors import InputError, damaged, first_line, is_of_spark
from meshwright.storage import replacing
from meshwright.storage.kinds import check_columns, check_nulls
from meshwright.storage.manifest import FILE, Manifest, new_manifest, read_manifest, write_manifest
from meshwright.storage.replacing import (
    clean_up,
    move_into_place,
    staging_directory,
    wait_for_target,
)
from meshwright.storage.versions import (
    Pin,
    link_tables,
    mark_replaced,
    new_version,
    one_writer,
    remove_old_versions,
)

# What Python's and Spark's errors say when a disk is full. The last is Spark's codec, which unpacks
# itself into the temporary directory and hides why it could not.
FULL = re.compile(
    "No space left on device|Disk quota exceeded|File too large|no snappyjava in java"
)
# What Spark says about a damaged Parquet file; some damage raises an error inside its reader.
DAMAGED = re.compile(
    "FAILED_READ_FILE|CANNOT_READ_FILE_FOOTER|ParquetDecodingException"
    r"|at org\.apache\.[\w.]*parquet\.\S*(Reader|[Dd]ecod|Decompress)"
)
BESIDE = ""  # the version of an older dataset, whose tables are beside its manifest


class Staging:
    """A dataset being written: tables go to `table(name)`, `publish` makes it the current one.

    The staging directory has the form of a dataset: a version's directory and a manifest. It
    becomes the dataset as a whole, or its version moves into the one that is there.
    """

    def __init__(self, target: Path, directory: Path, kind: str, *, force: bool) -> None:
        self._target = target
        self._directory = directory
        self._kind = kind
        self._force = force
        self._replaces = current_version(target)  # None: there is no dataset yet
        self._version = new_version()
        (directory / self._version).mkdir()

    def table(self, name: str) -> Path:
        """Return the path of a table, to be written as a file or as a directory of parts."""
        return self._directory / self._version / f"{name}.parquet"

    def scratch(self, name: str) -> Path:
        """Return a path for intermediate files; they are deleted when the dataset is published."""
        place = self._directory / "_scratch"
        place.mkdir(exist_ok=True)
        return place / name

    def publish(self, facts: Mapping[str, Any]) -> Manifest:
        """Count the rows, write the manifest, and make this the current version.

        Of two runs that write the same dataset at the same time, the first one to finish wins; the
        other raises InputError and changes nothing.
        """
        shutil.rmtree(self._directory / "_scratch", ignore_errors=True)
        place = self._directory / self._version
        names = sorted(path.name.removesuffix(".parquet") for path in place.iterdir())
        rows = {name: _read_footers(self.table(name))[1] for name in names}
        made = new_manifest(self._kind, rows, facts, self._target / self._version)
        manifest = replace(made, pin=Pin(place))  # before another writer can remove it
        # Again: another run may have finished there since this one began.
        refuse_overwrite(self._target, force=self._force)
        if self._replaces and self._target.exists():
            self._replace(manifest)
        else:
            self._create(manifest)
        return manifest

    def _create(self, manifest: Manifest) -> None:
        """Move the whole directory into place; it may replace an empty one."""
        link_tables(self._directory, self._version)
        write_manifest(self._directory, manifest)
        if self._replaces == BESIDE and current_version(self._target) == BESIDE:
            move_into_place(self._directory, self._target)
            return
        try:
            self._directory.rename(self._target)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
            raise self._lost() from error

    def _replace(self, manifest: Manifest) -> None:
        """Add the version to the dataset that is there, and point its manifest to it."""
        with one_writer(self._target):
            if current_version(self._target) != self._replaces:
                raise self._lost()
            (self._directory / self._version).rename(self._target / self._version)
            write_manifest(self._target, manifest)
            mark_replaced(self._target / str(self._replaces))
            link_tables(self._target, self._version)
            remove_old_versions(self._target, self._version)

    def _lost(self) -> InputError:
        return InputError(
            f"another run wrote '{self._target}' while this one worked; its dataset was kept and "
            "this one dropped. Run again with --force to replace it, or choose another -o."
        )


@contextmanager
def staging(target: Path, kind: str, *, force: bool = False) -> Iterator[Staging]:
    """Open a dataset for writing; on any error nothing is left behind.

    Raise InputError if the target exists and `force` is not given, if it is not a dataset, or if a
    disk is full.
    """
    target = target.resolve()  # follow links: the directory is replaced, not the link to it
    clean_up(target, _has_manifest)
    refuse_overwrite(target, force=force)
    with staging_directory(target) as directory:
        try:
            yield Staging(target, directory, kind, force=force)
        except Exception as error:
            full = FULL.search(f"{error} {error.__cause__}")
            if full is None or isinstance(error, InputError):
                raise
            raise InputError(
                f"'{target}' cannot be written: {full[0].lower()}. Free some space there and in "
                f"'{tempfile.gettempdir()}', or choose another -o or TMPDIR."
            ) from error


@contextmanager
def scratch_beside(target: Path) -> Iterator[Path]:
    """Open a directory for intermediate files that every machine which sees the dataset can see.

    Where nothing can be written beside the dataset, the directory is local to this machine.
    """
    with ExitStack() as stack:
        try:
            directory = stack.enter_context(staging_directory(target.resolve()))
        except InputError:
            local = tempfile.TemporaryDirectory(prefix="meshwright-")
            directory = Path(stack.enter_context(local))
        yield directory


def refuse_overwrite(target: Path, *, force: bool) -> None:
    """Raise InputError if writing to `target` would lose something other than a dataset."""
    replacing.refuse_overwrite(target, _has_manifest, "a Meshwright dataset", force=force)


def open_dataset(path: Path, kind: str | None = None) -> Manifest:
    """Return the manifest of a dataset after checking its kind, version, tables and row counts.

    Its version is pinned: `read_table` reads that one, whatever writers do meanwhile.
    """
    wait_for_target(path.resolve())
    manifest = read_manifest(path, kind)
    for table, expected in manifest.rows.items():
        schemas, found = _read_footers(manifest.table(table))
        if found != expected:
            why = f"table {table!r} has {found:,} rows, its manifest says {expected:,}"
            raise damaged(path, why)
        for schema in schemas:
            check_columns(manifest.kind, table, schema, path)
    return manifest


def find_input(dataset: Manifest, kind: str, given: str | Path | None) -> Manifest:
    """Open the workload or problem of a dataset: as given, as recorded, or next to the dataset.

    Raise InputError if there is none, or if its digest is not the recorded one.
    """
    recorded = Path(dataset[kind])
    sibling = dataset.path.absolute().parent / recorded.name
    for place in [recorded, sibling] if given is None else [Path(given)]:
        if not place.exists():
            continue
        found = open_dataset(place, kind)
        if found["digest"] != dataset[f"{kind}_digest"]:
            raise InputError(
                f"'{dataset.path}' was made for another {kind} than '{place}' holds now. "
                f"Make it again, or name the right one with --{kind}."
            )
        return found
    if given is not None:
        raise InputError(f"there is no {kind} at '{given}'; check --{kind}.")
    raise InputError(
        f"the {kind} of '{dataset.path}' is no longer at '{recorded}'. Name it with --{kind}."
    )


def read_table(dataset: Manifest, table: str, columns: list[str] | None = None) -> pa.Table:
    """Return a table of a pinned dataset as Arrow, its parts in order."""
    rows = read_parts(dataset.table(table), columns)
    check_nulls(dataset.kind, table, rows, dataset.path)
    return rows


def read_by_id(
    dataset: Manifest, table: str, columns: list[str], count: int | None = None
) -> pa.Table:
    """Return a table in the order of its ids, which are in the first of the columns.

    Raise InputError unless these are 0, 1, 2, ..., each once; `count` of them, if it is given.
    """
    rows, of_ids = read_table(dataset, table, columns), columns[0]
    ids, count = np.arange(len(rows)), len(rows) if count is None else count
    if not np.array_equal(rows.column(of_ids).to_numpy(), ids):
        rows = rows.sort_by(of_ids)
    if count != len(rows) or not np.array_equal(rows.column(of_ids).to_numpy(), ids):
        why = f"the ids of table {table!r} are not 0..{count - 1}, each once"
        raise damaged(dataset.path, why)
    return rows


def read_parts(path: Path, columns: list[str] | None = None) -> pa.Table:
    """Return a Parquet table, a file or a directory of parts, in the order of the parts."""
    try:
        return pa.concat_tables([_read_part(part, columns) for part in _parts(path)])
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(path, error) from error


def _read_part(path: Path, columns: list[str] | None) -> pa.Table:
    with pq.ParquetFile(path) as file:  # pq.read_table takes four times as long for few rows
        return file.read(columns)


def read_column(dataset: Manifest, table: str, column: str) -> Iterator[npt.NDArray[Any]]:
    """Yield a column of numbers of a pinned dataset, a batch of its rows at a time."""
    path = dataset.table(table)
    try:
        for part in _parts(path):
            with pq.ParquetFile(part) as file:
                for batch in file.iter_batches(1 << 20, columns=[column]):
                    check_nulls(dataset.kind, table, batch, dataset.path)
                    yield batch.column(0).to_numpy()
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(path, error) from error


@contextmanager
def spark_reads(*tables: Path) -> Iterator[None]:
    """Turn Spark's error about a damaged table of a dataset into InputError."""
    try:
        yield
    except Exception as error:
        text = unquote(str(error))
        if not (is_of_spark(error) and DAMAGED.search(text)):
            raise
        # An error inside the reader names no file.
        found = [table for table in tables if str(table) in text] or tables
        raise _unreadable(found[0], error) from error


def write_table(path: Path, table: pa.Table) -> None:
    """Write an Arrow table as one file."""
    pq.write_table(table, path, compression="zstd")


def current_version(path: Path) -> str | None:
    """Return the version of the dataset at a path, BESIDE for an older form, None for none."""
    if not _has_manifest(path):
        return None
    with suppress(OSError, ValueError, AttributeError):
        return str(json.loads((path / FILE).read_text(encoding="utf-8")).get("version", BESIDE))
    return BESIDE  # damaged: to be replaced as a whole


def _has_manifest(path: Path) -> bool:
    return (path / FILE).is_file()


def _parts(table: Path) -> list[Path]:
    """Return the Parquet files of a table, in the order Spark numbered them."""
    if table.is_dir():
        return sorted(part for part in table.glob("*.parquet") if part.is_file())
    return [table]


def _read_footers(table: Path) -> tuple[list[pa.Schema], int]:
    """Return the schemas of a table's files and its number of rows."""
    try:
        footers = [pq.read_metadata(part) for part in _parts(table)]
        schemas = [footer.schema.to_arrow_schema() for footer in footers]
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(table, error) from error
    return schemas, sum(footer.num_rows for footer in footers)


def _unreadable(table: Path, error: Exception) -> InputError:
    reason = first_line(error)
    return InputError(f"table '{table}' cannot be read ({reason}). Make the dataset again.")
