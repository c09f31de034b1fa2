"""``meshwright ingest``: raw subscriptions to a workload."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.content import WithContent
from meshwright.cli.options import Force, Json, Master, Out, start
from meshwright.cli.show import print_facts, print_json

if TYPE_CHECKING:
    from meshwright.datasets import Manifest


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        "ingest",
        cls=WithContent,
        help="Read who subscribes to what, and write it as a workload.",
        epilog="For a problem of content-based assignment: meshwright ingest content --help",
    )(command)


def command(
    sources: Annotated[
        list[str], typer.Argument(help="Files, globs, or a directory of Parquet parts.")
    ],
    out: Out,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="csv, tsv, jsonl, parquet, edges or mosquitto-log. [default: by file name]",
        ),
    ] = None,
    node: Annotated[
        str | None,
        typer.Option("--node", help="The node's column; for a Mosquitto log the broker's name."),
    ] = None,
    topic: Annotated[str | None, typer.Option("--topic", help="The topic's column.")] = None,
    header: Annotated[
        bool, typer.Option("--header/--no-header", help="CSV, TSV: the first line names columns.")
    ] = True,
    directed: Annotated[
        bool | None,
        typer.Option(
            "--directed/--undirected",
            help="Edges: `a b` means a subscribes to b / both to each other.",
        ),
    ] = None,
    max_rejected: Annotated[
        float, typer.Option("--max-rejected", help="Stop when a larger share of rows is wrong.")
    ] = 0.01,
    master: Master = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Read who subscribes to what, and write it as a workload."""
    from meshwright.datasets import refuse_overwrite
    from meshwright.workload import ingest as stage
    from meshwright.workload.files import find_sources

    refuse_overwrite(out.absolute(), force=force)
    find_sources(sources, format)  # complain before Spark starts
    spark, progress = start(master, stage.N_STEPS)
    manifest = stage.ingest(
        spark,
        sources,
        out,
        format=format,
        node=node,
        topic=topic,
        header=header,
        directed=directed,
        max_rejected=max_rejected,
        force=force,
        progress=progress,
    )
    if json:
        print_json(manifest.as_dict())
    else:
        print_workload(out, manifest)


def print_workload(out: Path, manifest: Manifest) -> None:
    """Print what a workload holds and what was left out."""
    print(f"workload {out}")
    facts: dict[str, object] = {
        "nodes": f"{manifest['n_nodes']:,}",
        "topics": f"{manifest['n_topics']:,}",
        "subscriptions": f"{manifest['n_subscriptions']:,}",
    }
    left_out = {
        "duplicates": (manifest["n_duplicates"], "kept once"),
        "self-loops": (manifest["n_self_loops"], "dropped"),
        "rejected": (manifest["n_rejected"], f"listed in {out}/rejected.parquet"),
    }
    for name, (count, what) in left_out.items():
        if count:
            facts[name] = f"{count:,} ({what})"
    facts["digest"] = manifest["digest"][:16]
    print_facts(facts)
