"""Problems on disk: the tables `subscribers` and `brokers`, and the limits in the manifest.

Nothing here needs Spark. Lists of numbers are taken from Arrow as whole arrays, a million
subscribers in about a second.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from meshwright.content.problem.density_file import density_json, density_of
from meshwright.errors import InputError, damaged
from meshwright.model.broker_tree import BrokerTree
from meshwright.model.names import ArrowNames, arrow_names
from meshwright.model.problem import Problem, ProblemSummary
from meshwright.runtime.arrays import Floats, Ints, Longs
from meshwright.storage import Manifest, Staging, open_dataset, read_by_id, staging, write_table

LIMITS = ("alpha", "beta", "beta_max", "last_hop")
SUBSCRIBERS = pa.schema(
    {
        "subscriber": pa.int32(),
        "name": pa.string(),
        **dict.fromkeys(("location", "low", "high"), pa.list_(pa.float64())),
        "max_delay": pa.float64(),
    }
)


class Subscribers(NamedTuple):
    """Subscribers with consecutive ids, one per row."""

    first: int  # id of the first row
    names: pa.Array  # string[n]
    location: Floats  # float64[n, network dimensions]
    low: Floats  # float64[n, event dimensions]
    high: Floats  # float64[n, event dimensions]
    max_delay: Floats  # float64[n]

    @property
    def ids(self) -> Ints:
        """The ids of the rows."""
        return np.arange(self.first, self.first + len(self.names), dtype=np.int32)

    def as_batch(self) -> pa.RecordBatch:
        """Return the rows of the table of subscribers."""
        points = [lists(self.location), lists(self.low), lists(self.high)]
        columns = [self.ids, self.names, *points, self.max_delay]
        return pa.RecordBatch.from_arrays(columns, schema=SUBSCRIBERS)


def load_problem(path: str | Path) -> Problem:
    """Return the problem of a dataset."""
    return read_problem(open_dataset(Path(path), "problem"))


def read_problem(manifest: Manifest) -> Problem:
    """Return the problem of a dataset that is open."""
    table = read_by_id(manifest, "subscribers", SUBSCRIBERS.names)
    problem = Problem(
        tree=read_tree(manifest),
        location=_matrix(manifest, table, "location"),
        low=_matrix(manifest, table, "low"),
        high=_matrix(manifest, table, "high"),
        max_delay=_numbers(manifest, table, "max_delay"),
        density=density_of(manifest.get("density")),
        subscriber_names=ArrowNames(table.column("name").combine_chunks()),
        read_digest=manifest["digest"],
        **{limit: manifest[limit] for limit in LIMITS},
    )
    problem._digest.append(manifest["digest"])
    return problem


def read_tree(manifest: Manifest) -> BrokerTree:
    """Return only the broker tree of a problem dataset."""
    columns = ["broker", "parent", "location", "capacity", "name"]
    table = read_by_id(manifest, "brokers", columns)
    return BrokerTree(
        table.column("parent").combine_chunks().fill_null(-1).to_numpy(),
        _matrix(manifest, table, "location"),
        _numbers(manifest, table, "capacity"),
        ArrowNames(table.column("name").combine_chunks()),
    )


def write_problem(
    path: str | Path,
    problem: Problem,
    *,
    parameters: Mapping[str, Any] | None = None,
    force: bool = False,
) -> Manifest:
    """Write a problem in memory as a dataset."""
    with staging(Path(path), "problem", force=force) as stage:
        names = arrow_names(problem.subscriber_names)
        boxes = problem.location, problem.low, problem.high
        batch = Subscribers(0, names, *boxes, problem.max_delay).as_batch()
        write_table(stage.table("subscribers"), pa.Table.from_batches([batch]))
        return publish(stage, problem, in_time_counts(problem), problem.digest, parameters or {})


def publish(
    stage: Staging,
    problem: ProblemSummary,
    in_time: Longs,
    digest: str,
    parameters: Mapping[str, Any],
) -> Manifest:
    """Write the brokers and publish a dataset whose subscribers are already written.

    `in_time` is the histogram of leaves in time per subscriber.
    """
    tree = problem.tree
    brokers = {
        "broker": pa.array(np.arange(tree.n_brokers, dtype=np.int32)),
        "parent": pa.array(tree.parent, pa.int32(), mask=tree.parent < 0),
        "name": arrow_names(tree.names),
        "location": lists(tree.location),
        "capacity": pa.array(tree.capacity),
    }
    write_table(stage.table("brokers"), pa.table(brokers))
    facts = {
        "n_subscribers": problem.n_subscribers,
        "n_brokers": tree.n_brokers - 1,  # without the publisher
        "n_leaves": len(tree.leaves),
        "n_levels": int(tree.depth.max()),
        "n_dimensions": problem.n_dimensions,
        "in_time": spread_of(in_time),
        **{limit: getattr(problem, limit) for limit in LIMITS},
        "max_delay": problem.delay_range,
        "parameters": dict(parameters),
        "digest": digest,
    }
    if problem.density is not None:
        facts["density"] = density_json(problem.density)
    return stage.publish(facts)


def in_time_counts(problem: Problem) -> Longs:
    """Return int64[leaves + 1]: how many subscribers have 0, 1, 2, ... leaves in time."""
    from meshwright.content.kernels.latency import count_in_time

    leaves = problem.leaf_location, problem.leaf_down
    return count_in_time(problem.location, problem.max_delay, *leaves)


def spread_of(histogram: Longs) -> dict[str, int]:
    """Return the least, the median and the most leaves in time of a subscriber.

    `histogram`, int64[leaves + 1], says how many subscribers have 0, 1, 2, ... leaves in time.
    """
    below = np.cumsum(histogram)
    if below[-1] == 0:
        return {"least": 0, "median": 0, "most": 0}
    found = np.flatnonzero(histogram)
    median = int(np.searchsorted(below, (below[-1] + 1) // 2))
    return {"least": int(found[0]), "median": median, "most": int(found[-1])}


def lists(matrix: Floats) -> pa.ListArray:
    """Return the rows of a matrix as Arrow lists."""
    offsets = np.arange(len(matrix) + 1, dtype=np.int32) * np.int32(matrix.shape[1])
    return pa.ListArray.from_arrays(offsets, np.ascontiguousarray(matrix).ravel())


def matrix_of(column: pa.ChunkedArray) -> Floats | None:
    """Return Arrow lists as a matrix, or None if their lengths differ or a number is missing."""
    whole = column.combine_chunks()
    values, lengths = whole.flatten(), np.diff(whole.offsets)
    if whole.null_count or values.null_count or len(np.unique(lengths)) != 1:
        return None
    return values.to_numpy().reshape(len(whole), -1)


def _matrix(manifest: Manifest, table: pa.Table, column: str) -> Floats:
    matrix = matrix_of(table.column(column))
    if matrix is None:
        raise _damaged(manifest, f"the lists in column {column!r} are missing or differ in length")
    return matrix


def _numbers(manifest: Manifest, table: pa.Table, column: str) -> Floats:
    numbers: Floats = table.column(column).to_numpy()
    if table.column(column).null_count:
        raise _damaged(manifest, f"a number is missing in column {column!r}")
    return numbers


def _damaged(manifest: Manifest, why: str) -> InputError:
    return damaged(manifest.path, why, "Create the problem again")
