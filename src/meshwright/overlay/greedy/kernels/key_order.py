"""The loops of key order: the best pair of all, from the table or from the rows, is next."""

from typing import NamedTuple

from meshwright.model.kernels.components import join, join_with, load_labels
from meshwright.overlay.greedy.kernels import table_sweep
from meshwright.overlay.greedy.kernels.row_queue import ROWS_DUE, find_in_rows, set_row_cap
from meshwright.overlay.greedy.kernels.rows import CAP, Rows, Scratch
from meshwright.overlay.greedy.kernels.run import Run, add_edge, at_stop, gain_of
from meshwright.overlay.greedy.kernels.table import Table, lower_gains
from meshwright.runtime.compile import kernel

MORE = -2  # in place of a gain: there may be more edges


class State(NamedTuple):
    """What all queues of a run share."""

    run: Run
    scratch: Scratch
    table: Table
    uses_table: bool  # by table; otherwise by rows, and the table has 0 nodes
    last_gain: int  # pairs of this gain or less are left: 0, or 1 where the last level follows


class Queue(NamedTuple):
    """All pairs that gain, best first: by the sweep or by rows; the other one covers 0 nodes."""

    sweep: table_sweep.Sweep
    rows: Rows


@kernel
def set_cap(state, queue, cap):
    """Set the degree cap."""
    if state.uses_table:
        table_sweep.start_sweep(state.run, queue.sweep, cap)
    else:
        set_row_cap(state.run, queue.rows, cap)


@kernel
def find_best(state, queue):
    """Return the (key, code) of the best pair, or (0, 0) if none gains."""
    if state.uses_table:
        return table_sweep.find_in_table(state.run, state.table, queue.sweep)
    return find_in_rows(state.run, queue.rows, state.scratch)


@kernel
def add_pair(state, code):
    """Add the pair of a code as the next edge."""
    c, rank = state.run.components, state.run.rank
    u, w = rank[code >> 32], rank[code & 0xFFFFFFFF]
    if state.uses_table:
        lower_gains(c, state.table, u, w)
        gain = join(c, u, w)
    else:
        # The pair is in the row of the smaller rank, whose labels are loaded or many.
        load_labels(c, state.scratch.labels, min(u, w))
        gain = join_with(c, state.scratch.labels, max(u, w))
    add_edge(state.run, u, w, gain)
    return u, w


@kernel
def run_queue(state, queue):
    """Add best edges up to STOP, until none is left that gains more than `last_gain`.

    Return the gain of the best pair left, MORE, or ROWS_DUE.
    """
    while not at_stop(state.run):
        key, code = find_best(state, queue)
        if key == ROWS_DUE:
            return ROWS_DUE
        if gain_of(key) <= state.last_gain:
            return gain_of(key)
        add_pair(state, code)
    return MORE


@kernel
def run_low(state, queue, capped, numerator, denominator):
    """Run `low`: the best pair if its gain is at least k times that of the best capped pair.

    k is a fraction. The capped queue stands for minmax: its cap is the maximum degree, or one more
    if no pair of positive gain keeps to that. Return as `run_queue` does.
    """
    top = 0
    for links in state.run.degree:
        top = max(top, links)
    while not at_stop(state.run):
        key, code = find_best(state, queue)
        if gain_of(key) <= state.last_gain:
            return gain_of(key)
        cap = (
            capped.sweep.state[table_sweep.SWEEP_CAP]
            if state.uses_table
            else capped.rows.state[CAP]
        )
        if cap != top and cap != top + 1:
            set_cap(state, capped, max(top, 1))
        capped_key, capped_code = find_best(state, capped)
        if capped_key == 0:
            set_cap(state, capped, top + 1)
            capped_key, capped_code = find_best(state, capped)
        if gain_of(key) * denominator < numerator * gain_of(capped_key):
            code = capped_code
        u, w = add_pair(state, code)
        top = max(top, state.run.degree[u], state.run.degree[w])
    return MORE
