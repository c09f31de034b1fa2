"""The best pair of the table, again and again, without a heap.

Pairs come by gain, then larger degree, then code. Once a level (gain, degree) is the best there is,
its pairs can only become fewer: one sweep over the table in the order of the codes visits them in
their order. The table is cut into blocks, parts of a row; each waits in a list by the best level
that it had when last read, its mark, and is read when the sweep comes to that level.

Under a degree cap, pairs with a full node do not take part. A block whose row is full waits until
the cap rises; the largest gain of the full partners of a block is kept as its `rest`.
"""

from typing import NamedTuple

import numpy as np

from meshwright.overlay.greedy.kernels.run import NO_LIMIT, largest_of, pair_key
from meshwright.overlay.greedy.kernels.tuning import TABLE_BLOCK
from meshwright.runtime.arrays import Ints, Longs
from meshwright.runtime.compile import kernel, maker

# Places in Sweep.state
GAIN, DEGREE = 0, 1  # the level
N_BLOCKS, NEXT_BLOCK = 2, 3  # blocks of the level, and the next one to read
NEXT_PAIR = 4  # the place in that block of the next pair to read, -1 before the first
TOP_DEGREE = 5  # the highest degree that a block of this gain waits at
SWEEP_CAP = 6  # the degree cap


class Sweep(NamedTuple):
    """Where the sweep is and where the blocks wait."""

    row: Ints  # int32[n_blocks], the row of each block
    first: Ints  # int32[n_blocks], its first partner
    gain: Ints  # int32[n_blocks], its mark: never worse than its best pair
    degree: Ints  # int32[n_blocks]
    rest: Ints  # int32[n_blocks], the largest gain of its pairs whose partner was full
    following: Ints  # int32[n_blocks], the next block in its list, or -1
    gain_lists: Ints  # int32[largest + 1], the first block marked with each gain, or -1
    degree_lists: Ints  # int32[n_nodes + 1], the same by degree for the gain of the level
    level: Ints  # int32[n_blocks], the blocks of the level, in order
    state: Longs  # int64[7], [GAIN, DEGREE, N_BLOCKS, NEXT_BLOCK, NEXT_PAIR, TOP_DEGREE, SWEEP_CAP]


