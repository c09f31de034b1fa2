"""Find a leaf for those that a subtree had no room for, on Spark: the same as `repair` in memory.

The maximum flow over all leaves knows groups and their numbers alone. Who moves is then a matter of
places: of a group at a leaf, the first on the Hilbert curve stay, as many as the flow leaves there;
the others, in the same order, go to the leaves with room for the group.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, IntegerType, LongType, StructField, StructType

from meshwright.assignment.flow import Placement, group_rows, place
from meshwright.assignment.hilbert import Frame, box_keys
from meshwright.assignment.slp.on_spark_crowd import frame_on_spark
from meshwright.assignment.slp.on_spark_kernel import find_groups
from meshwright.assignment.slp.on_spark_rows import (
    Task,
    Words,
    binary,
    filled,
    floats_of,
    ints_of,
    one_batch,
    words_of,
)
from meshwright.assignment.slp.on_spark_tasks import Leaves
from meshwright.assignment.slp.repair import least_loaded, table_of
from meshwright.datasets import Staging
from meshwright.problem import Problem
from meshwright.spark.paths import read_parquet, uri

MARKED = StructType(
    [
        StructField("subscriber", IntegerType()),
        StructField("broker", IntegerType()),
        StructField("marks", BinaryType()),
    ]
)
STANDING = StructType(
    [
        StructField("subscriber", IntegerType()),
        StructField("group", IntegerType()),
        StructField("broker", IntegerType()),
        StructField("key", LongType()),
    ]
)
MOVED = StructType([*MARKED.fields[:1], StructField("to", IntegerType())])
_ASKED = ("subscriber", "at", "location", "low", "high", "max_delay")


def repair_on_spark(
    spark: SparkSession, problem: Problem, rows: DataFrame, n_without: int, stage: Staging
) -> tuple[DataFrame, int]:
    """Return everyone with the broker `at`, and how many stand over a leaf's limit.

    Parameters
    ----------
    rows
        Everyone as rows of PLACED; the broker of `n_without` of them is -1.

    """
    if n_without == 0:
        return rows, 0
    leaves = Leaves(problem.leaf_location, problem.leaf_down)
    asked = rows.select(*_ASKED)
    marked = asked.mapInArrow(mark_task(leaves), MARKED)
    counted = marked.groupBy("marks", "broker").count().toArrow()
    masks, now = _placement(one_batch(counted), problem)
    counts = now.left.copy()
    np.add.at(counts, now.group, now.count)
    then = place(masks, counts, problem.load_limits(problem.beta_max), now)
    stay, take = _quotas(problem, now, then)
    moving = np.zeros(len(masks), np.bool_)
    moving[stay[0]] = moving[take[0]] = True
    moving[now.left > 0] = True
    standing = asked.mapInArrow(_stand_task(leaves, masks, moving, frame_on_spark(rows)), STANDING)
    moved = _moves(spark, standing, stay, take)
    moved.write.parquet(uri(stage.scratch("moved")))
    moved = read_parquet(spark, stage.scratch("moved"), schema=MOVED)
    n_over = int(then.left.sum())
    if n_over:
        over = _place_over(problem, moved.where("to < 0").join(marked, "subscriber"), then)
        settled = spark.createDataFrame(over, MOVED)
        moved = moved.where("to >= 0").unionByName(settled)
    rows = rows.join(moved, "subscriber", "left")
    return rows.withColumn("at", F.coalesce("to", "at")).drop("to"), n_over


def mark_task(leaves: Leaves) -> Task:
    """Return the task that yields everyone's leaves in time."""

    def mark(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in filled(batches):
            delay = np.array(batch.column("max_delay").to_numpy())
            marks = leaves.in_time(floats_of(batch, "location"), delay)
            columns = [batch.column("subscriber"), batch.column("at"), binary(marks)]
            yield pa.RecordBatch.from_arrays(columns, MARKED.names)

    return mark


def _stand_task(leaves: Leaves, masks: Words, moving: npt.NDArray[np.bool_], frame: Frame) -> Task:
    """Return the task that yields the members of the groups that change, with their places."""

    def stand(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in filled(batches):
            delay = np.array(batch.column("max_delay").to_numpy())
            marks = leaves.in_time(floats_of(batch, "location"), delay)
            group = np.empty(len(marks), np.int64)
            find_groups(masks, marks, group)
            key = box_keys(floats_of(batch, "low"), floats_of(batch, "high"), frame)
            columns = [
                batch.column("subscriber"),
                pa.array(group.astype(np.int32)),
                batch.column("at"),
                pa.array(key),
            ]
            rows = pa.RecordBatch.from_arrays(columns, STANDING.names)
            yield rows.filter(pa.array(moving[group]))

    return stand


def _placement(rows: pa.RecordBatch, problem: Problem) -> tuple[Words, Placement]:
    """Return the groups' bits, and the placement that everyone's broker amounts to."""
    tree = problem.tree
    index = np.full(tree.n_brokers + 1, -1, np.int32)  # the last for those without
    index[tree.leaves] = np.arange(len(tree.leaves))
    masks, group, _ = group_rows(words_of(rows))
    leaf, count = index[ints_of(rows, "broker")], ints_of(rows, "count")
    left = np.zeros(len(masks), np.int64)
    np.add.at(left, group[leaf < 0], count[leaf < 0])
    order = np.lexsort((leaf, group))
    order = order[leaf[order] >= 0]
    return masks, Placement(group[order], leaf[order], count[order], left)


Quotas = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int64]]


