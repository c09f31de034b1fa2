"""Files of text -> lines, with the file that each comes from and its place there."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from meshwright.runtime.paths import path_of
from meshwright.workload.files import Source

BOM = "\ufeff"


def read_lines(spark: SparkSession, sources: Sequence[Source], *, placed: bool) -> DataFrame:
    """Return (source, line) of each line not blank, without BOM and line end.

    If `placed`, also the position in the file, (block, row): a task reads a block in order.
    """
    text = spark.read.option("lineSep", "\n").text([source.read for source in sources])
    place = [block().alias("block"), F.monotonically_increasing_id().alias("row")]
    frame = text.select(source_file(), text_line(), *(place if placed else ()))
    return frame.where(F.length(F.trim("line")) > 0)


def source_file() -> Column:
    """Return the file that a row of a text source comes from, by its encoded URI."""
    return F.col("_metadata.file_path").alias("source")


def block() -> Column:
    """Return where the block of a file begins that a task reads."""
    return F.col("_metadata.file_block_start")


def text_line() -> Column:
    """Return a line of a text source without BOM and line end."""
    line = F.rtrim("value", F.lit("\r"))  # byte-wise: a regular expression would repair bad UTF-8
    line = F.when(line.startswith(BOM), F.substring(line, 2, 2**31 - 1)).otherwise(line)
    return line.alias("line")


def source_path(sources: Sequence[Source]) -> Column:
    """Return the path of the file that a record comes from, not of a link to it."""
    path = path_of(F.col("source"))
    linked = [F.lit(text) for s in sources if s.link for text in (s.link, s.path)]
    return F.coalesce(F.create_map(*linked)[path], path) if linked else path
