"""``meshwright spark``: what makes the start of Spark short, and what of it is kept."""

from __future__ import annotations

import os
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from typer import Option

from meshwright.cli import add_group, app, show
from meshwright.cli.options import Json

LOWEST_PRIORITY = 19
spark = add_group("spark", "Show and manage what makes Spark start quickly.")


@spark.command()
def prepare(
    quiet: bool = Option(False, "--quiet", help="In the background: print nothing, take turns."),
    json: Json = False,
) -> None:
    """Make the archive of Spark's classes.

    The first command that uses Spark does this by itself, in the background, when it has ended.
    """
    from meshwright.runtime import class_archive
    from meshwright.runtime.jvm import end_jvm
    from meshwright.runtime.progress import Progress

    if quiet:
        os.nice(LOWEST_PRIORITY)
    progress = Progress(2, quiet_seconds=0.0 if not quiet else 7 * 86_400)
    with class_archive.recording() as record:
        with progress.step("running small jobs"):
            run_small_jobs()
        with progress.step("writing the archive"):
            record.class_path = end_jvm()
    if not quiet:
        print_archive(class_archive.describe(), json=json)


@spark.command()
def status(json: Json = False) -> None:
    """Show what is kept, where, and its size."""
    from meshwright.runtime import class_archive

    print_archive(class_archive.describe(), json=json)


def print_archive(archive: dict[str, Any], *, json: bool) -> None:
    """Print where the archive is and its size, or why there is none."""
    if json:
        show.print_json({"archive": archive})
        return
    size = show.size(archive["bytes"]) if archive["bytes"] else archive["why_not"]
    show.print_facts("archive of Spark's classes", {"path": archive["path"], "size": size})


def run_small_jobs() -> None:
    """Run verbs on the bundled example, so that the JVM loads the classes that verbs use."""
    from meshwright.cli.demo import find_example

    with (
        tempfile.TemporaryDirectory(prefix="meshwright-prepare-") as scratch,
        Path(os.devnull).open("w") as nothing,
        redirect_stdout(nothing),
        redirect_stderr(nothing),
    ):
        workload = str(Path(scratch) / "workload")
        app(["ingest", str(find_example()), "-o", workload], standalone_mode=False)
        app(["stats", workload], standalone_mode=False)