def new_sweep(n_nodes: int, largest: int, *, block: int = TABLE_BLOCK) -> Sweep:
    """Return a sweep over a table; `mark_blocks` and `start_sweep` begin it."""
    partners = np.arange(n_nodes, dtype=np.int64)[::-1]
    blocks = -(-partners // block)
    row = np.repeat(np.arange(n_nodes, dtype=np.int32), blocks)
    within = np.arange(len(row)) - np.repeat(np.cumsum(blocks) - blocks, blocks)
    first = (row + 1 + within * block).astype(np.int32)
    gain, degree, rest, following, level = np.zeros((5, len(row)), dtype=np.int32)
    gain_lists = np.full(largest + 1, -1, dtype=np.int32)
    degree_lists = np.full(n_nodes + 1, -1, dtype=np.int32)
    state = np.array([0, 0, 0, 0, -1, 0, NO_LIMIT], dtype=np.int64)
    lists = (following, gain_lists, degree_lists)
    return Sweep(row, first, gain, degree, rest, *lists, level, state)


@kernel
def mark_blocks(run, table, sweep, first, last):
    """Mark the blocks from `first` to `last` with their best level."""
    for block in range(first, last):
        mark_block(run, table, sweep, block)


@kernel
def mark_block(run, table, sweep, block):
    """Mark a block with its best level, and keep the best gain of its full partners."""
    cap, by_degree = sweep.state[SWEEP_CAP], run.by_degree
    u = sweep.row[block]
    # The compiler vectorises loops over slices from 0 to their length.
    base, first, end = table.start[u], sweep.first[block], end_of(sweep, block)
    gains, degrees = table.gains[base + first : base + end], run.degree[first:end]
    best, lowest, rest = np.int32(0), np.int32(NO_LIMIT), np.int32(0)
    if cap == NO_LIMIT:
        best = largest_of(gains)
        if by_degree and best > 0:
            for i in range(len(gains)):
                lowest = min(lowest, degrees[i] if gains[i] == best else np.int32(NO_LIMIT))
    else:
        for i in range(len(gains)):
            full = degrees[i] >= cap
            best = max(best, np.int32(0) if full else np.int32(gains[i]))
            rest = max(rest, np.int32(gains[i]) if full else np.int32(0))
        for i in range(len(gains)):
            is_best = gains[i] == best and degrees[i] < cap
            lowest = min(lowest, degrees[i] if is_best else np.int32(NO_LIMIT))
    sweep.gain[block], sweep.rest[block] = best, rest
    sweep.degree[block] = max(lowest, run.degree[u]) if by_degree else 0


@kernel
def end_of(sweep, block):
    """Return the node behind the last partner of a block. Reads only."""
    after = block + 1
    if after < len(sweep.row) and sweep.row[after] == sweep.row[block]:
        return sweep.first[after]
    return sweep.row[-1] + 2  # the last block is the one pair of the last two nodes


@kernel
def put_in_list(run, sweep, block):
    """Put a block into the list of its mark, unless its row is full or it has nothing left."""
    state, gain = sweep.state, sweep.gain[block]
    if gain == 0 or run.degree[sweep.row[block]] >= state[SWEEP_CAP]:
        return
    if gain == state[GAIN]:
        lists, at = sweep.degree_lists, sweep.degree[block]
        state[TOP_DEGREE] = max(state[TOP_DEGREE], at)
    else:
        lists, at = sweep.gain_lists, gain
    sweep.following[block] = lists[at]
    lists[at] = block


@kernel
def start_sweep(run, sweep, cap):
    """Set the degree cap: every block with something left takes part."""
    state, gain, rest = sweep.state, sweep.gain, sweep.rest
    raised = cap > state[SWEEP_CAP]
    state[GAIN], state[DEGREE], state[TOP_DEGREE] = len(sweep.gain_lists), 0, 0
    state[N_BLOCKS], state[NEXT_BLOCK], state[NEXT_PAIR] = 0, 0, -1
    state[SWEEP_CAP] = cap
    sweep.gain_lists[:] = -1
    sweep.degree_lists[:] = -1
    for block in range(len(gain) - 1, -1, -1):
        if raised and rest[block] > 0:
            if rest[block] >= gain[block]:
                # Nothing but a bound on their gain is known of the pairs that were left out.
                gain[block], sweep.degree[block] = rest[block], 0
            rest[block] = 0
        put_in_list(run, sweep, block)


@kernel
def next_level(sweep):
    """Go to the next level that has blocks and put them in order; return whether there is one."""
    state, following, level = sweep.state, sweep.following, sweep.level
    while True:
        state[DEGREE] += 1
        while state[DEGREE] <= state[TOP_DEGREE] and sweep.degree_lists[state[DEGREE]] < 0:
            state[DEGREE] += 1
        if state[DEGREE] <= state[TOP_DEGREE]:
            break
        # The lists by degree are used up: distribute the blocks of the next gain over them.
        state[GAIN] -= 1
        while state[GAIN] > 0 and sweep.gain_lists[state[GAIN]] < 0:
            state[GAIN] -= 1
        if state[GAIN] <= 0:
            state[GAIN] = 0
            return False
        state[DEGREE], state[TOP_DEGREE] = -1, 0
        block = sweep.gain_lists[state[GAIN]]
        sweep.gain_lists[state[GAIN]] = -1
        while block >= 0:
            after, at = following[block], sweep.degree[block]
            following[block] = sweep.degree_lists[at]
            sweep.degree_lists[at] = block
            state[TOP_DEGREE] = max(state[TOP_DEGREE], at)
            block = after
    size = 0
    block = sweep.degree_lists[state[DEGREE]]
    sweep.degree_lists[state[DEGREE]] = -1
    while block >= 0:
        level[size] = block
        size += 1
        block = following[block]
    sort_first(level, size)
    state[N_BLOCKS], state[NEXT_BLOCK], state[NEXT_PAIR] = size, 0, -1
    return True


@maker
def sort_first(level, size):
    """Sort the first `size` blocks."""
    level[:size].sort()


@kernel
def find_in_table(run, table, sweep):
    """Return the (key, code) of the best pair of the table, or (0, 0) if there is none.

    Writes `sweep`: how far the search has come.
    """
    state, degree = sweep.state, run.degree
    while True:
        gain = state[GAIN]
        # At this level no larger degree is below its own, so "at most" means "equal to".
        highest = state[DEGREE] if run.by_degree else state[SWEEP_CAP] - 1
        while state[NEXT_BLOCK] < state[N_BLOCKS]:
            block = sweep.level[state[NEXT_BLOCK]]
            u = sweep.row[block]
            if degree[u] > highest:
                sweep.degree[block] = degree[u]
            else:
                base, first, end = table.start[u], sweep.first[block], end_of(sweep, block)
                gains, degrees = table.gains[base + first : base + end], degree[first:end]
                at = state[NEXT_PAIR]
                if at < 0:
                    at = 0 if largest_of(gains) >= gain else len(gains)
                while at < len(gains):
                    if gains[at] == gain and degrees[at] <= highest:
                        state[NEXT_PAIR] = at
                        w = first + at
                        return pair_key(run, gain, u, w), (np.int64(u) << 32) | np.int64(w)
                    at += 1
                mark_block(run, table, sweep, block)
            put_in_list(run, sweep, block)
            state[NEXT_BLOCK] += 1
            state[NEXT_PAIR] = -1
        if state[GAIN] == 0 or not next_level(sweep):
            return np.int64(0), np.int64(0)
