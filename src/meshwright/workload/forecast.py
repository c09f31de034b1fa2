"""The expected cost of a design.

Every exact greedy method counts the topics that two nodes share, so its work grows with the
incidences: the sum over topics of |V(t)| (|V(t)| - 1) / 2, the pairs of nodes of each topic.
"""

from dataclasses import dataclass

# `gm` by `scripts/bench overlay`, docs/engine.md: from 5 ns per incidence where interests are dense
# to 40 where they are sparse and edges many. These two constants meet the sparse instances, from 7
# million to 19 billion incidences, within a third.
SECONDS_PER_INCIDENCE = 15e-9
SECONDS_PER_SUBSCRIPTION = 2e-6
BYTES_PER_SUBSCRIPTION = 80
BYTES_PER_NODE = 700
DENSE_BYTES = 64  # a table of all pairs may take this much for each subscription


@dataclass(frozen=True, slots=True)
class Forecast:
    """The cost of `design` on one workload."""

    incidences: int
    memory_bytes: int
    seconds: float


def forecast(n_nodes: int, n_subscriptions: int, incidences: int) -> Forecast:
    """Return the expected cost of a complete design with `gm`."""
    memory = n_nodes * BYTES_PER_NODE + n_subscriptions * BYTES_PER_SUBSCRIPTION
    table = n_nodes * (n_nodes - 1)  # two bytes for each pair, where interests are dense
    if table <= DENSE_BYTES * n_subscriptions:
        memory += table
    seconds = incidences * SECONDS_PER_INCIDENCE + n_subscriptions * SECONDS_PER_SUBSCRIPTION
    return Forecast(incidences, memory, seconds)
