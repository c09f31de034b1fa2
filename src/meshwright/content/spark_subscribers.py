"""Tables of subscribers on Spark: tasks apply the functions that are applied in memory.

A function reaches the tasks as a file, and so do its results reach the driver, where they are
combined one by one: the driver holds two at a time. Only DataFrames and Arrow functions are used.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import reduce
from pathlib import Path
from typing import Any, Generic
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Window, types
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StructType

from meshwright.content.boxes import Boxes, coarser, fit_boxes, from_corners, outermost
from meshwright.content.methods.flow import group_rows
from meshwright.content.problem.dataset import lists, matrix_of
from meshwright.content.subscribers import Counted, S, SubscriberRows, T
from meshwright.model.density import DensityTable
from meshwright.runtime.arrays import Floats, Ints, Longs, Words
from meshwright.runtime.paths import uri
from meshwright.runtime.tasks import Batches, mapped, received, ship, task_file

MOST_BOXES = 1 << 18  # of a target that its filter is fitted to; of more, boxes around runs of them

_TYPES = {
    **dict.fromkeys(("location", "low", "high"), types.ArrayType(types.DoubleType())),
    "max_delay": types.DoubleType(),
    **dict.fromkeys(("subscriber", "broker", "group", "spot", "target", "place"), IntegerType()),
    **dict.fromkeys(("key", "n_rows", "n", "item"), types.LongType()),
    **dict.fromkeys(("targets", "words"), types.BinaryType()),
}


def _schema(names: list[str]) -> StructType:
    return StructType([types.StructField(name, _TYPES[name]) for name in names])


NOTHING, COUNTS, SUMS = _schema(["n"]), _schema(["words", "n"]), _schema(["group", "item", "n"])
SPOTS, TARGET_BOXES = _schema(["spot", "subscriber"]), _schema(["target", "place", "low", "high"])


class SparkTable(Generic[S]):
    """A table of subscribers on Spark, as `InMemory` describes it; its rows have the type `kind`.

    `frame` has the columns of `schema_of(kind)`; `scratch` gives paths for intermediate files, on
    storage that all tasks share.
    """

    def __init__(
        self, frame: DataFrame, kind: type[S], size: int, scratch: Callable[[str], Path]
    ) -> None:
        self.frame = frame.select(*schema_of(kind).names)
        self.size = size
        self._kind = kind
        self._scratch = scratch

    def reduce(self, summarize: Callable[[S], T], combine: Callable[[T, T], T]) -> T:
        """Return the summary of all rows: tasks combine those of their batches, then the driver."""
        with self._shipped(summarize, combine) as plan:
            results = plan.with_suffix(".results")
            results.mkdir()

            def task(batches: Batches) -> Batches:
                kind, summarize, combine = received(plan)
                parts = (summarize(from_batch(batch, kind)) for batch in batches if batch.num_rows)
                first = next(parts, None)
                if first is not None:
                    with task_file(results, "result") as draft:
                        ship(draft, reduce(combine, parts, first))
                yield from ()

            self.frame.mapInArrow(task, NOTHING).collect()
            found: T = reduce(combine, map(mapped, sorted(results.glob("*.result"))))
            shutil.rmtree(results, ignore_errors=True)
        return found

    def count(self, words_of: Callable[[S], Words]) -> tuple[Words, Longs]:
        """Return the distinct rows of words, sorted, and how many subscribers have each."""

        def counted(_rows: S, words: Words) -> pa.RecordBatch:
            distinct, _, counts = group_rows(words)
            return _batch(COUNTS, distinct, counts)

        with self._mapped(words_of, counted, COUNTS) as rows:
            found = rows.groupBy("words").agg(F.sum("n").alias("n")).toArrow()
        words = _array_in(found.column("words").combine_chunks())
        order = np.lexsort(words.T[::-1])
        return words[order], found.column("n").to_numpy()[order]

    def sums(self, rows_of: Callable[[S], tuple[Longs, Longs, Longs]]) -> Callable[[int], Counted]:
        """Sum rows of (group, item, count); return a function that gives a group's items, sums."""

        def as_batch(_rows: S, found: tuple[Longs, Longs, Longs]) -> pa.RecordBatch:
            return _batch(SUMS, found[0].astype(np.int32), *found[1:])

        table = self._scratch(f"sums-{uuid4().hex}")
        with self._mapped(rows_of, as_batch, SUMS) as rows:
            summed = rows.groupBy("group", "item").agg(F.sum("n").alias("n")).where("n != 0")
            summed.repartition("group").write.partitionBy("group").parquet(uri(table))

        def of_group(number: int) -> Counted:
            part = table / f"group={number}"
            if not part.exists():
                return np.zeros(0, np.int64), np.zeros(0, np.int64)
            items, counts = pq.read_table(part, columns=["item", "n"]).columns
            return items.to_numpy(), counts.to_numpy()

        return of_group

    def ids_at(self, spot_of: Callable[[S], Ints], spot: Longs, place: Longs) -> Longs:
        """Return the ids that have `place` smaller ids in the same spot."""

        def in_spots(rows: S, spots: Ints) -> pa.RecordBatch:
            here = np.flatnonzero(spots >= 0)
            return _batch(SPOTS, spots[here], rows.ids[here].astype(np.int32))

        asked = {"spot": spot, "place": place + 1, "number": np.arange(len(spot))}
        wanted = pa.table({name: pa.array(column, pa.int32()) for name, column in asked.items()})
        with self._mapped(spot_of, in_spots, SPOTS) as rows:
            by_id = Window.partitionBy("spot").orderBy("subscriber")
            rows = rows.withColumn("place", F.row_number().over(by_id))
            places = F.broadcast(self.frame.sparkSession.createDataFrame(wanted))
            found = rows.join(places, ["spot", "place"]).select("number", "subscriber").toArrow()
        ids = np.empty(len(spot), np.int64)
        ids[found.column("number").to_numpy()] = found.column("subscriber").to_numpy()
        return ids

    def fit(
        self, target_of: Callable[[S], Ints], loads: Longs, alpha: int, density: DensityTable
    ) -> tuple[Boxes, Ints]:
        """Return at most alpha boxes for each target around its rows, and the target of each box.

        A target with many rows gets only the outermost boxes of each batch, which is enough for a
        filter, and if these are still many, boxes around runs of them.
        """
        many = np.flatnonzero(loads > MOST_BOXES)

        def boxes_of(rows: S, target: Ints) -> pa.RecordBatch:
            corners = Boxes(rows.low, rows.high).corners
            few = (target >= 0) & ~np.isin(target, many)
            kept = [(target[few], corners[few])]
            for one in many.tolist():
                outer = outermost(corners[target == one])
                kept.append((np.full(len(outer), one, np.int32), outer))
            return _box_batch(*map(np.concatenate, zip(*kept, strict=True)))

        def fit_target(rows: pa.Table) -> pa.Table:
            fitted = fit_boxes(coarser(_corners_in(rows), MOST_BOXES), alpha, density)
            target = rows.column("target")[0].as_py()
            return pa.Table.from_batches([_box_batch(np.full(len(fitted), target), fitted)])

        with self._mapped(target_of, boxes_of, TARGET_BOXES) as rows:
            found = rows.groupBy("target").applyInArrow(fit_target, TARGET_BOXES).toArrow()
        found = found.sort_by([("target", "ascending"), ("place", "ascending")])
        target = np.array(found.column("target").to_numpy(), np.int32)
        return from_corners(_corners_in(found)), target

    def mapped_to(
        self,
        kind: type[SubscriberRows],
        change: Callable[[S], SubscriberRows],
        path: Path,
        partition_by: Sequence[str] = (),
    ) -> None:
        """Write the rows, of type `kind`, that a function returns for each batch."""

        def as_batch(_rows: S, changed: SubscriberRows) -> pa.RecordBatch:
            return _batch(schema, changed.ids.astype(np.int32), *changed.columns[1:])

        schema = schema_of(kind)
        with self._mapped(change, as_batch, schema) as rows:
            rows.write.partitionBy(*partition_by).parquet(uri(path))

    @contextmanager
    def _mapped(
        self,
        function: Callable[[S], T],
        as_batch: Callable[[S, T], pa.RecordBatch],
        schema: StructType,
    ) -> Iterator[DataFrame]:
        """Give the frame of the batches that tasks make of rows and a function's value of them."""
        with self._shipped(function) as plan:

            def task(batches: Batches) -> Batches:
                kind, function = received(plan)
                for batch in batches:
                    if batch.num_rows:
                        rows = from_batch(batch, kind)
                        yield as_batch(rows, function(rows))

            yield self.frame.mapInArrow(task, schema)

    @contextmanager
    def _shipped(self, *functions: Callable[..., Any]) -> Iterator[Path]:
        """Write functions to a file for the tasks of the block."""
        # Workers remember a file by its path and outlive runs: no path is used twice.
        plan = self._scratch(f"plan-{uuid4().hex}")
        ship(plan, (self._kind, *functions))
        yield plan
        plan.unlink(missing_ok=True)


