"""Synthetic problems: the workload sets of paper 5, at any size (docs/content.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from meshwright.datasets import Manifest, staging
from meshwright.datasets.digest import BLOCK
from meshwright.names import number_width
from meshwright.problem.arguments import ContentArguments
from meshwright.problem.dataset import publish
from meshwright.problem.digest import numbered, problem_digest
from meshwright.problem.notes import SubscriberNotes, notes_of, read_notes
from meshwright.problem.schemas import SUBSCRIBER_ROWS
from meshwright.problem.sets import WorkloadSet, broker_tree, workload_set
from meshwright.problem.tree import BrokerTree
from meshwright.spark.paths import uri
from meshwright.spark.progress import Progress, no_progress
from meshwright.spark.session import parallelism

N_STEPS = 1
BLOCKS_AT_ONCE = 32  # 8,192 subscribers a batch: a few MB of arrays
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
    """Write a synthetic problem; the same arguments give the same digest anywhere."""
    drawn = workload_set(arguments)
    tree = broker_tree(drawn, arguments)
    n = arguments.subscribers
    n_blocks = -(-n // BLOCK)
    partitions = partitions or max(parallelism(spark), n // PARTITION_SUBSCRIBERS)
    progress = progress or no_progress()
    with staging(Path(out), "problem", force=force) as stage:
        notes = notes_of(stage)
        with progress.step(f"drawing {n:,} subscribers"):
            blocks = spark.range(0, n_blocks, 1, min(partitions, n_blocks))
            draw = _subscribers_of_blocks(drawn, tree, arguments, notes)
            rows = blocks.mapInArrow(draw, SUBSCRIBER_ROWS)
            rows.write.parquet(uri(stage.table("subscribers")))
        seen = read_notes(notes)
        limits = arguments.limits
        return publish(
            stage,
            tree=tree,
            limits=limits,
            density=None,
            n_dimensions=2,
            in_time=seen.in_time,
            max_delay=seen.max_delay,
            digest=problem_digest(
                tree=tree,
                n_subscribers=n,
                n_dimensions=2,
                density=None,
                subscribers=seen.rows,
                subscriber_names=seen.names,
                **limits,
            ),
            parameters={"source": "generate content", **asdict(arguments)},
        )


def _subscribers_of_blocks(
    drawn: WorkloadSet, tree: BrokerTree, arguments: ContentArguments, notes: Path
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    n = arguments.subscribers
    leaf_location = tree.location[tree.leaves]
    leaf_down = tree.down[tree.leaves] * (not arguments.last_hop)
    delay, width = arguments.max_delay, number_width(n)

    def subscribers_of_blocks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        noted = SubscriberNotes(notes, leaf_location, leaf_down)
        for batch in batches:
            blocks = batch.column(0).to_numpy()
            for start in range(0, len(blocks), BLOCKS_AT_ONCE):
                some = blocks[start : start + BLOCKS_AT_ONCE]  # consecutive, as spark.range is
                first, end = int(some[0]) * BLOCK, min(n, (int(some[-1]) + 1) * BLOCK)
                names = numbered(first, end - first, "subscriber", width)
                rows = drawn.subscribers(first, end - first)
                yield noted.take(first, names, *rows, np.full(end - first, delay))
        noted.finish()

    return subscribers_of_blocks
