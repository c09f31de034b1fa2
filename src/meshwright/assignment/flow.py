"""Maximum flow from leaves to subscribers, on groups of subscribers that the same leaves may serve.

Yu, Agarwal, Yang (ICDE 2011), section IV-B, has a node per subscriber. Subscribers with the same
leaves are alike to the flow, so a node per group, with as many units as it has members, gives the
same value. SciPy's Dinic finds it, the same flow on every run; what a simple greedy start leaves
over is all that it has to place. Members then go to leaves in the order of a Hilbert curve through
their boxes, so that each leaf gets boxes that lie together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meshwright.assignment.flow_kernel import (
    add_places,
    greedy_start,
    list_leaves,
    reach,
    spread_members,
)
from meshwright.assignment.hilbert import box_keys, key_bits

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """How many members of each group go to each leaf: rows sorted by group, then leaf."""

    group: npt.NDArray[np.int32]
    leaf: npt.NDArray[np.int32]
    count: Ints
    left: Ints  # by group: members that found no room

    @property
    def value(self) -> int:
        """The members placed: the maximum flow."""
        return int(self.count.sum())

    @property
    def complete(self) -> bool:
        """Whether everyone was placed."""
        return not self.left.any()

    def loads(self, n_leaves: int) -> Ints:
        """Return how many members each leaf got."""
        loads = np.zeros(n_leaves, np.int64)
        np.add.at(loads, self.leaf, self.count)
        return loads


# Rounds of giving members to leaves. On sets 1 to 3, balance saves 0.3% to 1.5% of bandwidth by
# three of them, no more than 2.1% by ten.
SPREAD_ROUNDS = 3
MOST_CELLS = 1 << 21  # pairs of a group and a cell of the Hilbert curve: some 100 MB


def group_rows(marks: Words) -> tuple[Words, npt.NDArray[np.int32], Ints]:
    """Return the distinct rows of bits, the row of each subscriber, and how many have each.

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


def place(masks: Words, counts: Ints, limits: Ints, start: Placement | None = None) -> Placement:
    """Place as many members of groups on leaves as the leaves' limits allow.

    Parameters
    ----------
    masks
        A row of bits per group: the leaves that may serve it.
    counts
        Members per group.
    limits
        Members that each leaf takes, at most.
    start
        A placement of the same groups within the limits to begin from: the same value comes out.

    Examples
    --------
    >>> found = place(np.array([[3], [1]], np.uint64), np.array([2, 1]), np.array([1, 2]))
    >>> found.value, found.leaf.tolist(), found.left.tolist()
    (3, [1, 0], [0, 0])

    """
    starts, leaves = list_leaves(masks, len(limits))
    flow = np.zeros(len(leaves), np.int64)
    left, spare = counts.astype(np.int64), limits.astype(np.int64)
    if start is not None:
        flow[_edges(starts, leaves, start)] = start.count
        left, spare = start.left.copy(), spare - start.loads(len(limits))
    order = np.lexsort((np.arange(len(counts)), np.diff(starts)))
    greedy_start(order, starts, leaves, flow, left, spare)
    if left.any() and spare.any():
        left = _finish(starts, leaves, flow, left, spare)
    used = np.flatnonzero(flow)
    group = np.repeat(np.arange(len(counts), dtype=np.int32), np.diff(starts))
    return Placement(group[used], leaves[used], flow[used], left)


def tightest(masks: Words, placement: Placement, limits: Ints) -> tuple[npt.NDArray[np.bool_], int]:
    """Return the leaves of a bottleneck, as a mask, and how many members have no other leaf.

    The placement is a maximum one that left members over: those who can get at their leaves, and
    at the leaves of those who stand in their way, have together more members than room.
    """
    starts, leaves = list_leaves(masks, len(limits))
    flow = np.zeros(len(leaves), np.int64)
    flow[_edges(starts, leaves, placement)] = placement.count
    leaf_reached, group_reached = reach(starts, leaves, flow, placement.left, len(limits))
    members = placement.left.copy()
    np.add.at(members, placement.group, placement.count)
    return leaf_reached, int(members[group_reached].sum())


