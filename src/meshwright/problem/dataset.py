"""Problems on disk: the tables `subscribers` and `brokers`, and the limits in the manifest.

Nothing here needs a JVM. A million subscribers load in about a second: lists of numbers are
taken from Arrow as they lie, never one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from meshwright.datasets import Manifest, Staging, open_dataset, read_table, staging, write_table
from meshwright.errors import InputError
from meshwright.names import ArrowNames, arrow_names
from meshwright.problem.density import Density
from meshwright.problem.problem import Problem
from meshwright.problem.tree import BrokerTree

LIMITS = ("alpha", "beta", "beta_max", "last_hop")
_NUMBERS = pa.list_(pa.float64())
SUBSCRIBERS = pa.schema(
    [
        ("subscriber", pa.int32()),
        ("name", pa.string()),
        ("location", _NUMBERS),
        ("low", _NUMBERS),
        ("high", _NUMBERS),
        ("max_delay", pa.float64()),
    ]
)


def load_problem(path: str | Path) -> Problem:
    """Return the problem of a dataset."""
    directory = Path(path)
    manifest = open_dataset(directory, "problem")
    table = _in_order(directory, "subscribers", SUBSCRIBERS.names)
    problem = Problem(
        tree=load_tree(directory),
        location=_matrix(directory, table, "location"),
        low=_matrix(directory, table, "low"),
        high=_matrix(directory, table, "high"),
        max_delay=_numbers(directory, table, "max_delay"),
        density=density_of(manifest.get("density")),
        subscriber_names=ArrowNames(table.column("name").combine_chunks()),
        **{limit: manifest[limit] for limit in LIMITS},
    )
    problem._digest.append(manifest["digest"])
    return problem


def load_tree(path: str | Path) -> BrokerTree:
    """Return the brokers of a problem dataset alone."""
    directory = Path(path)
    table = _in_order(directory, "brokers", ["broker", "parent", "location", "capacity", "name"])
    return BrokerTree(
        table.column("parent").combine_chunks().fill_null(-1).to_numpy(),
        _matrix(directory, table, "location"),
        _numbers(directory, table, "capacity"),
        ArrowNames(table.column("name").combine_chunks()),
    )


def write_problem(
    path: str | Path,
    problem: Problem,
    *,
    parameters: Mapping[str, Any] | None = None,
    force: bool = False,
) -> Manifest:
    """Write a problem that is in memory as a dataset."""
    with staging(Path(path), "problem", force=force) as stage:
        batch = subscriber_batch(
            0,
            arrow_names(problem.subscriber_names),
            problem.location,
            problem.low,
            problem.high,
            problem.max_delay,
        )
        write_table(stage.table("subscribers"), pa.Table.from_batches([batch]))
        return publish(
            stage,
            tree=problem.tree,
            limits={limit: getattr(problem, limit) for limit in LIMITS},
            density=problem.density,
            n_dimensions=problem.n_dimensions,
            in_time=in_time_counts(problem),
            max_delay=(float(problem.max_delay.min()), float(problem.max_delay.max())),
            digest=problem.digest,
            parameters=parameters or {},
        )


def publish(
    stage: Staging,
    *,
    tree: BrokerTree,
    limits: Mapping[str, Any],
    density: Density | None,
    n_dimensions: int,
    in_time: npt.NDArray[np.int64],
    max_delay: tuple[float, float],
    digest: str,
    parameters: Mapping[str, Any],
) -> Manifest:
    """Write the brokers and publish a dataset whose subscribers are written."""
    parent = pa.array(tree.parent, pa.int32(), mask=tree.parent < 0)
    brokers = {
        "broker": pa.array(np.arange(tree.n_brokers, dtype=np.int32)),
        "parent": parent,
        "name": arrow_names(tree.names),
        "location": lists(tree.location),
        "capacity": pa.array(tree.capacity),
    }
    write_table(stage.table("brokers"), pa.table(brokers))
    facts = {
        "n_subscribers": int(in_time.sum()),
        "n_brokers": tree.n_brokers - 1,  # the publisher is none
        "n_leaves": len(tree.leaves),
        "n_levels": int(tree.depth.max()),
        "n_dimensions": n_dimensions,
        "in_time": spread_of(in_time),
        **limits,
        "max_delay": max_delay,
        "parameters": dict(parameters),
        "digest": digest,
    }
    if density is not None:
        edges = [axis.tolist() for axis in density.edges]
        facts["density"] = {"edges": edges, "values": density.values.tolist()}
    return stage.publish(facts)


def density_of(found: Mapping[str, Any] | None) -> Density | None:
    """Return the density that a manifest or a file of the user describes."""
    if found is None:
        return None
    try:
        return Density(found["edges"], found["values"])
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            "a density has `edges`, a list of rising numbers per dimension, and `values`, "
            f"one per cell; this one cannot be read ({error})."
        ) from error


def subscriber_batch(
    first: int,
    names: pa.Array,
    location: npt.NDArray[np.float64],
    low: npt.NDArray[np.float64],
    high: npt.NDArray[np.float64],
    max_delay: npt.NDArray[np.float64],
) -> pa.RecordBatch:
    """Return rows of the table of subscribers, from id `first` on."""
    ids = pa.array(np.arange(first, first + len(location), dtype=np.int32))
    columns = [ids, names, lists(location), lists(low), lists(high), pa.array(max_delay)]
    return pa.RecordBatch.from_arrays(columns, schema=SUBSCRIBERS)


def lists(matrix: npt.NDArray[np.float64]) -> pa.ListArray:
    """Return the rows of a matrix as Arrow lists."""
    n, k = matrix.shape
    offsets = np.arange(0, n * k + 1, k, dtype=np.int32) if k else np.zeros(n + 1, np.int32)
    return pa.ListArray.from_arrays(offsets, np.ascontiguousarray(matrix).ravel())


def matrix_of(column: pa.ChunkedArray) -> npt.NDArray[np.float64] | None:
    """Return Arrow lists as a matrix, or None when they differ in length or lack a number."""
    rows = []
    for chunk in column.chunks:
        if chunk.null_count:
            return None
        values = chunk.flatten()
        n = len(chunk)
        if values.null_count or (n and len(values) % n):
            return None
        lengths = np.diff(chunk.offsets.to_numpy())
        if n and (lengths != lengths[0]).any():
            return None
        if n:
            rows.append(values.to_numpy(zero_copy_only=False).reshape(n, -1))
    if len({part.shape[1] for part in rows}) != 1:
        return None
    return np.concatenate(rows) if len(rows) > 1 else rows[0]


def in_time_counts(problem: Problem) -> npt.NDArray[np.int64]:
    """Return, for each number of leaves, how many subscribers have so many in time."""
    from meshwright.problem.count_kernel import count_in_time

    leaves = problem.leaf_location, problem.leaf_down
    counts: npt.NDArray[np.int64] = count_in_time(problem.location, problem.max_delay, *leaves)
    return counts


def spread_of(counts: npt.NDArray[np.int64]) -> dict[str, int]:
    """Return the least, the median and the most of a histogram of counts."""
    below = np.cumsum(counts)
    if below[-1] == 0:
        return {"least": 0, "median": 0, "most": 0}
    found = np.flatnonzero(counts)
    median = int(np.searchsorted(below, (below[-1] + 1) // 2))
    return {"least": int(found[0]), "median": median, "most": int(found[-1])}


def _in_order(directory: Path, table: str, columns: list[str]) -> pa.Table:
    """Return a table in the order of its ids, which are 0, 1, 2, ..."""
    rows = read_table(directory, table, columns)
    ids = rows.column(columns[0]).to_numpy()
    if not np.array_equal(ids, np.arange(len(ids))):
        rows = rows.sort_by(columns[0])
        if not np.array_equal(rows.column(columns[0]).to_numpy(), np.arange(len(ids))):
            raise _damaged(directory, f"the ids of its {table} are not 0..{len(ids) - 1}")
    return rows


def _matrix(directory: Path, table: pa.Table, column: str) -> npt.NDArray[np.float64]:
    matrix = matrix_of(table.column(column))
    if matrix is None:
        raise _damaged(
            directory, f"the lists of its column {column!r} are none, or not of one length"
        )
    return matrix


def _numbers(directory: Path, table: pa.Table, column: str) -> npt.NDArray[np.float64]:
    numbers: npt.NDArray[np.float64] = table.column(column).to_numpy()
    if table.column(column).null_count:
        raise _damaged(directory, f"a number is missing in its column {column!r}")
    return numbers


def _damaged(directory: Path, why: str) -> InputError:
    return InputError(f"'{directory}' is damaged: {why}. Make the problem again.")
