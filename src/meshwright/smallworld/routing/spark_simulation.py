"""`simulate` on Spark: the publications spread over tasks, the same run as in memory.

Publication number i depends on the seed and i only, so a task simulates whole blocks of numbers.
It writes a row per publication, and as its task result the load of each node, the sums and the
digests of its blocks. The loads are one row per node and task, and Spark adds them up. Routing
tables are shipped in one file that every process maps once.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from meshwright.errors import InputError
from meshwright.model.method import check_seed
from meshwright.model.overlay import Overlay
from meshwright.overlay.dataset import is_small_world, load_overlay
from meshwright.runtime import tasks
from meshwright.runtime.compile import Stopwatch
from meshwright.runtime.paths import read_parquet, uri
from meshwright.runtime.progress import Progress, no_progress
from meshwright.runtime.session import parallelism
from meshwright.smallworld.routing import protocols
from meshwright.smallworld.routing import simulate as in_memory
from meshwright.smallworld.routing.kernels.publications import N_COUNTS
from meshwright.smallworld.routing.protocols import Direction, Match
from meshwright.smallworld.routing.traffic import traffic_facts
from meshwright.storage import Manifest, Staging, read_manifest, read_parts, staging, write_table
from meshwright.storage.digest import combine_reported

N_STEPS = 3
N_STEPS_AGAINST = 2  # more, when there is a protocol to compare with
BLOCKS_PER_TASK = 256  # at most: a million publications, so that a lost task costs minutes
N_BUSIEST = 5  # nodes named in the manifest

PUBLICATIONS = (
    "topic int, publisher int, deliveries int, missed int, overhead int, "
    "hops_mean double, hops_max int"
)
LOAD = "node int, sent long, received long"


class Job(NamedTuple):
    """The publications of one run; each protocol is given the same."""

    spark: SparkSession
    stage: Staging
    publications: int
    seed: int
    n_tasks: int
    progress: Progress


def simulate_on_spark(
    spark: SparkSession,
    overlay: str | Path | Overlay,
    out: str | Path,
    *,
    routing: str = "pie",
    publications: int = 1000,
    seed: int = 1,
    weights: in_memory.Weights | None = None,
    against: str | None = None,
    direction: str = Direction.ONE,
    match: str = Match.FINGERS,
    workload: str | Path | None = None,
    partitions: int | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Manifest:
    """Route publications on an overlay and write the run, equal to that of `simulate`.

    `overlay` is a dataset or in memory, `workload` the path of its workload if it was moved.
    `against` is another protocol, simulated on the same publications for comparison; its totals and
    the ratios go into the manifest.
    """
    check_arguments(routing, publications, seed, against, direction, match)
    progress = progress or no_progress()
    watch = Stopwatch()
    with staging(Path(out), "run", force=force) as stage:
        with progress.step("making the routing tables"):
            here = overlay if isinstance(overlay, Overlay) else load_overlay(overlay, workload)
            draws = in_memory.new_draws(here.instance, weights)
            for name in filter(None, (routing, against)):
                ready = protocols.router(here, name, direction, match)
                # One publication here: errors appear now, and workers find the kernels compiled.
                in_memory.simulate_range(ready, draws, 0, 1, seed)
                tasks.ship(stage.scratch(f"{name}.tables"), (ready, draws))
        n_blocks = -(-publications // in_memory.BLOCK)
        suitable = max(parallelism(spark), n_blocks // BLOCKS_PER_TASK)
        n_tasks = min(partitions or suitable, n_blocks)
        job = Job(spark, stage, publications, seed, n_tasks, progress)
        totals, digest, load = run_protocol(job, routing, keep=True)
        facts: dict[str, Any] = {
            "overlay": None if isinstance(overlay, Overlay) else str(Path(overlay).absolute()),
            "overlay_digest": here.digest,
            "workload_digest": (here.instance.workload or here.instance).digest,
            "method": here.method,
            "n_edges": here.n_edges,
            "max_degree": here.max_degree,
            "routing": routing,
            "parameters": {
                "publications": publications,
                "weighted": weights is not None,
                "direction": str(direction),
                "match": str(match),
            },
            "seed": seed,
            "totals": totals,
            "busiest": busiest(here, load),
            "traffic": traffic_facts(here),
            "digest": digest,
        }
        if against is not None:
            others, _, _ = run_protocol(job, against, keep=False)
            compared = {"totals": others, "ratios": ratios(totals, others)}
            facts["against"] = {"routing": against, **compared}
        facts["seconds"] = round(watch.seconds, 3)
        return stage.publish(facts)


def check_arguments(
    routing: str,
    publications: int,
    seed: int,
    against: str | None,
    direction: str = Direction.ONE,
    match: str = Match.FINGERS,
) -> None:
    """Validate the arguments of a simulation, independent of the overlay."""
    for name in filter(None, (routing, against)):
        protocols.choose_protocol(name, direction, match)
    if against == routing:
        raise InputError(f"cannot compare {routing} with itself; name another protocol.")
    if not 1 <= publications <= in_memory.MOST_PUBLICATIONS:
        raise InputError(
            f"publications is {publications}; give 1 to {in_memory.MOST_PUBLICATIONS:,} of them."
        )
    check_seed(seed)


def default_routing(overlay: str | Path) -> str:
    """Return the routing for an overlay dataset if none is asked for."""
    return "pie" if is_small_world(read_manifest(Path(overlay), "overlay")) else "tree"


def check_is_small_world(overlay: str | Path, routing: str, against: str | None = None) -> None:
    """Raise InputError if a routing needs a ring that the overlay dataset lacks."""
    manifest = read_manifest(Path(overlay), "overlay")
    for name in filter(None, (routing, against)):
        protocols.check_ring(name, manifest["method"], is_small_world=is_small_world(manifest))


def ratios(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, float | None]:
    """Return ours over theirs as the paper's tables do, None where either is missing or 0."""
    names = ("overhead", "hops_mean", "hops_max", "messages", "load_max", "busiest_share")
    return {
        name: ours[name] / theirs[name] if theirs[name] and ours[name] is not None else None
        for name in names
    }


