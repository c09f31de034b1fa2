"""A user's tables of subscribers and brokers: reading their columns, and building the broker tree.

Points are columns `low_0`, `low_1`, ... in CSV, TSV or Parquet, or a list column `low` in Parquet.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, NumericType, StringType, StructField, StructType

from meshwright.content.problem.synthetic import MOST_BROKERS
from meshwright.errors import InputError
from meshwright.model.broker_tree import CAPACITY_TOLERANCE, BrokerTree
from meshwright.workload.files import ENDINGS, Source, find_sources, first_lines, parquet_columns

FORMATS = ("csv", "tsv", "parquet")
CORRUPT = "_not_as_the_header"
SHOWN = 20  # errors listed in full; the rest are counted


def find_tables(given: str, option: str) -> tuple[list[Source], str]:
    """Return the files that one option names, and their format."""
    ending = Path(given.lower().removesuffix(".gz")).suffix
    kind = ENDINGS.get(ending, "parquet" if Path(given).is_dir() else "")
    if kind not in FORMATS:
        raise InputError(
            f"{option} is {given!r}; give a CSV, TSV or Parquet file "
            "(.csv, .tsv or .parquet), or a directory of Parquet parts."
        )
    return find_sources([given], kind)


def check_columns(sources: Sequence[Source], format: str, needed: Iterable[str]) -> None:
    """Raise InputError if a user's table lacks a column; this needs no Spark.

    A column of `needed` may also be numbered: location_0, location_1, ...
    """
    shown = sources[0].shown
    if format == "parquet":
        columns = parquet_columns(sources[0])
    else:
        line = first_lines(sources[:1])[shown]
        columns = next(csv.reader([line], delimiter="\t" if format == "tsv" else ","), [])
        columns = [column.strip() for column in columns]
    for name in needed:
        if not any(re.fullmatch(rf"{name}(_\d+)?", column) for column in columns):
            raise InputError(
                f"'{shown}' has no column {name!r}; it has {', '.join(columns)}. Rename or add it."
            )


def read_rows(spark: SparkSession, sources: Sequence[Source], format: str) -> DataFrame:
    """Return the rows of a user's table; cells of text files are text."""
    paths = [source.read for source in sources]
    if format == "parquet":
        return spark.read.parquet(*paths)
    # Rows with more or fewer cells than the header are kept, and marked in column CORRUPT.
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
        named = ", ".join(columns)
        raise InputError(f"'{sources[0].shown}' names a column twice: {named}. Rename one.")
    fields = [StructField(name, StringType()) for name in (*columns, CORRUPT)]
    return reader.options(columnNameOfCorruptRecord=CORRUPT).schema(StructType(fields)).csv(paths)


class Table:
    """A user's table, with methods that take text, numbers and points from its columns."""

    def __init__(self, frame: DataFrame, shown: str) -> None:
        self.frame = frame
        self.shown = shown
        self._types = {field.name: field.dataType for field in frame.schema.fields}
        self._columns = ", ".join(name for name in self._types if name != CORRUPT)

    def text(self, column: str) -> Column:
        """Return a column as text, null where it is blank."""
        if column not in self._types:
            raise InputError(
                f"'{self.shown}' has no column {column!r}; it has {self._columns}. "
                "Rename or add it."
            )
        text = F.trim(self._column(column).cast("string"))
        return F.when(text != "", text)

    def number(self, column: str) -> Column:
        """Return a column as numbers; null for other text, or if the column is missing."""
        if column not in self._types:
            return F.lit(None).cast("double")
        kind = self._types[column]
        if not isinstance(kind, NumericType | StringType):
            raise InputError(
                f"column {column!r} of '{self.shown}' is {kind.simpleString()}; "
                "it must contain numbers."
            )
        return self._column(column).try_cast("double")

    def unreadable(self, *names: str) -> Column:
        """Return the first error in a row's cells, like `: low_0 is 'x', not a number`, or ""."""
        wrong = []
        if CORRUPT in self._types:
            cells = F.lit(": its row does not have one cell per column")
            wrong.append(F.when(self._column(CORRUPT).isNotNull(), cells))
        for column in (column for name in names for column in self.numbered(name) or [name]):
            if isinstance(self._types.get(column), StringType):
                text, number = self.text(column), self.number(column)
                error = message(f": {column} is '", text, "', not a number")
                wrong.append(F.when(text.isNotNull() & number.isNull(), error))
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
            f"'{self.shown}' has no columns {column}_0, {column}_1, ... (or, in Parquet, a list "
            f"of numbers {column}); it has {self._columns}. Rename or add them."
        )

    def numbered(self, column: str) -> list[str]:
        """Return the columns of a point, numbered from 0 or 1; raise InputError for a gap."""
        found = {
            int(match.group(1)): name
            for name in self._types
            if (match := re.fullmatch(rf"{column}_(\d+)", name))
        }
        first = min(1, min(found, default=0))
        for i in range(first, first + len(found)):
            if i not in found:
                raise InputError(
                    f"'{self.shown}' has columns {', '.join(found.values())}, "
                    f"but not {column}_{i}. Number them from 0 or 1 without a gap."
                )
        return [found[i] for i in sorted(found)]

    def _column(self, name: str) -> Column:
        return self.frame["`" + name.replace("`", "``") + "`"]


def message(*parts: str | Column) -> Column:
    """Return a text column: the parts joined."""
    columns = [F.lit(part) if isinstance(part, str) else part.cast("string") for part in parts]
    return F.concat(*columns)


