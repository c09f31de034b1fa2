"""Loops over groups and their leaves: lists from bits, a greedy flow, bottlenecks, members."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def list_leaves(masks, n_leaves):
    """Return the leaves of each row of bits, rising, one row after the other, and the starts."""
    n = masks.shape[0]
    starts = np.zeros(n + 1, np.int64)
    for g in range(n):
        starts[g + 1] = starts[g]
        for i in range(n_leaves):
            if (masks[g, i >> 6] >> np.uint64(i & 63)) & np.uint64(1):
                starts[g + 1] += 1
    leaves = np.empty(starts[n], np.int32)
    for g in range(n):
        at = starts[g]
        for i in range(n_leaves):
            if (masks[g, i >> 6] >> np.uint64(i & 63)) & np.uint64(1):
                leaves[at] = i
                at += 1
    return starts, leaves


@njit(cache=True, nogil=True)
def greedy_start(order, starts, leaves, flow, left, spare):
    """Let each group in turn fill the emptiest of its leaves. Writes flow, left and spare."""
    for g in order:
        while left[g] > 0:
            best, most, next_most = -1, 0, 0
            for e in range(starts[g], starts[g + 1]):
                room = spare[leaves[e]]
                if room > most:
                    best, most, next_most = e, room, most
                elif room > next_most:
                    next_most = room
            if best < 0:
                break
            # Down to the next emptiest, so that big groups take few rounds.
            amount = min(left[g], max(most - next_most, 1))
            flow[best] += amount
            left[g] -= amount
            spare[leaves[best]] -= amount


@njit(cache=True, nogil=True)
def reach(starts, leaves, flow, left, n_leaves):
    """Mark the leaves and groups that can be reached from groups with members left over."""
    n = len(left)
    at_leaf = np.zeros(n_leaves + 1, np.int64)
    for e in range(len(leaves)):
        if flow[e] > 0:
            at_leaf[leaves[e] + 1] += 1
    at_leaf = np.cumsum(at_leaf)
    fill = at_leaf.copy()
    groups = np.empty(at_leaf[n_leaves], np.int32)
    for g in range(n):
        for e in range(starts[g], starts[g + 1]):
            if flow[e] > 0:
                groups[fill[leaves[e]]] = g
                fill[leaves[e]] += 1
    leaf_reached = np.zeros(n_leaves, np.bool_)
    group_reached = np.zeros(n, np.bool_)
    todo = np.empty(n, np.int32)
    n_todo = 0
    for g in range(n):
        if left[g] > 0:
            group_reached[g] = True
            todo[n_todo] = g
            n_todo += 1
    done = 0
    while done < n_todo:
        g = todo[done]
        done += 1
        for e in range(starts[g], starts[g + 1]):
            i = leaves[e]
            if leaf_reached[i]:
                continue
            leaf_reached[i] = True
            for k in range(at_leaf[i], at_leaf[i + 1]):
                if not group_reached[groups[k]]:
                    group_reached[groups[k]] = True
                    todo[n_todo] = groups[k]
                    n_todo += 1
    return leaf_reached, group_reached


@njit(cache=True, nogil=True)
def spread_members(order, group_of, group, leaf, count, leaf_of):
    """Give the members of each group, standing in order, to its leaves in theirs."""
    row, n_rows = 0, len(group)
    used = 0
    for j in order:
        g = group_of[j]
        while row < n_rows and (group[row] < g or (group[row] == g and used == count[row])):
            row += 1
            used = 0
        if row < n_rows and group[row] == g:
            leaf_of[j] = leaf[row]
            used += 1
        else:
            leaf_of[j] = -1


@njit(cache=True, nogil=True)
def add_places(row_group, row_count, row_place, group, leaf, count, total, got):
    """Add up the places and the number of what each leaf gets. Writes total and got.

    Rows are members that are alike: so many of a group at a place, sorted by group, then place;
    those of a group go to its leaves in the order of these.
    """
    at, n_shares = 0, len(group)
    used = 0
    for row in range(len(row_group)):
        g, left = row_group[row], row_count[row]
        while left > 0:
            while at < n_shares and (group[at] < g or (group[at] == g and used == count[at])):
                at += 1
                used = 0
            if at == n_shares or group[at] != g:
                break
            some = min(left, count[at] - used)
            total[leaf[at]] += some * row_place[row]
            got[leaf[at]] += some
            used += some
            left -= some
