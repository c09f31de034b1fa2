"""Find a leaf for subscribers that a subtree had no room for, moving as few others as possible.

One maximum flow over all leaves continues from the present placement. It knows groups (subscribers
with the same leaves in time) and numbers only. Of a group at a leaf, the first on the Hilbert curve
stay, as many as the flow leaves there; the others go, in the same order, to the leaves that have
room for the group.
"""

from functools import partial

import numpy as np

from meshwright.content.methods.flow import Placement, group_rows, place
from meshwright.content.slp.backend import Backend
from meshwright.content.slp.members import Members, MemberTable, Partition, count_cells, from_shares
from meshwright.content.subscribers import Leaves, leaves_of, unpack
from meshwright.model.problem import ProblemSummary
from meshwright.runtime.arrays import Ints, Longs, Words


def repair(problem: ProblemSummary, backend: Backend) -> int:
    """Move every subscriber to a leaf; return how many exceed a leaf's limit.

    A subscriber that finds no room goes to the leaf in time with the least load for its capacity.
    """
    if backend.count(-1) == 0:
        return 0
    leaves = problem.tree.leaves
    table = backend.members([-1, *leaves.tolist()], np.arange(len(leaves)))
    moves, loads = _plan(problem, table)
    over_ids, over_leaf = np.zeros(0, np.int64), np.zeros(0, np.int32)
    if moves.n_left:
        over = table.reduce(partial(_without_target, moves=moves), Members.joined)
        over = over.pick(np.argsort(over.ids))
        over_ids, over_leaf = over.ids, least_loaded(problem, over.targets, loads)
    backend.move(table, partial(_broker_of, moves=moves, over=(over_ids, over_leaf), leaves=leaves))
    return moves.n_left


def _plan(problem: ProblemSummary, table: MemberTable) -> tuple[Partition, Longs]:
    """Return the leaf of each subscriber, `n_leaves` for those that stay, and the leaves' loads."""
    n_leaves, n_dimensions = len(problem.tree.leaves), problem.n_dimensions
    by_leaf = partial(_with_present_leaf, leaves=leaves_of(problem))
    present = count_cells(table, by_leaf, n_dimensions)
    masks, group, _ = group_rows(np.ascontiguousarray(present.masks[:, :-1]))
    leaf, count = present.masks[:, -1].view(np.int64), present.members
    placed = leaf >= 0
    left = np.zeros(len(masks), np.int64)
    left[group[~placed]] = count[~placed]
    now = Placement(group[placed], leaf[placed].astype(np.int32), count[placed], left)
    sizes = np.bincount(group, weights=count).astype(np.int64)
    then = place(masks, sizes, problem.load_limits(problem.beta_max), now)

    # How many of a group stay at a leaf, and how many more it takes.
    before, after = (one.group.astype(np.int64) * n_leaves + one.leaf for one in (now, then))
    _, in_now, in_then = np.intersect1d(before, after, assume_unique=True, return_indices=True)
    both = np.minimum(now.count[in_now], then.count[in_then])
    stay, take = np.zeros(len(count), np.int64), then.count.copy()
    stay[np.flatnonzero(placed)[in_now]] = both
    take[in_then] -= both

    rows, nowhere = np.arange(len(count)), np.full(len(count), -1)
    shares = np.tile(rows, 2), np.append(leaf, nowhere), np.append(stay, count - stay)
    staying = from_shares(table, present, shares, n_leaves)

    # The others form groups of their own; the leaves take them in the order of their ids.
    cells = count_cells(table, partial(_with_free, staying=staying), n_dimensions)
    group = group_rows(np.ascontiguousarray(cells.masks[:, :-1]))[1]
    is_free = cells.masks[:, -1] == 1
    free, kept = np.flatnonzero(is_free), np.flatnonzero(~is_free)
    free_of = np.zeros(len(masks), np.int64)
    free_of[group[free]] = free
    taken = np.bincount(then.group, take, len(masks)).astype(np.int64)
    shares = (
        np.concatenate((kept, free_of[then.group], free)),
        np.concatenate((np.full(len(kept), n_leaves), then.leaf, np.full(len(free), -1))),
        np.concatenate((cells.members[kept], take, cells.members[free] - taken[group[free]])),
    )
    return from_shares(table, cells, shares, n_leaves + 1), then.loads(n_leaves)


def _with_present_leaf(members: Members, leaves: Leaves) -> Words:
    leaf = leaves.of(members.broker).astype(np.int64)
    return np.column_stack((members.targets, leaf.view(np.uint64)))


def _with_free(members: Members, staying: Partition) -> Words:
    is_free = staying.target_of(members) < 0
    return np.column_stack((members.targets, is_free.astype(np.uint64)))


def _without_target(members: Members, moves: Partition) -> Members:
    return members.pick(moves.target_of(members) < 0)


def _broker_of(members: Members, moves: Partition, over: tuple[Longs, Ints], leaves: Ints) -> Ints:
    """Return the broker of each member; `over` has the ids and leaves of those without a target."""
    leaf, (over_ids, over_leaf) = moves.target_of(members), over
    nowhere = leaf < 0
    leaf[nowhere] = over_leaf[np.searchsorted(over_ids, members.ids[nowhere])]
    return np.where(leaf < len(leaves), leaves[np.minimum(leaf, len(leaves) - 1)], members.broker)


def least_loaded(problem: ProblemSummary, targets: Words, loads: Longs) -> Ints:
    """Return a leaf in time for each row of bits, in turn the least loaded for its capacity."""
    loads = loads.copy()
    capacity = np.maximum(problem.leaf_capacity, np.finfo(float).tiny)
    found = np.empty(len(targets), np.int32)
    for row, in_time in enumerate(unpack(targets, len(loads))):
        choices = np.flatnonzero(in_time)
        found[row] = choices[np.argmin((loads[choices] + 1) / capacity[choices])]
        loads[found[row]] += 1
    return found