def raise_errors(shown: str, errors: list[str], count: int) -> None:
    """Raise InputError with the errors found in a table, if there are any."""
    if count:
        raise InputError(
            listing(f"'{shown}' cannot be used", errors, count, "Fix it and try again.")
        )


def listing(head: str, lines: list[str], count: int, advice: str) -> str:
    """Return an error message with the first lines of a list of which there are `count`."""
    more = [f"and {count - SHOWN:,} more"] if count > SHOWN else []
    shown = [f"  {line}" for line in (*lines[:SHOWN], *more)]
    return "\n".join([f"{head}; nothing was written:", *shown, advice])


class Brokers(NamedTuple):
    """A broker tree, and warnings about changes that were made to the user's rows."""

    tree: BrokerTree
    warnings: tuple[str, ...]


def ingest_brokers(table: Table) -> Brokers:
    """Return the broker tree of a table; ids follow the sorted names."""
    frame = table.frame.select(
        table.text("name").alias("name"),
        table.text("parent").alias("parent"),
        table.point("location").alias("location"),
        table.number("capacity").alias("capacity"),
        table.unreadable("location", "capacity").alias("cells"),
    )
    rows = [row.asDict() for row in frame.limit(MOST_BROKERS + 2).collect()]
    if len(rows) > MOST_BROKERS + 1:
        raise InputError(f"'{table.shown}' has more than {MOST_BROKERS:,} brokers; give fewer.")
    return brokers_of(table.shown, rows)


def brokers_of(shown: str, rows: list[dict[str, Any]]) -> Brokers:
    """Return the broker tree of rows with name, parent, location, capacity and cells (errors)."""
    errors = _row_errors(rows) or _tree_errors({row["name"]: row["parent"] for row in rows})
    raise_errors(shown, errors, len(errors))
    rows = sorted(rows, key=lambda row: row["name"])
    names = [row["name"] for row in rows]
    ids = {name: i for i, name in enumerate(names)}
    parents = [ids.get(row["parent"], -1) for row in rows]
    inner = set(parents)
    leaves = [i for i, parent in enumerate(parents) if parent >= 0 and i not in inner]
    capacity = np.zeros(0)  # BrokerTree gives all leaves the same capacity
    warnings: tuple[str, ...] = ()
    if any(row["capacity"] is not None for row in rows):
        lacking = [names[i] for i in leaves if rows[i]["capacity"] is None]
        errors = [f"the leaf {name!r} has no capacity, but others have." for name in lacking]
        raise_errors(shown, errors, len(errors))
        capacity = np.zeros(len(rows))
        capacity[leaves] = [rows[i]["capacity"] for i in leaves]
        total = float(capacity.sum())
        if total <= 0:
            raise_errors(shown, ["the capacities of the leaves are all 0."], 1)
        if abs(total - 1.0) > CAPACITY_TOLERANCE:
            capacity /= total
            scaled = f"the capacities of the leaves sum to {total:g}; they were scaled to sum to 1."
            warnings = (scaled,)
    location = np.array([row["location"] for row in rows], np.float64)
    return Brokers(BrokerTree(np.array(parents), location, capacity, names), warnings)


def _row_errors(rows: list[dict[str, Any]]) -> list[str]:
    if not rows:
        return ["it has no rows; give the publisher and at least one broker."]
    found = []
    sizes = Counter(len(row["location"] or ()) for row in rows)
    dimensions = min(sizes, key=lambda size: (-sizes[size], size))
    for row in rows:
        name, location = row["name"], row["location"] or ()
        if name is None:
            found.append(f"a broker at {_listed(location)} has no name.")
            continue
        if row["cells"]:
            found.append(f"{name!r}{row['cells']}.")
            continue
        if len(location) != dimensions:
            found.append(
                f"{name!r} is located in {len(location)} dimensions, most brokers in {dimensions}."
            )
        elif any(x is None or not np.isfinite(x) for x in location):
            found.append(f"the location of {name!r} is {_listed(location)}; give finite numbers.")
        capacity = row["capacity"]
        if capacity is not None and not 0 <= capacity < np.inf:
            found.append(f"the capacity of {name!r} is {capacity:g}; give 0 or more.")
    if dimensions == 0:
        found.append("the brokers have no location.")
    counts = Counter(row["name"] for row in rows if row["name"] is not None)
    found += [
        f"the name {n!r} is given to {count} brokers." for n, count in counts.items() if count > 1
    ]
    return found


def _tree_errors(parent: dict[str, str | None]) -> list[str]:
    found = [
        f"{name!r} has the parent {above!r}, which is not among the brokers."
        for name, above in parent.items()
        if above is not None and above not in parent
    ]
    roots = [name for name, above in parent.items() if above is None]
    if not roots:
        found.append("every broker has a parent; the publisher must have none.")
    elif len(roots) > 1:
        listed = ", ".join(map(repr, roots[:SHOWN]))
        found.append(f"{len(roots)} rows have no parent ({listed}); only the publisher has none.")
    elif len(parent) == 1:
        found.append("there is no broker besides the publisher; add one.")
    seen: dict[str, str] = {}  # name -> the start of the walk that visited it
    for start in parent:
        walk, at = [], start
        while at in parent and at not in seen:
            seen[at] = start
            walk.append(at)
            at = parent[at] or ""
        if seen.get(at) == start and at in walk:
            cycle = [*walk[walk.index(at) :], at]
            found.append(f"the parents form a cycle: {' -> '.join(cycle[: SHOWN + 1])}.")
    return found


def _listed(point: Iterable[float | None]) -> str:
    return "(" + ", ".join("missing" if x is None else f"{x:g}" for x in point) + ")"
