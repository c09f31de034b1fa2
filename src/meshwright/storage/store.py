"""Directory datasets on disk: written to a hidden sibling, checked, and moved into place.

A writer works in a hidden sibling of its target and renames it when complete (`replacing.py`), so
a killed run leaves either the old dataset or the new one. Readers change nothing on disk.
"""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from meshwright.errors import InputError
from meshwright.storage import replacing
from meshwright.storage.manifest import FILE, Manifest, new_manifest, read_manifest, write_manifest
from meshwright.storage.replacing import (
    clean_up,
    move_into_place,
    staging_directory,
    wait_for_target,
)

TABLES = {
    "workload": ("subscriptions", "nodes", "topics", "rejected"),
    "overlay": ("edges",),
    "run": ("publications", "load"),
    "problem": ("subscribers", "brokers"),
    "assignment": ("assignment", "filters"),
}


class Staging:
    """A dataset being written: tables go to `table(name)`, `publish` moves it into place."""

    def __init__(self, target: Path, directory: Path, kind: str, *, force: bool) -> None:
        self._target = target
        self._directory = directory
        self._kind = kind
        self._force = force

    def table(self, name: str) -> Path:
        """Return the path of a table, to be written as a file or as a directory of parts."""
        return self._directory / f"{name}.parquet"

    def scratch(self, name: str) -> Path:
        """Return a path for intermediate files; they are deleted when the dataset is published."""
        place = self._directory / "_scratch"
        place.mkdir(exist_ok=True)
        return place / name

    def publish(self, facts: Mapping[str, Any]) -> Manifest:
        """Count the rows, write the manifest last, and move the dataset into place."""
        shutil.rmtree(self._directory / "_scratch", ignore_errors=True)
        names = sorted(path.name.removesuffix(".parquet") for path in self._directory.iterdir())
        rows = {name: _count_rows(self.table(name)) for name in names}
        manifest = new_manifest(self._kind, rows, facts)
        write_manifest(self._directory, manifest)
        # Again: another run may have finished there since this one began.
        refuse_overwrite(self._target, force=self._force)
        move_into_place(self._directory, self._target)
        return manifest


@contextmanager
def staging(target: Path, kind: str, *, force: bool = False) -> Iterator[Staging]:
    """Open a dataset for writing; on any error nothing is left behind.

    Raise InputError if the target exists and `force` is not given, or if it is not a dataset.
    """
    target = target.resolve()  # follow links: the directory is replaced, not the link to it
    clean_up(target, _has_manifest)
    refuse_overwrite(target, force=force)
    with staging_directory(target) as directory:
        yield Staging(target, directory, kind, force=force)


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
    """Return the manifest of a dataset after checking its kind, version, tables and row counts."""
    path = path.resolve()
    wait_for_target(path)
    manifest = read_manifest(path, kind)
    for table in TABLES.get(manifest.kind, ()):
        if table not in manifest.rows:
            raise InputError(f"'{path}' lists no table {table!r} in its manifest. Make it again.")
    for table, expected in manifest.rows.items():
        found = _count_rows(path / f"{table}.parquet")
        if found != expected:
            raise InputError(
                f"'{path}' is damaged: table {table!r} has {found:,} rows, its manifest says "
                f"{expected:,}. Make the dataset again."
            )
    return manifest


def find_input(
    manifest: Manifest, dataset: Path, kind: str, given: Path | None
) -> tuple[Path, Manifest]:
    """Return the workload or problem of a dataset: as given, as recorded, or next to the dataset.

    Raise InputError if there is none, or if its digest is not the recorded one.
    """
    recorded = Path(manifest[kind])
    sibling = dataset.absolute().parent / recorded.name
    for place in [recorded, sibling] if given is None else [given]:
        if not place.exists():
            continue
        found = open_dataset(place, kind)
        if found["digest"] != manifest[f"{kind}_digest"]:
            raise InputError(
                f"'{dataset}' was made for another {kind} than '{place}' holds now. "
                f"Make it again, or name the right one with --{kind}."
            )
        return place, found
    if given is not None:
        raise InputError(f"there is no {kind} at '{given}'; check --{kind}.")
    raise InputError(
        f"the {kind} of '{dataset}' is no longer at '{recorded}'. Name it with --{kind}."
    )


def read_table(path: Path, table: str, columns: list[str] | None = None) -> pa.Table:
    """Return a table of a dataset as Arrow, its parts in order."""
    return pa.concat_tables(
        [pq.read_table(part, columns=columns) for part in _parts(path / f"{table}.parquet")]
    )


def read_column(path: Path, table: str, column: str) -> Iterator[npt.NDArray[Any]]:
    """Yield a column of numbers of a dataset, a batch of its rows at a time."""
    for part in _parts(path / f"{table}.parquet"):
        with pq.ParquetFile(part) as file:
            for batch in file.iter_batches(1 << 20, columns=[column]):
                yield batch.column(0).to_numpy()


def write_table(path: Path, table: pa.Table) -> None:
    """Write an Arrow table as one file."""
    pq.write_table(table, path, compression="zstd")


def _has_manifest(path: Path) -> bool:
    return (path / FILE).is_file()


def _parts(table: Path) -> list[Path]:
    """Return the Parquet files of a table, in the order Spark numbered them."""
    if table.is_dir():
        return sorted(part for part in table.glob("*.parquet") if part.is_file())
    return [table]


def _count_rows(table: Path) -> int:
    """Return the rows of a table from the footers of its files."""
    try:
        return sum(pq.read_metadata(part).num_rows for part in _parts(table))
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(
            f"table '{table}' cannot be read ({error}). Make the dataset again."
        ) from error
