"""Finished cells on disk: a Parquet file each, renamed when whole, so that a killed run resumes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from meshwright.experiments.model import Row, Rows


def cell_file(directory: Path, key: str) -> Path:
    """Return where a cell is kept."""
    return directory / f"{key}.parquet"


def write_cell(directory: Path, key: str, row: Row) -> None:
    """Keep a finished cell."""
    _replace(cell_file(directory, key), pa.Table.from_pylist([dict(row)]))


def finished(directory: Path, keys: Iterable[str]) -> set[str]:
    """Return which cells are there; a file without a size is none."""
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
    """Write all rows of an experiment as one table; columns that a row has not are null."""
    columns: dict[str, None] = {}
    for row in rows:
        columns |= dict.fromkeys(row)
    table = pa.Table.from_pylist([{name: row.get(name) for name in columns} for row in rows])
    _replace(path, table)


def write_text(path: Path, text: str) -> None:
    """Write a text whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f".{path.name}.{os.getpid()}")
    half.write_text(text, encoding="utf-8")
    half.replace(path)


def _replace(path: Path, table: pa.Table) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f".{path.name}.{os.getpid()}")
    pq.write_table(table, half)
    half.replace(path)


def flat(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a cell's parameters as columns: those of its workload and its settings too."""
    columns: dict[str, Any] = {}
    for name, value in given.items():
        if isinstance(value, Mapping):
            columns |= {f"{name}_{inner}": content for inner, content in value.items()}
        else:
            columns[name] = value
    return columns
