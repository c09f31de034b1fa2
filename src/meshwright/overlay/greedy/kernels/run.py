"""The state of one greedy run that both orders share: components, degrees, and the edges so far."""

from __future__ import annotations

from typing import NamedTuple

from meshwright.model.kernels.components import Components, Ints, Longs
from meshwright.runtime.compile import kernel

NO_LIMIT = 2**31 - 1  # a degree cap that no node reaches; a gain that no pair exceeds
LOWEST_GAIN = 2  # pairs that gain less are left to the last level

N_EDGES, STOP = 0, 1  # places in Run.counts


class Run(NamedTuple):
    """A run. Nodes are given by their rank: the order in which the engine numbers them."""

    components: Components
    ids: Ints  # int32[n_nodes], rank -> node id of the instance
    rank: Ints  # int32[n_nodes], node id of the instance -> rank
    degree: Ints  # int32[n_nodes], the edges of each node so far
    edges: Ints  # int32[max_edges, 2], the edges in the order added
    gains: Ints  # int32[max_edges], the gain of each edge
    counts: Longs  # int64[2], [N_EDGES, STOP: the number of edges at which a kernel returns]
    by_degree: bool  # whether the lower degree decides between equal gains


@kernel
def add_edge(run, u, w, gain):
    """Append an edge and raise the degrees of its nodes; the components are joined elsewhere."""
    k = run.counts[N_EDGES]
    run.edges[k, 0], run.edges[k, 1], run.gains[k] = u, w, gain
    run.counts[N_EDGES] = k + 1
    run.degree[u] += 1
    run.degree[w] += 1


@kernel
def at_stop(run):
    """Return whether the kernel must return to Python. Reads only."""
    return run.counts[N_EDGES] >= run.counts[STOP]
