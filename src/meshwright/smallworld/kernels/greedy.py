"""The loop of the greedy small worlds: the best pair of the engine's rows that is not excluded."""

from __future__ import annotations

from meshwright.model.kernels.components import forget_labels, join
from meshwright.overlay.greedy.kernels.exclusions import exclude_after_edge
from meshwright.overlay.greedy.kernels.row_queue import find_in_rows
from meshwright.overlay.greedy.kernels.run import add_edge, at_stop
from meshwright.runtime.compile import kernel


@kernel
def run_small_world(run, rows, scratch):
    """Add best edges, up to STOP or until no pair gains. Writes all its arguments."""
    while not at_stop(run):
        key, code = find_in_rows(run, rows, scratch)
        if key == 0:
            return
        u, w = rows.rank[code >> 32], rows.rank[code & 0xFFFFFFFF]
        gain = join(run.components, u, w)
        forget_labels(scratch.labels)
        exclude_after_edge(rows.exclusions, u, w)
        add_edge(run, u, w, gain)
