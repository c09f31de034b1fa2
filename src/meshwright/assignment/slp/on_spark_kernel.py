"""What tasks look up for every subscriber: its group, and the target for its place in the group."""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def _find_row(masks, marks):
    """Return where a row of bits is among rows sorted word by word, or -1."""
    first, last = 0, len(masks)
    while first < last:
        middle = (first + last) // 2
        order = 0
        for word in range(len(marks)):
            if masks[middle, word] != marks[word]:
                order = -1 if masks[middle, word] < marks[word] else 1
                break
        if order == 0:
            return middle
        if order < 0:
            first = middle + 1
        else:
            last = middle
    return -1


@njit(cache=True, nogil=True)
def find_groups(masks, marks, out):
    """Write the group of each subscriber: the row of its bits among those of all groups."""
    for j in range(len(marks)):
        out[j] = _find_row(masks, marks[j])


@njit(cache=True, nogil=True)
def find_spots(group, cell, spot_group, spot_cell, out):
    """Write where each pair of group and cell is among sorted ones, or -1."""
    for j in range(len(group)):
        first, last = 0, len(spot_group)
        while first < last:
            middle = (first + last) // 2
            g, c = spot_group[middle], spot_cell[middle]
            if g < group[j] or (g == group[j] and c < cell[j]):
                first = middle + 1
            else:
                last = middle
        found = first < len(spot_group) and spot_group[first] == group[j]
        out[j] = first if found and spot_cell[first] == cell[j] else -1


@njit(cache=True, nogil=True)
def find_targets(group, cell, ids, starts, share_cell, share_id, share_target, out):
    """Write the target of each subscriber: that of the last share of its group not after it.

    The shares of group g are rows starts[g] to starts[g + 1]; each begins at a cell and an id.
    """
    for j in range(len(group)):
        first, last = starts[group[j]], starts[group[j] + 1]
        while last - first > 1:
            middle = (first + last) // 2
            c = share_cell[middle]
            if c < cell[j] or (c == cell[j] and share_id[middle] <= ids[j]):
                first = middle
            else:
                last = middle
        out[j] = share_target[first]
