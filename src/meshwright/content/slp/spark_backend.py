"""`slp` on Spark, from a problem dataset to an assignment dataset: for more than memory holds.

The result equals that in memory. The driver holds samples, linear programs, counts of groups and
filters; the subscribers stay in tables. Those at a broker are in a directory of their own, written
when they were moved there, so each division reads only its own rows.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from meshwright.content.assignment import Filters
from meshwright.content.bound import bound_of
from meshwright.content.check import Attached, Faults, Report, faults_task, report_of, sort_boxes
from meshwright.content.dataset import publish
from meshwright.content.measures import Measures, Service, measures_of, serve
from meshwright.content.obstacle import obstacle_of
from meshwright.content.problem.subscriber_table import SUBSCRIBER_ROWS, refuse_damaged
from meshwright.content.slp.down_the_tree import fit_to_leaves, parameters_of, run
from meshwright.content.slp.members import Members, around_both, frame_of_rows, members_of
from meshwright.content.slp.one_level import Settings
from meshwright.content.spark_subscribers import SparkTable, schema_of
from meshwright.content.stored import StoredAssignment, StoredProblem, choose_engine, open_problem
from meshwright.content.subscribers import Leaves, SubscriberRows, leaves_of
from meshwright.errors import InputError
from meshwright.model.method import check_seed
from meshwright.runtime.arrays import Ints, Longs
from meshwright.runtime.compile import Stopwatch
from meshwright.runtime.paths import read_parquet, uri
from meshwright.runtime.progress import Progress, no_progress
from meshwright.runtime.session import parallelism
from meshwright.storage import Manifest, Staging, spark_reads, staging

N_STEPS = 4
PARTITION_SUBSCRIBERS = 500_000  # at most: about 50 MB of a task
DIGITS = 12  # of a mean: sums of parts differ in the last digits


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
) -> tuple[StoredAssignment, Manifest]:
    """Write the assignment that `slp` finds, equal to that in memory, with subscribers on Spark.

    `problem` is a dataset, `method` slp or slp-leaves; `overrides` replace limits of the dataset,
    as in `Problem.with_limits`.
    """
    progress = progress or no_progress()
    stored = open_problem(problem, overrides)
    choose_engine("spark", method, stored)
    check_seed(seed)
    if stored.n_subscribers == 0:
        raise InputError("the problem has no subscriber; there is nothing to assign.")
    watch = Stopwatch()
    with (
        staging(Path(out), "assignment", force=force) as stage,
        spark_reads(stored.subscribers_table),
    ):
        refuse_damaged(
            read_parquet(spark, stored.subscribers_table, schema=SUBSCRIBER_ROWS), stored
        )
        backend = SparkBackend(spark, stored, stage, partitions)
        with progress.step(f"assigning with {method} on Spark"):
            fractional, notes = run(method, stored, backend, seed, progress.update, settings)
        with progress.step("writing the assignment and fitting filters"):
            placed = backend.subscribers(stored.tree.leaves.tolist())
            table = stage.table("assignment")
            pairs = placed.frame.select("subscriber", "broker").orderBy("subscriber")
            pairs.write.parquet(uri(table))
            filters = fit_to_leaves(stored, backend)
        seconds = watch.seconds
        with progress.step("checking"):
            rows, written = subscribers(spark, stored), read_parquet(spark, table)
            report, measures = check_on_spark(stored, rows, written, filters, stage)
            obstacle = None if report.feasible else obstacle_of(stored, placed)
        with progress.step("computing the bound"):
            bound = bound_of(stored, placed)
        found = StoredAssignment(
            problem=stored,
            method=method,
            filters=filters,
            parameters={**parameters_of(settings), "seed": seed},
            fractional=fractional,
            notes=notes,
            seconds=seconds,
            measures=measures,
            report=report,
            bound=bound,
            obstacle=obstacle,
        )
        return found, publish(stage, found, problem, overrides or {})


def subscribers(spark: SparkSession, problem: StoredProblem) -> DataFrame:
    """Return the table of subscribers of a problem, with the delay that holds for all if given."""
    rows = read_parquet(spark, problem.subscribers_table, schema=SUBSCRIBER_ROWS)
    delay = problem.max_delay
    return rows if delay is None else rows.withColumn("max_delay", F.lit(float(delay)))


class SparkBackend:
    """Subscribers on Spark: a `Backend`."""

    def __init__(
        self, spark: SparkSession, problem: StoredProblem, stage: Staging, partitions: int | None
    ) -> None:
        self._spark = spark
        self._problem = problem
        self._stage = stage
        # Rows are moved to the directory step=n/broker=b; these are the steps of each broker.
        self._moved = stage.scratch("moved")
        self._steps: dict[int, list[int]] = {}
        self._prepared: list[Path] = []  # tables that `members` wrote; the next move deletes them
        self._n_moves = 0
        needed = -(-problem.n_subscribers // PARTITION_SUBSCRIBERS)
        rows = subscribers(spark, problem).withColumn("broker", F.lit(problem.tree.publisher))
        self._all = rows.repartition(partitions or max(parallelism(spark), needed))

    def count(self, broker: int) -> int:
        """Return the number of subscribers at a broker."""
        if broker == self._problem.tree.publisher:
            return self._problem.n_subscribers
        places = [f"step={step}/broker={broker}" for step in self._steps.get(broker, [])]
        files = [file for place in places for file in (self._moved / place).glob("*.parquet")]
        return sum(pq.read_metadata(file).num_rows for file in files)

    def subscribers(self, brokers: Sequence[int]) -> SparkTable[SubscriberRows]:
        """Return the subscribers at some brokers, those of the publisher alone; reads nothing yet.

        A step is one move. Rows of older steps at a broker have since been moved on.
        """
        if list(brokers) == [self._problem.tree.publisher]:
            rows = self._all
        else:
            steps = {step for broker in brokers for step in self._steps.get(broker, [])}
            schema = schema_of(SubscriberRows).add("step", "integer")
            rows = read_parquet(self._spark, self._moved, schema=schema)
            rows = rows.where(F.col("broker").isin(list(brokers)) & F.col("step").isin(list(steps)))
        size = sum(map(self.count, brokers))
        return SparkTable(rows, SubscriberRows, size, self._stage.scratch)

    def members(
        self, brokers: Sequence[int], target_of_leaf: Longs, threshold: float = 0.0
    ) -> SparkTable[Members]:
        """Return the subscribers at some brokers as members, written to a table."""
        rows = self.subscribers(brokers)
        frame = rows.reduce(frame_of_rows, around_both)
        path = self._stage.scratch(f"members-{uuid4().hex}")
        prepare = partial(
            members_of,
            leaves=leaves_of(self._problem),
            target_of_leaf=target_of_leaf,
            threshold=threshold,
            frame=frame,
        )
        rows.mapped_to(Members, prepare, path)
        self._prepared.append(path)
        written = read_parquet(self._spark, path, schema=schema_of(Members))
        return SparkTable(written, Members, rows.size, self._stage.scratch)

    def move(self, table: Any, broker_of: Callable[[Any], Ints]) -> None:
        """Move the rows of a table to the broker that `broker_of` gives each, -1 for none.

        Writes them to step=n/broker=b; rows of earlier steps stay on disk and are passed over.
        Deletes the tables that `members` wrote, so `table` cannot be read afterwards.
        """
        step, self._n_moves = self._n_moves, self._n_moves + 1
        path = self._moved / f"step={step}"
        change = partial(_at_new_broker, broker_of=broker_of)
        table.mapped_to(SubscriberRows, change, path, partition_by=["broker"])
        for place in path.glob("broker=*"):
            broker = int(place.name.removeprefix("broker="))
            # A broker gets all its rows in one step; only -1, no broker, gets them in several.
            self._steps[broker] = [*(self._steps.get(-1, []) if broker < 0 else []), step]
        for prepared in self._prepared:
            shutil.rmtree(prepared, ignore_errors=True)
        self._prepared.clear()


def _at_new_broker(rows: SubscriberRows, broker_of: Callable[[Any], Ints]) -> SubscriberRows:
    columns = rows.ids, rows.location, rows.low, rows.high, rows.max_delay
    return SubscriberRows(*columns, broker_of(rows))


def check_on_spark(
    problem: StoredProblem, rows: DataFrame, assignment: DataFrame, filters: Filters, stage: Staging
) -> tuple[Report, Measures]:
    """Return the checker's report and the measures, from the tables of the two datasets."""
    n_rows = F.count("*")
    broker = F.when(n_rows == 1, F.first("broker")).otherwise(-1)
    brokers = assignment.groupBy("subscriber").agg(n_rows.alias("n_rows"), broker.alias("broker"))
    both = rows.join(brokers, "subscriber", "left").fillna({"broker": -1, "n_rows": 0})
    table = SparkTable(both, Attached, problem.n_subscribers, stage.scratch)
    boxes, _ = sort_boxes(problem, filters.broker, filters.low, filters.high)
    look = partial(_look, find=faults_task(problem, boxes), leaves=leaves_of(problem))
    faults, service = table.reduce(look, _join_looks)
    ids = {id_ for _, examples in faults.found.values() for id_, _ in examples}
    named = rows.where(F.col("subscriber").isin(sorted(ids)))
    names: dict[int, str] = dict(named.select("subscriber", "name").collect()) if ids else {}
    n_strays = assignment.count() - faults.n_rows
    strays = {"strays": (n_strays, ["rows of subscribers that the problem does not have"])}
    report = report_of(problem, boxes, faults, names.__getitem__, strays)
    measures = measures_of(problem, service, filters)
    return report, replace(measures, delay_rms=float(f"{measures.delay_rms:.{DIGITS}g}"))


Look = tuple[Faults, Service]


def _look(rows: Attached, find: Callable[[Attached], Faults], leaves: Leaves) -> Look:
    return find(rows), serve(rows, leaves)


def _join_looks(one: Look, other: Look) -> Look:
    return one[0].joined(other[0]), one[1].joined(other[1])