def spread(
    placement: Placement,
    group_of: npt.NDArray[np.int32],
    low: npt.NDArray[np.float64],
    high: npt.NDArray[np.float64],
    n_leaves: int,
) -> npt.NDArray[np.int32]:
    """Return each subscriber's leaf (-1 for none): boxes that lie together go together.

    Members of a group stand in the order of a Hilbert curve through all boxes, then by id; leaves
    take them as `order_shares` says.
    """
    n = len(group_of)
    leaf_of = np.full(n, -1, np.int32)
    if n == 0:
        return leaf_of
    cell = box_keys(low, high) >> cell_shift(n, len(placement.left), low.shape[1])
    order = np.lexsort((cell, group_of))  # stable: by id within a cell
    first = np.flatnonzero(
        np.append(True, (np.diff(group_of[order]) != 0) | (np.diff(cell[order]) != 0))
    )
    count = np.diff(np.append(first, n))
    shares = order_shares(placement, group_of[order[first]], cell[order[first]], count, n_leaves)
    spread_members(
        order,
        group_of,
        placement.group[shares],
        placement.leaf[shares],
        placement.count[shares],
        leaf_of,
    )
    return leaf_of


def cell_shift(n_members: int, n_groups: int, n_dimensions: int) -> int:
    """Return how many bits of Hilbert keys are left out, so that groups by cells stay few.

    Nobody needs to have more pairs of a group and a cell in memory than MOST_CELLS: where members
    are more, cells are so large that there are no more of them.
    """
    if n_members <= MOST_CELLS:
        return 0
    per_group = max(1, MOST_CELLS // max(n_groups, 1))
    return max(0, key_bits(n_dimensions) - (per_group.bit_length() - 1))


def order_shares(
    placement: Placement,
    group: npt.NDArray[np.int32],
    cell: Ints,
    count: Ints,
    n_leaves: int,
) -> npt.NDArray[np.intp]:
    """Return the rows of a placement in the order in which members of groups are given out.

    The leaves of a group take them in the order of the middle of what they got, all groups
    together, in the round before; at first by id. A middle is told in places: how many members
    there are, of any group, before.

    Parameters
    ----------
    group, cell, count
        So many members of a group are in a cell of the Hilbert curve: rows sorted by group, cell.

    """
    cells, at = np.unique(cell, return_inverse=True)
    members = np.bincount(at, weights=count, minlength=len(cells))
    place_of_cell = np.cumsum(members) - (members + 1) / 2
    rank = np.arange(n_leaves, dtype=np.float64)
    for done in range(SPREAD_ROUNDS):
        rows = np.lexsort((placement.leaf, rank[placement.leaf], placement.group))
        if done == SPREAD_ROUNDS - 1:
            break
        total, got = np.zeros(n_leaves), np.zeros(n_leaves, np.int64)
        add_places(
            group,
            count,
            place_of_cell[at],
            placement.group[rows],
            placement.leaf[rows],
            placement.count[rows],
            total,
            got,
        )
        rank = np.where(got > 0, total / np.maximum(got, 1), 0.0)
    return rows


def _edges(starts: Ints, leaves: npt.NDArray[np.int32], placement: Placement) -> Ints:
    """Return where the rows of a placement are in the lists of leaves."""
    n_leaves = int(leaves.max(initial=0)) + 1
    group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return np.searchsorted(
        group * n_leaves + leaves, placement.group.astype(np.int64) * n_leaves + placement.leaf
    )


def _finish(
    starts: Ints, leaves: npt.NDArray[np.int32], flow: Ints, left: Ints, spare: Ints
) -> Ints:
    """Make the flow a maximum one, writing it; return what is left of each group."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    n_groups, n_leaves = len(left), len(spare)
    group = np.repeat(np.arange(n_groups), np.diff(starts))
    size = (left + np.bincount(group, weights=flow, minlength=n_groups)).astype(np.int64)
    source, sink, first_leaf = 0, n_groups + n_leaves + 1, n_groups + 1
    rests, rooms, back = np.flatnonzero(left), np.flatnonzero(spare), np.flatnonzero(flow)
    tails = (np.full(len(rests), source), 1 + group, first_leaf + leaves[back], first_leaf + rooms)
    heads = (1 + rests, first_leaf + leaves, 1 + group[back], np.full(len(rooms), sink))
    caps = (left[rests], size[group] - flow, flow[back], spare[rooms])
    graph = csr_array(
        (
            np.concatenate(caps).astype(np.int32),
            (np.concatenate(tails).astype(np.int32), np.concatenate(heads).astype(np.int32)),
        ),
        shape=(sink + 1, sink + 1),
    )
    found = maximum_flow(graph, source, sink).flow.tocsr()
    pushed = found[1:first_leaf, first_leaf:sink].tocoo()
    n_wide = np.int64(n_leaves)
    at = np.searchsorted(group * n_wide + leaves, pushed.row * n_wide + pushed.col)
    flow[at] += pushed.data
    return size - np.bincount(group, weights=flow, minlength=n_groups).astype(np.int64)
