"""Event densities as JSON, in manifests and files, and as CSV tables of boxes."""

import csv
import json
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from meshwright.errors import InputError
from meshwright.model.density import Density

MOST_CELLS = 1 << 22  # of the grid through the edges of all boxes


def density_json(density: Density) -> dict[str, Any]:
    """Return a density as a manifest holds it."""
    edges = [axis.tolist() for axis in density.edges]
    return {"edges": edges, "values": density.values.tolist()}


def density_of(found: Mapping[str, Any] | None) -> Density | None:
    """Return the density that a manifest or a user's JSON file describes."""
    if found is None:
        return None
    try:
        return Density(found["edges"], found["values"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            "a density has `edges`, a list of rising numbers per dimension, and `values`, "
            f"one per cell; this one cannot be read ({error})."
        ) from error


def read_density(path: str | Path, n_dimensions: int) -> Density:
    """Return the density of a CSV file, or of a JSON file with `edges` and `values`.

    The CSV has a header ``low_1,high_1,...,low_d,high_d,density`` and one row per box. Boxes may
    touch but not overlap; no events fall outside them.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"'{file}' cannot be read ({error}). Check --density.") from error
    if file.suffix != ".json":
        return _density_of_boxes(file, list(csv.reader(text.splitlines())), n_dimensions)
    try:
        found = density_of(json.loads(text))
    except json.JSONDecodeError as error:
        raise InputError(f"'{file}' is not JSON ({error}).") from error
    if found is None:
        raise InputError(f"'{file}' does not contain a density.")
    return found


def _density_of_boxes(file: Path, rows: list[list[str]], n_dimensions: int) -> Density:
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
                f"'{file}' line {line}: {','.join(row)} is not a box with low < high and a density."
            )
    if not numbers:
        raise InputError(f"'{file}' has no row below its header; give at least one box.")
    table = np.array(numbers)
    low, high = table[:, :-1:2], table[:, 1:-1:2]
    edges = [np.unique(np.concatenate((low[:, k], high[:, k]))) for k in range(n_dimensions)]
    shape = [len(axis) - 1 for axis in edges]
    if prod(shape) > MOST_CELLS:
        raise InputError(
            f"the boxes of '{file}' make a grid of {prod(shape):,} cells; the maximum is "
            f"{MOST_CELLS:,}. Use fewer boxes, or align them."
        )
    values, taken = np.zeros(shape), np.zeros(shape, np.bool_)
    for i, value in enumerate(table[:, -1].tolist()):
        cells = tuple(
            slice(*np.searchsorted(edges[k], [low[i, k], high[i, k]])) for k in range(n_dimensions)
        )
        if taken[cells].any():
            raise InputError(f"'{file}' box {i + 1} overlaps another. Make them disjoint.")
        values[cells], taken[cells] = value, True
    return Density(edges, values)
