"""``meshwright demo``: the whole flow on a bundled example."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.options import Master, start
from meshwright.errors import InputError

EXAMPLE = "company.csv"


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("demo", help="Run the whole flow on a bundled example; start here.")(command)


def command(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Where to put the demo's datasets.", metavar="DIR")
    ] = Path("demo"),
    master: Master = None,
) -> None:
    """Run the whole flow on a bundled example; start here."""
    from meshwright.cli.ingest import print_workload
    from meshwright.cli.stats import print_statistics
    from meshwright.workload import ingest, statistics

    example = find_example()
    out.mkdir(parents=True, exist_ok=True)
    source, workload = out / EXAMPLE, out / "workload"
    shutil.copyfile(example, source)
    print("A company runs 60 MQTT brokers. Which should be linked, so that every message")
    print("reaches the brokers that want it, and no broker carries what it does not want?")
    spark, progress = start(master, ingest.N_STEPS + statistics.N_STEPS)
    say(f"ingest {source} -o {workload}")
    manifest = ingest.ingest(spark, [str(source)], workload, force=True, progress=progress)
    print_workload(workload, manifest)
    say(f"stats {workload}")
    print_statistics(workload, statistics.statistics(spark, workload, progress=progress))


def say(command: str) -> None:
    """Print the command whose output follows."""
    print(f"\n$ ./meshwright {command}")


def find_example() -> Path:
    """Return the bundled example: in the package when installed, else in the repository."""
    package = Path(__file__).parents[1]
    for place in (package / "examples", package.parents[1] / "examples"):
        if (place / EXAMPLE).is_file():
            return place / EXAMPLE
    raise InputError("the bundled example is missing; run the demo from a clone or a whole wheel.")
