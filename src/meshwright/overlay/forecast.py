"""Say what a design will cost before anything is allocated, and refuse what cannot fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from meshwright.datasets import Manifest, open_dataset, read_column
from meshwright.errors import InfeasibleError, InputError, unknown_choice
from meshwright.workload.forecast import Forecast, forecast

ENGINES = ("auto", "driver", "spark")
ON_SPARK = ("gm", "minmax", "gpa", "gpm")  # the methods that the levels on Spark run
SPARK_BYTES_PER_SUBSCRIPTION = 60  # of the driver; docs/scale.md has what was measured
SPARK_BYTES_PER_NODE = 300
FIT = 0.8  # of the machine's memory: more would crowd out everything else


def workload_forecast(workload: Path) -> Forecast:
    """Return the cost of a complete design of a workload dataset, of which the topics are read."""
    manifest = open_dataset(workload, "workload")
    subscribers = np.zeros(manifest["n_topics"], dtype=np.int64)
    for topics in read_column(workload, "subscriptions", "topic"):
        subscribers += np.bincount(topics, minlength=len(subscribers))
    incidences = int((subscribers * (subscribers - 1) // 2).sum())
    return forecast(manifest["n_nodes"], manifest["n_subscriptions"], incidences)


def refuse_what_cannot_fit_on_spark(workload: Manifest, memory: int) -> None:
    """Raise when the driver of a design on Spark would not fit the memory of the machine."""
    needed = (
        workload["n_nodes"] * SPARK_BYTES_PER_NODE
        + workload["n_subscriptions"] * SPARK_BYTES_PER_SUBSCRIPTION
    )
    if needed > FIT * memory:
        raise InfeasibleError(
            f"the driver of the design needs about {needed / 1e9:,.1f} GB and this machine has "
            f"{memory / 1e9:,.1f} GB. Use a larger one, or `meshwright sample` the workload."
        )


def choose_engine(
    engine: str, method: str, expected: Forecast, memory: int, patience: float
) -> str:
    """Return where a design runs: "driver", in this process, or "spark".

    Parameters
    ----------
    engine
        What was asked for; "auto" takes Spark when this process would run out of memory, or take
        longer than `patience` seconds.

    """
    if engine not in ENGINES:
        raise unknown_choice("engine", engine, ENGINES)
    if engine == "spark" and method not in ON_SPARK:
        raise InputError(
            f"{method} does not run on Spark; {', '.join(ON_SPARK)} do. Leave out --engine spark."
        )
    if engine != "auto":
        return engine
    too_much = expected.memory_bytes > FIT * memory or expected.seconds > patience
    return "spark" if too_much and method in ON_SPARK else "driver"


def refuse_what_cannot_fit(expected: Forecast, memory: int) -> None:
    """Raise when the arrays would not fit the memory of the machine."""
    if expected.memory_bytes > FIT * memory:
        raise InfeasibleError(
            f"the design needs about {expected.memory_bytes / 1e9:,.1f} GB and this machine has "
            f"{memory / 1e9:,.1f} GB. Use a larger machine, or `meshwright sample` the workload."
        )
