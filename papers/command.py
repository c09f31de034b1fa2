"""The work and the output of ``meshwright reproduce``."""

from dataclasses import asdict
from pathlib import Path

from meshwright.cli.options import start
from meshwright.cli.show import print_json, print_table
from meshwright.errors import InputError, MeshwrightError
from papers.ledger import Entry, count
from papers.model import Experiment
from papers.run import Outcome, run_experiments
from papers.samples import check_data, missing_files


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
    """Run experiments and print the outcome of each."""
    if out is None:
        raise InputError("reproduce needs a directory for its results: give -o DIR (or --list).")
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
        print(f"{len(entries)} claims: {counted(entries) or 'none'}")
        print(f"ledger {out / 'ledger.md'}")
    problems = [outcome for outcome in outcomes if outcome.problem]
    failed = [outcome.experiment.id for outcome in problems if outcome.n_measured]
    if failed:
        raise MeshwrightError(
            f"cells of {', '.join(failed)} failed; the reasons are above. Finished cells are kept: "
            "run the same command again to measure the missing ones."
        )
    if problems:
        raise InputError(
            f"{len(problems)} of {len(outcomes)} experiments were not run: graphs are missing. "
            "Give their directory with --data DIR and run again; finished cells are kept."
        )


def counted(entries: list[Entry] | tuple[Entry, ...]) -> str:
    """Return the number of claims of each verdict, as text."""
    return ", ".join(f"{n} {verdict}" for verdict, n in count(entries).items() if n)


def print_outcome(outcome: Outcome) -> None:
    """Print one line about an experiment that has ended."""
    name = outcome.experiment.id
    if outcome.problem:
        print(f"{name:<18} not run: {outcome.problem}", flush=True)
        return
    kept = outcome.n_cells - outcome.n_measured
    cells = f"{outcome.n_cells} cells" + (f" ({kept} kept)" if kept else "")
    verdicts = counted(outcome.entries) or "figure"
    print(f"{name:<18} {outcome.seconds:6.1f} s  {cells:<22} {verdicts}", flush=True)


def print_list(chosen: list[Experiment], *, json: bool) -> None:
    """Print each experiment: its id, what it shows, and its two sizes."""
    if json:
        print_json(
            [
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
        )
        return
    sizes = [
        (one.size, "the same" if one.full_size == one.size else one.full_size) for one in chosen
    ]
    rows = [(one.id, one.what, *size) for one, size in zip(chosen, sizes, strict=True)]
    print_table(("id", "what", "default size", "full size"), rows, first_whole=True)
    for paper in dict.fromkeys(one.paper for one in chosen):
        print(f"{paper.key:<9} paper {paper.number}: {paper.title}")
    print(f"{len(chosen)} experiments, {sum(len(one.claims) for one in chosen)} claims")
