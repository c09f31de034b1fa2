"""Say what a design will cost before anything is allocated, and refuse what cannot fit."""

from __future__ import annotations

import numpy as np

from meshwright.errors import InfeasibleError
from meshwright.values import Instance
from meshwright.workload.forecast import Forecast, forecast


def design_forecast(instance: Instance) -> Forecast:
    """Return the cost of a complete design of this instance."""
    subscribers = np.bincount(instance.topics, minlength=1).astype(np.int64)
    incidences = int((subscribers * (subscribers - 1) // 2).sum())
    return forecast(instance.n_nodes, instance.n_subscriptions, incidences)


def refuse_what_cannot_fit(expected: Forecast, memory: int) -> None:
    """Raise when the arrays would not fit the memory of the machine."""
    if expected.memory_bytes > 0.8 * memory:
        raise InfeasibleError(
            f"the design needs about {expected.memory_bytes / 1e9:,.1f} GB and this machine has "
            f"{memory / 1e9:,.1f} GB. Use a larger machine, or `meshwright sample` the workload."
        )
