"""`slp` on Spark, from a problem dataset to an assignment dataset: for more than memory holds.

The answer is that of `slp` in memory. The driver holds samples, linear programs, counts of groups
and filters; subscribers stay in tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from meshwright.assignment.answer import Answer, Filters
from meshwright.assignment.dataset import publish
from meshwright.assignment.engine import choose_engine
from meshwright.assignment.filters import fit_boxes
from meshwright.assignment.methods import check_seed
from meshwright.assignment.outline import Outline, load_outline
from meshwright.assignment.slp.levels import across, down, notes_of
from meshwright.assignment.slp.on_spark import fit_on_spark
from meshwright.assignment.slp.on_spark_bound import bound_on_spark, obstacle_on_spark
from meshwright.assignment.slp.on_spark_check import look_at
from meshwright.assignment.slp.on_spark_crowd import SparkCrowd
from meshwright.assignment.slp.on_spark_repair import repair_on_spark
from meshwright.assignment.slp.on_spark_rows import PLACED, ROWS
from meshwright.assignment.slp.one_level import Settings
from meshwright.datasets import Manifest, Staging, staging
from meshwright.errors import InputError
from meshwright.kernels.compiling import Stopwatch
from meshwright.problem.schemas import SUBSCRIBER_ROWS
from meshwright.spark.paths import read_parquet, uri
from meshwright.spark.progress import Progress, no_progress
from meshwright.spark.session import parallelism

N_STEPS = 4
METHODS: Mapping[str, Callable[..., Any]] = {"slp": down, "slp-leaves": across}
PARTITION_SUBSCRIBERS = 500_000  # at most: some 50 MB of a task


def assign_on_spark(
    spark: SparkSession,
    problem: str | Path,
    out: str | Path,
    *,
    method: str = "slp",
    seed: int = 1,
    overrides: Mapping[str, Any] | None = None,
    settings: Settings | None = None,
    partitions: int | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> tuple[Answer, Manifest]:
    """Write the assignment that `slp` finds, equal to that in memory, with subscribers on Spark.

    Parameters
    ----------
    problem
        A problem dataset.
    method
        slp or slp-leaves; the other methods go from subscriber to subscriber, in memory.
    overrides
        Limits that are not those of the dataset, as `Problem.with_limits` takes them.

    Returns
    -------
    Answer, Manifest
        The answer has no `broker`: that is the table `assignment`. Its measures, report, bound and
        obstacle are worked out.

    """
    progress = progress or no_progress()
    outline = load_outline(problem, overrides)
    choose_engine("spark", method, outline)
    check_seed(seed)
    if outline.n_subscribers == 0:
        raise InputError("the problem has no subscriber; there is nothing to assign.")
    watch = Stopwatch()
    with staging(Path(out), "assignment", force=force) as stage:
        table = _subscribers(spark, problem)
        if overrides and "max_delay" in overrides:
            table = table.withColumn("max_delay", F.lit(float(overrides["max_delay"])))
        parts = partitions or max(
            parallelism(spark), -(-outline.n_subscribers // PARTITION_SUBSCRIBERS)
        )
        everyone = table.select(*ROWS.names).repartition(parts)
        with progress.step(f"assigning with {method} on Spark"):
            crowd = SparkCrowd(spark, outline, everyone, stage)
            divisions = METHODS[method](outline, crowd, seed, progress.tell, settings)
            n_stuck = crowd.count(-1)
            placed, n_over = repair_on_spark(spark, outline, crowd.placed(), n_stuck, stage)
        with progress.step("writing the assignment and fitting filters"):
            everyone, filters = _write(spark, outline, placed, stage)
            assignment = read_parquet(spark, stage.table("assignment"))
        fractional, notes = notes_of(divisions, n_stuck, n_over)
        answer = Answer(
            problem=outline,
            method=method,
            broker=np.zeros(0, np.int32),
            filters=filters,
            parameters={"seed": seed},
            fractional=fractional,
            notes=notes,
            seconds=watch.seconds,
        )
        with progress.step("checking"):
            report, measures = look_at(outline, table, assignment, filters)
            obstacle = None if report.feasible else obstacle_on_spark(outline, everyone)
        with progress.step("working out the bound"):
            bound = bound_on_spark(spark, outline, everyone, stage)
        # What an answer in memory works out when it is asked for first.
        vars(answer).update(report=report, measures=measures, bound=bound, obstacle=obstacle)
        return answer, publish(stage, answer, problem, overrides or {})


def _subscribers(spark: SparkSession, problem: str | Path) -> DataFrame:
    path = Path(problem).resolve() / "subscribers.parquet"
    return read_parquet(spark, path, schema=SUBSCRIBER_ROWS)


def _write(
    spark: SparkSession, outline: Outline, placed: DataFrame, stage: Staging
) -> tuple[DataFrame, Filters]:
    """Write who is attached where; return everyone, and the filters of all brokers."""
    rows = stage.scratch("placed")
    placed.select(*PLACED.names).write.parquet(uri(rows))
    placed = read_parquet(spark, rows, schema=PLACED)
    pairs = placed.select("subscriber", F.col("at").alias("broker"))
    pairs.orderBy("subscriber").write.parquet(uri(stage.table("assignment")))
    boxes = placed.select(F.col("at").alias("target"), "low", "high")
    found, owner = fit_on_spark(boxes, outline.alpha, outline.density_table, outline.n_dimensions)
    corners = np.stack(found, axis=1)
    of_leaf = {leaf: corners[owner == leaf] for leaf in outline.tree.leaves.tolist()}
    return placed.select(*ROWS.names), with_inner(outline, of_leaf)


def with_inner(outline: Outline, found: dict[int, np.ndarray[Any, Any]]) -> Filters:
    """Return the filters of all brokers, given the boxes of the leaves."""
    tree, density = outline.tree, tuple(outline.density_table)
    found = dict(found)
    for broker in tree.order[:0:-1].tolist():  # all but the publisher, children first
        if broker not in found:
            boxes = np.concatenate([found[child] for child in tree.children[broker].tolist()])
            found[broker] = fit_boxes(boxes, outline.alpha, density)
    ids = sorted(found)
    all_boxes = np.concatenate([found[broker] for broker in ids])
    counts = [len(found[broker]) for broker in ids]
    owner = np.repeat(np.array(ids, np.int32), counts)
    return Filters(owner, all_boxes[:, 0].copy(), all_boxes[:, 1].copy())
