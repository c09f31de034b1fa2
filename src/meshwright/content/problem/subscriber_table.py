"""The table of subscribers as Spark tasks write it: its schema, digests and counts."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from meshwright.content.problem.dataset import SUBSCRIBERS, Subscribers, matrix_of, publish
from meshwright.content.stored import StoredProblem
from meshwright.errors import InputError, damaged
from meshwright.model.broker_tree import BrokerTree
from meshwright.model.problem import Problem, problem_digest, subscriber_blocks
from meshwright.runtime.paths import uri
from meshwright.runtime.tasks import Batches, read_task_results, write_task_result
from meshwright.storage import Manifest, Staging
from meshwright.storage.digest import combine_reported, name_blocks

SUBSCRIBER_ROWS = from_arrow_schema(SUBSCRIBERS)


def write_and_publish(
    stage: Staging,
    source: DataFrame,
    subscribers_of: Callable[[Batches], Iterator[Subscribers]],
    *,
    tree: BrokerTree,
    limits: Mapping[str, Any],
    n_dimensions: int,
    parameters: Mapping[str, Any],
) -> Manifest:
    """Write the subscribers that tasks make from a frame, and publish the problem.

    `subscribers_of` runs in each task and must yield whole digest blocks: partitions must not split
    them. `limits` are alpha, beta, beta_max and last_hop.
    """
    results = stage.scratch("task-results")
    leaves = tree.location[tree.leaves], tree.down[tree.leaves] * (not limits["last_hop"])

    def write(batches: Batches) -> Batches:
        from meshwright.content.kernels.latency import count_in_time

        rows: list[tuple[int, bytes]] = []
        names: list[tuple[int, bytes]] = []
        delays: list[float] = []
        in_time = np.zeros(len(tree.leaves) + 1, np.int64)
        for some in subscribers_of(batches):
            in_time += count_in_time(some.location, some.max_delay, *leaves)
            delays += [float(some.max_delay.min()), float(some.max_delay.max())]
            points = some.location, some.low, some.high
            rows += subscriber_blocks(some.first, *points, some.max_delay)
            names += name_blocks(some.ids, some.names)
            yield some.as_batch()
        if rows:
            result = {"rows": rows, "names": names, "in_time": in_time.tolist()}
            write_task_result(results, {**result, "max_delay": [min(delays), max(delays)]})

    source.mapInArrow(write, SUBSCRIBER_ROWS).write.parquet(uri(stage.table("subscribers")))
    found = read_task_results(results)
    in_time = np.array([result["in_time"] for result in found], np.int64).sum(axis=0)
    delays = [delay for result in found for delay in result["max_delay"]]
    problem = StoredProblem(
        subscribers_table=stage.table("subscribers"),
        pin=None,
        tree=tree,
        n_subscribers=int(in_time.sum()),
        n_dimensions=n_dimensions,
        delay_range=(min(delays), max(delays)),
        max_delay=None,
        density=None,
        **limits,
    )
    tables = combine_reported(found, "rows"), combine_reported(found, "names")
    return publish(stage, problem, in_time, problem_digest(problem, *tables), parameters)


def refuse_damaged(rows: DataFrame, problem: StoredProblem) -> None:
    """Raise InputError for rows of a problem's subscribers that `Problem` would refuse."""
    tree, n_rows, n_dimensions = problem.tree, problem.n_subscribers, problem.n_dimensions

    def task(batches: Batches) -> Batches:
        for batch in batches:
            wrong = _damage(batch, tree, n_rows, n_dimensions) if batch.num_rows else None
            if wrong is not None:
                yield pa.RecordBatch.from_pydict({"wrong": [wrong]})

    found = rows.mapInArrow(task, "wrong string").first()
    if found is not None:
        why = found[0].rstrip(".")
        raise damaged(problem.subscribers_table, why, "Create the problem again")


def _damage(batch: pa.RecordBatch, tree: BrokerTree, n_rows: int, n_dimensions: int) -> str | None:
    """Return what is wrong with some rows of a table of subscribers."""
    for name in ("subscriber", "max_delay"):
        if batch.column(name).null_count:
            return f"column {name!r} has nulls"
    ids = batch.column("subscriber").to_numpy()
    if ids.min() < 0 or ids.max() >= n_rows:
        return f"the ids of its subscribers are not 0..{n_rows - 1}"
    location, low, high = (
        matrix_of(pa.chunked_array([batch.column(name)])) for name in ("location", "low", "high")
    )
    if location is None or low is None or high is None:
        return "the lists of its points are missing or differ in length"
    try:
        found = Problem(tree, location, low, high, batch.column("max_delay").to_numpy())
    except InputError as error:
        return str(error)
    if found.n_dimensions != n_dimensions:
        return f"its boxes have {found.n_dimensions} dimensions, the manifest says {n_dimensions}"
    return None
