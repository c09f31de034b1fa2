"""``meshwright reproduce``: the papers' tables and figures, and the ledger of their claims."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.options import Json, Master, start
from meshwright.cli.show import print_json, print_table

if TYPE_CHECKING:
    from meshwright.experiments.model import Experiment
    from meshwright.experiments.run import Outcome


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("reproduce", help="Run the papers' experiments; write figures and the ledger.")(
        command
    )


def command(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            help="Experiments, or a paper's key such as icdcs16. [default: all]", metavar="ID..."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Where cells, figures and ledger go."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="The directory of the graphs.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="The papers' sizes and five seeds; takes hours.")
    ] = False,
    show: Annotated[
        bool, typer.Option("--list", help="List the experiments and stop; runs nothing.")
    ] = False,
    docs: Annotated[
        Path | None,
        typer.Option("--docs", metavar="DIR", help="Also write the ledger and figures there."),
    ] = None,
    master: Master = None,
    json: Json = False,
) -> None:
    """Run the papers' experiments; write figures and the ledger."""
    from meshwright.experiments.registry import choose

    chosen = choose(ids or [])
    if show:
        print_list(chosen, json=json)
        return
    run(chosen, out, data, docs, master, full=full, json=json)


def run(
    chosen: list[Experiment],
    out: Path | None,
    data: Path | None,
    docs: Path | None,
    master: str | None,
    *,
    full: bool,
    json: bool,
) -> None:
    """Run experiments and tell what became of each."""
    from dataclasses import asdict

    from meshwright.errors import InputError, MeshwrightError
    from meshwright.experiments.ledger import count
    from meshwright.experiments.run import run_experiments
    from meshwright.experiments.samples import check_data, missing_files

    if out is None:
        raise InputError("reproduce needs a place for its results: give -o DIR (or --list).")
    check_data(data)
    ready = [one for one in chosen if not missing_files(one.graphs(full), data)]
    if not ready:
        files = {file for one in chosen for file in missing_files(one.graphs(full), data)}
        raise InputError(
            f"{chosen[0].id} needs {', '.join(sorted(files))}. Give the directory that holds "
            f"them with --data DIR{f'; {data} does not' if data else ''}."
        )
    sampling = any(one.graphs(full) for one in ready)
    spark, progress = start(master, len(ready) + sampling)
    outcomes = run_experiments(
        spark,
        chosen,
        out,
        data=data,
        full=full,
        progress=progress,
        docs=docs,
        each=None if json else print_outcome,
    )
    entries = [entry for outcome in outcomes for entry in outcome.entries]
    if json:
        print_json([asdict(entry) for entry in entries])
    else:
        counted = ", ".join(f"{n} {name}" for name, n in count(entries).items() if n)
        print(f"{len(entries)} claims: {counted or 'none'}")
        print(f"ledger {out / 'ledger.md'}")
    problems = [outcome for outcome in outcomes if outcome.problem]
    failed = [outcome.experiment.id for outcome in problems if outcome.n_measured]
    if failed:
        raise MeshwrightError(
            f"cells of {', '.join(failed)} failed, as told above. Finished cells are kept: "
            "run the same command again to measure only what is missing."
        )
    if problems:
        raise InputError(
            f"{len(problems)} of {len(outcomes)} experiments were not run: graphs are missing. "
            "Give their directory with --data DIR and run again; what is measured is kept."
        )


def print_outcome(outcome: Outcome) -> None:
    """Print one line per experiment as it ends."""
    from meshwright.experiments.ledger import count

    name = outcome.experiment.id
    if outcome.problem:
        print(f"{name:<18} not run: {outcome.problem}", flush=True)
        return
    counted = ", ".join(f"{n} {verdict}" for verdict, n in count(outcome.entries).items() if n)
    kept = outcome.n_cells - outcome.n_measured
    reused = f" ({kept} kept)" if kept else ""
    cells = f"{outcome.n_cells} cells{reused}"
    print(f"{name:<18} {outcome.seconds:6.1f} s  {cells:<22} {counted or 'figure'}", flush=True)


def print_list(chosen: list[Experiment], *, json: bool) -> None:
    """Print what there is: id, what it shows, and both sizes."""
    rows = [
        {
            "id": one.id,
            "paper": one.paper.number,
            "what": one.what,
            "default": one.size,
            "full": one.full_size,
            "graphs": sorted(one.graphs(True)),
            "claims": len(one.claims),
        }
        for one in chosen
    ]
    if json:
        print_json(rows)
        return
    print_table(
        ("id", "what", "default size", "full size"),
        ((r["id"], r["what"], r["default"], "the same" if r["full"] == r["default"] else r["full"])
         for r in rows),
    )  # fmt: skip
    for paper in dict.fromkeys(one.paper for one in chosen):
        print(f"{paper.key:<9} paper {paper.number}: {paper.title}")
    print(f"{len(rows)} experiments, {sum(len(one.claims) for one in chosen)} claims")
