"""What pairs cost: of pairs that gain as much, the cheaper comes first.

A pair's key has 31 bits below its gain. The lowest hold the larger degree, as many as the number of
nodes needs; those above hold the rank of the pair's cost among the different costs, 0 for the
cheapest. So costs are compared exactly, and a key still only falls: costs do not change.
"""

from typing import NamedTuple

import numpy as np

from meshwright.errors import InputError
from meshwright.runtime.arrays import Floats, Ints, Longs
from meshwright.runtime.compile import kernel

KEY_BITS = 31  # below the gain


class Costs(NamedTuple):
    """The ranks of the costs of pairs, by the nodes' numbers in the run."""

    some: bool  # whether a pair has a cost
    pair_ptr: Longs  # int64[n_nodes + 1], the partners of u are from pair_ptr[u] on
    partner: Ints  # int32[2 * n_pairs], rising within a node
    rank: Longs  # int64[2 * n_pairs], of the cost of each pair among all different ones
    unknown: int  # the rank of pairs without a cost: behind all others
    shift: int  # bits of a degree in the key


def no_costs() -> Costs:
    """Return the costs of a run in which no pair has one."""
    longs = np.empty(0, dtype=np.int64)
    return Costs(False, longs, np.empty(0, dtype=np.int32), longs, 0, 0)


def rank_costs(n_nodes: int, pairs: Ints, values: Floats) -> Costs:
    """Return the costs of pairs, int32[n, 2], of nodes numbered as in the run."""
    different, rank = np.unique(values, return_inverse=True)
    shift = n_nodes.bit_length()
    most = (1 << (KEY_BITS - shift)) - 1  # and one more rank for pairs without a cost
    if len(different) > most:
        raise InputError(
            f"there are {len(different):,} different costs; with {n_nodes:,} nodes the engine can "
            f"tell {most:,} apart. Round them."
        )
    one, other = np.concatenate((pairs, pairs[:, ::-1])).T
    order = np.lexsort((other, one))
    counts = np.bincount(one, minlength=n_nodes)
    return Costs(
        True,
        np.concatenate(([0], np.cumsum(counts, dtype=np.int64))),
        other[order].astype(np.int32),
        np.tile(rank.astype(np.int64), 2)[order],
        len(different),
        shift,
    )


@kernel
def cost_rank(costs, u, w):
    """Return the rank of what a pair costs, 0 for u and itself: a bound on all of its pairs."""
    if u == w:
        return np.int64(0)
    low, high = costs.pair_ptr[u], costs.pair_ptr[u + 1]
    end = high
    while low < high:
        middle = (low + high) // 2
        if costs.partner[middle] < w:
            low = middle + 1
        else:
            high = middle
    found = low < end and costs.partner[low] == w
    return costs.rank[low] if found else np.int64(costs.unknown)
