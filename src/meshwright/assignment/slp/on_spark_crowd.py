"""A crowd on Spark: the subscribers that have come down to each broker, in tables.

The rows of everyone at a broker lie in a directory of that broker, written when those at its parent
were divided. That cuts the lineage, and a division reads nobody but its own.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from meshwright.assignment.hilbert import Frame
from meshwright.assignment.slp import on_spark_tasks as tasks
from meshwright.assignment.slp.levels import Targets
from meshwright.assignment.slp.on_spark import Members
from meshwright.assignment.slp.on_spark_rows import (
    CLUSTERS,
    MEMBERS,
    PLACED,
    ROWS,
    floats_of,
    one_batch,
)
from meshwright.assignment.slp.one_level import Division
from meshwright.datasets import Staging
from meshwright.problem import Problem
from meshwright.spark.paths import read_parquet, uri


class SparkCrowd:
    """Everyone on Spark, and the broker that each has come down to: -1 without a place."""

    def __init__(
        self, spark: SparkSession, problem: Problem, everyone: DataFrame, stage: Staging
    ) -> None:
        """Take the problem without its subscribers, and these as rows of ROWS."""
        self.leaves = tasks.Leaves(problem.leaf_location, problem.leaf_down)
        self._spark = spark
        self._problem = problem
        self._everyone = everyone
        self._stage = stage
        self._levels = stage.scratch("levels")
        self._counts = {problem.tree.publisher: problem.n_subscribers}

    def count(self, broker: int) -> int:
        """Return how many have come down to a broker."""
        return self._counts.get(broker, 0)

    def rows(self, broker: int) -> DataFrame:
        """Return those at a broker."""
        if broker == self._problem.tree.publisher:
            return self._everyone
        return read_parquet(self._spark, self._levels / f"at={broker}", schema=ROWS)

    def placed(self) -> DataFrame:
        """Return everyone who has come down to a leaf, and those without a place."""
        leaves = [-1, *self._problem.tree.leaves.tolist()]
        everyone = read_parquet(self._spark, self._levels, schema=PLACED)
        return everyone.where(F.col("at").isin(leaves))

    def gather(self, broker: int, target_of_leaf: Targets) -> Members:
        """Return those at a broker, with the targets that are in time for them."""
        rows, problem = self.rows(broker), self._problem
        table = self._stage.scratch(f"members-{broker}")
        prepare = tasks.prepare_task(self.leaves, target_of_leaf, frame_on_spark(rows))
        rows.mapInArrow(prepare, MEMBERS).write.parquet(uri(table))
        n_words = -(-(int(target_of_leaf.max()) + 1) // 64)
        shape = (problem.tree.location.shape[1], problem.n_dimensions, n_words)
        frame = read_parquet(self._spark, table, schema=MEMBERS)
        return Members(self._spark, frame, self.count(broker), shape, self._stage.scratch)

    def move(self, broker: int, members: Members, division: Division, children: list[int]) -> None:
        """Move those at a broker down to its children, as they are divided."""
        placement = division.placement
        self._write(members.settled(division.choice, placement, children))
        loads = placement.loads(len(children))
        self._counts |= dict(zip(children, loads.tolist(), strict=True))
        self._counts[-1] = self.count(-1) + int(placement.left.sum())
        self._drop(self._stage.scratch(f"members-{broker}"))

    def move_all(self, broker: int, child: int) -> None:
        """Move all at a broker down to one child."""
        self._write(self.rows(broker).withColumn("at", F.lit(child)))
        self._counts[child] = self.count(broker)

    def _write(self, rows: DataFrame) -> None:
        rows.write.mode("append").partitionBy("at").parquet(uri(self._levels))

    def _drop(self, table: Path) -> None:
        import shutil

        shutil.rmtree(table, ignore_errors=True)


def frame_on_spark(rows: DataFrame) -> Frame:
    """Return the frame of the centres of all boxes."""
    found: pa.RecordBatch = one_batch(
        rows.select("low", "high").mapInArrow(tasks.frame_task, CLUSTERS).toArrow()
    )
    return Frame(
        np.asarray(floats_of(found, "low").min(axis=0)),
        np.asarray(floats_of(found, "high").max(axis=0)),
    )
