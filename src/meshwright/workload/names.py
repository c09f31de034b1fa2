"""Names with dense ids, in the order of the sorted names.

Each distinct name is checked, normalised to NFC, sorted over all partitions and numbered, once. The
rows of the workload then join the names by a 64-bit key, the xxHash of the name as it was read. Two
names with one key would be confused: keys are counted and, if that happens, computed again with
another salt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from meshwright.errors import InputError, SparkError
from meshwright.model.instance import MOST_IDS
from meshwright.model.names import number_width
from meshwright.runtime.paths import read_parquet, uri
from meshwright.storage.digest import BLOCK_BITS, combine, name_blocks

LONGEST_NAME = 65_535  # bytes: what MQTT's length field can say
BROADCAST_NAMES = 4_000_000  # 16 bytes each in the tasks; above that Spark joins by shuffling
PARTITION_NAMES = 50_000  # below that a further partition costs more than it sorts
SALTS = 8

_CHECKED = StructType().add("key", "long").add("name", "string").add("problem", "string")
_NUMBERED = (
    StructType()
    .add("part", "integer")
    .add("position", "long")
    .add("name", "string")
    .add("key", "long")
    .add("first", "boolean")
)
_BLOCKS = StructType().add("block", "long").add("digest", "binary")


@dataclass(frozen=True, slots=True)
class Names:
    """The names of all nodes or of all topics: a frame of (id, name)."""

    count: int
    frame: DataFrame


@dataclass(frozen=True, slots=True)
class NameIds:
    """Numbered names on disk, in sorted parts; `offsets` holds the first id of each part."""

    count: int
    n_problems: int
    salt: int
    offsets: Mapping[int, int]
    directory: Path

    def ids(self, spark: SparkSession) -> DataFrame:
        """Return (key, id) of each name as it was read."""
        frame = self._numbered(spark).select("key", "id")
        return F.broadcast(frame) if self.count <= BROADCAST_NAMES else frame

    def names(self, spark: SparkSession) -> Names:
        """Return each name once."""
        return Names(self.count, self._numbered(spark).where("first").select("id", "name"))

    def problems(self, spark: SparkSession) -> DataFrame:
        """Return (key, problem) of each name that cannot be used."""
        checked = read_parquet(spark, self.directory / "checked", schema=_CHECKED)
        return checked.where("problem is not null").select("key", "problem")

    def _numbered(self, spark: SparkSession) -> DataFrame:
        frame = read_parquet(spark, self.directory / "numbered", schema=_NUMBERED)
        first_ids = F.create_map(*[F.lit(x) for pair in self.offsets.items() for x in pair])
        offset = first_ids[F.col("part")] if self.offsets else F.lit(0)
        return frame.withColumn("id", (offset + F.col("position")).cast("int"))


def numbered_names(spark: SparkSession, prefix: str, count: int, partitions: int) -> Names:
    """Return the names that `meshwright.model.names.NumberedNames` gives."""
    ids = spark.range(0, count, 1, max(1, min(partitions, count)))
    number = F.lpad(F.col("id").cast("string"), number_width(count), "0")
    name = F.concat(F.lit(f"{prefix}-"), number).alias("name")
    return Names(count, ids.select(F.col("id").cast("int"), name))


def name_key(column: str, salt: int) -> Column:
    """Return the 64-bit key of a raw name."""
    return F.xxhash64(F.lit(salt), F.col(column))


def number_names(
    spark: SparkSession, raw: DataFrame, directory: Path, *, what: str, partitions: int
) -> NameIds:
    """Check, sort and number the distinct values of `raw`'s one column `name`."""
    directory.mkdir(parents=True)
    salt, n_raw, n_problems = _check_names(spark, raw, directory)
    checked = read_parquet(spark, directory / "checked", schema=_CHECKED)
    partitions = max(1, min(partitions, n_raw // PARTITION_NAMES))
    good = checked.where("problem is null").select("name", "key")
    ordered = good.repartitionByRange(partitions, "name").sortWithinPartitions("name", "key")
    ordered.mapInArrow(_number, _NUMBERED).write.parquet(uri(directory / "numbered"))
    numbered = read_parquet(spark, directory / "numbered", schema=_NUMBERED)
    counts = numbered.groupBy("part").agg(F.max("position").alias("last")).collect()
    offsets, total = {}, 0
    for part, last in sorted((row["part"], row["last"]) for row in counts):
        offsets[part] = total
        total += last + 1
    refuse_too_many(total, what)
    return NameIds(total, n_problems, salt, offsets, directory)


def refuse_too_many(count: int, what: str) -> None:
    """Raise InputError if the ids would not fit int32."""
    if count > MOST_IDS:
        raise InputError(
            f"{count:,} {what}s are more than int32 ids can number ({MOST_IDS:,}). "
            "Split the sources, or sample them first."
        )


def digest_of_names(names: DataFrame, partitions: int) -> str:
    """Return the digest of (id, name), hashed block by block in the tasks."""
    block = F.shiftright("id", BLOCK_BITS)
    parted = names.repartition(partitions, block).sortWithinPartitions("id")
    rows = parted.mapInArrow(_hash_names, _BLOCKS).collect()
    return combine((row["block"], bytes(row["digest"])) for row in rows)


def _check_names(spark: SparkSession, raw: DataFrame, directory: Path) -> tuple[int, int, int]:
    """Write (key, name, problem) of each distinct raw name.

    Return the salt under which all keys differ, the number of names, and of names with problems.
    """
    place = directory / "checked"
    for salt in range(SALTS):
        keyed = raw.distinct().select(
            name_key("name", salt).alias("key"),
            _problem(F.col("name")).alias("problem"),
            F.col("name").cast("binary").alias("name"),
        )
        keyed.mapInArrow(_normalise, _CHECKED).write.mode("overwrite").parquet(uri(place))
        checked = read_parquet(spark, place, schema=_CHECKED)
        per_key = checked.groupBy("key").agg(
            F.count(F.lit(1)).alias("names"), F.count("problem").alias("problems")
        )
        counts = per_key.agg(F.sum("names"), F.count(F.lit(1)), F.sum("problems"))
        n_raw, n_keys, n_problems = (count or 0 for count in counts.collect()[0])
        if n_keys == n_raw:
            return salt, n_raw, n_problems
    raise SparkError(f"names share a 64-bit key under {SALTS} salts; this should not happen.")


def _problem(name: Column) -> Column:
    """Return why a name cannot be used, or null."""
    length = F.octet_length(name)
    return (
        F.when(name.isNull() | (length == 0), F.lit("is empty"))
        .when(~F.is_valid_utf8(name), F.lit("is not valid UTF-8"))
        .when(
            length > LONGEST_NAME,
            F.concat(
                F.lit("is "), length.cast("string"), F.lit(f" bytes long, {LONGEST_NAME} at most")
            ),
        )
        .when(name.rlike("[\\x00-\\x1f\\x7f-\\x9f]"), F.lit("holds control characters"))
    )


def _normalise(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Bring good names to NFC; replace names with problems by empty text."""
    for batch in batches:
        problem = batch.column("problem")
        good = pc.is_null(problem)
        name = pc.if_else(good, batch.column("name"), pa.scalar(b"", pa.binary()))
        name = pc.utf8_normalize(name.cast(pa.string()), "NFC")
        # NFC may grow a name past the limit, which a broker would refuse.
        grown = pc.and_(good, pc.greater(pc.binary_length(name), LONGEST_NAME))
        problem = pc.if_else(grown, f"is over {LONGEST_NAME} bytes long in NFC", problem)
        yield pa.RecordBatch.from_arrays([batch.column("key"), name, problem], names=_CHECKED.names)


def _number(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Number the sorted names of one partition; raw names with one NFC form share a number."""
    from pyspark import TaskContext

    context = TaskContext.get()
    part = context.partitionId() if context else 0
    position, last = -1, None
    for batch in batches:
        names = batch.column("name")
        if len(names) == 0:
            continue
        first = np.ones(len(names), dtype=bool)
        first[1:] = pc.not_equal(names[1:], names[:-1]).to_numpy(zero_copy_only=False)
        first[0] = names[0].as_py() != last
        positions = position + np.cumsum(first)
        position, last = int(positions[-1]), names[-1].as_py()
        yield pa.RecordBatch.from_arrays(
            [
                pa.array(np.full(len(names), part, dtype=np.int32)),
                pa.array(positions.astype(np.int64)),
                names,
                batch.column("key"),
                pa.array(first),
            ],
            names=_NUMBERED.names,
        )


def _hash_names(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    parts = list(batches)
    if not parts:
        return
    table = pa.Table.from_batches(parts)
    names = table.column("name").combine_chunks()
    found = list(name_blocks(table.column("id").to_numpy(), names))
    blocks = pa.array([block for block, _ in found], pa.int64())
    digests = pa.array([digest for _, digest in found], pa.binary())
    yield pa.RecordBatch.from_arrays([blocks, digests], names=_BLOCKS.names)
