"""Tables of subscribers on Spark: tasks apply the functions that are applied in memory.

A function reaches the tasks as a file, and so do its results reach the driver, where they are
combined one by one: the driver holds two at a time. Only DataFrames and Arrow functions are used.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, Generic
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DoubleType,
    IntegerType,
    LongType,
    StructField,
    StructType,
)

from meshwright.content.boxes import Boxes, coarser, fit_boxes, outermost
from meshwright.content.methods.flow import group_rows
from meshwright.content.problem.dataset import lists, matrix_of
from meshwright.content.subscribers import Ints, S, SubscriberRows, T, Targets, Words
from meshwright.model.density import DensityTable
from meshwright.runtime.paths import uri
from meshwright.runtime.ship import mapped, received, ship

Batches = Iterator[pa.RecordBatch]

MOST_BOXES = 1 << 18  # of a target that its filter is fitted to; of more, boxes around runs of them

_NUMBERS = ArrayType(DoubleType())
_TYPES = {
    "subscriber": IntegerType(),
    "location": _NUMBERS,
    "low": _NUMBERS,
    "high": _NUMBERS,
    "max_delay": DoubleType(),
    "broker": IntegerType(),
    "targets": BinaryType(),
    "key": LongType(),
    "n_rows": LongType(),
    # Results of tasks.
    "words": BinaryType(),
    "n": LongType(),
    "group": IntegerType(),
    "item": LongType(),
    "spot": IntegerType(),
    "target": IntegerType(),
    "place": IntegerType(),
}


def _schema(names: list[str]) -> StructType:
    return StructType([StructField(name, _TYPES[name]) for name in names])


NOTHING, COUNTS, SUMS = _schema(["n"]), _schema(["words", "n"]), _schema(["group", "item", "n"])
SPOTS, TARGET_BOXES = _schema(["spot", "subscriber"]), _schema(["target", "place", "low", "high"])


class SparkTable(Generic[S]):
    """A table of subscribers on Spark: a `SubscriberTable` whose rows have the type `kind`."""

    def __init__(
        self, frame: DataFrame, kind: type[S], size: int, scratch: Callable[[str], Path]
    ) -> None:
        """Take a frame with the columns of `schema_of(kind)`.

        `scratch` gives paths for intermediate files, on storage that all tasks share.
        """
        self.frame = frame.select(*schema_of(kind).names)
        self._kind = kind
        self._size = size
        self._scratch = scratch

    @property
    def size(self) -> int:
        """The number of rows."""
        return self._size

    @property
    def _spark(self) -> SparkSession:
        return self.frame.sparkSession

    def reduce(self, summarize: Callable[[S], T], combine: Callable[[T, T], T]) -> T:
        """Return the summary of all rows: tasks combine those of their batches, then the driver."""
        with self._shipped(summarize, combine) as plan:
            results = plan.with_suffix(".results")
            results.mkdir()

            def task(batches: Batches) -> Batches:
                summarize, combine = received(plan)[1:]
                parts = (summarize(rows) for rows in _rows(batches, plan))
                total = _combined(parts, combine)
                if total is not None:
                    _write_result(results, total)
                yield from ()

            self.frame.mapInArrow(task, NOTHING).collect()
            found: T | None = _combined(
                (mapped(path) for path in sorted(results.glob("[!.]*"))), combine
            )
            shutil.rmtree(results, ignore_errors=True)
        assert found is not None, "a table has at least one row"
        return found

    def count(self, words_of: Callable[[S], Words]) -> tuple[Words, Ints]:
        """Return the distinct rows of words, sorted, and how many subscribers have each."""
        with self._shipped(words_of) as plan:

            def task(batches: Batches) -> Batches:
                for rows in _rows(batches, plan):
                    words, _, counts = group_rows(received(plan)[1](rows))
                    yield _batch(COUNTS, binary(words), counts)

            summed = self.frame.mapInArrow(task, COUNTS).groupBy("words").agg(F.sum("n").alias("n"))
            found = one_batch(summed.toArrow())
        words, place, _ = group_rows(words_in(found.column("words")))
        counts = np.empty(len(words), np.int64)
        counts[place] = found.column("n").to_numpy()
        return words, counts

    def sums(
        self, rows_of: Callable[[S], tuple[Ints, Ints, Ints]]
    ) -> Callable[[int], tuple[Ints, Ints]]:
        """Sum rows of (group, item, count); return a function that gives a group's items, sums."""
        table = self._scratch(f"sums-{uuid4().hex}")
        with self._shipped(rows_of) as plan:

            def task(batches: Batches) -> Batches:
                for rows in _rows(batches, plan):
                    group, item, count = received(plan)[1](rows)
                    yield _batch(SUMS, group.astype(np.int32), item, count)

            summed = self.frame.mapInArrow(task, SUMS).groupBy("group", "item")
            rows = summed.agg(F.sum("n").alias("n")).where("n != 0").repartition("group")
            rows.write.partitionBy("group").parquet(uri(table))

        def of_group(number: int) -> tuple[Ints, Ints]:
            parts = [np.zeros((0, 2), np.int64)]
            for path in sorted((table / f"group={number}").glob("*.parquet")):
                part = pq.ParquetFile(path).read(["item", "n"])
                parts.append(np.column_stack([column.to_numpy() for column in part.columns]))
            items, counts = np.concatenate(parts).T
            return items, counts

        return of_group

    def ids_at(self, spot_of: Callable[[S], Targets], spot: Ints, place: Ints) -> Ints:
        """Return the ids that have `place` smaller ids in the same spot."""
        asked = pa.table(
            {
                "spot": pa.array(spot.astype(np.int32)),
                "place": pa.array((place + 1).astype(np.int32)),
                "number": pa.array(np.arange(len(spot), dtype=np.int32)),
            }
        )
        with self._shipped(spot_of) as plan:

            def task(batches: Batches) -> Batches:
                for rows in _rows(batches, plan):
                    spots = received(plan)[1](rows)
                    here = np.flatnonzero(spots >= 0)
                    yield _batch(SPOTS, spots[here], rows.ids[here].astype(np.int32))

            by_id = Window.partitionBy("spot").orderBy("subscriber")
            rows = self.frame.mapInArrow(task, SPOTS)
            rows = rows.withColumn("place", F.row_number().over(by_id))
            wanted = F.broadcast(self._spark.createDataFrame(asked))
            found = rows.join(wanted, ["spot", "place"]).select("number", "subscriber").toArrow()
        ids = np.empty(len(spot), np.int64)
        ids[found.column("number").to_numpy()] = found.column("subscriber").to_numpy()
        return ids

    def fit(
        self,
        target_of: Callable[[S], Targets],
        loads: Ints,
        alpha: int,
        density: DensityTable,
    ) -> tuple[Boxes, Targets]:
        """Return at most alpha boxes for each target around its rows, and the target of each box.

        A target with many rows gets only the outermost boxes of each batch, which is enough for a
        filter, and if these are still many, boxes around runs of them.
        """
        many = np.flatnonzero(loads > MOST_BOXES)
        with self._shipped(target_of) as plan:

            def task(batches: Batches) -> Batches:
                for rows in _rows(batches, plan):
                    target = received(plan)[1](rows)
                    corners = Boxes(rows.low, rows.high).corners
                    few = np.flatnonzero((target >= 0) & ~np.isin(target, many))
                    yield _box_batch(target[few], corners[few])
                    for one in many.tolist():
                        outer = outermost(corners[target == one])
                        yield _box_batch(np.full(len(outer), one), outer)

            def fit_target(rows: pa.Table) -> pa.Table:
                corners = coarser(_corners_in(rows), MOST_BOXES)
                target = rows.column("target")[0].as_py()
                fitted = fit_boxes(corners, alpha, density)
                return pa.Table.from_batches([_box_batch(np.full(len(fitted), target), fitted)])

            by_target = self.frame.mapInArrow(task, TARGET_BOXES).groupBy("target")
            found = by_target.applyInArrow(fit_target, TARGET_BOXES).toArrow()
        found = found.sort_by([("target", "ascending"), ("place", "ascending")])
        target = np.array(found.column("target").to_numpy(), np.int32)
        corners = _corners_in(found)
        return Boxes(corners[:, 0].copy(), corners[:, 1].copy()), target

    def mapped_to(
        self,
        kind: type[SubscriberRows],
        change: Callable[[S], SubscriberRows],
        path: Path,
        partition_by: Sequence[str] = (),
    ) -> None:
        """Write the rows, of type `kind`, that a function returns for each batch."""
        with self._shipped(change) as plan:

            def task(batches: Batches) -> Batches:
                for rows in _rows(batches, plan):
                    yield to_batch(received(plan)[1](rows))

            rows = self.frame.mapInArrow(task, schema_of(kind))
            rows.write.partitionBy(*partition_by).parquet(uri(path))

    @contextmanager
    def _shipped(self, *functions: Callable[..., Any]) -> Iterator[Path]:
        """Write functions to a file for the tasks of the block."""
        # Workers remember a file by its path and outlive runs: no path is used twice.
        plan = self._scratch(f"plan-{uuid4().hex}")
        ship(plan, (self._kind, *functions))
        yield plan
        plan.unlink(missing_ok=True)


