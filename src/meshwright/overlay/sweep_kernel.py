"""The best pair of the table, again and again, without a heap.

Pairs come by gain, then larger degree, then code. Gains only fall and degrees only rise, so at a
level (gain, degree) that has become the best there is, the pairs of the level can only get fewer:
one sweep over the table in the order of the codes meets them all in their order. A sweep need not
read the whole table. It is cut into blocks, stretches of a row; each waits in a list by the best
level it had when last read, its note, and is read when the sweep comes to that level.

Under a limit `cap`, pairs with a full node do not take part. A block whose row is full waits for
the limit to rise; what the full partners of a block could gain is kept as its `rest`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from meshwright.kernels.compile import kernel, maker
from meshwright.overlay.pair_kernel import NO_DEGREE, largest_of, pair_key

BLOCK = 128  # pairs

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


class Sweep(NamedTuple):
    """Where the sweep is and where the blocks wait.

    `meta` is [gain, degree, blocks of the level, place among them, next pair to read or -1,
    highest degree that a block of this gain waits at, cap, by_degree].
    """

    row: Ints  # by block
    first: Ints  # by block: its first partner
    gain: Ints  # by block: the note, never worse than the block's best pair
    degree: Ints
    rest: Ints  # by block: the largest gain among its pairs whose partner was full
    following: Ints  # by block: the next one in its list, or -1
    by_gain: Ints  # the first block of each list, or -1
    by_degree: Ints  # the same for the gain that the sweep is at
    level: Ints  # the blocks of the level, in order
    meta: Longs


def new_sweep(n_nodes: int, largest: int, *, by_degree: bool, block: int = BLOCK) -> Sweep:
    """Return a sweep over a table; `note_blocks` and `start_sweep` begin it."""
    partners = np.arange(n_nodes, dtype=np.int64)[::-1]
    blocks = -(-partners // block)
    row = np.repeat(np.arange(n_nodes, dtype=np.int32), blocks)
    within = np.arange(len(row)) - np.repeat(np.cumsum(blocks) - blocks, blocks)
    ints = lambda value, size: np.full(size, value, dtype=np.int32)  # noqa: E731
    return Sweep(
        row=row,
        first=(row + 1 + within * block).astype(np.int32),
        gain=ints(0, len(row)),
        degree=ints(0, len(row)),
        rest=ints(0, len(row)),
        following=ints(-1, len(row)),
        by_gain=ints(-1, largest + 1),
        by_degree=ints(-1, n_nodes + 1),
        level=ints(0, len(row)),
        meta=np.array([0, 0, 0, 0, -1, 0, NO_DEGREE, by_degree], dtype=np.int64),
    )


@kernel
def note_blocks(table, sweep, degree, first, last):
    """Note the best level of the blocks from `first` to `last` as they are now."""
    for block in range(first, last):
        note(table, sweep, degree, block)


@kernel
def note(table, sweep, degree, block):
    """Note the best level of a block as it is now, and the best gain of its full partners."""
    cap, by_degree = sweep.meta[6], sweep.meta[7]
    u = sweep.row[block]
    # Loops over slices from 0 to their length are the ones that the compiler can vectorise.
    base, first, end = table.start[u], sweep.first[block], end_of(sweep, block)
    gains, degrees = table.gains[base + first : base + end], degree[first:end]
    best, lowest, rest = np.int32(0), np.int32(NO_DEGREE), np.int32(0)
    if cap == NO_DEGREE:
        best = largest_of(gains)
        if by_degree and best > 0:
            for i in range(len(gains)):
                lowest = min(lowest, degrees[i] if gains[i] == best else np.int32(NO_DEGREE))
    else:
        for i in range(len(gains)):
            full = degrees[i] >= cap
            best = max(best, np.int32(0) if full else np.int32(gains[i]))
            rest = max(rest, np.int32(gains[i]) if full else np.int32(0))
        for i in range(len(gains)):
            known = gains[i] == best and degrees[i] < cap
            lowest = min(lowest, degrees[i] if known else np.int32(NO_DEGREE))
    sweep.gain[block], sweep.rest[block] = best, rest
    sweep.degree[block] = max(lowest, degree[u]) if by_degree else 0


@kernel
def end_of(sweep, block):
    """Return the partner that a block ends before."""
    after = block + 1
    if after < len(sweep.row) and sweep.row[after] == sweep.row[block]:
        return sweep.first[after]
    return sweep.row[-1] + 2  # the last block is the one pair of the last two nodes


@kernel
def put(sweep, degree, block):
    """Put a block into the list of its note, unless its row is full or it has nothing left."""
    meta, gain = sweep.meta, sweep.gain[block]
    if gain == 0 or degree[sweep.row[block]] >= meta[6]:
        return
    if gain == meta[0]:
        lists, at = sweep.by_degree, sweep.degree[block]
        meta[5] = max(meta[5], at)
    else:
        lists, at = sweep.by_gain, gain
    sweep.following[block] = lists[at]
    lists[at] = block


@kernel
def start_sweep(sweep, degree, cap):
    """Begin anew under a degree limit: every block with something left takes part."""
    meta, gain, rest = sweep.meta, sweep.gain, sweep.rest
    raised = cap > meta[6]
    meta[0], meta[1], meta[2], meta[3], meta[4] = len(sweep.by_gain), 0, 0, 0, -1
    meta[5], meta[6] = 0, cap
    sweep.by_gain[:] = -1
    sweep.by_degree[:] = -1
    for block in range(len(gain) - 1, -1, -1):
        if raised and rest[block] > 0:
            if rest[block] >= gain[block]:
                # All that is known of these pairs is a gain that they do not exceed.
                gain[block], sweep.degree[block] = rest[block], 0
            rest[block] = 0
        put(sweep, degree, block)


@kernel
def next_level(sweep):
    """Go on to the next level with blocks and put them in order; tell whether there is one."""
    meta, following, level = sweep.meta, sweep.following, sweep.level
    while True:
        meta[1] += 1
        while meta[1] <= meta[5] and sweep.by_degree[meta[1]] < 0:
            meta[1] += 1
        if meta[1] <= meta[5]:
            break
        # The lists by degree are used up: spread the blocks of the next gain over them.
        meta[0] -= 1
        while meta[0] > 0 and sweep.by_gain[meta[0]] < 0:
            meta[0] -= 1
        if meta[0] <= 0:
            meta[0] = 0
            return False
        meta[1], meta[5] = -1, 0
        block = sweep.by_gain[meta[0]]
        sweep.by_gain[meta[0]] = -1
        while block >= 0:
            after, at = following[block], sweep.degree[block]
            following[block] = sweep.by_degree[at]
            sweep.by_degree[at] = block
            meta[5] = max(meta[5], at)
            block = after
    size = 0
    block = sweep.by_degree[meta[1]]
    sweep.by_degree[meta[1]] = -1
    while block >= 0:
        level[size] = block
        size += 1
        block = following[block]
    sort_first(level, size)
    meta[2], meta[3], meta[4] = size, 0, -1
    return True


@maker
def sort_first(level, size):
    """Put the first few in order."""
    level[:size].sort()


@kernel
def find_in_table(table, sweep, degree):
    """Return the (key, code) of the best pair of the table, or (0, 0) when there is none."""
    row, level, meta = sweep.row, sweep.level, sweep.meta
    cap, by_degree = meta[6], meta[7]
    while True:
        gain = meta[0]
        # At this level no larger degree is below its own, so "at most" means "equal to".
        highest = meta[1] if by_degree else cap - 1
        while meta[3] < meta[2]:
            block = level[meta[3]]
            u = row[block]
            if degree[u] > highest:
                sweep.degree[block] = degree[u]
            else:
                base, first, end = table.start[u], sweep.first[block], end_of(sweep, block)
                gains, degrees = table.gains[base + first : base + end], degree[first:end]
                at = meta[4]
                if at < 0:
                    at = 0 if largest_of(gains) >= gain else len(gains)
                while at < len(gains):
                    if gains[at] == gain and degrees[at] <= highest:
                        meta[4] = at
                        w = sweep.first[block] + at
                        return pair_key(by_degree, degree, gain, u, w), (
                            np.int64(u) << 32
                        ) | np.int64(w)
                    at += 1
                note(table, sweep, degree, block)
            put(sweep, degree, block)
            meta[3] += 1
            meta[4] = -1
        if meta[0] == 0 or not next_level(sweep):
            return np.int64(0), np.int64(0)
