"""The rows that pass between Spark and the kernels, and the ways from one to the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DoubleType,
    IntegerType,
    LongType,
    StructField,
    StructType,
)

from meshwright.assignment.slp.audience import Audience
from meshwright.problem.dataset import lists, matrix_of

Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]
Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

_NUMBERS = ArrayType(DoubleType())
_BOX = [StructField("low", _NUMBERS), StructField("high", _NUMBERS)]
# Subscribers as the problem has them, but for their names.
ROWS = StructType(
    [
        StructField("subscriber", IntegerType()),
        StructField("location", _NUMBERS),
        *_BOX,
        StructField("max_delay", DoubleType()),
    ]
)
# Subscribers at a broker: with the targets in time as bits, and their place on a Hilbert curve.
MEMBERS = StructType(
    [*ROWS.fields, StructField("marks", BinaryType()), StructField("key", LongType())]
)
PLACED = StructType([*ROWS.fields, StructField("at", IntegerType())])
DRAWN = StructType(
    [
        StructField("number", LongType()),
        StructField("uncovered", LongType()),
        StructField("subscriber", IntegerType()),
        StructField("location", _NUMBERS),
        *_BOX,
        StructField("marks", BinaryType()),
    ]
)
CLUSTERS = StructType([StructField("cluster", IntegerType()), *_BOX])
CELLS = StructType(
    [
        StructField("marks", BinaryType()),
        StructField("cell", LongType()),
        StructField("count", LongType()),
    ]
)
SPOTS = StructType([StructField("spot", IntegerType()), StructField("subscriber", IntegerType())])
TARGET_BOXES = StructType([StructField("target", IntegerType()), *_BOX])
FITTED = StructType([*TARGET_BOXES.fields, StructField("place", IntegerType())])


def filled(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the batches that have rows."""
    return (batch for batch in batches if batch.num_rows)


def floats_of(batch: pa.RecordBatch, column: str) -> Floats:
    """Return a column of lists as a matrix of its own, as kernels are compiled for."""
    matrix = matrix_of(pa.chunked_array([batch.column(column)]))
    if matrix is None:
        raise ValueError(f"the lists of column {column!r} are not of one length")
    return np.array(matrix)


def ints_of(batch: pa.RecordBatch, column: str) -> npt.NDArray[np.int64]:
    """Return a column of whole numbers."""
    return np.array(batch.column(column).to_numpy(zero_copy_only=False), np.int64)


def words_of(batch: pa.RecordBatch, column: str = "marks") -> Words:
    """Return a column of binary values of one length as rows of words."""
    array = batch.column(column)
    _, offsets, data = array.buffers()
    ends = np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array) + 1]
    values = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]].copy()
    return values.view(np.uint64).reshape(len(array), -1)


def binary(words: Words) -> pa.Array:
    """Return rows of words as an Arrow column of binary values."""
    n, k = words.shape
    offsets = np.arange(0, 8 * n * k + 1, 8 * k, dtype=np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(words))]
    return pa.Array.from_buffers(pa.binary(), n, buffers)


def audience_of(batch: pa.RecordBatch) -> Audience:
    """Return rows as kernels read them; columns that were left out are empty."""
    n, names = batch.num_rows, batch.schema.names
    nothing = np.zeros((n, 0))
    location, low, high = (
        floats_of(batch, name) if name in names else nothing for name in ("location", "low", "high")
    )
    marks = words_of(batch) if "marks" in names else np.zeros((n, 0), np.uint64)
    ids = ints_of(batch, "subscriber") if "subscriber" in names else np.zeros(n, np.int64)
    return Audience(ids, location, low, high, marks)


def joined(parts: list[Audience]) -> Audience:
    """Return several as one."""
    if len(parts) == 1:
        return parts[0]
    return Audience(
        np.concatenate([part.ids for part in parts]),
        np.concatenate([part.location for part in parts]),
        np.concatenate([part.low for part in parts]),
        np.concatenate([part.high for part in parts]),
        np.concatenate([part.marks for part in parts]),
    )


def one_batch(table: pa.Table) -> pa.RecordBatch:
    """Return a gathered table as one batch."""
    batches = table.combine_chunks().to_batches()
    if batches:
        return batches[0]
    return pa.RecordBatch.from_arrays(
        [pa.array([], field.type) for field in table.schema], schema=table.schema
    )


def drawn_batch(numbers: Words, uncovered: int, audience: Audience) -> pa.RecordBatch:
    """Return a sample as rows of DRAWN; the first tells how many the task left uncovered."""
    # Random numbers are unsigned; with the first bit turned round they sort alike as signed ones.
    signed = (numbers ^ np.uint64(1 << 63)).view(np.int64)
    counts = np.zeros(audience.size, np.int64)
    counts[:1] = uncovered
    return pa.RecordBatch.from_arrays(
        [
            pa.array(signed),
            pa.array(counts),
            pa.array(audience.ids.astype(np.int32)),
            lists(audience.location),
            lists(audience.low),
            lists(audience.high),
            binary(audience.marks),
        ],
        names=DRAWN.names,
    )


def box_batch(first: str, number: npt.NDArray[np.int64], low: Floats, high: Floats) -> pa.Table:
    """Return numbered boxes as rows."""
    return pa.RecordBatch.from_arrays(
        [pa.array(number.astype(np.int32)), lists(low), lists(high)], names=[first, "low", "high"]
    )
