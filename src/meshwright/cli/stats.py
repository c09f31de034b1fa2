"""``meshwright stats``: what a workload looks like and what its design will cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.options import Json, Master, start
from meshwright.cli.show import bar, duration, print_facts, print_json, print_table, size

if TYPE_CHECKING:
    from meshwright.workload.statistics import Statistics


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("stats", help="Show counts, distributions and the cost to expect.")(command)


def command(
    workload: Annotated[Path, typer.Argument(help="A workload dataset.")],
    master: Master = None,
    json: Json = False,
) -> None:
    """Show counts, distributions and the cost to expect."""
    from meshwright.datasets import read_manifest
    from meshwright.workload import statistics as stage

    read_manifest(workload, "workload")
    spark, progress = start(master, stage.N_STEPS)
    found = stage.statistics(spark, workload, progress=progress)
    if json:
        print_json(found.as_dict())
    else:
        print_statistics(workload, found)


def print_statistics(workload: Path, found: Statistics) -> None:
    """Print the statistics for people."""
    from meshwright.workload.statistics import ccdf, quantile

    print(f"workload {workload}")
    print_facts(
        {
            "nodes": f"{found.n_nodes:,}",
            "topics": f"{found.n_topics:,}",
            "subscriptions": f"{found.n_subscriptions:,}",
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
    """Return a CCDF at 1, 2, 4, 8, ... as far as it goes."""
    shown, power = [], 1
    for x, y in points:
        while power <= x:
            shown.append((power, y))
            power *= 2
    return shown
