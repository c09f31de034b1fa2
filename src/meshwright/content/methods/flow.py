"""Maximum flow from leaves to subscribers, on groups of subscribers that the same leaves may serve.

Yu, Agarwal, Yang (ICDE 2011), section IV-B, has a node per subscriber. Subscribers with the same
leaves are alike to the flow, so a node per group, with as many units as it has members, gives the
same value. A simple greedy start places most members; SciPy's Dinic places the rest, with the same
flow on every run. Members then go to leaves in the order of a Hilbert curve through their boxes, so
that each leaf gets boxes that lie together.
"""

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meshwright.content.boxes import box_keys, key_bits
from meshwright.content.kernels.flow import Cells, LeafLists, Shares, add_places, greedy_start
from meshwright.model.problem import ProblemSummary
from meshwright.runtime.arrays import Bools, Floats, Ints, Longs, Words

# Rounds of giving members to leaves. On sets 1 to 3, three rounds save 0.3% to 1.5% of balance's
# bandwidth, ten no more than 2.1%.
SPREAD_ROUNDS = 3
MOST_CELLS = 1 << 21  # pairs of a group and a cell of the Hilbert curve: some 100 MB


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """How many members of each group go to each leaf: rows sorted by group, then leaf."""

    group: Ints
    leaf: Ints
    count: Longs
    left: Longs  # by group: members without a place

    @property
    def value(self) -> int:
        """The number of members placed: the maximum flow."""
        return int(self.count.sum())

    @property
    def complete(self) -> bool:
        """Whether all members are placed."""
        return not self.left.any()

    def loads(self, n_leaves: int) -> Longs:
        """Return how many members each leaf gets."""
        return _sums(self.leaf, self.count, n_leaves)


def group_rows(marks: Words) -> tuple[Words, Ints, Longs]:
    """Return the distinct rows of bits, the group of each subscriber, and the size of each group.

    Examples
    --------
    >>> masks, group_of, counts = group_rows(np.array([[6], [1], [6]], np.uint64))
    >>> masks.tolist(), group_of.tolist(), counts.tolist()
    ([[1], [6]], [1, 0, 1], [1, 2])
    """
    n = len(marks)
    order = np.lexsort(marks.T[::-1])
    ordered = marks[order]
    new = np.ones(n, np.bool_)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    of = np.cumsum(new) - 1
    group_of = np.empty(n, np.int32)
    group_of[order] = of
    return ordered[new], group_of, np.bincount(of, minlength=int(new.sum()))


def place(masks: Words, counts: Longs, limits: Longs, start: Placement | None = None) -> Placement:
    """Place as many members of groups on leaves as the limits allow.

    `masks` has a row of bits per group, the leaves that may serve it; `counts` are the members of
    each group, `limits` the most of each leaf. The value does not depend on `start`, a placement of
    the same groups within the limits to begin from.

    Examples
    --------
    >>> found = place(np.array([[3], [1]], np.uint64), np.array([2, 1]), np.array([1, 2]))
    >>> found.value, found.leaf.tolist(), found.left.tolist()
    (3, [1, 0], [0, 0])
    """
    lists = list_leaves(masks, len(limits))
    flow = np.zeros(len(lists.leaves), np.int64)
    left, spare = counts.astype(np.int64), limits.astype(np.int64)
    if start is not None:
        flow[_entries(lists, start.group, start.leaf)] = start.count
        left, spare = start.left.copy(), spare - start.loads(len(limits))
    order = np.lexsort((np.arange(len(counts)), np.diff(lists.starts)))
    greedy_start(order, lists, flow, left, spare)
    if left.any() and spare.any():
        left = _finish(lists, flow, left, spare)
    used = np.flatnonzero(flow)
    return Placement(lists.group[used], lists.leaves[used], flow[used], left)


