"""Find a leaf for those that a subtree had no room for, moving as few others as need be."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meshwright.assignment.flow import Placement, group_rows, place
from meshwright.assignment.hilbert import box_keys
from meshwright.problem import Problem

Leaves = npt.NDArray[np.int32]


def repair(problem: Problem, marks: npt.NDArray[np.uint64], leaf_of: Leaves) -> tuple[Leaves, int]:
    """Return everyone's leaf, by index, and how many stand over a leaf's limit.

    One maximum flow over all leaves takes up the placement as it is. Whoever it still finds no
    room for goes to the leaf in time that is least loaded for its capacity.

    Parameters
    ----------
    marks
        The leaves in time for each subscriber, as bits.
    leaf_of
        The leaf of each subscriber, -1 for those without.

    """
    if (leaf_of >= 0).all():
        return leaf_of, 0
    masks, group_of, counts = group_rows(marks)
    n_leaves = len(problem.tree.leaves)
    now = _placement(group_of, leaf_of, counts, n_leaves)
    then = place(masks, counts, problem.load_limits(problem.beta_max), now)
    keys = box_keys(problem.low, problem.high)
    leaf_of = _move(leaf_of, group_of, table_of(now), then, keys)
    over = np.flatnonzero(leaf_of < 0)
    loads = np.bincount(leaf_of[leaf_of >= 0], minlength=n_leaves)
    leaf_of[over] = least_loaded(problem, marks[over], loads)
    return leaf_of, len(over)


def least_loaded(
    problem: Problem, marks: npt.NDArray[np.uint64], loads: npt.NDArray[np.int64]
) -> Leaves:
    """Return a leaf in time for each, in turn the one least loaded for its capacity."""
    loads = loads.copy()
    capacity = np.maximum(problem.leaf_capacity, np.finfo(float).tiny)
    found = np.empty(len(marks), np.int32)
    for who, bits in enumerate(marks.tolist()):
        in_time = [i for i in range(len(loads)) if (bits[i >> 6] >> (i & 63)) & 1]
        leaf = min(in_time, key=lambda i: ((loads[i] + 1) / capacity[i], i))
        found[who] = leaf
        loads[leaf] += 1
    return found


def _placement(
    group_of: npt.NDArray[np.int32],
    leaf_of: Leaves,
    counts: npt.NDArray[np.int64],
    n_leaves: int,
) -> Placement:
    """Return the placement that everyone's leaf amounts to."""
    placed = leaf_of >= 0
    pair = group_of[placed].astype(np.int64) * n_leaves + leaf_of[placed]
    pairs, number = np.unique(pair, return_counts=True)
    group = (pairs // n_leaves).astype(np.int32)
    left = counts - np.bincount(group, weights=number, minlength=len(counts)).astype(np.int64)
    return Placement(group, (pairs % n_leaves).astype(np.int32), number.astype(np.int64), left)


def table_of(placement: Placement) -> dict[tuple[int, int], int]:
    """Return how many of each group are at each leaf."""
    rows = zip(placement.group.tolist(), placement.leaf.tolist(), strict=True)
    return dict(zip(rows, placement.count.tolist(), strict=True))


def _move(
    leaf_of: Leaves,
    group_of: npt.NDArray[np.int32],
    now: dict[tuple[int, int], int],
    then: Placement,
    keys: npt.NDArray[np.int64],
) -> Leaves:
    """Return leaves by the new placement: members stay where their group still has a place."""
    leaf_of = leaf_of.copy()
    wanted = table_of(then)
    changed = {pair[0] for pair in now.keys() | wanted.keys() if now.get(pair) != wanted.get(pair)}
    for group in sorted(changed):
        members = np.flatnonzero(group_of == group)
        members = members[np.lexsort((members, keys[members]))]
        room = {leaf: count for (at, leaf), count in wanted.items() if at == group}
        free = []
        for who in members.tolist():
            leaf = int(leaf_of[who])
            if room.get(leaf, 0) > 0:
                room[leaf] -= 1
            else:
                free.append(who)
        places = [leaf for leaf in sorted(room) for _ in range(room[leaf])]
        for position, who in enumerate(free):
            leaf_of[who] = places[position] if position < len(places) else -1
    return leaf_of
