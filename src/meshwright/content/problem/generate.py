"""Write synthetic problems of any size on Spark: the workload sets of paper 5 (docs/content.md)."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from meshwright.content.problem.dataset import Subscribers
from meshwright.content.problem.subscriber_table import Batches, write_and_publish
from meshwright.content.problem.synthetic import ContentArguments, broker_tree, workload_set
from meshwright.model.names import number_width
from meshwright.runtime.progress import Progress, no_progress
from meshwright.runtime.session import parallelism
from meshwright.storage import Manifest, staging
from meshwright.storage.digest import BLOCK
from meshwright.workload.tables import id_ranges

N_STEPS = 1
PARTITION_SUBSCRIBERS = 1_000_000


def generate(
    spark: SparkSession,
    out: str | Path,
    arguments: ContentArguments,
    *,
    partitions: int | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Manifest:
    """Write a synthetic problem; the same arguments give the same digest everywhere."""
    drawn = workload_set(arguments)
    n, delay = arguments.subscribers, arguments.max_delay
    n_blocks, width = -(-n // BLOCK), number_width(n)
    partitions = partitions or max(parallelism(spark), n // PARTITION_SUBSCRIBERS)

    def draw_blocks(batches: Batches) -> Iterator[Subscribers]:
        for first, end in id_ranges(batches, n):
            digits = pa.array(np.arange(first, end)).cast(pa.string())
            digits = pc.utf8_lpad(digits, width=width, padding="0")
            names = pc.binary_join_element_wise("subscriber", digits, "-")
            rows = drawn.subscribers(first, end - first)
            yield Subscribers(first, names, *rows, np.full(end - first, delay))

    step = (progress or no_progress()).step(f"drawing {n:,} subscribers")
    with staging(Path(out), "problem", force=force) as stage, step:
        return write_and_publish(
            stage,
            spark.range(0, n_blocks, 1, min(partitions, n_blocks)),
            draw_blocks,
            tree=broker_tree(drawn, arguments),
            limits=arguments.limits,
            n_dimensions=2,
            parameters={"source": "generate content", **asdict(arguments)},
        )
