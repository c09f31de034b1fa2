"""``meshwright frontier``: links against the maximum degree, a plan for each cap."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from typer import Option

from meshwright.cli import app, show
from meshwright.cli.options import Job, Seed, WorkloadPath, makes_dataset

if TYPE_CHECKING:
    from meshwright.overlay.frontier import Frontier, Point


@app.command()
@makes_dataset
def frontier(
    job: Job,
    workload: WorkloadPath,
    points: int = Option(8, "--points", "-k", help="How many caps to try at most."),
    seconds: float | None = Option(None, help="How long to search for each cap."),
    rounds: int | None = Option(None, help="How many rounds for each cap, instead of seconds."),
    seed: Seed = 1,
    limits: Path | None = Option(None, metavar="FILE", help="CSV: node, max_degree, role."),
    links: Path | None = Option(None, metavar="FILE", help="CSV: a, b, allowed, dial."),
) -> None:
    """Plan for several maximum degrees; show links against degree."""
    from meshwright.overlay.frontier import check_frontier, refuse_points
    from meshwright.storage import read_manifest

    options = job.options("workload", "points")
    check_frontier(points, **options)
    read_manifest(workload, "workload")
    refuse_points(job.out.resolve(), force=job.force)

    from meshwright.overlay import spark_frontier as stage

    found = job.on_spark(stage.frontier_on_spark, stage.N_STEPS, n_rows=points, **job.options())
    show.print_result(job.out, found, print_frontier, json=job.json)
    show.warn_of_topics(workload)


def print_frontier(out: Path, found: Frontier) -> None:
    """Print the points: what each plan has, and bounds that no complete plan can beat."""
    parameters = found.manifest["parameters"]
    facts = {
        "method": show.with_parameters(found.manifest["method"], parameters),
        "seconds": f"{found.manifest['seconds']:.2f} in all searches",
    }
    show.print_facts(f"frontier {out}", facts)
    columns = ("cap", "links", "bound", "gap", "degree", "bound", "support", "overlay")
    show.print_table(columns, map(_row, found.points))
    apart = [point for point in found.points if not point.connected]
    if apart:
        caps = ", ".join("none" if p.max_degree is None else f"{p.max_degree:,}" for p in apart)
        show.print_sentence(
            f"no plan that connects every topic was found for the cap {caps}; one may exist. "
            "Search longer (--seconds)."
        )


def _row(point: Point) -> tuple[object, ...]:
    # The bounds hold for overlays that connect every topic.
    gap = f"{point.links / point.bound_links - 1:.0%}" if point.bound_links else ""
    return (
        "none" if point.max_degree is None else f"{point.max_degree:,}",
        point.links,
        f"{point.bound_links:,}" if point.connected else "",
        gap if point.connected else "",
        point.degree,
        f"{point.bound_degree:,}" if point.connected else "",
        f"{point.support:.1%}",
        point.overlay,
    )
