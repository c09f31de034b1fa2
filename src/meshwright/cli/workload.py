"""``meshwright ingest``, ``sample`` and ``stats``: workloads, their samples and statistics."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from typer import Argument, Context, Option

from meshwright.cli import app
from meshwright.cli.content import WithContent
from meshwright.cli.options import Force, Json, Master, Out, Seed, WorkloadPath, given, start
from meshwright.cli.show import bar, duration, print_facts, print_result, print_table, size

if TYPE_CHECKING:
    from meshwright.storage import Manifest
    from meshwright.workload.statistics import Statistics


@app.command(
    cls=WithContent,
    epilog="For content-based subscribers and brokers, see `ingest content --help`.",
)
def ingest(
    context: Context,
    out: Out,
    sources: list[str] = Argument(help="Files, globs, or a directory of Parquet parts."),
    format: str | None = Option(
        None, help="csv, tsv, jsonl, parquet, edges or mosquitto-log. [default: by file name]"
    ),
    node: str | None = Option(None, help="Column of the node; in a Mosquitto log, the broker."),
    topic: str | None = Option(None, help="Column of the topic."),
    header: bool = Option(True, help="CSV, TSV: the first line names the columns."),
    directed: bool | None = Option(
        None,
        "--directed/--undirected",
        help="Edges: in `a b`, a subscribes to b / both subscribe to each other.",
    ),
    max_rejected: float = Option(0.01, help="The largest share of invalid rows to skip."),
    master: Master = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Read who subscribes to what, and write it as a workload."""
    from meshwright.storage import refuse_overwrite
    from meshwright.workload import ingest as stage
    from meshwright.workload.files import find_sources

    refuse_overwrite(out.absolute(), force=force)
    find_sources(sources, format)  # complain before Spark starts
    spark, progress = start(master, stage.N_STEPS)
    options = given(context, "sources")
    manifest = stage.ingest(spark, sources, out, **options, force=force, progress=progress)
    print_result(out, manifest, print_workload, json=json)


@app.command()
def sample(
    out: Out,
    workload: Path = Argument(help="A workload of users (an edge list)."),
    nodes: int = Option(help="Exactly how many users to keep."),
    seeds: int = Option(1, help="How many users to start from."),
    seed: Seed = 1,
    master: Master = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Take a breadth-first sample of a social workload."""
    from meshwright.storage import read_manifest, refuse_overwrite
    from meshwright.workload import sample as stage

    read_manifest(workload, "workload")
    refuse_overwrite(out.absolute(), force=force)
    spark, progress = start(master, stage.N_STEPS)
    manifest = stage.sample(
        spark, workload, out, nodes=nodes, seeds=seeds, seed=seed, force=force, progress=progress
    )
    print_result(out, manifest, print_workload, json=json)


@app.command()
def stats(workload: WorkloadPath, master: Master = None, json: Json = False) -> None:
    """Show counts, distributions and the cost to expect."""
    from meshwright.storage import read_manifest
    from meshwright.workload import statistics as stage

    read_manifest(workload, "workload")
    spark, progress = start(master, stage.N_STEPS)
    found = stage.statistics(spark, workload, progress=progress)
    print_result(workload, found, print_statistics, json=json)


def print_workload(out: Path, manifest: Manifest) -> None:
    """Print the size of a workload, and how many rows of its sources were left out."""
    left_out = {
        "duplicates": (manifest["n_duplicates"], "kept once"),
        "self-loops": (manifest["n_self_loops"], "dropped"),
        "rejected": (manifest["n_rejected"], f"listed in {out}/rejected.parquet"),
    }
    print(f"workload {out}")
    print_facts(
        {
            "nodes": manifest["n_nodes"],
            "topics": manifest["n_topics"],
            "subscriptions": manifest["n_subscriptions"],
            **{name: f"{n:,} ({reason})" for name, (n, reason) in left_out.items() if n},
            "digest": manifest["digest"][:16],
        }
    )


def print_statistics(workload: Path, found: Statistics) -> None:
    """Print the statistics of a workload."""
    from meshwright.workload.statistics import ccdf, quantile

    print(f"workload {workload}")
    print_facts(
        {
            "nodes": found.n_nodes,
            "topics": found.n_topics,
            "subscriptions": found.n_subscriptions,
            "design": f"{found.forecast.incidences:,} incidences, about "
            f"{size(found.forecast.memory_bytes)} and {duration(found.forecast.seconds)} expected",
        }
    )
    for title, histogram in (
        ("subscriptions per node", found.subscriptions_per_node),
        ("subscribers per topic", found.subscribers_per_topic),
    ):
        total = sum(n for _, n in histogram)
        mean = sum(value * n for value, n in histogram) / max(total, 1)
        middle, top = quantile(histogram, 0.5), histogram[-1][0] if histogram else 0
        print(f"\n{title}: mean {mean:,.1f}, median {middle:,}, most {top:,}")
        rows = [(f"{x:,} or more", f"{y:.1%}", bar(y)) for x, y in powers_of_two(ccdf(histogram))]
        print_table(("", "share", ""), rows)
    print("\nmost popular topics")
    print_table(("topic", "subscribers"), found.popular_topics)


def powers_of_two(points: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return a CCDF at 1, 2, 4, 8, ... up to its largest value."""
    shown, power = [], 1
    for x, y in points:
        while power <= x:
            shown.append((power, y))
            power *= 2
    return shown