def schema_of(kind: type[SubscriberRows]) -> StructType:
    """Return the columns of a type of rows; ids are in the column `subscriber`."""
    return _schema(["subscriber", *(field.name for field in fields(kind)[1:])])


def from_batch(batch: pa.RecordBatch, kind: type[S]) -> S:
    """Return the rows of a batch as arrays of their own, as kernels are compiled for."""
    ids, *columns = (_array_in(batch.column(name)) for name in schema_of(kind).names)
    return kind(ids.astype(np.int64), *columns)


def _array_in(column: pa.Array) -> npt.NDArray[Any]:
    """Return an Arrow column as an array with memory of its own: the inverse of `_column`.

    Lists give float64[n, dimensions], binary values uint64[n, words], others [n].
    """
    if pa.types.is_list(column.type):
        matrix = matrix_of(pa.chunked_array([column]))
        if matrix is None:
            raise ValueError("a column of lists has no rows, a null, or lists of different lengths")
        return np.array(matrix)
    if not pa.types.is_binary(column.type):
        return np.array(column.to_numpy(zero_copy_only=False))
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    values = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]].copy()
    return values.view(np.uint64).reshape(len(column), -1)


def _column(array: npt.NDArray[Any]) -> pa.Array:
    """Return an array as a column: rows of words as binary values, rows of numbers as lists."""
    if array.ndim == 1:
        return pa.array(array)
    if array.dtype != np.uint64:
        return lists(array)
    words = [None, pa.py_buffer(np.ascontiguousarray(array))]
    width = pa.binary(8 * array.shape[1])
    return pa.Array.from_buffers(width, len(array), words).cast(pa.binary())


def _batch(schema: StructType, *columns: npt.NDArray[Any]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(map(_column, columns)), schema.names)


def _box_batch(target: npt.NDArray[Any], corners: Floats) -> pa.RecordBatch:
    place = np.arange(len(corners), dtype=np.int32)
    return _batch(TARGET_BOXES, target.astype(np.int32), place, corners[:, 0], corners[:, 1])


def _corners_in(rows: pa.Table) -> Floats:
    low, high = (_array_in(rows.column(name).combine_chunks()) for name in ("low", "high"))
    return np.stack((low, high), axis=1)
