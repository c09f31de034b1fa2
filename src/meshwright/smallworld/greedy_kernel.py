"""The loop of the greedy small worlds: the best pair of the engine's rows that may still be."""

from __future__ import annotations

from numba import njit

from meshwright.kernels.components import join
from meshwright.overlay.bar_kernel import note_edge
from meshwright.overlay.row_queue_kernel import find_in_rows


@njit(cache=True)
def run_world(c, rows, degree, scratch, edges, n_edges, stop):
    """Add best edges until there are `stop` of them or none gains; return their number.

    Writes the components, the rows with their bars, the degrees and the edges.
    """
    rank, bars = rows.rank, rows.bars
    while n_edges < stop:
        key, code = find_in_rows(c, rows, degree, scratch)
        if key == 0:
            break
        a, b = code >> 32, code & 0xFFFFFFFF
        u, w = rank[a], rank[b]
        edges[n_edges, 0], edges[n_edges, 1] = a, b
        join(c, u, w)
        note_edge(bars, u, w)
        degree[u] += 1
        degree[w] += 1
        scratch.clock[0] += 1
        n_edges += 1
    return n_edges
