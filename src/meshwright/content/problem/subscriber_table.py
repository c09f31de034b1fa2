"""The table of subscribers as Spark tasks write it: its schema, digests and counts."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from meshwright.content.problem.dataset import SUBSCRIBERS, Subscribers, publish
from meshwright.content.stored import StoredProblem
from meshwright.model.broker_tree import BrokerTree
from meshwright.model.problem import problem_digest, subscriber_blocks
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
        from meshwright.content.problem.kernels.latency import count_in_time

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
        tables=stage.table("subscribers").parent,
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
