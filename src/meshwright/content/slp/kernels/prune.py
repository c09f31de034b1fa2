"""Place a sample of members at targets, and keep it placed while boxes are dropped.

A member that loses its target moves to another with room, or to one where another member moves on:
a path over targets, found breadth first like the augmenting paths of a flow.
"""

from typing import Any, NamedTuple

import numpy as np

from meshwright.runtime.compile import kernel, maker

NOT_SEEN, FIRST, BLOCKED = -1, -2, -3  # values of `Search.before` that are not targets


class Placed(NamedTuple):
    """A sample of members and the target of each."""

    cover: Any  # int16[n, n_targets], boxes of the target that hold the member, 0 if not in time
    at: Any  # int32[n], the target of each, -1 for none
    load: Any  # int64[n_targets]
    room: Any  # int64[n_targets], the largest load


class Search(NamedTuple):
    """Working space for paths over targets."""

    blocked: Any  # bool[n_targets], no path from here leads to a target with room
    before: Any  # int32[n_targets], the target before this one on its path, or one of the above
    mover: Any  # int64[n_targets], the member that moves here from the target before
    queue: Any  # int32[n_targets]


@maker
def _new_search(n_targets):
    """Return working space for paths over targets."""
    return Search(
        np.zeros(n_targets, np.bool_),  # blocked: no target is, at first
        np.empty(n_targets, np.int32),  # before
        np.empty(n_targets, np.int64),  # mover
        np.empty(n_targets, np.int32),  # queue
    )


@kernel
def _find_path(placed, member, search):
    """Search targets from those that cover a member; return one with room, or -1.

    Writes `search`; without success, all targets that were reached are blocked.
    """
    before, mover, queue = search.before, search.mover, search.queue
    n, n_targets = placed.cover.shape
    n_queue = 0
    for i in range(n_targets):
        before[i] = BLOCKED if search.blocked[i] else NOT_SEEN
        if placed.cover[member, i] > 0 and not search.blocked[i]:
            before[i] = FIRST
            mover[i] = member
            if placed.load[i] < placed.room[i]:
                return i
            queue[n_queue] = i
            n_queue += 1
    head = 0
    while head < n_queue:
        i = queue[head]
        head += 1
        for j in range(n):
            if placed.at[j] != i:
                continue
            for other in range(n_targets):
                if before[other] == NOT_SEEN and placed.cover[j, other] > 0:
                    before[other] = i
                    mover[other] = j
                    if placed.load[other] < placed.room[other]:
                        return other
                    queue[n_queue] = other
                    n_queue += 1
    for position in range(n_queue):
        search.blocked[queue[position]] = True
    return -1


@kernel
def _place(placed, member, search):
    """Place a member, moving others if necessary; return whether there was room."""
    end = _find_path(placed, member, search)
    if end < 0:
        return False
    placed.load[end] += 1
    while True:
        placed.at[search.mover[end]] = end
        if search.before[end] == FIRST:
            return True
        end = search.before[end]


@maker
def place_rest(placed):
    """Place the members that have no target; return how many found no room."""
    search = _new_search(placed.cover.shape[1])
    left = 0
    for member in range(len(placed.at)):
        if placed.at[member] < 0 and not _place(placed, member, search):
            left += 1
    return left


@maker
def drop_box(placed, serves, target):
    """Drop a box of a target if all members it serves find room elsewhere; return whether it was.

    `serves` says which members the box serves. Members without a place before do not count. Writes
    `placed`, which stays as it was if the box is kept.
    """
    cover, at, load = placed.cover, placed.at, placed.load
    n, n_targets = cover.shape
    for j in range(n):
        if serves[j] and cover[j, target] == 1:
            for i in range(n_targets):
                if i != target and cover[j, i] > 0:
                    break
            else:
                return False
    at_before, load_before = at.copy(), load.copy()
    search = _new_search(n_targets)
    for j in range(n):
        if serves[j]:
            cover[j, target] -= 1
            if cover[j, target] == 0 and at[j] == target:
                at[j] = -1
                load[target] -= 1
    for j in range(n):
        if at[j] >= 0 or at_before[j] < 0:
            continue
        if not _place(placed, j, search):
            for other in range(n):
                if serves[other]:
                    cover[other, target] += 1
            at[:] = at_before
            load[:] = load_before
            return False
    return True
