"""Names with dense ids, in the order of the sorted names.

Each distinct name is checked, normalised to NFC, sorted over all partitions and numbered, once. The
rows of the workload then join the names by a 64-bit key, the xxHash of the name as it was read. Two
names with one key would be confused: keys are counted and, if that happens, computed again with
another salt. Names that fit this process are sorted in it, which saves three jobs on Spark: at 20
million rows with a million topics these took as long as all that was done to the rows.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from meshwright.errors import InputError, SparkError
from meshwright.model.instance import MOST_IDS
from meshwright.model.names import CONTROLS, LONGEST_NAME, number_width
from meshwright.runtime.arrays import Ints
from meshwright.runtime.paths import read_parquet, uri
from meshwright.runtime.tasks import Batches
from meshwright.storage import read_parts, write_table
from meshwright.storage.digest import BLOCK_BITS, combine, name_blocks, names_digest

BROADCAST_NAMES = 4_000_000  # 16 bytes each in the tasks; above that Spark joins by shuffling
HERE_ROWS = 100_000  # up to that many rows, a few MB of names: no job writes them first
HERE_BYTES = 1 << 28  # of distinct names and their keys: some five million
PARTITION_NAMES = 50_000  # below that a further partition costs more than it sorts
SALTS = 8
PART_BITS = 33  # of Spark's monotonically increasing ids: the rows of a partition

_DISTINCT = "key long, problem string, name binary"
_CHECKED = "key long, name string, problem string"
_IDS = "key long, id int"
_PROBLEMS = "key long, problem string"
_ARROW_CHECKED = pa.schema([("key", pa.int64()), ("name", pa.string()), ("problem", pa.string())])


@dataclass(frozen=True, slots=True)
class Names:
    """The names of all nodes or of all topics: (id, name) of each."""

    count: int
    rows: DataFrame | pa.Table  # a table is in the order of the ids


@dataclass(frozen=True, slots=True)
class NameIds:
    """The ids of names as they were read; `salt` gives the keys of the names."""

    salt: int
    names: Names
    ids: DataFrame  # (key, id): raw names with one NFC form share an id
    n_problems: int
    problems: DataFrame  # (key, problem) of each name that cannot be used

    @property
    def count(self) -> int:
        """The number of names."""
        return self.names.count

    def joined(self, rows: DataFrame, what: str) -> DataFrame:
        """Return the rows with the id of their node or topic, found by its key."""
        ids = self.ids.toDF(f"{what}_key", f"{what}_id")
        return rows.join(F.broadcast(ids) if self.count <= BROADCAST_NAMES else ids, f"{what}_key")


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
    raw: DataFrame, directory: Path, *, what: str, partitions: int, n_rows: int
) -> NameIds:
    """Check, sort and number the distinct values of `raw`'s one column `name`, of `n_rows` rows."""
    for salt in range(SALTS):
        place = directory / f"salt-{salt}"
        distinct = _distinct(raw, salt)
        if n_rows > HERE_ROWS:
            distinct.write.parquet(uri(place / "distinct"))
            distinct = read_parquet(raw.sparkSession, place / "distinct", schema=_DISTINCT)
        if n_rows > HERE_ROWS and _stored_bytes(place / "distinct") > HERE_BYTES:
            found = _number_on_spark(distinct, place, salt, partitions)
        else:
            here = read_parts(place / "distinct") if n_rows > HERE_ROWS else distinct.toArrow()
            found = _number_here(here, raw.sparkSession, place, salt)
        if found is not None:
            refuse_too_many(found.count, what)
            return found
    raise SparkError(f"names share a 64-bit key under {SALTS} salts; this should not happen.")


def number_rows(ordered: DataFrame, place: Path, column: str) -> tuple[DataFrame, int]:
    """Write rows that are sorted over all partitions; return them with ids, and their number."""
    # The high bits of a row's number are its partition, the low bits its place there.
    ordered = ordered.withColumn("row", F.monotonically_increasing_id())
    ordered.write.parquet(uri(place))
    rows = read_parquet(ordered.sparkSession, place, schema=ordered.schema)
    part = F.shiftright("row", PART_BITS).cast("int")
    counts = rows.groupBy(part.alias("part")).count().orderBy("part").collect()
    first_ids, total = {-1: 0}, 0  # Spark's maps cannot be empty; no part is -1
    for row in counts:
        first_ids[row["part"]] = total
        total += row["count"]
    first_id = F.create_map(*[F.lit(x) for pair in first_ids.items() for x in pair])[part]
    within = F.col("row").bitwiseAND(F.lit((1 << PART_BITS) - 1))
    return rows.withColumn(column, (first_id + within).cast("int")).drop("row"), total


def refuse_too_many(count: int, what: str) -> None:
    """Raise InputError if the ids would not fit int32."""
    if count > MOST_IDS:
        raise InputError(
            f"{count:,} {what}s are more than int32 ids can number ({MOST_IDS:,}). "
            "Split the sources, or sample them first."
        )


def write_names(names: Names, path: Path, column: str) -> None:
    """Write names as a table with their ids in a column of this name."""
    if isinstance(names.rows, DataFrame):
        names.rows.toDF(column, "name").write.parquet(uri(path))
    else:
        write_table(path, names.rows.rename_columns([column, "name"]))


