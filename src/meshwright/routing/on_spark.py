"""`simulate` on Spark: the publications spread over tasks, the same run as in memory.

Publication number i depends on the seed and i only, so a task simulates whole blocks of numbers.
It writes a row per publication. What it counts besides, the load of each node, the sums and the
digests of its blocks, it leaves as a note beside the run, on the storage that tables are written to
anyway. The loads are one row per node and task, and Spark adds them up. Routing tables are shipped
in one file that every process maps once.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, IntegerType, LongType, StructField, StructType

from meshwright.datasets import (
    Manifest,
    Staging,
    read_manifest,
    read_table,
    staging,
    write_table,
)
from meshwright.errors import InputError, unknown_choice
from meshwright.kernels.compiling import Stopwatch
from meshwright.routing.digest import BLOCK, combine_run, overlay_digest, table_digest
from meshwright.routing.protocols import ROUTINGS, router
from meshwright.routing.simulate import (
    MOST_PUBLICATIONS,
    Part,
    Sums,
    Weights,
    load_table,
    new_draws,
    publication_table,
    simulate_range,
    sums_of,
    totals_of,
)
from meshwright.routing.tables import no_small_world
from meshwright.smallworld import load_overlay
from meshwright.smallworld.dataset import is_small_world
from meshwright.spark.paths import read_parquet, uri
from meshwright.spark.progress import Progress, no_progress
from meshwright.spark.session import parallelism
from meshwright.spark.ship import received, ship
from meshwright.values import Overlay

N_STEPS = 3
N_STEPS_AGAINST = 2  # more, when there is something to compare with
BLOCKS_PER_TASK = 256  # at most: a million publications, so that a lost task costs minutes
NAMED = 5

PUBLICATIONS = StructType(
    [
        *[
            StructField(name, IntegerType())
            for name in ("topic", "publisher", "deliveries", "missed", "overhead")
        ],
        StructField("hops_mean", DoubleType()),
        StructField("hops_max", IntegerType()),
    ]
)
LOAD = StructType(
    [
        StructField("node", IntegerType()),
        StructField("sent", LongType()),
        StructField("received", LongType()),
    ]
)


class Outcome(NamedTuple):
    """What one protocol came to."""

    totals: dict[str, Any]
    digest: str
    load: pa.Table


def simulate_on_spark(
    spark: SparkSession,
    overlay: str | Path | Overlay,
    out: str | Path,
    *,
    routing: str = "pie",
    publications: int = 1000,
    seed: int = 1,
    weights: Weights | None = None,
    against: str | None = None,
    workload: str | Path | None = None,
    partitions: int | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Manifest:
    """Write what publications on an overlay come to, equal to `simulate` in memory.

    Parameters
    ----------
    overlay
        An overlay dataset, or an overlay in memory.
    weights
        How often topics are published on, as `simulate` takes them.
    against
        Another protocol, simulated on the same overlay and publications for comparison; its
        totals and the ratios go into the manifest.
    workload
        Where the overlay's workload is, if it was moved.

    """
    check_arguments(routing, publications, seed, against)
    progress = progress or no_progress()
    watch = Stopwatch()
    with staging(Path(out), "run", force=force) as stage:
        with progress.step("laying out the routing tables"):
            here = overlay if isinstance(overlay, Overlay) else load_overlay(overlay, workload)
            draws = new_draws(here.instance, weights)
            for name in filter(None, (routing, against)):
                ready = router(here, name)
                # One here: what is wrong is said now, and workers find the kernels compiled.
                simulate_range(ready, draws, 0, 1, seed)
                ship(stage.scratch(f"{name}.tables"), (ready, draws))
        job = Job(spark, stage, publications, seed, here.instance.n_nodes, partitions)
        found = job.run(routing, progress, keep=True)
        facts: dict[str, Any] = {
            "overlay": None if isinstance(overlay, Overlay) else str(Path(overlay).absolute()),
            "overlay_digest": overlay_digest(here),
            "workload_digest": here.instance.digest,
            "method": here.method,
            "n_edges": here.n_edges,
            "max_degree": here.max_degree,
            "routing": routing,
            "parameters": {"publications": publications, "weighted": weights is not None},
            "seed": seed,
            "totals": found.totals,
            "busiest": busiest(here, found.load),
            "digest": found.digest,
        }
        if against is not None:
            other = job.run(against, progress, keep=False)
            facts["against"] = {
                "routing": against,
                "totals": other.totals,
                "ratios": ratios(found.totals, other.totals),
            }
        facts["seconds"] = round(watch.seconds, 3)
        return stage.publish(facts)


def check_arguments(routing: str, publications: int, seed: int, against: str | None) -> None:
    """Raise unless these can be simulated on some overlay."""
    for name in filter(None, (routing, against)):
        if name not in ROUTINGS:
            raise unknown_choice("routing", name, ROUTINGS)
    if against == routing:
        raise InputError(f"{routing} against itself tells nothing; name another protocol.")
    if not 1 <= publications <= MOST_PUBLICATIONS:
        raise InputError(
            f"publications is {publications}; give 1 to {MOST_PUBLICATIONS:,} of them."
        )
    if not 0 <= seed < 2**63:
        raise InputError(f"seed is {seed}; give a whole number from 0 to 2^63 - 1.")


def refuse_no_small_world(overlay: str | Path, routing: str, against: str | None = None) -> None:
    """Raise when an overlay dataset has no ring and a routing needs one; reads its manifest."""
    manifest = read_manifest(Path(overlay), "overlay")
    for name in filter(None, (routing, against)):
        if name != "tree" and not is_small_world(manifest):
            raise no_small_world(name, manifest["method"])


def ratios(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, float | None]:
    """Return ours over theirs as the paper's tables do, None where there is nothing to divide."""
    names = ("overhead", "hops_mean", "hops_max", "messages", "load_max", "busiest_share")
    return {
        name: ours[name] / theirs[name] if theirs[name] and ours[name] is not None else None
        for name in names
    }


