"""Loops over groups of subscribers and the leaves that may serve them."""

from typing import NamedTuple

import numpy as np

from meshwright.runtime.compile import kernel


class LeafLists(NamedTuple):
    """The leaves that may serve each group, as entries (group, leaf) sorted by both."""

    starts: np.ndarray  # int64[groups + 1], the entries of group g are starts[g]:starts[g + 1]
    group: np.ndarray  # int32[entries]
    leaves: np.ndarray  # int32[entries]


class Shares(NamedTuple):
    """Numbers of members of a group that go to a leaf: rows sorted by group."""

    group: np.ndarray  # int32[rows]
    leaf: np.ndarray  # int32[rows]
    members: np.ndarray  # int64[rows]


class Cells(NamedTuple):
    """Numbers of members of a group in a cell of the Hilbert curve: rows by group, then cell."""

    group: np.ndarray  # int32[rows]
    members: np.ndarray  # int64[rows]
    place: np.ndarray  # float64[rows], the cell's place along the curve


@kernel
def greedy_start(order, lists, flow, left, spare):
    """Let each group in turn fill the emptiest of its leaves.

    Writes flow, parallel to `lists.leaves`; left[groups], members not placed; and spare[leaves].
    """
    for g in order:
        while left[g] > 0:
            best, most, next_most = -1, 0, 0
            for e in range(lists.starts[g], lists.starts[g + 1]):
                room = spare[lists.leaves[e]]
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
            spare[lists.leaves[best]] -= amount


@kernel
def add_places(cells, shares, total, got):
    """Add up the places and the number of the members that each leaf gets.

    The members of a group, cell by cell, go to its leaves in the order of the shares. Writes
    total (float64[leaves]) and got (int64[leaves]).
    """
    group, leaf, count = shares
    at, n_shares = 0, len(group)
    used = 0  # of the members of the share at hand
    for row in range(len(cells.group)):
        g, left = cells.group[row], cells.members[row]
        while left > 0:
            while at < n_shares and (group[at] < g or (group[at] == g and used == count[at])):
                at += 1
                used = 0
            if at == n_shares or group[at] != g:
                break
            some = min(left, count[at] - used)
            total[leaf[at]] += some * cells.place[row]
            got[leaf[at]] += some
            used += some
            left -= some