def digest_of_names(names: Names, partitions: int) -> str:
    """Return the digest of names; those on Spark are hashed block by block in the tasks."""
    if not isinstance(names.rows, DataFrame):
        return names_digest(names.rows.column("name").combine_chunks())
    block = F.shiftright("id", BLOCK_BITS)
    parted = names.rows.repartition(partitions, block).sortWithinPartitions("id")
    rows = parted.mapInArrow(_hash_names, "block long, digest binary").collect()
    return combine((row["block"], bytes(row["digest"])) for row in rows)


def _distinct(raw: DataFrame, salt: int) -> DataFrame:
    """Return (key, problem, name in bytes) of each distinct name."""
    return raw.distinct().select(
        name_key("name", salt).alias("key"),
        _problem(F.col("name")).alias("problem"),
        F.col("name").cast("binary").alias("name"),
    )


def _stored_bytes(place: Path) -> int:
    """Return how many bytes the columns of a table take when they are read."""
    footers = [pq.read_metadata(part) for part in place.glob("*.parquet")]
    return sum(
        footer.row_group(i).total_byte_size
        for footer in footers
        for i in range(footer.num_row_groups)
    )


def _number_here(distinct: pa.Table, spark: SparkSession, place: Path, salt: int) -> NameIds | None:
    """Number names in this process; Spark reads the result from files. None if keys are equal."""
    checked = pa.Table.from_batches(_normalise(iter(distinct.to_batches())), _ARROW_CHECKED)
    if pc.count_distinct(checked.column("key")).as_py() < len(checked):
        return None
    wrong = checked.filter(pc.is_valid(checked.column("problem"))).select(["key", "problem"])
    good = checked.filter(pc.is_null(checked.column("problem")))
    names, ids = in_order(good.column("name").combine_chunks())
    keys = pa.table({"key": good.column("key"), "id": ids})
    place.mkdir(parents=True, exist_ok=True)
    write_table(place / "ids.parquet", keys)
    write_table(place / "problems.parquet", wrong)
    return NameIds(
        salt=salt,
        names=names,
        ids=read_parquet(spark, place / "ids.parquet", schema=_IDS),
        n_problems=len(wrong),
        problems=read_parquet(spark, place / "problems.parquet", schema=_PROBLEMS),
    )


def in_order(names: pa.Array) -> tuple[Names, Ints]:
    """Return the distinct names with their ids, and the id of each name given."""
    encoded = names.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary)
    numbers = np.arange(len(order), dtype=np.int32)
    id_of = np.empty_like(numbers)
    id_of[order.to_numpy()] = numbers
    rows = pa.table({"id": numbers, "name": encoded.dictionary.take(order)})
    return Names(len(order), rows), id_of[encoded.indices.to_numpy()]


def nfc(names: pa.Array) -> pa.Array:
    """Return names in NFC, which all ASCII is."""
    plain = pc.all(pc.string_is_ascii(names)).as_py()
    return names if plain else pc.utf8_normalize(names, "NFC")


def _number_on_spark(
    distinct: DataFrame, place: Path, salt: int, partitions: int
) -> NameIds | None:
    """Number names that do not fit this process. None if keys are equal."""
    distinct.mapInArrow(_normalise, _CHECKED).write.parquet(uri(place / "checked"))
    checked = read_parquet(distinct.sparkSession, place / "checked", schema=_CHECKED)
    counts = checked.agg(F.count("key"), F.count_distinct("key"), F.count("problem"))
    n_raw, n_keys, n_problems = counts.collect()[0]
    if n_keys < n_raw:
        return None
    partitions = max(1, min(partitions, n_raw // PARTITION_NAMES))
    good = checked.where("problem is null").groupBy("name").agg(F.collect_list("key").alias("keys"))
    ordered = good.repartitionByRange(partitions, "name").sortWithinPartitions("name")
    numbered, count = number_rows(ordered, place / "numbered", "id")
    return NameIds(
        salt=salt,
        names=Names(count, numbered.select("id", "name")),
        ids=numbered.select(F.explode("keys").alias("key"), "id"),
        n_problems=n_problems,
        problems=checked.where("problem is not null").select("key", "problem"),
    )


def _problem(name: Column) -> Column:
    """Return why a name cannot be used, or null."""
    length = F.octet_length(name)
    too_long = F.format_string(f"is %d bytes long, {LONGEST_NAME} at most", length)
    return (
        F.when(name.isNull() | (length == 0), "is empty")
        .when(~F.is_valid_utf8(name), "is not valid UTF-8")
        .when(length > LONGEST_NAME, too_long)
        .when(name.rlike(CONTROLS), "holds control characters")
    )


def _normalise(batches: Batches) -> Batches:
    """Bring good names to NFC; replace names with problems by empty text."""
    for batch in batches:
        problem = batch.column("problem")
        good = pc.is_null(problem)
        name = pc.if_else(good, batch.column("name"), pa.scalar(b"", pa.binary()))
        name = nfc(name.cast(pa.string()))
        # NFC may grow a name past the limit, which a broker would refuse.
        grown = pc.and_(good, pc.greater(pc.binary_length(name), LONGEST_NAME))
        problem = pc.if_else(grown, f"is over {LONGEST_NAME} bytes long in NFC", problem)
        columns = {"key": batch.column("key"), "name": name, "problem": problem}
        yield pa.RecordBatch.from_pydict(columns)


def _hash_names(batches: Batches) -> Batches:
    parts = [batch for batch in batches if len(batch)]
    if parts:
        table = pa.Table.from_batches(parts)
        ids, names = table.column("id").to_numpy(), table.column("name").combine_chunks()
        blocks, digests = zip(*name_blocks(ids, names), strict=True)
        yield pa.RecordBatch.from_pydict({"block": blocks, "digest": digests})
