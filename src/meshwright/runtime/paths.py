"""Local paths for Spark: as URIs, with the characters of glob patterns escaped."""

import re
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType


def uri(path: Path) -> str:
    """Return the URI of a local path to write to, whatever the default file system is."""
    return f"file://{path}"


def pattern(path: Path) -> str:
    """Return the URI of a local path to read from; Spark reads brackets and the like as a glob."""
    return uri(Path(re.sub(r"([\\*?\[\]{},^])", r"\\\1", str(path))))


def read_parquet(
    spark: SparkSession, *paths: Path, schema: StructType | str | None = None
) -> DataFrame:
    """Return the rows of our tables; a known schema saves the job that infers it."""
    reader = spark.read if schema is None else spark.read.schema(schema)
    return reader.parquet(*map(pattern, paths))


def path_of(file: Column) -> Column:
    """Return the path, as a user writes it, of a file that Spark names by its encoded URI."""
    # A plus sign is not encoded in the path of a URI, but would be decoded to a space.
    decoded = F.try_url_decode(F.replace(file, F.lit("+"), F.lit("%2B")))
    return F.regexp_replace(F.coalesce(decoded, file), r"^file:/+", "/")
