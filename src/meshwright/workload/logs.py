"""Lines of logs -> rows that can be merged -> records: one way for all formats of logs."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from meshwright.runtime.paths import read_parquet
from meshwright.workload.files import Source
from meshwright.workload.lines import source_path
from meshwright.workload.mesh_log import EVENTS, merge_events, mesh_events, mesh_records
from meshwright.workload.mosquitto_log import (
    LOG_ROWS,
    Window,
    broker_name,
    log_records,
    log_rows,
    merge_rows,
    whole_path,
)

MESH = "mesh-log"


def rows_of(lines: DataFrame, format: str, window: Window) -> DataFrame:
    """Return what lines (source, line, block, row) say: LOG_ROWS, or the EVENTS of a mesh."""
    return mesh_events(lines, window) if format == MESH else log_rows(lines, window)


def read_rows(spark: SparkSession, place: Path, format: str) -> DataFrame:
    """Return rows from where they were written."""
    return read_parquet(spark, place, schema=EVENTS if format == MESH else LOG_ROWS)


def merged(rows: DataFrame, format: str) -> DataFrame:
    """Return fewer rows that say the same, whatever comes later."""
    return merge_events(rows) if format == MESH else merge_rows(rows)


def records_of(
    rows: DataFrame, sources: Sequence[Source], format: str, node: str | None, window: Window
) -> DataFrame:
    """Return the LOG_RECORDS of rows; `node` is the broker's name if the files do not have it."""
    if format == MESH:
        return mesh_records(rows, window)
    # Records come from whole logs, so links to their parts are known by the name of the whole.
    whole = [replace(s, path=whole_path(s.path), link=whole_path(s.link)) for s in sources]
    name = F.lit(node) if node else broker_name(source_path(whole))
    return log_records(rows, name, window)
