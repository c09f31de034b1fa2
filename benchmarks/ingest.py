"""Ingest of Parquet rows of (node, topic) names, against the same job in DuckDB.

Both read the rows, number the sorted names, keep each pair once and write three tables of Parquet.
Ours also checks the names, sorts the pairs and computes the digest. DuckDB gets two threads and two
formulations: the pairs made distinct as ids, or as names; the faster one counts. The Spark session
is started beforehand.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from benchmarks._measure import timed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

N_NODES = 100_000
N_TOPICS = 1_000_000
AIM_RATIO = 3.5
AIM_GROWTH = 1.2
THREADS = 2


def run(arguments: list[str]) -> None:
    """Measure ours and the reference at the full and at a tenth of the rows."""
    parser = argparse.ArgumentParser(prog="scripts/bench ingest", description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000, help="rows of the larger run")
    parser.add_argument("--memory", default="4g", help="memory of Spark's JVM")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each; the fastest counts")
    parser.add_argument("--skip-reference", action="store_true", help="ours alone")
    options = parser.parse_args(arguments)
    from meshwright.runtime.session import spark_session

    with tempfile.TemporaryDirectory(prefix="meshwright-bench-") as scratch:
        directory = Path(scratch)
        small, large = options.rows // 10, options.rows
        for rows in (small, large):
            make_rows(directory / f"{rows}.parquet", rows)
        spark = spark_session(f"local[{THREADS}]", settings={"spark.driver.memory": options.memory})
        ours(spark, directory / f"{small}.parquet", directory)  # the JVM warms up
        times = {
            rows: min(
                ours(spark, directory / f"{rows}.parquet", directory) for _ in range(options.repeat)
            )
            for rows in (small, large)
        }
        for rows, (seconds, cpu) in times.items():
            print(f"meshwright  {rows:>12,} rows  {seconds:6.1f} s  {cpu:6.1f} s of CPU")
        growth = (times[large][0] / large) / (times[small][0] / small)
        print(f"time per row at {large:,} over {small:,}: {growth:.2f} (aim: {AIM_GROWTH})")
        if options.skip_reference:
            return
        reference = {
            how: min(
                in_duckdb(directory / f"{large}.parquet", directory, distinct_names=names)
                for _ in range(options.repeat)
            )
            for how, names in (("distinct ids", False), ("distinct names", True))
        }
        for how, (seconds, cpu) in reference.items():
            print(f"duckdb      {large:>12,} rows  {seconds:6.1f} s  {cpu:6.1f} s of CPU  ({how})")
        clock, cpu = (
            ours / best for ours, best in zip(times[large], min(reference.values()), strict=True)
        )
        print(f"meshwright / duckdb: {clock:.2f}, in CPU {cpu:.2f} (aim: {AIM_RATIO})")


def smoke() -> None:
    """Ingest 2,000 rows."""
    run(["--rows", "2000"])


def make_rows(path: Path, rows: int) -> None:
    """Write rows of (node, topic): every name occurs, pairs are drawn by hash."""
    with duckdb.connect() as connection:
        connection.execute(f"SET threads = {THREADS}")
        connection.execute(
            f"""
            COPY (
              SELECT printf('broker-%06d', hash(i) % {N_NODES}) AS node,
                     printf('site-%03d/device-%06d/temperature', t % 500, t) AS topic
              FROM (SELECT i, (hash(i + {rows}) % {N_TOPICS})::INT AS t FROM range({rows}) r(i))
            ) TO '{path}' (FORMAT parquet)
            """
        )


def ours(spark: SparkSession, source: Path, directory: Path) -> tuple[float, float]:
    """Return the seconds of our ingest, by the clock and of the processors."""
    from meshwright.workload.ingest import ingest

    out = directory / "ours"
    seconds, cpu, _ = timed(lambda: ingest(spark, [str(source)], out), children=True)
    shutil.rmtree(out)
    return seconds, cpu


def in_duckdb(source: Path, directory: Path, *, distinct_names: bool) -> tuple[float, float]:
    """Return the seconds of the same job in DuckDB, by the clock and of the processors."""
    out = directory / "duckdb"
    out.mkdir()
    seconds, cpu, _ = timed(
        lambda: write_tables(source, out, directory / "spill", distinct_names=distinct_names)
    )
    shutil.rmtree(out)
    return seconds, cpu


def write_tables(source: Path, out: Path, spill: Path, *, distinct_names: bool) -> None:
    """Write the three tables of a workload with DuckDB."""
    rows = f"read_parquet('{source}')"
    pairs = f"(SELECT DISTINCT node, topic FROM {rows})" if distinct_names else rows
    with duckdb.connect() as connection:
        connection.execute(f"SET threads = {THREADS}")
        connection.execute(f"SET temp_directory = '{spill}'")
        for table, column in (("nodes", "node"), ("topics", "topic")):
            connection.execute(
                f"""
                CREATE TEMP TABLE {table} AS
                SELECT (row_number() OVER (ORDER BY name) - 1)::INT AS id, name
                FROM (SELECT DISTINCT {column} AS name FROM {rows})
                """
            )
            connection.execute(f"COPY {table} TO '{out / table}.parquet' (FORMAT parquet)")
        connection.execute(
            f"""
            COPY (
              SELECT {"" if distinct_names else "DISTINCT"} n.id AS node, t.id AS topic
              FROM {pairs} p JOIN nodes n ON p.node = n.name JOIN topics t ON p.topic = t.name
            ) TO '{out / "subscriptions"}.parquet' (FORMAT parquet)
            """
        )
