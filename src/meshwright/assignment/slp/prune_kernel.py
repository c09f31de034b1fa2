"""Place a sample of subscribers on targets, and keep it placed while boxes are given up.

`cover[j, i]` counts the boxes of target i that hold subscription j, where i is in time for j. A
subscriber that loses its target moves to another with room, or has someone there move on: a path
over targets, found breadth first, as augmenting paths of a flow are.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def _find_path(cover, at, load, room, who, dead, before, mover):
    """Search targets from those that cover `who`; return one with room, or -1.

    `before[i]` is the target that sends someone to i (-2 for `who` itself), `mover[i]` whom. From
    dead targets no one gets anywhere; when there is no room, those that were searched are dead.
    """
    n_who, n_targets = cover.shape
    queue = np.empty(n_targets, np.int32)
    n_queue = 0
    for i in range(n_targets):
        before[i] = -3 if dead[i] else -1
        if cover[who, i] > 0 and not dead[i]:
            before[i] = -2
            mover[i] = who
            if load[i] < room[i]:
                return i
            queue[n_queue] = i
            n_queue += 1
    head = 0
    while head < n_queue:
        i = queue[head]
        head += 1
        for j in range(n_who):
            if at[j] != i:
                continue
            for other in range(n_targets):
                if before[other] == -1 and cover[j, other] > 0:
                    before[other] = i
                    mover[other] = j
                    if load[other] < room[other]:
                        return other
                    queue[n_queue] = other
                    n_queue += 1
    for position in range(n_queue):
        dead[queue[position]] = True
    return -1


@njit(cache=True)
def _place(cover, at, load, room, who, dead, before, mover):
    """Place a subscriber, others moving on if need be; return whether there was room."""
    end = _find_path(cover, at, load, room, who, dead, before, mover)
    if end < 0:
        return False
    load[end] += 1
    while True:
        at[mover[end]] = end
        if before[end] == -2:
            return True
        end = before[end]


@njit(cache=True)
def settle(cover, at, load, room):
    """Place whoever is nowhere yet (at -1); return how many found no room."""
    n_targets = cover.shape[1]
    before = np.empty(n_targets, np.int32)
    mover = np.empty(n_targets, np.int64)
    dead = np.zeros(n_targets, np.bool_)
    left = 0
    for who in range(len(at)):
        if at[who] < 0 and not _place(cover, at, load, room, who, dead, before, mover):
            left += 1
    return left


@njit(cache=True)
def reach(cover, at):
    """Return the targets that those without a place could get at, others moving on."""
    n_who, n_targets = cover.shape
    reached = np.zeros(n_targets, np.bool_)
    queue = np.empty(n_targets, np.int32)
    n_queue = 0
    head = -1
    while head < n_queue:
        here = queue[head] if head >= 0 else -1
        head += 1
        for j in range(n_who):
            if at[j] != here:
                continue
            for i in range(n_targets):
                if not reached[i] and cover[j, i] > 0:
                    reached[i] = True
                    queue[n_queue] = i
                    n_queue += 1
    return reached


@njit(cache=True)
def give_up(cover, serves, target, at, load, room):
    """Give up a box of a target if all it serves find room elsewhere; else leave all as it was.

    Those without a place before stay so: they have no say.
    """
    n_who, n_targets = cover.shape
    for j in range(n_who):
        if serves[j] and cover[j, target] == 1:
            alone = True
            for i in range(n_targets):
                if i != target and cover[j, i] > 0:
                    alone = False
                    break
            if alone:
                return False
    at_before, load_before = at.copy(), load.copy()
    before = np.empty(n_targets, np.int32)
    mover = np.empty(n_targets, np.int64)
    dead = np.zeros(n_targets, np.bool_)
    for j in range(n_who):
        if serves[j]:
            cover[j, target] -= 1
            if cover[j, target] == 0 and at[j] == target:
                at[j] = -1
                load[target] -= 1
    for j in range(n_who):
        if at[j] >= 0 or at_before[j] < 0:
            continue
        if not _place(cover, at, load, room, j, dead, before, mover):
            for back in range(n_who):
                if serves[back]:
                    cover[back, target] += 1
            at[:] = at_before
            load[:] = load_before
            return False
    return True
