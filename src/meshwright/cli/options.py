"""Options that several verbs share, and the start of Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Context, Option

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from meshwright.runtime.progress import Progress

WorkloadPath = Annotated[Path, Argument(help="A workload dataset.")]
OverlayPath = Annotated[Path, Argument(help="An overlay dataset.")]
Out = Annotated[Path, Option("--out", "-o", metavar="DIR", help="The dataset to write.")]
DemoOut = Annotated[Path, Option("--out", "-o", metavar="DIR", help="Where to put its files.")]
Force = Annotated[bool, Option("--force", help="Replace the output if it exists.")]
Json = Annotated[bool, Option("--json", help="Print the result as JSON.")]
Seed = Annotated[int, Option(help="The seed; equal seeds give equal results.")]
Workload = Annotated[
    Path | None, Option(metavar="DIR", help="Where the workload is, if it was moved.")
]
Problem = Annotated[
    Path | None, Option(metavar="DIR", help="Where the problem is, if it was moved.")
]
Master = Annotated[
    str | None,
    Option(
        envvar="SPARK_MASTER",
        metavar="URL",
        help="Spark master, or sc://host for Spark Connect. [default: this machine]",
    ),
]

NOT_OF_THE_LIBRARY = ("out", "master", "force", "json", "method", "engine", "patience")


def given(context: Context, *without: str) -> dict[str, Any]:
    """Return the options of a command that are set, for the library function of the same names."""
    left_out = {*NOT_OF_THE_LIBRARY, *without}
    found = context.params.items()
    return {name: value for name, value in found if value is not None and name not in left_out}


def start(master: str | None, n_steps: int) -> tuple[SparkSession, Progress]:
    """Start Spark; return its session and the progress of a command of `n_steps` steps."""
    from meshwright.runtime.progress import Progress
    from meshwright.runtime.session import share_of_tasks, spark_session

    with Progress(1).step("starting Spark"):
        spark = spark_session(master)
    return spark, Progress(n_steps, lambda: share_of_tasks(spark))
