"""The independent checker and the measures on Spark: of the tables that were written.

Subscribers and their brokers are joined by id; tasks run the checker's kernel over them and yield
counts, a few examples, loads and sums of delays. Filters are few, and checked on the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from meshwright.assignment.answer import Filters
from meshwright.assignment.check import (
    CONSTRAINTS,
    N_EXAMPLES,
    TOLERANCE,
    Report,
    Violation,
    check_tables,
)
from meshwright.assignment.check_kernel import find_faults
from meshwright.assignment.measures import Measures, load_balance_factor, measure
from meshwright.assignment.outline import Outline, without_subscribers
from meshwright.assignment.slp.on_spark_rows import Task, filled, floats_of, ints_of
from meshwright.problem.latency_kernel import delays

FOUND = StructType(
    [
        StructField("what", StringType()),
        StructField("who", IntegerType()),  # a subscriber, or the place of a leaf
        StructField("count", LongType()),
        StructField("value", DoubleType()),
        StructField("example", StringType()),
    ]
)
DIGITS = 12  # of a mean over all: sums of parts differ in the last digits


def look_at(
    outline: Outline, subscribers: DataFrame, assignment: DataFrame, filters: Filters
) -> tuple[Report, Measures]:
    """Return what the checker finds, and the measures.

    Parameters
    ----------
    subscribers
        Rows of the problem's table.
    assignment
        Rows of the answer's: subscriber, broker.

    """
    rows = assignment.groupBy("subscriber").agg(
        F.count("*").alias("n_rows"), F.first("broker").alias("broker")
    )
    both = subscribers.join(rows, "subscriber", "left").select(
        *["subscriber", "name", "location", "low", "high", "max_delay"],
        F.coalesce("broker", F.lit(-1)).alias("broker"),
        F.coalesce("n_rows", F.lit(0)).cast("int").alias("n_rows"),
    )
    found = both.mapInArrow(_look_task(outline, filters), FOUND).toArrow().to_pylist()
    loads = np.zeros(len(outline.tree.leaves), np.int64)
    for row in _of(found, "load"):
        loads[row["who"]] += row["count"]
    known = sum(row["count"] for row in _of(found, "rows"))
    n_strays = assignment.count() - known
    return _report(outline, filters, found, loads, n_strays), _measures(
        outline, filters, found, loads
    )


def _of(found: list[dict[str, Any]], what: str) -> list[dict[str, Any]]:
    return [row for row in found if row["what"] == what]


def _report(
    outline: Outline,
    filters: Filters,
    found: list[dict[str, Any]],
    loads: npt.NDArray[np.int64],
    n_strays: int,
) -> Report:
    nobody = np.zeros(0, np.int64)
    boxes = (filters.broker, filters.low, filters.high)
    of_filters = check_tables(without_subscribers(outline), nobody, nobody, *boxes)
    violations = list(of_filters.violations)
    if n_strays:
        unknown = "rows of subscribers that the problem does not have"
        violations.append(Violation("strays", n_strays, (unknown,)))
    for constraint in ("assigned", "latency", "covered"):
        rows = _of(found, constraint)
        if rows:
            rows.sort(key=lambda row: row["who"])
            examples = tuple(row["example"] for row in rows[:N_EXAMPLES])
            violations.append(Violation(constraint, sum(row["count"] for row in rows), examples))
    limits, tree = outline.load_limits(outline.beta_max), outline.tree
    over = np.flatnonzero(loads > limits)
    if len(over):
        examples = tuple(
            f"{tree.names[tree.leaves[i]]!r} has {loads[i]:,}, at most {limits[i]:,}"
            for i in over[:N_EXAMPLES].tolist()
        )
        violations.append(Violation("load", len(over), examples))
    order = list(CONSTRAINTS)
    violations.sort(key=lambda one: order.index(one.constraint))
    within_beta = bool((loads <= outline.load_limits(outline.beta)).all())
    return Report(tuple(violations), within_beta)


def _measures(
    outline: Outline,
    filters: Filters,
    found: list[dict[str, Any]],
    loads: npt.NDArray[np.int64],
) -> Measures:
    nobody = np.zeros(0, np.int32)
    bandwidths = measure(without_subscribers(outline), nobody, filters).bandwidths
    sums = _of(found, "delay")
    n_served = sum(row["count"] for row in sums)
    mean = sum(sorted(row["value"] for row in sums)) / max(n_served, 1)
    by_broker = np.zeros(outline.tree.n_brokers, np.int64)
    by_broker[outline.tree.leaves] = loads
    return Measures(
        bandwidths=bandwidths,
        loads=by_broker,
        lbf=load_balance_factor(outline, loads),
        delay_rms=float(f"{np.sqrt(mean):.{DIGITS}g}"),
        delay_max=max((row["value"] for row in _of(found, "largest")), default=0.0),
        load_stdev=float(loads.std()),
    )


def _look_task(outline: Outline, filters: Filters) -> Task:
    """Return the task that looks at subscribers and yields what it found."""
    tree = outline.tree
    names, n_brokers = [tree.names[leaf] for leaf in tree.leaves], tree.n_brokers
    index = np.full(n_brokers + 1, -1, np.int64)  # the last for brokers that are none
    index[tree.leaves] = np.arange(len(tree.leaves))
    place, down = outline.leaf_location, outline.leaf_down
    boxes = [filters.of(leaf) for leaf in tree.leaves.tolist()]
    ptr = np.concatenate(([0], np.cumsum([len(low) for low, _ in boxes]))).astype(np.int64)
    box_low = np.concatenate([low for low, _ in boxes])
    box_high = np.concatenate([high for _, high in boxes])

    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        seen = _Seen(len(names))
        for batch in filled(batches):
            n = batch.num_rows
            ids, broker = ints_of(batch, "subscriber"), ints_of(batch, "broker")
            n_rows = ints_of(batch, "n_rows")
            leaf = index[np.where((broker >= 0) & (broker < n_brokers), broker, n_brokers)]
            leaf[n_rows != 1] = -1
            location, low, high = (floats_of(batch, name) for name in ("location", "low", "high"))
            most = np.array(batch.column("max_delay").to_numpy())
            late, outside = np.empty(n), np.empty(n, np.bool_)
            find_faults(
                location, low, high, (1.0 + most) * (1.0 + TOLERANCE), place, down, leaf,
                ptr, box_low, box_high, 0, n, late, outside,
            )  # fmt: skip
            delay = np.empty(n)
            delays(location, place, down, np.maximum(leaf, 0), delay)
            seen.count(leaf, n_rows, delay)
            who = batch.column("name")

            def missing(row: int, who: pa.Array = who, n_rows: Any = n_rows) -> str:
                told = "is at no leaf" if n_rows[row] == 1 else f"has {n_rows[row]} rows"
                return f"{who[row].as_py()!r} {told}"

            def served(row: int, who: pa.Array = who, leaf: Any = leaf) -> str:
                return f"{who[row].as_py()!r} at {names[leaf[row]]!r}"

            def slow(row: int, served: Any = served, late: Any = late, most: Any = most) -> str:
                return f"{served(row)}: delay {late[row]:.4g}, at most {most[row]:.4g}"

            seen.add("assigned", np.flatnonzero(leaf < 0), ids, missing)
            seen.add("latency", np.flatnonzero(late >= 0.0), ids, slow)
            seen.add("covered", np.flatnonzero(outside), ids, served)
        yield seen.batch()

    return look


class _Seen:
    """What a task found: counts with a few examples, loads, delays."""

    def __init__(self, n_leaves: int) -> None:
        self._loads = np.zeros(n_leaves, np.int64)
        self._n_rows = 0
        self._squares = 0.0
        self._largest = 0.0
        self._counts: dict[str, int] = {}
        self._examples: dict[str, list[tuple[int, str]]] = {}

    def count(self, leaf: Any, n_rows: Any, delay: npt.NDArray[np.float64]) -> None:
        """Count loads and delays of those that have a leaf."""
        served = leaf >= 0
        self._loads += np.bincount(leaf[served], minlength=len(self._loads))
        self._n_rows += int(n_rows.sum())
        self._squares += float((delay[served] ** 2).sum())
        self._largest = max(self._largest, float(delay[served].max(initial=0.0)))

    def add(self, what: str, rows: Any, ids: Any, tell: Callable[[int], str]) -> None:
        """Count violations, and keep those of the lowest ids as examples."""
        if len(rows) == 0:
            return
        self._counts[what] = self._counts.get(what, 0) + len(rows)
        first = rows[np.argsort(ids[rows])[:N_EXAMPLES]].tolist()
        told = [(int(ids[row]), tell(row)) for row in first]
        self._examples[what] = sorted([*self._examples.get(what, []), *told])[:N_EXAMPLES]

    def batch(self) -> pa.RecordBatch:
        """Return all of it as rows of FOUND."""
        n_served = int(self._loads.sum())
        rows: list[tuple[str, int, int, float, str]] = [
            ("rows", 0, self._n_rows, 0.0, ""),
            ("delay", 0, n_served, self._squares, ""),
            ("largest", 0, 0, self._largest, ""),
        ]
        rows += [("load", i, n, 0.0, "") for i, n in enumerate(self._loads.tolist()) if n]
        for what, examples in self._examples.items():
            counts = [self._counts[what]] + [0] * (len(examples) - 1)
            for n, (who, text) in zip(counts, examples, strict=True):
                rows.append((what, who, n, 0.0, text))
        types = (pa.string(), pa.int32(), pa.int64(), pa.float64(), pa.string())
        columns = zip(*rows, strict=True)
        arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, FOUND.names)
