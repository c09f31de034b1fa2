"""``meshwright check``: an independent look at an overlay or an assignment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.options import Json, Master, start
from meshwright.cli.show import print_facts, print_json, print_table
from meshwright.errors import CheckError

if TYPE_CHECKING:
    from meshwright.evaluation.check import Evaluation


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("check", help="Recompute what a result claims; exit 1 if it is false.")(command)


def command(
    overlay: Annotated[Path, typer.Argument(help="An overlay or assignment dataset.")],
    workload: Annotated[
        Path | None, typer.Option("--workload", help="Where its workload is, if it was moved.")
    ] = None,
    problem: Annotated[
        Path | None, typer.Option("--problem", help="Where its problem is, if it was moved.")
    ] = None,
    master: Master = None,
    json: Json = False,
) -> None:
    """Recompute what a result claims; exit 1 if it is false."""
    from meshwright.datasets import read_manifest
    from meshwright.evaluation import check as stage

    if read_manifest(overlay).kind == "assignment":
        from meshwright.cli.assign import check_assignment

        check_assignment(overlay, problem, json=json)
        return
    read_manifest(overlay, "overlay")
    spark, progress = start(master, stage.N_STEPS)
    found = stage.check(spark, overlay, workload=workload, progress=progress)
    if json:
        print_json(found.as_dict())
    else:
        print_evaluation(overlay, found)
    if found.findings:
        raise CheckError(
            f"'{overlay}' is not what its manifest claims:\n  " + "\n  ".join(found.findings),
            found.findings,
        )


def print_evaluation(overlay: Path, found: Evaluation) -> None:
    """Print what was found."""
    low, high = found.diameter
    facts = {
        "links": f"{found.n_edges:,}",
        "average degree": f"{found.average_degree:.2f}",
        "maximum degree": f"{found.max_degree:,}",
        "support": f"{found.support:.2%}",
        "topics apart": f"{found.n_disconnected:,}",
        "largest topic diameter": f"{low}" if low == high else f"{low} to {high}",
    }
    print(f"overlay {overlay}")
    print_facts(facts)
    if found.disconnected:
        print("\ntopics in most pieces")
        for name in found.disconnected:
            print(f"  {name}")
    if found.diameters:
        print("\ntopic diameters, connected topics")
        print_table(("diameter", "topics"), found.diameters)
    print("\nbusiest nodes")
    print_table(("node", "links"), found.busiest[:5])
    if found.property_1:
        print("\nthe ring visits each node once, and every finger is within its phase")
    if not found.findings:
        print("\nall claims of the manifest hold")
