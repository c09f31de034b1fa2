"""``meshwright sample``: a breadth-first sample of a social workload."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.ingest import print_workload
from meshwright.cli.options import Force, Json, Master, Out, Seed, start
from meshwright.cli.show import print_json


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("sample", help="Take a breadth-first sample of users who are topics too.")(command)


def command(
    workload: Annotated[Path, typer.Argument(help="A workload of users (an edge list).")],
    out: Out,
    nodes: Annotated[int, typer.Option("--nodes", help="Exactly how many users to keep.")],
    seeds: Annotated[int, typer.Option("--seeds", help="How many start users.")] = 1,
    seed: Seed = 1,
    master: Master = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Take a breadth-first sample of users who are topics too."""
    from meshwright.datasets import read_manifest, refuse_overwrite
    from meshwright.workload import sample as stage

    read_manifest(workload, "workload")
    refuse_overwrite(out.absolute(), force=force)
    spark, progress = start(master, stage.N_STEPS)
    manifest = stage.sample(
        spark, workload, out, nodes=nodes, seeds=seeds, seed=seed, force=force, progress=progress
    )
    if json:
        print_json(manifest.as_dict())
    else:
        print_workload(out, manifest)
