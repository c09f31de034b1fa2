"""Options that several verbs share, and the words for them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from meshwright.spark.progress import Progress

Out = Annotated[Path, typer.Option("--out", "-o", help="The dataset to write.", metavar="DIR")]
Force = Annotated[bool, typer.Option("--force", help="Replace the dataset if it exists.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON for programs.")]
Seed = Annotated[int, typer.Option("--seed", help="The seed; equal seeds give equal results.")]
Master = Annotated[
    str | None,
    typer.Option(
        "--master",
        envvar="SPARK_MASTER",
        metavar="URL",
        help="Spark master, or sc://host for Spark Connect. [default: this machine]",
    ),
]


def start(master: str | None, n_steps: int) -> tuple[SparkSession, Progress]:
    """Return the Spark session and a progress for the steps to come, saying that Spark starts."""
    from meshwright.spark.progress import Progress
    from meshwright.spark.session import spark_session

    starting = Progress(1)
    with starting.step("starting Spark"):
        spark = spark_session(master)
    return spark, Progress(n_steps, spark)
