"""What is taken from a user's subscribers, and what may be wrong with each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from meshwright.errors import InfeasibleError, InputError
from meshwright.problem.dataset import matrix_of
from meshwright.problem.digest import Floats
from meshwright.problem.ingest_brokers import SHOWN, refuse
from meshwright.problem.read import Table, say
from meshwright.problem.schemas import CHECKED
from meshwright.problem.tree import BrokerTree
from meshwright.values import MOST_IDS

TOLERANCE = 1e-9  # of latencies, as everywhere


POINTS = ("location", "low", "high")
BOUNDS = ("max_delay", "max_latency")


def wanted_columns(table: Table, max_delay: float) -> list[Column]:
    """Return what is taken from the user's table; `cells` tells of those that cannot be read."""
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
    """Return the dimensions of the event space: those that most boxes have."""
    sizes = rows.groupBy(F.size("low").alias("size")).count()
    first = sizes.where("size > 0").orderBy(F.desc("count"), "size").first()
    return int(first["size"]) if first else 0


def with_reasons(tree: BrokerTree, n_dimensions: int) -> list[Column]:
    """Return the rows with what is wrong about each."""
    name = say("'", F.col("name"), "'")
    low, high = F.col("low"), F.col("high")
    box = say(_listed(low), " to ", _listed(high))
    sizes = {"location": tree.location.shape[1], "low": n_dimensions, "high": n_dimensions}
    whose = {"location": "the brokers'", "low": "the event space", "high": "the event space"}
    below = F.exists(F.arrays_zip(low, high), lambda side: side["low"] > side["high"])
    fits = (F.size(low) == n_dimensions) & (F.size(high) == n_dimensions)
    finite = ~F.exists(F.concat(low, high), _not_finite)
    reasons = []
    for point, size in sizes.items():
        at = F.col(point)
        n = F.coalesce(F.size(at), F.lit(0))
        dimensions = say(name, f": {point} has ", n, f" dimensions, {whose[point]} {size}.")
        numbers = say(name, f": {point} is ", _listed(at), "; give finite numbers.")
        reasons.append(F.when((n != size) | (n == 0), dimensions))
        reasons.append(F.when(F.exists(at, _not_finite), numbers))
    upside_down = say(name, " wants ", box, ": low is above high.")
    reasons.append(F.when(fits & finite & below, upside_down))
    for bound in BOUNDS:
        value = F.col(bound)
        wrong = (value < 0) | _not_finite(value)
        told = say(name, f": {bound} is ", value, "; give 0 or more.")
        reasons.append(F.when(value.isNotNull() & wrong, told))
    both = F.col("max_delay").isNotNull() & F.col("max_latency").isNotNull()
    reasons.append(F.when(both, say(name, " has both max_delay and max_latency; give one.")))
    nameless = say("a subscriber with the box ", box, " has no name.")
    # A cell that cannot be read makes the rest of its row wrong too: telling once is enough.
    reason = (
        F.when(F.col("name").isNull(), nameless)
        .when(F.col("cells") != "", say(name, F.col("cells"), "."))
        .otherwise(F.concat_ws("\n", *reasons))
    )
    kept = ("name", *POINTS, *BOUNDS)
    return [*map(F.col, kept), F.when(reason != "", reason).alias("reason")]


def relative_delays(
    leaf_location: Floats, leaf_down: Floats
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the step that turns a largest latency into a delay, and tells whom none can serve."""

    def relate(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from meshwright.problem.count_kernel import least_latencies

        for batch in batches:
            latency = batch.column("max_latency")
            rows = np.flatnonzero(
                pc.and_(latency.is_valid(), batch.column("reason").is_null()).to_numpy(
                    zero_copy_only=False
                )
            )
            delay = batch.column("max_delay").to_numpy(zero_copy_only=False).copy()
            late = np.full(len(batch), None, object)
            if len(rows):
                some = pa.array(rows)
                points = matrix_of(pa.chunked_array([batch.column("location").take(some)]))
                least = least_latencies(points, leaf_location, leaf_down)
                allowed = latency.take(some).to_numpy(zero_copy_only=False)
                over = allowed < least * (1 - TOLERANCE)
                late[rows[over]] = [
                    f"{a:g} is asked for, {b:g} the least possible"
                    for a, b in zip(allowed[over], least[over], strict=True)
                ]
                # At the publisher's own place every latency of 0 is in time, and no other.
                ratio = np.divide(allowed, least, out=np.ones_like(least), where=least > 0)
                delay[rows] = np.maximum(ratio - 1.0, 0.0)
            columns = [batch.column(name) for name in CHECKED.names[:4]]
            columns += [pa.array(delay), batch.column("reason"), pa.array(late, pa.string())]
            yield pa.RecordBatch.from_arrays(columns, names=CHECKED.names)

    return relate


def refuse_bad_rows(checked: DataFrame, shown: str) -> int:
    """Return the number of subscribers; raise with every complaint about them."""
    n, n_bad, n_late = checked.agg(F.count("*"), F.count("reason"), F.count("late")).collect()[0][
        :3
    ]
    if n == 0:
        raise InputError(f"'{shown}' has no rows; give at least one subscriber.")
    if n > MOST_IDS:
        raise InputError(f"'{shown}' has {n:,} subscribers; at most {MOST_IDS:,} fit.")
    bad = checked.where("reason is not null").orderBy("name", "reason").limit(SHOWN)
    complaints = [line for row in bad.collect() for line in row["reason"].splitlines()]
    again = checked.where("name is not null").groupBy("name").count().where("count > 1")
    n_again = again.count()
    complaints += [
        f"the name {row['name']!r} is given to {row['count']:,} subscribers."
        for row in again.orderBy("name").limit(SHOWN).collect()
    ]
    refuse(shown, complaints, max(n_bad + n_again, len(complaints)) if complaints else 0)
    if n_late:
        late = checked.where("late is not null").orderBy("name").limit(SHOWN).collect()
        told = [f"  {row['name']}: {row['late']}" for row in late]
        if n_late > len(told):
            told.append(f"  and {n_late - len(told):,} more")
        raise InfeasibleError(
            "\n".join(
                [
                    f"no broker can serve {n_late:,} of {n:,} subscribers within their "
                    "max_latency; nothing was written:",
                    *told,
                    "Raise their max_latency, or add brokers near them.",
                ]
            )
        )
    return int(n)


def _not_finite(x: Column) -> Column:
    return x.isNull() | F.isnan(x) | (F.abs(x) == float("inf"))


def _listed(point: Column) -> Column:
    shown = F.transform(point, lambda x: F.coalesce(x.cast("string"), F.lit("nothing")))
    return F.concat(F.lit("("), F.coalesce(F.array_join(shown, ", "), F.lit("")), F.lit(")"))
