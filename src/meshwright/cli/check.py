"""``meshwright check``, ``export`` and ``report``: verify datasets, and write them for others."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from typer import Argument, Option

from meshwright.cli import app, show
from meshwright.cli.options import Force, Json, Master, OverlayPath, Problem, Workload, run_on_spark

if TYPE_CHECKING:
    from meshwright.overlay.check import Evaluation

DATASETS_HELP = (
    "Overlays, frontiers, runs, assignments, workloads or configurations; overlays of one workload "
    "are compared."
)
N_WORST = 5  # nodes whose loss is described; --json has more
PAGE_HELP = "The page; its numbers are written to a .json file of the same name."


@app.command()
def check(
    dataset: Path = Argument(help="An overlay or assignment dataset."),
    workload: Workload = None,
    problem: Problem = None,
    master: Master = None,
    json: Json = False,
) -> None:
    """Recompute what a result claims; exit 1 if it is false."""
    from meshwright.overlay import check as stage
    from meshwright.storage import find_input, read_manifest

    if read_manifest(dataset).kind == "assignment":
        findings = check_assignment(dataset, problem, json=json)
    else:
        overlay = read_manifest(dataset, "overlay")
        find_input(overlay, "workload", workload)  # complain before Spark starts
        n_rows = overlay.rows.get("topics")  # Spark sees one for each
        work = partial(stage.check, overlay=dataset, workload=workload)
        found = run_on_spark(work, master, stage.N_STEPS, n_rows)
        show.print_result(dataset, found, print_evaluation, json=json)
        findings = found.findings
    show.raise_findings(f"'{dataset}' is not what its manifest claims", findings)
    if not json:
        print("\nall claims of the manifest hold")


def check_assignment(path: Path, problem: Path | None, *, json: bool) -> tuple[str, ...]:
    """Check an assignment against its problem, and return which claims are false."""
    from meshwright.content.dataset import check_claims

    report, findings = check_claims(path, problem)
    if json:
        violations = {"feasible": report.feasible, "violations": report.as_dict()}
        show.print_json({**violations, "findings": list(findings)})
    else:
        show.print_facts(f"assignment {path}", {"feasible": report.feasible})
        for violation in report.violations:
            print(f"  {violation}")
    return findings


def print_evaluation(overlay: Path, found: Evaluation) -> None:
    """Print the measures of an overlay."""
    low, high = found.diameter
    facts = {
        "links": found.n_edges,
        "average degree": f"{found.average_degree:.2f}",
        "maximum degree": found.max_degree,
        "support": f"{found.support:.2%}",
        "topics not connected": found.n_disconnected,
        "largest topic diameter": f"{low}" if low == high else f"{low} to {high}",
    }
    show.print_facts(f"overlay {overlay}", facts)
    if found.disconnected:
        print("\ntopics with the most components")
        for name in found.disconnected:
            print(f"  {name}")
    if found.diameters:
        print("\ntopic diameters, connected topics")
        show.print_table(("diameter", "topics"), found.diameters)
    print("\nbusiest nodes")
    show.print_table(("node", "links"), found.busiest[:5])
    print("\nwhat one failure costs")
    if not found.worst:
        print("  nothing: whichever node is lost, the others reach each other as before")
    for name, n_topics, _, n_subscribers in found.worst[:N_WORST]:
        split = "1 topic" if n_topics == 1 else f"{n_topics:,} topics"
        show.print_sentence(
            f"  losing {name} would split {split} and cut off {n_subscribers:,} subscriptions"
        )
    if found.property_1:
        print("\nthe ring visits each node once, and every finger is within its phase")


@app.command()
def export(
    overlay: OverlayPath,
    to: str = Option(help="csv, graphml or dot."),
    out: Path | None = Option(
        None, "--out", "-o", metavar="FILE", help="The file. [default: the overlay's name]"
    ),
    workload: Workload = None,
    force: Force = False,
) -> None:
    """Write an overlay as CSV, GraphML or DOT."""
    from meshwright.overlay.dataset import load_overlay
    from meshwright.overlay.export import export as write

    target = out or overlay.with_name(f"{overlay.name}.{to}")
    print(f"written {write(load_overlay(overlay, workload), target, to=to, force=force)}")


@app.command()
def report(
    datasets: list[Path] = Argument(metavar="DATASET...", help=DATASETS_HELP),
    out: Path = Option("report.html", "--out", "-o", metavar="FILE", help=PAGE_HELP),
    workload: Workload = None,
    problem: Problem = None,
    before: Path | None = Option(
        None, metavar="CONF", help="The configuration that runs now: lists the restarts from it."
    ),
    force: Force = False,
    json: Json = False,
) -> None:
    """Write a web page on overlays, runs, assignments, deployments."""
    from meshwright.report import make_report
    from meshwright.runtime.progress import Progress

    progress = Progress(len(datasets))
    written = make_report(
        datasets,
        out,
        workload=workload,
        problem=problem,
        before=before,
        force=force,
        progress=progress,
    )
    progress.clear()  # a workload alone takes no step
    if json:
        show.print_json(written.document)
        return
    n_sections = len(written.document["sections"])
    plural = "" if n_sections == 1 else "s"
    facts = {
        "datasets": f"{len(datasets):,}, in {n_sections:,} section{plural}",
        "size": show.size(written.page.stat().st_size),
        "numbers": written.numbers,
    }
    show.print_facts(f"report {written.page}", facts)
    for section in written.document["sections"]:
        if section.get("recommendation"):
            show.print_sentence(f"recommended: {section['recommendation']['sentence']}")
