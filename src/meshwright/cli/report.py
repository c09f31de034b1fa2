"""``meshwright report``: datasets to a page that opens offline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.options import Json
from meshwright.cli.show import print_facts, print_json, size


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("report", help="Show overlays, runs and assignments on a page that opens offline.")(
        command
    )


def command(
    datasets: Annotated[
        list[Path],
        typer.Argument(
            help="Overlays, runs, assignments or workloads; those of one workload are compared.",
            metavar="DATASET...",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The page; its numbers go to .json beside it.")
    ] = Path("report.html"),
    workload: Annotated[
        Path | None, typer.Option("--workload", help="Where the workload is, if it was moved.")
    ] = None,
    problem: Annotated[
        Path | None, typer.Option("--problem", help="Where the problem is, if it was moved.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the page if it exists.")] = False,
    json: Json = False,
) -> None:
    """Show overlays, runs and assignments on a page that opens offline."""
    from meshwright.report import make_report
    from meshwright.spark.progress import Progress

    progress = Progress(len(datasets))
    written = make_report(
        datasets, out, workload=workload, problem=problem, force=force, progress=progress
    )
    progress.clear()  # a workload alone takes no step
    if json:
        print_json(written.document)
        return
    print(f"report {written.page}")
    sections = written.document["sections"]
    print_facts(
        {
            "datasets": f"{len(datasets):,}, in {len(sections):,} "
            f"{'section' if len(sections) == 1 else 'sections'}",
            "size": size(written.page.stat().st_size),
            "numbers": written.numbers,
        }
    )
