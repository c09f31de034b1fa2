"""``meshwright export``: an overlay for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.options import Force


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("export", help="Write an overlay as CSV, GraphML or DOT.")(command)


def command(
    overlay: Annotated[Path, typer.Argument(help="An overlay dataset.")],
    to: Annotated[str, typer.Option("--to", help="csv, graphml or dot.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The file. [default: the overlay's name]", metavar="FILE"),
    ] = None,
    workload: Annotated[
        Path | None, typer.Option("--workload", help="Where its workload is, if it was moved.")
    ] = None,
    force: Force = False,
) -> None:
    """Write an overlay as CSV, GraphML or DOT."""
    from meshwright.overlay.export import FORMATS, export
    from meshwright.smallworld.dataset import load_overlay

    if to not in FORMATS:
        from meshwright.errors import unknown_choice

        raise unknown_choice("export format", to, FORMATS)
    target = out if out is not None else overlay.with_name(f"{overlay.name}.{to}")
    written = export(load_overlay(overlay, workload), target, to=to, force=force)
    print(f"written {written}")
