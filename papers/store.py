"""Finished cells on disk: a Parquet file each, renamed when complete, so that a run can resume."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from papers.model import Row, Rows


def cell_file(directory: Path, key: str) -> Path:
    """Return the file of a cell."""
    return directory / f"{key}.parquet"


def write_cell(directory: Path, key: str, row: Row) -> None:
    """Write the row of a finished cell."""
    _replace(cell_file(directory, key), pa.Table.from_pylist([dict(row)]))


def finished(directory: Path, keys: Iterable[str]) -> set[str]:
    """Return the keys of the finished cells; an empty file does not count."""
    if not directory.is_dir():
        return set()
    wanted = {f"{key}.parquet": key for key in keys}
    with os.scandir(directory) as entries:
        there = [entry.name for entry in entries if entry.name in wanted and entry.stat().st_size]
    return {wanted[name] for name in there}


def read_cells(directory: Path, keys: Iterable[str]) -> list[dict[str, Any]]:
    """Return the rows of cells, in the order of the keys."""
    rows: list[dict[str, Any]] = []
    for key in keys:
        rows += pq.ParquetFile(cell_file(directory, key)).read().to_pylist()
    return rows


def write_rows(path: Path, rows: Rows) -> None:
    """Write all rows of an experiment as one table; columns missing from a row are null."""
    columns: dict[str, None] = {}
    for row in rows:
        columns |= dict.fromkeys(row)
    table = pa.Table.from_pylist([{name: row.get(name) for name in columns} for row in rows])
    _replace(path, table)


def write_text(path: Path, text: str) -> None:
    """Write a text file, complete or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def _replace(path: Path, table: pa.Table) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    pq.write_table(table, draft)
    draft.replace(path)


def flat(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a cell as columns, with those of its workload and settings."""
    columns: dict[str, Any] = {}
    for name, value in given.items():
        if isinstance(value, Mapping):
            columns |= {f"{name}_{inner}": content for inner, content in value.items()}
        else:
            columns[name] = value
    return columns
