"""What a filter grows by when it must hold one box more, and the filters along a path.

A filter is a union of a few boxes. To hold a box it may do nothing (one of its boxes holds it), add
it as a box, or enlarge one of its boxes. With x the new or enlarged box, the union grows by the
volume of x less that of the union of its overlaps with the filter's boxes: no volume of the whole
filter is needed. Working space is handed in, so nothing is allocated.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from meshwright.assignment.volume_kernel import added_volume, box_volume

INSIDE = -1  # nothing changes: a box of the filter holds the box already


@njit(cache=True, nogil=True)
def copy_box(box, out):
    """Write a box."""  # by hand: an assignment of arrays is slow to compile
    for k in range(box.shape[1]):
        out[0, k] = box[0, k]
        out[1, k] = box[1, k]


@njit(cache=True, nogil=True)
def growth(box, boxes, n_boxes, scratch, density):
    """Return by how much a union of boxes grows when a box (low and high corner) joins it."""
    edges, first, below = density
    met, following = scratch
    copy_box(box, met[0])
    return added_volume(
        n_boxes, boxes[:, 0], boxes[:, 1], met[:, 0], met[:, 1], following, edges, first, below
    )


@njit(cache=True, nogil=True)
def within(box, other):
    """Tell whether a box lies inside another."""
    for k in range(box.shape[1]):
        if box[0, k] < other[0, k] or box[1, k] > other[1, k]:
            return False
    return True


@njit(cache=True, nogil=True)
def hull(box, other, out):
    """Write the smallest box that holds two."""
    for k in range(box.shape[1]):
        out[0, k] = min(box[0, k], other[0, k])
        out[1, k] = max(box[1, k], other[1, k])


@njit(cache=True, nogil=True)
def holds(box, boxes, n_boxes):
    """Tell whether one of a filter's boxes holds a box."""
    for j in range(n_boxes):  # noqa: SIM110  (Numba has no generators here)
        if within(box, boxes[j]):
            return True
    return False


@njit(cache=True, nogil=True)
def growth_bound(box, volume, boxes, n_boxes, spare, density):
    """Return less than a filter must grow by to hold a box: overlaps of overlaps are forgotten."""
    edges, first, below = density
    for j in range(n_boxes):
        meets = True
        for k in range(box.shape[1]):
            spare[0, k] = max(box[0, k], boxes[j, 0, k])
            spare[1, k] = min(box[1, k], boxes[j, 1, k])
            if spare[0, k] >= spare[1, k]:
                meets = False
                break
        if meets:
            volume -= box_volume(spare[0], spare[1], edges, first, below)
    return volume


@njit(cache=True, nogil=True)
def cheapest(box, boxes, n_boxes, spare, scratch, density):
    """Return the least growth that makes a filter hold a box, and the place that changes.

    The place is `INSIDE`, a box to enlarge, or `n_boxes` for a new one (if the filter has room).
    Ties go to the first box to enlarge, and to a new box last: it takes room. Writes `spare`.
    """
    if holds(box, boxes, n_boxes):
        return 0.0, INSIDE
    least, place = np.inf, n_boxes
    for j in range(n_boxes):
        hull(box, boxes[j], spare)
        grown = growth(spare, boxes, n_boxes, scratch, density)
        if grown < least:
            least, place = grown, j
    if n_boxes < boxes.shape[0]:
        grown = growth(box, boxes, n_boxes, scratch, density)
        if grown < least:
            least, place = grown, n_boxes
    return least, place


@njit(cache=True, nogil=True)
def path_cost(box, broker, publisher, parent, filters, n_boxes, limit, work, scratch, density):
    """Return what the filters from a broker up would grow by to hold a box.

    Each filter takes its own cheapest way, from the leaf up, and its parent has to hold the box
    that changed: so every filter stays within its parent's. Stops early above `limit`.
    """
    total = 0.0
    at = broker
    copy_box(box, work[0])
    while at != publisher:
        grown, place = cheapest(work[0], filters[at], n_boxes[at], work[1], scratch, density)
        if place == INSIDE:
            return total
        total += grown
        if total > limit:
            return total
        if place < n_boxes[at]:
            hull(work[0], filters[at, place], work[1])
            copy_box(work[1], work[0])
        at = parent[at]
    return total


@njit(cache=True, nogil=True)
def take_box(box, broker, publisher, parent, filters, n_boxes, work, scratch, density):
    """Make the filters from a broker up hold a box, as `path_cost` counts. Writes the filters."""
    at = broker
    copy_box(box, work[0])
    while at != publisher:
        _, place = cheapest(work[0], filters[at], n_boxes[at], work[1], scratch, density)
        if place == INSIDE:
            return
        if place < n_boxes[at]:
            hull(work[0], filters[at, place], work[1])
            copy_box(work[1], work[0])
        copy_box(work[0], filters[at, place])
        n_boxes[at] = max(n_boxes[at], place + 1)
        # What the changed box holds is not needed any more: its place is free again.
        kept = 0
        for j in range(n_boxes[at]):
            if j == place or not within(filters[at, j], work[0]):
                copy_box(filters[at, j], filters[at, kept])
                kept += 1
        n_boxes[at] = kept
        at = parent[at]
