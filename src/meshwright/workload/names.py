"""Names with dense ids, in the order of the sorted names.

Each distinct name is checked, normalised to NFC, sorted over all partitions and numbered, once. The
rows of the workload then join the names by a 64-bit key, the xxHash of the name as it was read. Two
names with one key would be confused: keys are counted and, if that happens, computed again with
another salt. The names of few rows are sorted in this process, which saves three jobs on Spark.
"""

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from meshwright.errors import InputError, SparkError
from meshwright.model.instance import MOST_IDS
from meshwright.model.names import CONTROLS, LONGEST_NAME, number_width
from meshwright.runtime.paths import read_parquet, uri
from meshwright.runtime.tasks import Batches
from meshwright.storage import write_table
from meshwright.storage.digest import BLOCK_BITS, combine, name_blocks, names_digest

BROADCAST_NAMES = 4_000_000  # 16 bytes each in the tasks; above that Spark joins by shuffling
HERE_ROWS = 100_000  # up to that many rows, a few MB of names
PARTITION_NAMES = 50_000  # below that a further partition costs more than it sorts
SALTS = 8
PART_BITS = 33  # of Spark's monotonically increasing ids: the rows of a partition

_CHECKED = "key long, name string, problem string"
_NUMBERED = "id int, name string, keys array<long>"
_PROBLEMS = "key long, problem string"
_ARROW_CHECKED = pa.schema([("key", pa.int64()), ("name", pa.string()), ("problem", pa.string())])


@dataclass(frozen=True, slots=True)
class Names:
    """The names of all nodes or of all topics: a frame of (id, name); a table too if few."""

    count: int
    frame: DataFrame
    table: pa.Table | None = None  # in the order of the ids


@dataclass(frozen=True, slots=True)
class NameIds:
    """The ids of names as they were read; `salt` gives the keys of the names."""

    count: int
    n_problems: int
    salt: int
    problems: DataFrame  # (key, problem) of each name that cannot be used
    numbered: DataFrame  # (id, name, keys): raw names with one NFC form share an id
    table: pa.Table | None = None  # (id, name), if they are few

    def ids(self) -> DataFrame:
        """Return (key, id) of each name as it was read."""
        frame = self.numbered.select(F.explode("keys").alias("key"), "id")
        return F.broadcast(frame) if self.count <= BROADCAST_NAMES else frame

    def names(self) -> Names:
        """Return each name once."""
        return Names(self.count, self.numbered.select("id", "name"), self.table)


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
    if n_rows <= HERE_ROWS:
        return _number_here(raw, directory, what)
    checked, salt, n_raw, n_problems = _check_names(raw, directory / "checked")
    partitions = max(1, min(partitions, n_raw // PARTITION_NAMES))
    good = checked.where("problem is null").groupBy("name").agg(F.collect_list("key").alias("keys"))
    ordered = good.repartitionByRange(partitions, "name").sortWithinPartitions("name")
    numbered, count = number_rows(ordered, directory / "numbered", "id")
    refuse_too_many(count, what)
    problems = checked.where("problem is not null").select("key", "problem")
    return NameIds(count, n_problems, salt, problems, numbered)


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
    if names.table is None:
        names.frame.toDF(column, "name").write.parquet(uri(path))
    else:
        write_table(path, names.table.rename_columns([column, "name"]))


def digest_of_names(names: Names, partitions: int) -> str:
    """Return the digest of names, hashed block by block in the tasks unless they are few."""
    if names.table is not None:
        return names_digest(names.table.column("name").combine_chunks())
    block = F.shiftright("id", BLOCK_BITS)
    parted = names.frame.repartition(partitions, block).sortWithinPartitions("id")
    rows = parted.mapInArrow(_hash_names, "block long, digest binary").collect()
    return combine((row["block"], bytes(row["digest"])) for row in rows)


def _number_here(raw: DataFrame, directory: Path, what: str) -> NameIds:
    """Number the names in this process; Spark reads the result from files."""
    for salt in range(SALTS):
        distinct = _keyed(raw, salt).toArrow()
        checked = pa.Table.from_batches(_normalise(distinct.to_batches()), _ARROW_CHECKED)
        if pc.count_distinct(checked.column("key")).as_py() == len(checked):
            break
    else:
        raise _same_keys()
    wrong = checked.filter(pc.is_valid(checked.column("problem"))).select(["key", "problem"])
    good = checked.filter(pc.is_null(checked.column("problem")))
    grouped = good.group_by("name").aggregate([("key", "list")]).sort_by("name")
    refuse_too_many(len(grouped), what)
    ids = pa.array(range(len(grouped)), pa.int32())
    numbered = pa.table({"id": ids, "name": grouped["name"], "keys": grouped["key_list"]})
    directory.mkdir(parents=True)
    write_table(directory / "numbered.parquet", numbered)
    write_table(directory / "problems.parquet", wrong)
    spark = raw.sparkSession
    return NameIds(
        count=len(numbered),
        n_problems=len(wrong),
        salt=salt,
        problems=read_parquet(spark, directory / "problems.parquet", schema=_PROBLEMS),
        numbered=read_parquet(spark, directory / "numbered.parquet", schema=_NUMBERED),
        table=numbered.select(["id", "name"]),
    )


def _keyed(raw: DataFrame, salt: int) -> DataFrame:
    """Return (key, problem, name in bytes) of each distinct name."""
    return raw.distinct().select(
        name_key("name", salt).alias("key"),
        _problem(F.col("name")).alias("problem"),
        F.col("name").cast("binary").alias("name"),
    )


def _check_names(raw: DataFrame, place: Path) -> tuple[DataFrame, int, int, int]:
    """Write (key, name, problem) of each distinct raw name.

    Return them, the salt under which all keys differ, and the number of names and of problems.
    """
    for salt in range(SALTS):
        checked = _keyed(raw, salt).mapInArrow(_normalise, _CHECKED)
        checked.write.mode("overwrite").parquet(uri(place))
        checked = read_parquet(raw.sparkSession, place, schema=_CHECKED)
        counts = checked.agg(F.count("key"), F.count_distinct("key"), F.count("problem"))
        n_names, n_keys, n_problems = counts.collect()[0]
        if n_keys == n_names:
            return checked, salt, n_names, n_problems
    raise _same_keys()


def _same_keys() -> SparkError:
    return SparkError(f"names share a 64-bit key under {SALTS} salts; this should not happen.")


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
        name = pc.utf8_normalize(name.cast(pa.string()), "NFC")
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
