"""Read where events fall from a file of the user: boxes and how many events per unit volume."""

from __future__ import annotations

import csv
import json
from math import prod
from pathlib import Path

import numpy as np

from meshwright.errors import InputError
from meshwright.problem.dataset import density_of
from meshwright.problem.density import Density

MOST_CELLS = 1 << 22  # of the grid that the edges of all boxes make


def read_density(path: str | Path, n_dimensions: int) -> Density:
    """Return the density of a CSV file, or of a JSON file with `edges` and `values`.

    The CSV has a header ``low_1,high_1,...,low_d,high_d,density`` and a row per box. Boxes may
    touch but not overlap; where there is none, no event falls.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"'{file}' cannot be read ({error}). Check --density.") from error
    if file.suffix == ".json":
        try:
            found = density_of(json.loads(text))
        except json.JSONDecodeError as error:
            raise InputError(f"'{file}' is not JSON ({error}).") from error
        if found is None:
            raise InputError(f"'{file}' holds no density.")
        return found
    return _of_rows(file, list(csv.reader(text.splitlines())), n_dimensions)


def _of_rows(file: Path, rows: list[list[str]], n_dimensions: int) -> Density:
    header = [f"{end}_{k + 1}" for k in range(n_dimensions) for end in ("low", "high")]
    header.append("density")
    if not rows or [name.strip() for name in rows[0]] != header:
        got = ",".join(rows[0]) if rows else "nothing"
        raise InputError(
            f"'{file}' begins with {got!r}; the boxes have {n_dimensions} dimensions, "
            f"so its header must be {','.join(header)}."
        )
    numbers = []
    for line, row in enumerate(rows[1:], start=2):
        if not row:
            continue
        try:
            numbers.append([float(cell) for cell in row])
        except ValueError as error:
            raise InputError(f"'{file}' line {line}: {error}.") from error
        low, high = np.array(numbers[-1][:-1:2]), np.array(numbers[-1][1:-1:2])
        if len(row) != len(header) or not (low < high).all() or not np.isfinite(high - low).all():
            raise InputError(
                f"'{file}' line {line}: {','.join(row)} is no box with low < high and a density."
            )
    if not numbers:
        raise InputError(f"'{file}' has no row below its header; give at least one box.")
    table = np.array(numbers)
    low, high = table[:, :-1:2], table[:, 1:-1:2]
    edges = [np.unique(np.concatenate((low[:, k], high[:, k]))) for k in range(n_dimensions)]
    shape = [len(axis) - 1 for axis in edges]
    if prod(shape) > MOST_CELLS:
        raise InputError(
            f"the boxes of '{file}' make a grid of {prod(shape):,} cells; at most "
            f"{MOST_CELLS:,} are taken. Use fewer, or align them."
        )
    values, taken = np.zeros(shape), np.zeros(shape, np.bool_)
    for i, value in enumerate(table[:, -1].tolist()):
        cells = tuple(
            slice(*np.searchsorted(edges[k], [low[i, k], high[i, k]])) for k in range(n_dimensions)
        )
        if taken[cells].any():
            raise InputError(f"'{file}' box {i + 1} overlaps another. Cut them so that none do.")
        values[cells], taken[cells] = value, True
    return Density(edges, values)
