"""What a design will cost, known before anything is allocated, and where it runs."""

from pathlib import Path

import numpy as np

from meshwright.model.instance import check_ids
from meshwright.overlay.methods import ON_SPARK
from meshwright.runtime import engines
from meshwright.storage import Manifest, open_dataset, read_column
from meshwright.workload.forecast import Forecast, forecast

# Of the driver of a design on Spark, measured in docs/scale.md.
SPARK_BYTES_PER_SUBSCRIPTION = 60
SPARK_BYTES_PER_NODE = 300


def workload_forecast(workload: Path) -> Forecast:
    """Return the cost of a complete design of a workload dataset; reads the topics only."""
    manifest = open_dataset(workload, "workload")
    subscribers = np.zeros(manifest["n_topics"], dtype=np.int64)
    for topics in read_column(manifest, "subscriptions", "topic"):
        check_ids(manifest, "topic", topics, len(subscribers))
        subscribers += np.bincount(topics, minlength=len(subscribers))
    incidences = int((subscribers * (subscribers - 1) // 2).sum())
    return forecast(manifest["n_nodes"], manifest["n_subscriptions"], incidences)


def choose_engine(engine: str, method: str, expected: Forecast, patience: float) -> str:
    """Return where a design runs: "driver", in this process, or "spark".

    With "auto" this depends on the forecast alone, which is the same on every machine. Raise
    InfeasibleError if the driver's engine is chosen and does not fit this machine.
    """
    chosen = engines.choose_engine(
        engine, method, ON_SPARK, memory=expected.memory_bytes, too_slow=expected.seconds > patience
    )
    if chosen == "driver":
        other = "Choose --engine spark, use" if method in ON_SPARK else "Use"
        advice = f"{other} a larger machine, or `meshwright sample` the workload."
        engines.check_fits(expected.memory_bytes, advice)
    return chosen


def check_fits_on_spark(workload: Manifest) -> None:
    """Raise InfeasibleError if the driver of a design on Spark does not fit this machine."""
    engines.check_fits(
        workload["n_nodes"] * SPARK_BYTES_PER_NODE
        + workload["n_subscriptions"] * SPARK_BYTES_PER_SUBSCRIPTION,
        "Use a larger machine for the driver, or `meshwright sample` the workload.",
    )