def _rows(batches: Batches, plan: Path) -> Iterator[Any]:
    """Yield the batches that have rows, in the type of a plan."""
    kind = received(plan)[0]
    return (from_batch(batch, kind) for batch in batches if batch.num_rows)


def _combined(parts: Iterator[T], combine: Callable[[T, T], T]) -> T | None:
    """Return all parts combined, None if there is none."""
    total = next(parts, None)
    if total is not None:
        for part in parts:
            total = combine(total, part)
    return total


def _write_result(directory: Path, value: Any) -> None:
    """Write the result of this task; one that is run again replaces it."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    draft = directory / f".{uuid4().hex}"
    ship(draft, value)
    draft.replace(directory / str(context.partitionId()))


# --- rows and batches --------------------------------------------------------------------------


def schema_of(kind: type[SubscriberRows]) -> StructType:
    """Return the columns of a type of rows; ids are in the column `subscriber`."""
    return _schema(["subscriber", *(field.name for field in fields(kind)[1:])])


def from_batch(batch: pa.RecordBatch, kind: type[S]) -> S:
    """Return the rows of a batch as arrays of their own, as kernels are compiled for."""
    ids, *columns = (_array_in(batch.column(name)) for name in schema_of(kind).names)
    return kind(ids.astype(np.int64), *columns)


def to_batch(rows: SubscriberRows) -> pa.RecordBatch:
    """Return rows as a batch."""
    columns = (_column(getattr(rows, field.name)) for field in fields(rows)[1:])
    return _batch(schema_of(type(rows)), rows.ids.astype(np.int32), *columns)


def _array_in(column: pa.Array) -> npt.NDArray[Any]:
    if pa.types.is_list(column.type):
        matrix = matrix_of(pa.chunked_array([column]))
        if matrix is None:
            raise ValueError("the lists of a column are not of one length")
        return np.array(matrix)
    if pa.types.is_binary(column.type):
        return words_in(column)
    return np.array(column.to_numpy(zero_copy_only=False))


def _column(array: npt.NDArray[Any]) -> pa.Array:
    if array.ndim == 1:
        return pa.array(array)
    return binary(array) if array.dtype == np.uint64 else lists(array)


def words_in(column: pa.Array) -> Words:
    """Return a column of binary values of one length as rows of words."""
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    values = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]].copy()
    return values.view(np.uint64).reshape(len(column), -1)


def binary(words: Words) -> pa.Array:
    """Return rows of words as a column of binary values."""
    n, k = words.shape
    offsets = np.arange(0, 8 * n * k + 1, 8 * k, dtype=np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(words))]
    return pa.Array.from_buffers(pa.binary(), n, buffers)


def one_batch(table: pa.Table) -> pa.RecordBatch:
    """Return a collected table of at least one row as one batch."""
    return table.combine_chunks().to_batches()[0]


def _batch(schema: StructType, *columns: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema.names)


def _box_batch(target: npt.NDArray[Any], corners: npt.NDArray[np.float64]) -> pa.RecordBatch:
    place = np.arange(len(corners), dtype=np.int32)
    columns = target.astype(np.int32), place, lists(corners[:, 0]), lists(corners[:, 1])
    return _batch(TARGET_BOXES, *columns)


def _corners_in(rows: pa.Table) -> npt.NDArray[np.float64]:
    low, high = (_array_in(rows.column(name).combine_chunks()) for name in ("low", "high"))
    return np.stack((low, high), axis=1)