def busiest(overlay: Overlay, load: pa.Table) -> list[dict[str, Any]]:
    """Return the nodes with most load, those of smaller ids first."""
    sent, got = load.column("sent").to_numpy(), load.column("received").to_numpy()
    order = np.argsort(-(sent + got), kind="stable")[:NAMED].tolist()
    names = overlay.instance.node_names
    return [{"node": names[v], "sent": int(sent[v]), "received": int(got[v])} for v in order]


class Job:
    """The publications of one run; each protocol is given the same."""

    def __init__(
        self,
        spark: SparkSession,
        stage: Staging,
        publications: int,
        seed: int,
        n_nodes: int,
        partitions: int | None,
    ) -> None:
        self._spark = spark
        self._stage = stage
        self._publications = publications
        self._seed = seed
        self._n_nodes = n_nodes
        n_blocks = -(-publications // BLOCK)
        suited = max(parallelism(spark), n_blocks // BLOCKS_PER_TASK)
        self._blocks = spark.range(0, n_blocks, 1, min(partitions or suited, n_blocks))

    def run(self, routing: str, progress: Progress, *, keep: bool) -> Outcome:
        """Simulate a protocol whose tables are shipped; write the tables of the run or not."""
        notes = self._stage.scratch(f"{routing}.notes")
        notes.mkdir()
        tables = self._stage.scratch(f"{routing}.tables")
        with progress.step(f"simulating {self._publications:,} publications by {routing}"):
            task = _task(tables, notes, self._publications, self._seed)
            rows = self._blocks.mapInArrow(task, PUBLICATIONS)
            if keep:
                rows.write.parquet(uri(self._stage.table("publications")))
            else:
                rows.write.format("noop").mode("overwrite").save()
        with progress.step("adding up the load"):
            load = self._add_up(notes, self._stage.table("load") if keep else notes / "sum.parquet")
        sums, blocks = Sums(), []
        for path in notes.glob("*.json"):
            note = json.loads(path.read_text())
            sums = sums.plus(Sums(*note["sums"]))
            blocks += [(block, bytes.fromhex(digest)) for block, digest in note["blocks"]]
        totals = totals_of(sums, load.column("sent").to_numpy(), load.column("received").to_numpy())
        return Outcome(totals, combine_run(self._publications, blocks, load), load)

    def _add_up(self, notes: Path, table: Path) -> pa.Table:
        """Write the load of each node over all tasks; return it."""
        parts = read_parquet(self._spark, *sorted(notes.glob("*.load")), schema=LOAD)
        added = parts.groupBy("node").agg(*[F.sum(name).alias(name) for name in LOAD.names[1:]])
        added.orderBy("node").write.parquet(uri(table))
        return read_table(table.parent, table.stem)


def _task(
    tables: Path, notes: Path, publications: int, seed: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def simulate_blocks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        ready, draws = received(tables)
        note = Note(ready.n_nodes)
        for batch in batches:
            for block in batch.column(0).to_pylist():
                first = block * BLOCK
                last = min(first + BLOCK, publications)
                yield note.take(block, simulate_range(ready, draws, first, last, seed))
        note.write(notes)

    return simulate_blocks


class Note:
    """What a task counts besides its rows. A task that is run again leaves an equal one."""

    def __init__(self, n_nodes: int) -> None:
        self._sums = Sums()
        self._blocks: list[tuple[int, str]] = []
        self._sent = np.zeros(n_nodes, np.int64)
        self._received = np.zeros(n_nodes, np.int64)

    def take(self, block: int, part: Part) -> pa.RecordBatch:
        """Count a block; return its rows."""
        rows = publication_table(part).to_batches()[0]
        self._sums = self._sums.plus(sums_of(part.tally.counts))
        self._blocks.append((block, table_digest(rows).hex()))
        self._sent += part.tally.sent
        self._received += part.tally.received
        return rows

    def write(self, notes: Path) -> None:
        """Write the note: sums and digests in one file, a row per node in another."""
        from pyspark import TaskContext

        context = TaskContext.get()
        part, attempt = (context.partitionId(), context.taskAttemptId()) if context else (0, 0)
        draft = notes / f".{part}-{attempt}-{os.getpid()}"
        write_table(draft, load_table(self._sent, self._received))
        draft.replace(notes / f"{part}.load")
        draft.write_text(json.dumps({"sums": self._sums, "blocks": self._blocks}))
        draft.replace(notes / f"{part}.json")
