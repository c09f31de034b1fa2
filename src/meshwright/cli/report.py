"""``meshwright report``: datasets to a page that opens offline."""

from __future__ import annotations

from pathlib import Path

from typer import Argument, Option

from meshwright.cli import app
from meshwright.cli.options import Force, Json, Problem, Workload
from meshwright.cli.show import print_facts, print_json, size


@app.command()
def report(
    datasets: list[Path] = Argument(
        metavar="DATASET...",
        help="Overlays, runs, assignments or workloads; those of one workload are compared.",
    ),
    out: Path = Option(
        "report.html",
        "--out",
        "-o",
        metavar="FILE",
        help="The page; its numbers are written to a .json file of the same name.",
    ),
    workload: Workload = None,
    problem: Problem = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Write a web page on overlays, runs and assignments."""
    from meshwright.report import make_report
    from meshwright.runtime.progress import Progress

    progress = Progress(len(datasets))
    written = make_report(
        datasets, out, workload=workload, problem=problem, force=force, progress=progress
    )
    progress.clear()  # a workload alone takes no step
    if json:
        print_json(written.document)
        return
    n_sections = len(written.document["sections"])
    plural = "" if n_sections == 1 else "s"
    print(f"report {written.page}")
    print_facts(
        {
            "datasets": f"{len(datasets):,}, in {n_sections:,} section{plural}",
            "size": size(written.page.stat().st_size),
            "numbers": written.numbers,
        }
    )