def tightest(masks: Words, placement: Placement, limits: Longs) -> tuple[Bools, int]:
    """Return the leaves of a bottleneck, as a mask, and how many members have no other leaf.

    The placement is a maximum one that leaves members over. The groups with such members, and the
    groups that occupy their leaves, and so on, together have more members than room.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    # A search from node 0: on to groups with members left, to their leaves, and from a leaf to the
    # groups that it has members of.
    lists = list_leaves(masks, len(limits))
    short = np.flatnonzero(placement.left)
    first_leaf = 1 + len(masks)
    tails = np.zeros(len(short)), 1 + lists.group, first_leaf + placement.leaf
    heads = 1 + short, first_leaf + lists.leaves, 1 + placement.group
    ends = np.concatenate(tails).astype(np.int32), np.concatenate(heads).astype(np.int32)
    n_nodes = first_leaf + len(limits)
    graph = csr_array((np.ones(len(ends[0])), ends), shape=(n_nodes, n_nodes))
    reached = np.zeros(n_nodes, np.bool_)
    reached[breadth_first_order(graph, 0, return_predecessors=False)] = True
    members = placement.left + _sums(placement.group, placement.count, len(masks))
    return reached[first_leaf:], int(members[reached[1:first_leaf]].sum())


def least_factor(problem: ProblemSummary, masks: Words, counts: Longs) -> tuple[float, Placement]:
    """Return the least load balance factor at which all members of groups are placed, and how.

    Every group needs a leaf with capacity. Where a flow at some factor leaves members over, the
    least factor that gives room to its bottleneck is tried next. Each factor tried is a lower
    bound, so the first at which everyone is placed is the least.

    Examples
    --------
    >>> from meshwright.content.problem import BrokerTree, Problem
    >>> tree = BrokerTree(parent=[-1, 0, 0], location=[[0.0], [1.0], [4.0]])
    >>> box = np.zeros((4, 1))
    >>> problem = Problem(tree, box, box, box, np.array(0.0))
    >>> factor, placement = least_factor(problem, np.array([[1], [3]], np.uint64), np.array([3, 1]))
    >>> factor, placement.loads(2).tolist()
    (1.5, [3, 1])
    """
    leaves, members = problem.leaf_capacity > 0, int(counts.sum())
    placement = None
    while True:
        factor = _factor_with_room(problem, leaves, members)
        limits = problem.load_limits(factor)
        placement = place(masks, counts, limits, placement)
        if placement.complete:
            return factor, placement
        leaves, members = tightest(masks, placement, limits)


def _factor_with_room(problem: ProblemSummary, leaves: Bools, members: int) -> float:
    """Return the least factor at which some leaves together have room for the members."""
    shares = problem.leaf_capacity * problem.n_subscribers
    some = shares[leaves & (shares > 0)]
    if members == 0 or len(some) == 0:
        return 0.0
    # Limits are whole numbers, so at the factor sought some leaf is exactly full.
    lowest = members / some.sum()
    highest = (members + len(some)) / some.sum()  # rounding down loses less than one per leaf
    steps = [
        np.arange(np.floor(lowest * share), np.ceil(highest * share) + 2) / share for share in some
    ]
    factors = np.unique(np.concatenate(steps))
    at = bisect_left(
        factors[:-1], members, key=lambda factor: problem.load_limits(factor)[leaves].sum()
    )
    return float(factors[at])


def spread(placement: Placement, group_of: Ints, low: Floats, high: Floats, n_leaves: int) -> Ints:
    """Return the leaf of each subscriber (-1 for none); boxes that lie together go together.

    The members of a group are ordered along a Hilbert curve through all boxes, then by id; its
    leaves take them in the order of `order_shares`.
    """
    n, n_groups = len(group_of), len(placement.left)
    leaf_of = np.full(n, -1, np.int32)
    if n == 0:
        return leaf_of
    cell = box_keys(low, high) >> cell_shift(n, n_groups, low.shape[1])
    order = np.lexsort((cell, group_of))  # stable: by id within a cell
    new = (np.diff(group_of[order]) != 0) | (np.diff(cell[order]) != 0)
    first = np.flatnonzero(np.append(True, new))
    count = np.diff(np.append(first, n))
    rows = order_shares(placement, group_of[order[first]], cell[order[first]], count, n_leaves)
    # Members without a place come last in their group.
    placed = _sums(placement.group, placement.count, n_groups)
    rest = np.bincount(group_of, minlength=n_groups) - placed
    group = np.concatenate((placement.group[rows], np.arange(n_groups, dtype=np.int32)))
    leaf = np.concatenate((placement.leaf[rows], np.full(n_groups, -1, np.int32)))
    members = np.concatenate((placement.count[rows], rest))
    by_group = np.argsort(group, kind="stable")
    leaf_of[order] = np.repeat(leaf[by_group], members[by_group])
    return leaf_of


def cell_shift(n_members: int, n_groups: int, n_dimensions: int) -> int:
    """Return how many low bits of Hilbert keys to drop.

    Up to MOST_CELLS members every bit counts. Beyond, cells of the curve are so large that there
    are at most MOST_CELLS pairs of a group and a cell.
    """
    if n_members <= MOST_CELLS:
        return 0
    per_group = max(1, MOST_CELLS // max(n_groups, 1))
    return max(0, key_bits(n_dimensions) - (per_group.bit_length() - 1))


def order_shares(
    placement: Placement, group: Ints, cell: Longs, count: Longs, n_leaves: int
) -> npt.NDArray[np.intp]:
    """Return the rows of a placement in the order in which members of groups are given out.

    In the first round the leaves of a group take its members in the order of leaf ids; in each
    later round by the mean place of the members, of all groups, that they got in the round before.
    A place is the number of members of any group that come before along the curve.

    A row of `group`, `cell` and `count` are the members of a group in a cell of the curve; rows are
    sorted by group, then cell.
    """
    cells, at = np.unique(cell, return_inverse=True)
    members = _sums(at, count, len(cells))
    place_of_cell = np.cumsum(members) - (members + 1) / 2
    in_cells = Cells(group, count, place_of_cell[at])
    rank = np.arange(n_leaves, dtype=np.float64)
    for done in range(SPREAD_ROUNDS):
        rows = np.lexsort((placement.leaf, rank[placement.leaf], placement.group))
        if done == SPREAD_ROUNDS - 1:
            break
        total, got = np.zeros(n_leaves), np.zeros(n_leaves, np.int64)
        shares = Shares(placement.group[rows], placement.leaf[rows], placement.count[rows])
        add_places(in_cells, shares, total, got)
        rank = np.where(got > 0, total / np.maximum(got, 1), 0.0)
    return rows


def list_leaves(masks: Words, n_leaves: int) -> LeafLists:
    """Return the leaves of groups that are given as rows of bits, uint64[groups, words]."""
    bits = np.unpackbits(np.ascontiguousarray(masks).view(np.uint8), axis=1, bitorder="little")
    group, leaf = np.nonzero(bits[:, :n_leaves])
    starts = np.searchsorted(group, np.arange(len(masks) + 1))
    return LeafLists(starts, group.astype(np.int32), leaf.astype(np.int32))


def _entries(lists: LeafLists, group: Ints, leaf: Ints) -> npt.NDArray[np.intp]:
    """Return the entries of pairs of a group and a leaf in the lists of leaves."""
    n_leaves = int(lists.leaves.max(initial=0)) + 1
    keys = lists.group.astype(np.int64) * n_leaves + lists.leaves
    return np.searchsorted(keys, group.astype(np.int64) * n_leaves + leaf)


def _finish(lists: LeafLists, flow: Longs, left: Longs, spare: Longs) -> Longs:
    """Make the flow a maximum one, in place; return what is left of each group."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    n_groups, n_leaves = len(left), len(spare)
    group, leaves = lists.group, lists.leaves
    size = left + _sums(group, flow, n_groups)
    source, sink, first_leaf = 0, n_groups + n_leaves + 1, n_groups + 1
    rests, rooms, back = np.flatnonzero(left), np.flatnonzero(spare), np.flatnonzero(flow)
    tails = (np.full(len(rests), source), 1 + group, first_leaf + leaves[back], first_leaf + rooms)
    heads = (1 + rests, first_leaf + leaves, 1 + group[back], np.full(len(rooms), sink))
    caps = (left[rests], size[group] - flow, flow[back], spare[rooms])
    ends = np.concatenate(tails).astype(np.int32), np.concatenate(heads).astype(np.int32)
    graph = csr_array((np.concatenate(caps).astype(np.int32), ends), shape=(sink + 1, sink + 1))
    found = maximum_flow(graph, source, sink).flow.tocsr()
    pushed = found[1:first_leaf, first_leaf:sink].tocoo()
    flow[_entries(lists, pushed.row, pushed.col)] += pushed.data
    return size - _sums(group, flow, n_groups)


def _sums(index: npt.NDArray[np.integer], counts: Longs, size: int) -> Longs:
    """Return the sum of the counts of each index; a float64 has room for all numbers of members."""
    return np.bincount(index, weights=counts, minlength=size).astype(np.int64)