def _quotas(problem: Problem, now: Placement, then: Placement) -> tuple[Quotas, Quotas]:
    """Return for the groups that change: how many stay at a broker, and how many it takes more."""
    before, after = table_of(now), table_of(then)
    leaves = problem.tree.leaves.tolist()
    stay, take = [], []
    changed = set(np.flatnonzero(now.left).tolist())
    changed |= {pair[0] for pair, count in before.items() if after.get(pair) != count}
    changed |= {pair[0] for pair, count in after.items() if before.get(pair) != count}
    for (group, leaf), count in sorted(after.items()):
        if group in changed:
            kept = min(count, before.get((group, leaf), 0))
            stay.append((group, leaves[leaf], kept))
            take.append((group, leaves[leaf], count - kept))
    return _columns(stay), _columns([row for row in take if row[2]])


def _columns(rows: list[tuple[int, int, int]]) -> Quotas:
    found = np.array(rows, np.int64).reshape(-1, 3)
    return found[:, 0].astype(np.int32), found[:, 1].astype(np.int32), found[:, 2]


def _moves(spark: SparkSession, standing: DataFrame, stay: Quotas, take: Quotas) -> DataFrame:
    """Return those that move and where to, -1 for nowhere yet."""
    staying = pa.table({"group": stay[0], "broker": stay[1], "stay": stay[2]})
    # A broker takes those of a group whose places among the movers are after `first`.
    last = np.cumsum(take[2])
    starts = np.searchsorted(take[0], take[0])  # rows are sorted by group: its first row
    before = (last - take[2])[starts] if len(last) else last
    taking = pa.table(
        {"group": take[0], "to": take[1], "first": last - take[2] - before, "last": last - before}
    )
    in_turn = [F.col("key"), F.col("subscriber")]
    at_broker = Window.partitionBy("group", "broker").orderBy(*in_turn)
    free = (
        standing.withColumn("turn", F.row_number().over(at_broker))
        .join(F.broadcast(spark.createDataFrame(staying)), ["group", "broker"], "left")
        .where((F.col("broker") < 0) | (F.col("turn") > F.coalesce("stay", F.lit(0))))
        .withColumn("place", F.row_number().over(Window.partitionBy("group").orderBy(*in_turn)))
    )
    taken = F.broadcast(spark.createDataFrame(taking)).alias("taking")
    here = (F.col("free.group") == F.col("taking.group")) & (
        (F.col("place") > F.col("first")) & (F.col("place") <= F.col("last"))
    )
    found = free.alias("free").join(taken, here, "left")
    return found.select("subscriber", F.coalesce("to", F.lit(-1)).alias("to"))


def _place_over(problem: Problem, rows: DataFrame, then: Placement) -> pa.Table:
    """Return a leaf for those that no leaf has room for: they are gathered, 30 bytes each or so."""
    batch = one_batch(rows.select("subscriber", "marks").toArrow().sort_by("subscriber"))
    leaf = least_loaded(problem, words_of(batch), then.loads(len(problem.tree.leaves)))
    return pa.table(
        {"subscriber": batch.column("subscriber"), "to": pa.array(problem.tree.leaves[leaf])}
    )
