"""The bound on bandwidth, and what stands in the way of feasibility, with subscribers on Spark.

The bound counts boxes on a grid, by cluster of leaves. A box adds 1 at its low corner and takes it
back where it ends, so tasks yield corners, Spark adds them up, and the driver reads the corners of
one cluster at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, IntegerType, LongType, StructField, StructType

from meshwright.assignment.bound import (
    MOST_CELLS,
    N_SAMPLED,
    Bound,
    Clusters,
    bound_on,
    cells_of,
    thin_out,
)
from meshwright.assignment.bound_kernel import add_boxes, find_homes
from meshwright.assignment.flow import group_rows
from meshwright.assignment.hilbert import Frame
from meshwright.assignment.limits import Groups, Obstacle, find_obstacle
from meshwright.assignment.outline import Outline
from meshwright.assignment.slp.on_spark import Members
from meshwright.assignment.slp.on_spark_repair import MARKED, mark_task
from meshwright.assignment.slp.on_spark_rows import (
    MEMBERS,
    Task,
    filled,
    floats_of,
    ints_of,
    one_batch,
    words_of,
)
from meshwright.assignment.slp.on_spark_tasks import Leaves, prepare_task
from meshwright.datasets import Staging
from meshwright.problem import Problem
from meshwright.spark.paths import read_parquet, uri

MOST_LINES = 1 << 21  # coordinates that are gathered; of more a part, chosen by hashing
LINES = StructType([StructField("axis", IntegerType()), StructField("value", DoubleType())])
CORNERS = StructType(
    [
        StructField("cluster", IntegerType()),
        StructField("cell", IntegerType()),  # -1 for the number of subscribers
        StructField("count", LongType()),
    ]
)

Floats = npt.NDArray[np.float64]


def bound_on_spark(spark: SparkSession, outline: Outline, rows: DataFrame, stage: Staging) -> Bound:
    """Return a bandwidth that no feasible answer stays below, given all rows of ROWS."""
    found, all_of_them = _lines(spark, rows, stage.scratch("lines"), outline.n_dimensions)
    lines = thin_out(found, MOST_CELLS)
    whole = all(len(one) == len(other) for one, other in zip(found, lines, strict=True))
    leaves = Leaves(outline.leaf_location, outline.leaf_down)

    def clusters(problem: Problem, kept: list[Floats]) -> Clusters:
        return _OnSpark(spark, problem, kept, rows, leaves, stage)

    return bound_on(outline, lines, whole and all_of_them, clusters)


def _lines(
    spark: SparkSession, rows: DataFrame, table: Path, n_dimensions: int
) -> tuple[list[Floats], bool]:
    """Return the distinct coordinates along each axis, and whether these are all."""
    some = rows.select("low", "high").mapInArrow(_lines_task, LINES)
    some.distinct().write.parquet(uri(table))
    coordinates = read_parquet(spark, table, schema=LINES)
    ends = coordinates.groupBy("axis").agg(
        F.count("*").alias("count"), F.min("value").alias("least"), F.max("value").alias("most")
    )
    told = ends.collect()
    share = -(-sum(row["count"] for row in told) // MOST_LINES)
    if share > 1:
        coordinates = coordinates.where(F.pmod(F.xxhash64("value"), F.lit(share)) == 0)
    batch = one_batch(coordinates.toArrow())
    axis, value = ints_of(batch, "axis"), np.array(batch.column("value").to_numpy())
    extremes = {row["axis"]: (row["least"], row["most"]) for row in told}
    lines = [
        np.unique(np.concatenate((value[axis == k], extremes[k]))) for k in range(n_dimensions)
    ]
    return lines, share <= 1


def _lines_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in filled(batches):
        low, high = floats_of(batch, "low"), floats_of(batch, "high")
        for k in range(low.shape[1]):
            values = np.unique(np.concatenate((low[:, k], high[:, k])))
            axis = pa.array(np.full(len(values), k, np.int32))
            yield pa.RecordBatch.from_arrays([axis, pa.array(values)], LINES.names)


class _OnSpark(Clusters):
    """Clusters whose boxes are counted on Spark."""

    def __init__(
        self,
        spark: SparkSession,
        problem: Problem,
        lines: list[Floats],
        rows: DataFrame,
        leaves: Leaves,
        stage: Staging,
    ) -> None:
        n_leaves, d = len(problem.tree.leaves), problem.n_dimensions
        nowhere = Frame(np.zeros(d), np.ones(d))  # the places on a curve are not asked for
        prepare = prepare_task(leaves, np.arange(n_leaves), nowhere)
        shape = (problem.tree.location.shape[1], d, -(-n_leaves // 64))
        everyone = rows.mapInArrow(prepare, MEMBERS)
        members = Members(spark, everyone, problem.n_subscribers, shape, stage.scratch)
        super().__init__(problem, lines, members.draw(N_SAMPLED, 0).marks)
        self._table = stage.scratch("corners")
        count = _corners_task(leaves, self.masks, self.above, lines)
        asked = rows.select("location", "low", "high", "max_delay")
        corners = asked.mapInArrow(count, CORNERS).groupBy("cluster", "cell")
        summed = corners.agg(F.sum("count").alias("count")).where("count != 0")
        summed.repartition("cluster").write.partitionBy("cluster").parquet(uri(self._table))

    def own(self, cluster: int) -> tuple[int, npt.NDArray[np.int32]]:
        counts = np.zeros(prod(self.shape), np.int32)
        n_own = 0
        for part in sorted((self._table / f"cluster={cluster}").glob("*.parquet")):
            rows = pq.ParquetFile(part).read()
            cell, count = rows.column("cell").to_numpy(), rows.column("count").to_numpy()
            n_own += int(count[cell < 0].sum())
            counts[cell[cell >= 0]] += count[cell >= 0].astype(np.int32)
        if n_own:
            nothing = np.zeros((len(self.shape), 0), np.int32)
            nobody = np.zeros(0, np.int64)
            add_boxes(nothing, nothing, nobody, np.array(self.shape), counts)  # sums up corners
        return n_own, counts


def _corners_task(
    leaves: Leaves,
    masks: npt.NDArray[np.uint64],
    above: npt.NDArray[np.int64],
    lines: list[Floats],
) -> Task:
    """Return the task that yields the corners of its boxes on the grid, by cluster."""
    sizes = [len(axis) - 1 for axis in lines]
    n_cells = prod(sizes)

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in filled(batches):
            delay = np.array(batch.column("max_delay").to_numpy())
            marks = leaves.in_time(floats_of(batch, "location"), delay)
            home = np.empty(len(marks), np.int64)
            find_homes(marks, masks, above, home)
            first, last = cells_of(floats_of(batch, "low"), floats_of(batch, "high"), lines)
            some = (first < last).all(axis=0)  # the others have no cell
            first, last, home = first[:, some], last[:, some], home[some]
            keys, signs = [home * (n_cells + 1)], [np.ones(len(home), np.int64)]
            for corner in range(1 << len(sizes)):
                upper = [(corner >> k) & 1 for k in range(len(sizes))]
                ends = [last[k] if up else first[k] for k, up in enumerate(upper)]
                inside = np.all([end < size for end, size in zip(ends, sizes, strict=True)], axis=0)
                cell = np.zeros(len(home), np.int64)
                for end, size in zip(ends, sizes, strict=True):
                    cell = cell * size + end
                keys.append((home * (n_cells + 1) + 1 + cell)[inside])
                signs.append(np.full(int(inside.sum()), (-1) ** sum(upper), np.int64))
            found, at = np.unique(np.concatenate(keys), return_inverse=True)
            counts = np.zeros(len(found), np.int64)
            np.add.at(counts, at, np.concatenate(signs))
            columns = [found // (n_cells + 1), found % (n_cells + 1) - 1]
            arrays = [pa.array(column.astype(np.int32)) for column in columns]
            yield pa.RecordBatch.from_arrays([*arrays, pa.array(counts)], CORNERS.names)

    return count


def obstacle_on_spark(outline: Outline, rows: DataFrame) -> Obstacle | None:
    """Return what keeps the problem from having a feasible answer, None when it has one."""
    leaves = Leaves(outline.leaf_location, outline.leaf_down)

    def groups(delay: float) -> Groups:
        wider = rows.withColumn("max_delay", F.greatest("max_delay", F.lit(float(delay))))
        asked = wider.select("subscriber", F.lit(-1).alias("at"), "location", "max_delay")
        marked = asked.mapInArrow(mark_task(leaves), MARKED)
        found = one_batch(marked.groupBy("marks").count().toArrow())
        masks, group, _ = group_rows(words_of(found))
        counts = np.zeros(len(masks), np.int64)
        counts[group] = ints_of(found, "count")
        return masks, counts

    return find_obstacle(outline, groups, outline.delays[0])
