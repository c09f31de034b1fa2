"""How often topics are published on, from a file: columns ``topic`` (a name) and ``weight``."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from meshwright.errors import InputError

COLUMNS = {"topic": pa.string(), "weight": pa.float64()}
SEPARATORS = {".csv": ",", ".tsv": "\t"}


def read_weights(path: str | Path) -> dict[str, float]:
    """Return the weight of each topic named in a CSV, TSV or Parquet file.

    Raise InputError if the file cannot be read, lacks a column, or names a topic twice.
    """
    source = Path(path)
    try:
        table = _read(source)
    except FileNotFoundError:
        raise InputError(f"there are no weights at '{source}'. Check --weights.") from None
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"'{source}' cannot be read as weights: {error}") from error
    missing = [name for name in COLUMNS if name not in table.column_names]
    if missing:
        raise InputError(
            f"'{source}' has the columns {', '.join(table.column_names)}; weights need topic and "
            "weight."
        )
    try:
        table = table.select(list(COLUMNS)).cast(pa.schema(COLUMNS.items()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(f"'{source}' has a weight that is not a number: {error}") from error
    if any(column.null_count for column in table.columns):
        raise InputError(f"'{source}' has a row without a topic or a weight. Fill it or drop it.")
    names = table.column("topic")
    if pc.count_distinct(names).as_py() < len(names):
        counted = names.value_counts().to_pylist()
        repeated = next(row["values"] for row in counted if row["counts"] > 1)
        raise InputError(f"'{source}' gives topic {repeated!r} twice. Give each topic one weight.")
    return dict(zip(names.to_pylist(), table.column("weight").to_pylist(), strict=True))


def _read(source: Path) -> pa.Table:
    if source.suffix == ".parquet":
        return pq.read_table(source)
    if source.suffix not in SEPARATORS:
        raise InputError(f"'{source}' is none of .csv, .tsv and .parquet. Rename or convert it.")
    return pyarrow.csv.read_csv(
        source,
        parse_options=pyarrow.csv.ParseOptions(delimiter=SEPARATORS[source.suffix]),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=COLUMNS, strings_can_be_null=True, null_values=[""]
        ),
    )
