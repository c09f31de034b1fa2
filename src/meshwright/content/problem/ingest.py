"""A user's subscribers and brokers -> a problem. All rows are checked before any is written.

Subscribers pass over the disk three times: checked, sorted by name (their ids follow the names),
and in whole digest blocks. They need not fit the driver's memory.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from meshwright.content.kernels import latency as kernel
from meshwright.content.problem import user_tables
from meshwright.content.problem.dataset import Subscribers, matrix_of
from meshwright.content.problem.subscriber_table import SUBSCRIBER_ROWS, Batches, write_and_publish
from meshwright.content.problem.user_tables import SHOWN, Table, find_tables, message
from meshwright.errors import InfeasibleError, InputError
from meshwright.model.broker_tree import BrokerTree
from meshwright.model.instance import MOST_IDS
from meshwright.runtime.paths import read_parquet, uri
from meshwright.runtime.progress import Progress, no_progress
from meshwright.runtime.session import parallelism
from meshwright.storage import Manifest, staging
from meshwright.storage.digest import BLOCK, BLOCK_BITS
from meshwright.workload.files import MAX_LINE, link_hidden, reading, refuse_long_lines
from meshwright.workload.names import number_rows

N_STEPS = 4
PARTITION_SUBSCRIBERS = 250_000  # a task holds them twice: about 100 MB
BATCH = 32 * BLOCK

POINTS = ("location", "low", "high")
BOUNDS = ("max_delay", "max_latency")
CHECKED = StructType(
    [
        *SUBSCRIBER_ROWS.fields[1:],
        StructField("reason", StringType()),  # errors in the row, one per line
        StructField("late", StringType()),  # why no broker can serve the subscriber
    ]
)


def ingest(
    spark: SparkSession,
    subscribers: str,
    brokers: str,
    out: str | Path,
    *,
    max_delay: float,
    limits: Mapping[str, Any],
    max_line: int = MAX_LINE,
    partitions: int | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Manifest:
    """Write the problem of a user's tables; the same rows in any order give the same digest.

    `max_delay` is for subscribers without a `max_delay` or `max_latency` of their own; `limits` are
    alpha, beta, beta_max and last_hop. Errors in a table raise InputError, subscribers that no
    broker can serve within their `max_latency` InfeasibleError; the messages list them.
    """
    progress = progress or no_progress()
    broker_files, broker_kind = find_tables(brokers, "--brokers")
    files, kind = find_tables(subscribers, "--subscribers")
    with staging(Path(out), "problem", force=force) as stage:
        broker_files = link_hidden(broker_files, stage.scratch("broker-tables"))
        files = link_hidden(files, stage.scratch("subscriber-tables"))
        with progress.step("reading the brokers"), reading(broker_files):
            refuse_long_lines(broker_files, broker_kind, max_line, progress)
            found = user_tables.ingest_brokers(
                Table(user_tables.read_rows(spark, broker_files, broker_kind), brokers)
            )
        tree = found.tree
        with progress.step("checking the subscribers"), reading(files):
            refuse_long_lines(files, kind, max_line, progress)
            table = Table(user_tables.read_rows(spark, files, kind), subscribers)
            rows = table.frame.select(*wanted_columns(table, max_delay))
            n_dimensions = event_dimensions(rows)
            checked = rows.select(*with_reasons(tree, n_dimensions)).mapInArrow(
                relative_delays(tree, limits["last_hop"]), CHECKED
            )
            checked.write.parquet(uri(stage.scratch("checked")))
        checked = read_parquet(spark, stage.scratch("checked"), schema=CHECKED)
        n = count_valid(checked, subscribers)
        with progress.step("sorting the names"):
            by_name = checked.drop("reason", "late").orderBy("name")
            numbered, _ = number_rows(by_name, stage.scratch("sorted"), "subscriber")
        with progress.step(f"writing {n:,} subscribers"):
            partitions = partitions or max(parallelism(spark), n // PARTITION_SUBSCRIBERS)
            return write_and_publish(
                stage,
                _in_blocks(numbered, n, partitions),
                _sorted_subscribers,
                tree=tree,
                limits=limits,
                n_dimensions=n_dimensions,
                parameters={
                    "source": "ingest content",
                    "subscribers": [source.shown for source in files],
                    "brokers": [source.shown for source in broker_files],
                    "max_delay": max_delay,
                    "warnings": list(found.warnings),
                },
            )


def wanted_columns(table: Table, max_delay: float) -> list[Column]:
    """Return name, location, low, high, max_delay, max_latency and cells of the user's table.

    max_delay (relative) is the argument where a row has neither bound, and null where it has only
    max_latency (absolute). cells is the first cell that cannot be read, as text, or "".
    """
    n_low, n_high = len(table.numbered("low")), len(table.numbered("high"))
    if n_low != n_high and n_low and n_high:
        raise InputError(
            f"'{table.shown}' has {n_low} columns of low and {n_high} of high; "
            "boxes need both in each dimension."
        )
    own, latency = table.number("max_delay"), table.number("max_latency")
    unbounded = own.isNull() & latency.isNull()
    return [
        table.text("name").alias("name"),
        *[table.point(point).alias(point) for point in POINTS],
        F.when(unbounded, F.lit(max_delay)).otherwise(own).alias("max_delay"),
        latency.alias("max_latency"),
        table.unreadable(*POINTS, *BOUNDS).alias("cells"),
    ]


def event_dimensions(rows: DataFrame) -> int:
    """Return the dimensions of the event space: the most common number of box dimensions."""
    sizes = rows.groupBy(F.size("low").alias("size")).count()
    first = sizes.where("size > 0").orderBy(F.desc("count"), "size").first()
    return int(first["size"]) if first else 0


def with_reasons(tree: BrokerTree, n_dimensions: int) -> list[Column]:
    """Return the wanted columns and `reason`, the errors of each row."""
    name = message("'", F.col("name"), "'")
    low, high = F.col("low"), F.col("high")
    box = message(_listed(low), " to ", _listed(high))
    event_space = ("the event space", n_dimensions)
    spaces = ("the brokers'", tree.location.shape[1]), event_space, event_space
    reasons = []
    for point, (whose, size) in zip(POINTS, spaces, strict=True):
        at = F.col(point)
        n = F.coalesce(F.size(at), F.lit(0))
        dimensions = message(name, f": {point} has ", n, f" dimensions, {whose} {size}.")
        numbers = message(name, f": {point} is ", _listed(at), "; give finite numbers.")
        reasons.append(F.when((n != size) | (n == 0), dimensions))
        reasons.append(F.when(F.exists(at, _not_finite), numbers))
    complete = (F.size(low) == n_dimensions) & (F.size(high) == n_dimensions)
    finite = ~F.exists(F.concat(low, high), _not_finite)
    below = F.exists(F.arrays_zip(low, high), lambda side: side["low"] > side["high"])
    upside_down = message(name, " wants ", box, ": low is above high.")
    reasons.append(F.when(complete & finite & below, upside_down))
    for bound in BOUNDS:
        value = F.col(bound)
        wrong = (value < 0) | _not_finite(value)
        out_of_range = message(name, f": {bound} is ", value, "; give 0 or more.")
        reasons.append(F.when(value.isNotNull() & wrong, out_of_range))
    both = F.col("max_delay").isNotNull() & F.col("max_latency").isNotNull()
    reasons.append(F.when(both, message(name, " has both max_delay and max_latency; give one.")))
    nameless = message("a subscriber with the box ", box, " has no name.")
    # A cell that cannot be read causes further errors in its row: report only the cell.
    reason = (
        F.when(F.col("name").isNull(), nameless)
        .when(F.col("cells") != "", message(name, F.col("cells"), "."))
        .otherwise(F.concat_ws("\n", *reasons))
    )
    kept = ("name", *POINTS, *BOUNDS)
    return [*map(F.col, kept), F.when(reason != "", reason).alias("reason")]


def relative_delays(tree: BrokerTree, last_hop: bool) -> Callable[[Batches], Batches]:
    """Return the task that turns `max_latency` into a relative delay.

    It writes into `late` why a subscriber cannot be served.
    """
    leaves = tree.location[tree.leaves], tree.down[tree.leaves] * (not last_hop)

    def relate(batches: Batches) -> Batches:
        for batch in batches:
            latency = batch.column("max_latency")
            bounded = pc.and_(latency.is_valid(), batch.column("reason").is_null())
            rows = np.flatnonzero(bounded.to_numpy(zero_copy_only=False))
            delay = batch.column("max_delay").to_numpy(zero_copy_only=False).copy()
            late = np.full(len(batch), None, object)
            if len(rows):
                points = matrix_of(pa.chunked_array([batch.column("location").take(rows)]))
                least = kernel.least_latencies(points, *leaves)
                allowed = latency.take(rows).to_numpy(zero_copy_only=False)
                over = allowed < least * (1 - kernel.TOLERANCE)
                late[rows[over]] = [
                    f"{a:g} is the limit, {b:g} the least possible"
                    for a, b in zip(allowed[over], least[over], strict=True)
                ]
                # At the publisher's own place the least latency is 0, and no factor changes it.
                ratio = np.divide(allowed, least, out=np.ones_like(least), where=least > 0)
                delay[rows] = np.maximum(ratio - 1.0, 0.0)
            columns = [batch.column(name) for name in CHECKED.names[:4]]
            columns += [pa.array(delay), batch.column("reason"), pa.array(late, pa.string())]
            yield pa.RecordBatch.from_arrays(columns, names=CHECKED.names)

    return relate


def count_valid(checked: DataFrame, shown: str) -> int:
    """Return the number of subscribers; raise an error that lists what is wrong with them."""
    counts = checked.agg(F.count("*"), F.count("reason"), F.count("late")).collect()[0]
    n, n_bad, n_late = (int(count) for count in counts)
    if n == 0:
        raise InputError(f"'{shown}' has no rows; give at least one subscriber.")
    if n > MOST_IDS:
        raise InputError(f"'{shown}' has {n:,} subscribers; the maximum is {MOST_IDS:,}.")
    bad = checked.where("reason is not null").orderBy("name", "reason").limit(SHOWN)
    errors = [line for row in bad.collect() for line in row["reason"].splitlines()]
    again = checked.where("name is not null").groupBy("name").count().where("count > 1")
    n_again = again.count()
    errors += [
        f"the name {row['name']!r} is given to {row['count']:,} subscribers."
        for row in again.orderBy("name").limit(SHOWN).collect()
    ]
    user_tables.raise_errors(shown, errors, max(n_bad + n_again, len(errors)) if errors else 0)
    if n_late:
        late = checked.where("late is not null").orderBy("name").limit(SHOWN).collect()
        lines = [f"{row['name']}: {row['late']}" for row in late]
        head = f"no broker can serve {n_late:,} of {n:,} subscribers within their max_latency"
        advice = "Raise their max_latency, or add brokers near them."
        raise InfeasibleError(user_tables.listing(head, lines, n_late, advice))
    return n


def _in_blocks(numbered: DataFrame, n: int, partitions: int) -> DataFrame:
    """Return the subscribers repartitioned so that no digest block is split."""
    n_blocks = -(-n // BLOCK)
    partitions = min(partitions, n_blocks)
    part = F.floor(F.shiftright("subscriber", BLOCK_BITS) * partitions / n_blocks)
    return numbered.repartitionById(partitions, part.cast("int"))


def _sorted_subscribers(batches: Batches) -> Iterator[Subscribers]:
    """Yield the subscribers of a partition in the order of their ids."""
    parts = [batch for batch in batches if len(batch)]
    if not parts:
        return
    table = pa.Table.from_batches(parts).sort_by("subscriber")
    first = table.column("subscriber")[0].as_py()
    points: list[Any] = [matrix_of(table.column(name)) for name in POINTS]  # the rows were checked
    columns = [table.column("name").combine_chunks(), *points, table.column("max_delay").to_numpy()]
    for start in range(0, len(table), BATCH):
        some = slice(start, start + BATCH)
        yield Subscribers(first + start, *(column[some] for column in columns))


def _not_finite(x: Column) -> Column:
    return x.isNull() | F.isnan(x) | (F.abs(x) == float("inf"))


def _listed(point: Column) -> Column:
    shown = F.transform(point, lambda x: F.coalesce(x.cast("string"), F.lit("missing")))
    return F.concat(F.lit("("), F.coalesce(F.array_join(shown, ", "), F.lit("")), F.lit(")"))
