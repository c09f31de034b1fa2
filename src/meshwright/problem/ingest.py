"""A user's subscribers and brokers -> a problem. All rows are checked before any is written.

Subscribers pass three times over the disk: checked, sorted by name (their ids follow), and in
whole blocks of ids, so that blocks can be hashed. So they need not fit the driver's memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from meshwright.datasets import Manifest, Staging, staging
from meshwright.datasets.digest import BLOCK, BLOCK_BITS
from meshwright.errors import InputError
from meshwright.problem.dataset import matrix_of, publish
from meshwright.problem.digest import Floats, problem_digest
from meshwright.problem.ingest_brokers import ingest_brokers
from meshwright.problem.ingest_checks import (
    event_dimensions,
    refuse_bad_rows,
    relative_delays,
    wanted_columns,
    with_reasons,
)
from meshwright.problem.notes import SubscriberNotes, notes_of, read_notes
from meshwright.problem.read import Table, find_tables, read_rows
from meshwright.problem.schemas import CHECKED, SUBSCRIBER_ROWS
from meshwright.spark.paths import read_parquet, uri
from meshwright.spark.progress import Progress, no_progress
from meshwright.spark.session import parallelism
from meshwright.workload.files import reading

N_STEPS = 4
PARTITION_SUBSCRIBERS = 250_000  # a task holds them twice: about 100 MB
BATCH = 32 * BLOCK
PART_BITS = 33  # of Spark's monotonically increasing ids: the rows of a partition


def ingest(
    spark: SparkSession,
    subscribers: str,
    brokers: str,
    out: str | Path,
    *,
    max_delay: float,
    limits: Mapping[str, Any],
    partitions: int | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Manifest:
    """Write the problem of a user's tables; the same rows in any order give the same digest.

    Parameters
    ----------
    max_delay
        For the subscribers that have neither `max_delay` nor `max_latency` of their own.
    limits
        alpha, beta, beta_max and last_hop.

    Raises
    ------
    InputError
        With every complaint about the tables.
    InfeasibleError
        When no broker can serve some subscribers within their `max_latency`, with their names.

    """
    progress = progress or no_progress()
    broker_files, broker_kind = find_tables(brokers, "--brokers")
    files, kind = find_tables(subscribers, "--subscribers")
    with staging(Path(out), "problem", force=force) as stage:
        with progress.step("reading the brokers"), reading(broker_files):
            found = ingest_brokers(Table(read_rows(spark, broker_files, broker_kind), brokers))
        tree = found.tree
        leaf_down = tree.down[tree.leaves] * (not limits["last_hop"])
        leaves = tree.location[tree.leaves], leaf_down
        with progress.step("checking the subscribers"), reading(files):
            table = Table(read_rows(spark, files, kind), subscribers)
            rows = table.frame.select(*wanted_columns(table, max_delay))
            sizes = event_dimensions(rows)
            checked = rows.select(*with_reasons(tree, sizes)).mapInArrow(
                relative_delays(*leaves), CHECKED
            )
            checked.write.parquet(uri(stage.scratch("checked")))
        checked = read_parquet(spark, stage.scratch("checked"), schema=CHECKED)
        n = refuse_bad_rows(checked, subscribers)
        with progress.step("sorting the names"):
            numbered = _number(spark, checked, stage)
        with progress.step(f"writing {n:,} subscribers"):
            notes = notes_of(stage)
            partitions = partitions or max(parallelism(spark), n // PARTITION_SUBSCRIBERS)
            written = _in_blocks(numbered, n, partitions).mapInArrow(
                _whole_blocks(notes, *leaves), SUBSCRIBER_ROWS
            )
            written.write.parquet(uri(stage.table("subscribers")))
        seen = read_notes(notes)
        return publish(
            stage,
            tree=tree,
            limits=limits,
            density=None,
            n_dimensions=sizes,
            in_time=seen.in_time,
            max_delay=seen.max_delay,
            digest=problem_digest(
                tree=tree,
                n_subscribers=n,
                n_dimensions=sizes,
                density=None,
                subscribers=seen.rows,
                subscriber_names=seen.names,
                **limits,
            ),
            parameters={
                "source": "ingest content",
                "subscribers": [source.shown for source in files],
                "brokers": [source.shown for source in broker_files],
                "max_delay": max_delay,
                "warnings": list(found.warnings),
            },
        )


def _number(spark: SparkSession, checked: DataFrame, stage: Staging) -> DataFrame:
    """Return the subscribers with their ids, which follow the sorted names."""
    place = stage.scratch("sorted")
    # The row's number counts on within a partition: the high bits name the partition.
    by_name = checked.drop("reason", "late").orderBy("name")
    by_name.withColumn("row", F.monotonically_increasing_id()).write.parquet(uri(place))
    rows = read_parquet(spark, place)
    part = F.shiftright("row", PART_BITS).cast("int")
    counts = rows.groupBy(part.alias("part")).count().orderBy("part").collect()
    first = np.zeros(counts[-1]["part"] + 2, np.int64)
    for row in counts:
        first[row["part"] + 1] = row["count"]
    offset = F.element_at(F.array(*[F.lit(x) for x in np.cumsum(first).tolist()]), part + 1)
    within = F.col("row").bitwiseAND(F.lit((1 << PART_BITS) - 1))
    return rows.withColumn("subscriber", (offset + within).cast("int")).drop("row")


def _in_blocks(numbered: DataFrame, n: int, partitions: int) -> DataFrame:
    """Return the subscribers so that each partition holds whole blocks of ids."""
    n_blocks = -(-n // BLOCK)
    partitions = min(partitions, n_blocks)
    block = F.shiftright("subscriber", BLOCK_BITS)
    part = F.floor(block * partitions / n_blocks).cast("int")
    return numbered.repartitionById(partitions, part)


def _whole_blocks(
    notes: Path, leaf_location: Floats, leaf_down: Floats
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def whole_blocks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parts = [batch for batch in batches if len(batch)]
        if not parts:
            return
        table = pa.Table.from_batches(parts).sort_by("subscriber")
        noted = SubscriberNotes(notes, leaf_location, leaf_down)
        first = table.column("subscriber")[0].as_py()
        points = [_matrix(table, name) for name in ("location", "low", "high")]
        delay = table.column("max_delay").to_numpy()
        names = table.column("name").combine_chunks()
        for start in range(0, len(table), BATCH):
            some = slice(start, start + BATCH)
            location, low, high = (np.ascontiguousarray(p[some]) for p in points)
            yield noted.take(first + start, names[some], location, low, high, delay[some])
        noted.finish()

    return whole_blocks


def _matrix(table: pa.Table, name: str) -> Floats:
    matrix = matrix_of(table.column(name))
    if matrix is None:
        raise InputError(f"column {name!r} changed while it was read. Try again.")
    return matrix