def busiest(overlay: Overlay, load: pa.Table) -> list[dict[str, Any]]:
    """Return the nodes with most load, smaller ids first among equals."""
    sent, got = load.column("sent").to_numpy(), load.column("received").to_numpy()
    order = np.argsort(-(sent + got), kind="stable")[:N_BUSIEST].tolist()
    names = overlay.instance.node_names
    return [{"node": names[v], "sent": int(sent[v]), "received": int(got[v])} for v in order]


def run_protocol(job: Job, routing: str, *, keep: bool) -> tuple[dict[str, Any], str, pa.Table]:
    """Return the totals, digest and load by a protocol whose tables are shipped.

    Writes the tables of the run if `keep`.
    """
    results = job.stage.scratch(f"{routing}.results")
    results.mkdir()
    task = _task(job.stage.scratch(f"{routing}.tables"), results, job.publications, job.seed)
    with job.progress.step(f"simulating {job.publications:,} publications by {routing}"):
        blocks = job.spark.range(0, -(-job.publications // in_memory.BLOCK), 1, job.n_tasks)
        rows = blocks.mapInArrow(task, PUBLICATIONS)
        if keep:
            rows.write.parquet(uri(job.stage.table("publications")))
        else:
            rows.write.format("noop").mode("overwrite").save()
    with job.progress.step("adding up the load"):
        table = job.stage.table("load") if keep else results / "sum.parquet"
        parts = read_parquet(job.spark, *sorted(results.glob("*.load")), schema=LOAD)
        sums = [F.sum(name).alias(name) for name in ("sent", "received")]
        parts.groupBy("node").agg(*sums).orderBy("node").write.parquet(uri(table))
        load = read_parts(table)
    found = tasks.read_task_results(results)
    counts = np.array([result["counts"] for result in found], np.int64)
    loads = load.column("sent").to_numpy(), load.column("received").to_numpy()
    totals = in_memory.totals_of(job.publications, counts, *loads)
    digest = in_memory.run_digest(job.publications, combine_reported(found, "blocks"), load)
    return totals, digest, load


def _task(
    tables: Path, results: Path, publications: int, seed: int
) -> Callable[[tasks.Batches], tasks.Batches]:
    def simulate_blocks(batches: tasks.Batches) -> tasks.Batches:
        ready, draws = tasks.received(tables)
        counts, blocks = np.zeros(N_COUNTS, np.int64), []
        sent, got = np.zeros(ready.n_nodes, np.int64), np.zeros(ready.n_nodes, np.int64)
        for block in tasks.numbers_in(batches):
            first = block * in_memory.BLOCK
            last = min(first + in_memory.BLOCK, publications)
            part = in_memory.simulate_range(ready, draws, first, last, seed)
            rows = in_memory.publication_table(part).to_batches()[0]
            counts = in_memory.add_up(np.vstack((counts, part.tally.counts)))
            blocks.append((block, in_memory.table_digest(rows)))
            sent += part.tally.sent
            got += part.tally.received
            yield rows
        with tasks.task_file(results, "load") as draft:
            write_table(draft, in_memory.load_table(sent, got))
        tasks.write_task_result(results, {"counts": counts.tolist(), "blocks": blocks})

    return simulate_blocks
