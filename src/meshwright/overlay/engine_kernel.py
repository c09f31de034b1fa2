"""The loops of the greedy engine: the best pair, from the table or from the rows, is next."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from meshwright.kernels.compile import kernel
from meshwright.kernels.components import Components, join
from meshwright.overlay.pair_kernel import gain_of
from meshwright.overlay.row_kernel import Rows, Scratch
from meshwright.overlay.row_queue_kernel import DUE, find_in_rows, join_pair, set_row_cap
from meshwright.overlay.sweep_kernel import Sweep, find_in_table, start_sweep
from meshwright.overlay.table_kernel import Table, lower_gains

MORE = -2  # in place of a gain: there may be more

Ints = npt.NDArray[np.int32]


class State(NamedTuple):
    """What all queues of a run share. The table is empty when the rows are used."""

    components: Components
    table: Table
    rank: Ints  # the user's id -> the node
    degree: Ints  # by node, of the edges so far
    scratch: Scratch


class Queue(NamedTuple):
    """All pairs of positive gain, the best first; one of the two is empty."""

    sweep: Sweep
    rows: Rows


@kernel
def set_cap(state, queue, cap):
    """Begin a phase under a degree limit."""
    if len(state.table.lost) > 0:
        start_sweep(queue.sweep, state.degree, cap)
    else:
        set_row_cap(queue.rows, state.degree, cap)


@kernel
def find_best(state, queue):
    """Return the (key, code) of the best pair, or (0, 0) when none has a gain."""
    if len(state.table.lost) > 0:
        return find_in_table(state.table, queue.sweep, state.degree)
    return find_in_rows(state.components, queue.rows, state.degree, state.scratch)


@kernel
def add(state, rank, code, edges, gains, n_edges):
    """Add a pair as the next edge."""
    a, b = code >> 32, code & 0xFFFFFFFF
    edges[n_edges, 0], edges[n_edges, 1] = a, b
    u, w = rank[a], rank[b]
    if len(state.table.lost) > 0:
        lower_gains(state.components, state.table, u, w)
        gains[n_edges] = join(state.components, u, w)
    else:
        gains[n_edges] = join_pair(state.components, state.scratch, u, w)
    state.degree[u] += 1
    state.degree[w] += 1


@kernel
def run(state, queue, edges, gains, n_edges, stop):
    """Add best edges until there are `stop` of them, or none, or with rows only ones of gain 1.

    Return their number and the gain of the best pair left, or MORE, or DUE: scan the due rows.
    """
    last_gain = 0 if len(state.table.lost) > 0 else 1
    while n_edges < stop:
        key, code = find_best(state, queue)
        if key == DUE:
            return n_edges, DUE
        if gain_of(key) <= last_gain:
            return n_edges, gain_of(key)
        add(state, state.rank, code, edges, gains, n_edges)
        n_edges += 1
    return n_edges, MORE


@kernel
def run_low(state, queue, capped, cap, edges, gains, n_edges, stop, numerator, denominator):
    """`low`: the best pair if its gain is at least k times that of the best capped pair.

    k is a fraction. The capped queue stands for minmax: its cap is the maximum degree, or one
    more when no pair of positive gain keeps that; 0 before the first edge.
    Return the number of edges, the cap, and the gain of the best pair left as `run` does.
    """
    rank, degree = state.rank, state.degree
    last_gain = 0 if len(state.table.lost) > 0 else 1
    top = np.int64(0)
    for links in degree:
        top = max(top, links)
    while n_edges < stop:
        key, code = find_best(state, queue)
        if gain_of(key) <= last_gain:
            return n_edges, cap, gain_of(key)
        if cap != top and cap != top + 1:
            cap = max(top, 1)
            set_cap(state, capped, cap)
        capped_key, capped_code = find_best(state, capped)
        if capped_key == 0:
            cap = top + 1
            set_cap(state, capped, cap)
            capped_key, capped_code = find_best(state, capped)
        if gain_of(key) * denominator < numerator * gain_of(capped_key):
            code = capped_code
        add(state, rank, code, edges, gains, n_edges)
        for node in edges[n_edges]:
            top = max(top, degree[rank[node]])
        n_edges += 1
    return n_edges, cap, MORE
