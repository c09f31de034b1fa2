"""A user's tables of subscribers or brokers as frames: numbers gathered into lists, per row.

Points are columns `low_0`, `low_1`, ... in CSV, TSV or Parquet, or a list column `low` in Parquet.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, NumericType, StringType, StructField, StructType

from meshwright.errors import InputError
from meshwright.workload.files import ENDINGS, Source, find_sources

FORMATS = ("csv", "tsv", "parquet")
CORRUPT = "_not_as_the_header"


def find_tables(given: str, option: str) -> tuple[list[Source], str]:
    """Return the files behind one option and their format."""
    ending = Path(given.lower().removesuffix(".gz")).suffix
    kind = ENDINGS.get(ending, "parquet" if Path(given).is_dir() else "")
    if kind not in FORMATS:
        raise InputError(
            f"{option} is {given!r}; give a CSV, TSV or Parquet file "
            "(.csv, .tsv or .parquet), or a directory of Parquet parts."
        )
    return find_sources([given], kind)


def read_rows(spark: SparkSession, sources: Sequence[Source], format: str) -> DataFrame:
    """Return the rows of a user's table; cells of text files are text."""
    paths = [source.read for source in sources]
    if format == "parquet":
        return spark.read.parquet(*paths)
    # A cell is taken as it stands, spaces trimmed; a row with more or fewer cells is told apart.
    reader = spark.read.options(
        header=True,
        sep="\t" if format == "tsv" else ",",
        ignoreLeadingWhiteSpace=True,
        ignoreTrailingWhiteSpace=True,
        escape='"',
        enforceSchema=False,
    )
    columns = reader.csv(paths).columns
    if len(set(columns)) < len(columns) or CORRUPT in columns:
        raise InputError(
            f"'{sources[0].shown}' names a column twice: {', '.join(columns)}. Rename one."
        )
    fields = [StructField(name, StringType()) for name in (*columns, CORRUPT)]
    return reader.options(columnNameOfCorruptRecord=CORRUPT).schema(StructType(fields)).csv(paths)


class Table:
    """The columns of a user's table, and the ways to take text, numbers and points from them."""

    def __init__(self, frame: DataFrame, shown: str) -> None:
        self.frame = frame
        self.shown = shown
        self._types = {field.name: field.dataType for field in frame.schema.fields}

    def has(self, column: str) -> bool:
        """Tell whether the table has a column."""
        return column in self._types

    def text(self, column: str) -> Column:
        """Return a column as text, nothing where it is blank."""
        if not self.has(column):
            raise InputError(
                f"'{self.shown}' has no column {column!r}; it has {', '.join(self._shown())}. "
                "Rename or add it."
            )
        text = F.trim(self._column(column).cast("string"))
        return F.when(text != "", text)

    def number(self, column: str) -> Column:
        """Return a column as numbers, nothing where there is none or the table lacks it."""
        if not self.has(column):
            return F.lit(None).cast("double")
        kind = self._types[column]
        if not isinstance(kind, NumericType | StringType):
            raise InputError(
                f"column {column!r} of '{self.shown}' is {kind.simpleString()}; numbers are needed."
            )
        return self._column(column).try_cast("double")

    def unreadable(self, *names: str) -> Column:
        """Return what is wrong with a row's cells, as `: low_0 is 'x', no number`; or nothing."""
        columns = [
            column
            for name in names
            for column in (self.numbered(name) or [name])
            if isinstance(self._types.get(column), StringType)
        ]
        wrong = [
            F.when(
                self.text(column).isNotNull() & self.number(column).isNull(),
                say(f": {column} is '", self.text(column), "', no number"),
            )
            for column in columns
        ]
        if self.has(CORRUPT):
            cells = F.lit(": its row is not one cell per column")
            wrong = [F.when(self._column(CORRUPT).isNotNull(), cells), *wrong]
        return F.coalesce(*wrong, F.lit(""))

    def point(self, column: str) -> Column:
        """Return a point as a list of numbers, from numbered columns or from a list column."""
        numbered = self.numbered(column)
        if numbered:
            return F.array(*[self.number(name) for name in numbered])
        kind = self._types.get(column)
        if isinstance(kind, ArrayType) and isinstance(kind.elementType, NumericType):
            return self._column(column).cast("array<double>")
        raise InputError(
            f"'{self.shown}' has no columns {column}_0, {column}_1, ... (in Parquet, a list of "
            f"numbers {column} does too); it has {', '.join(self._shown())}. Rename or add them."
        )

    def numbered(self, column: str) -> list[str]:
        """Return the columns of a point, counted from 0 or 1; raise when one is missing."""
        found = {
            int(match.group(1)): name
            for name in self._types
            if (match := re.fullmatch(rf"{column}_(\d+)", name))
        }
        first = min(found, default=0)
        for i in range(min(first, 1), min(first, 1) + len(found)):
            if i not in found:
                raise InputError(
                    f"'{self.shown}' has columns {', '.join(found.values())}, "
                    f"but not {column}_{i}. Number them from 0 or 1 without a gap."
                )
        return [found[i] for i in sorted(found)]

    def _column(self, name: str) -> Column:
        return self.frame["`" + name.replace("`", "``") + "`"]

    def _shown(self) -> list[str]:
        return [name for name in self._types if name != CORRUPT]


def say(*parts: str | Column) -> Column:
    """Return a text made of texts and columns."""
    return F.concat(
        *[F.lit(part) if isinstance(part, str) else part.cast("string") for part in parts]
    )
