"""Directory datasets on disk: written beside, checked, and moved into place in one step.

A writer works in a hidden sibling of its target and renames it when complete, so that a killed
run leaves either the old dataset or the new one. Replacing needs two renames; a crash between
them leaves the old dataset under its ``.old`` name, and the next reader or writer puts it back.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from meshwright.datasets import replacing
from meshwright.datasets.manifest import (
    FILE,
    Manifest,
    new_manifest,
    read_manifest,
    write_manifest,
)
from meshwright.datasets.replacing import OURS, move_into_place, sibling
from meshwright.errors import InputError

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
        """Return where to write a table, as a file or as a directory of parts."""
        return self._directory / f"{name}.parquet"

    def scratch(self, name: str) -> Path:
        """Return a place for intermediate files; it is gone when the dataset is published."""
        place = self._directory / "_scratch"
        place.mkdir(exist_ok=True)
        return place / name

    def publish(self, facts: Mapping[str, Any]) -> Manifest:
        """Count the rows, write the manifest last, and rename the whole into place."""
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

    Raises
    ------
    InputError
        When something is there already and `force` is not given, or when it is no dataset.

    """
    target = target.resolve()  # through links: what they point to is replaced, not the link
    clean_up(target)
    refuse_overwrite(target, force=force)
    directory = sibling(target, "tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        directory.mkdir()
    except OSError as error:
        raise InputError(
            f"'{target}' cannot be written: {error.strerror}. Choose another -o."
        ) from error
    OURS.add(directory)
    try:
        yield Staging(target, directory, kind, force=force)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        OURS.discard(directory)


@contextmanager
def scratch_beside(target: Path) -> Iterator[Path]:
    """Open a directory for intermediate files where all who see the dataset can see it.

    Where nothing can be written beside it, the directory is one of this machine.
    """
    directory = sibling(target.resolve(), "tmp")
    try:
        directory.mkdir()
    except OSError:
        with tempfile.TemporaryDirectory(prefix="meshwright-") as here:
            yield Path(here)
        return
    OURS.add(directory)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        OURS.discard(directory)


def refuse_overwrite(target: Path, *, force: bool) -> None:
    """Raise when writing to `target` would lose something."""
    if not os.path.lexists(target):
        return
    if not force:
        raise InputError(f"'{target}' exists. Pass --force to replace it, or choose another -o.")
    empty = target.is_dir() and not any(target.iterdir())
    if not empty and not (target / FILE).is_file():
        raise InputError(
            f"'{target}' exists and is no Meshwright dataset, so --force will not replace it. "
            "Remove it yourself or choose another -o."
        )


def open_dataset(path: Path, kind: str | None = None) -> Manifest:
    """Return the manifest of a dataset after checking its kind, version, tables and row counts."""
    path = path.resolve()
    clean_up(path)
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


def clean_up(target: Path) -> None:
    """Remove what dead writers left beside the target; put back a dataset they had moved aside."""
    replacing.clean_up(target, lambda left: (left / FILE).is_file())


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
