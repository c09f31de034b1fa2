"""``meshwright check`` and ``export``: verify an overlay or an assignment; write it for others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from typer import Argument, Option

from meshwright.cli import app
from meshwright.cli.options import Force, Json, Master, OverlayPath, Problem, Workload, start
from meshwright.cli.show import print_facts, print_json, print_result, print_table, raise_findings

if TYPE_CHECKING:
    from meshwright.overlay.check import Evaluation


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
    from meshwright.storage import read_manifest

    if read_manifest(dataset).kind == "assignment":
        findings = check_assignment(dataset, problem, json=json)
    else:
        read_manifest(dataset, "overlay")
        spark, progress = start(master, stage.N_STEPS)
        found = stage.check(spark, dataset, workload=workload, progress=progress)
        print_result(dataset, found, print_evaluation, json=json)
        findings = found.findings
    raise_findings(f"'{dataset}' is not what its manifest claims", findings)
    if not json:
        print("\nall claims of the manifest hold")


def check_assignment(path: Path, problem: Path | None, *, json: bool) -> tuple[str, ...]:
    """Check an assignment against its problem, and return which claims are false."""
    from meshwright.content.dataset import check_claims

    report, findings = check_claims(path, problem)
    if json:
        violations = {"feasible": report.feasible, "violations": report.as_dict()}
        print_json({**violations, "findings": list(findings)})
    else:
        print(f"assignment {path}")
        print_facts({"feasible": report.feasible})
        for violation in report.violations:
            print(f"  {violation}")
    return findings


def print_evaluation(overlay: Path, found: Evaluation) -> None:
    """Print the measures of an overlay."""
    low, high = found.diameter
    print(f"overlay {overlay}")
    print_facts(
        {
            "links": found.n_edges,
            "average degree": f"{found.average_degree:.2f}",
            "maximum degree": found.max_degree,
            "support": f"{found.support:.2%}",
            "topics not connected": found.n_disconnected,
            "largest topic diameter": f"{low}" if low == high else f"{low} to {high}",
        }
    )
    if found.disconnected:
        print("\ntopics with the most components")
        for name in found.disconnected:
            print(f"  {name}")
    if found.diameters:
        print("\ntopic diameters, connected topics")
        print_table(("diameter", "topics"), found.diameters)
    print("\nbusiest nodes")
    print_table(("node", "links"), found.busiest[:5])
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
    from meshwright.errors import unknown_choice
    from meshwright.overlay.dataset import load_overlay
    from meshwright.overlay.export import FORMATS
    from meshwright.overlay.export import export as write

    if to not in FORMATS:
        raise unknown_choice("export format", to, FORMATS)
    target = out if out is not None else overlay.with_name(f"{overlay.name}.{to}")
    print(f"written {write(load_overlay(overlay, workload), target, to=to, force=force)}")
