"""How much filters grow when they must hold one more box, from a leaf up to the publisher.

A filter is a union of a few boxes. To hold another box it may stay as it is (one of its boxes holds
the box), take it as a new box, or enlarge one of its boxes. With x the new or enlarged box, the
union grows by the volume of x less that of the union of its overlaps with the filter's boxes: the
volume of the whole filter is not needed.

A box is float64[2, d], its low and high corner; a density is a `DensityTable`.
"""

from typing import NamedTuple

import numpy as np

from meshwright.content.kernels.volume import added_volume, box_volume, copy_box, overlap
from meshwright.model.density import DensityTable
from meshwright.runtime.compile import kernel, maker

INSIDE = -1  # no place of the filter changes: one of its boxes already holds the box


class Scratch(NamedTuple):
    """Working space for filters of at most alpha boxes in d dimensions."""

    carried: np.ndarray  # float64[2, d], the box that the broker at hand must hold
    spare: np.ndarray  # float64[2, d]
    met: np.ndarray  # float64[alpha + 1, 2, d], overlaps of boxes, as `added_volume` needs them
    following: np.ndarray  # int64[alpha + 2], the next box to try at each depth of that walk


class FilterTree(NamedTuple):
    """The filters of all brokers, and the tree that they follow."""

    publisher: int  # has no filter
    parent: np.ndarray  # int32[brokers]
    boxes: np.ndarray  # float64[brokers, alpha, 2, d]
    n_boxes: np.ndarray  # int64[brokers], how many of the alpha places are used
    density: DensityTable
    scratch: Scratch


@maker
def new_scratch(alpha, d):
    """Return working space for filters of at most alpha boxes in d dimensions."""
    met, following = np.empty((alpha + 1, 2, d)), np.empty(alpha + 2, np.int64)
    return Scratch(np.empty((2, d)), np.empty((2, d)), met, following)


@kernel
def growth(box, boxes, n_boxes, scratch, density):
    """Return by how much a union of boxes grows when a box joins it. Writes the scratch."""
    copy_box(box, scratch.met[0])
    return added_volume(n_boxes, boxes, scratch.met, scratch.following, density)


@kernel
def within(box, other):
    """Return whether a box lies inside another."""
    for k in range(box.shape[1]):
        if box[0, k] < other[0, k] or box[1, k] > other[1, k]:
            return False
    return True


@kernel
def hull(box, other, out):
    """Write the smallest box that holds two boxes; `out` may be one of them."""
    for k in range(box.shape[1]):
        out[0, k] = min(box[0, k], other[0, k])
        out[1, k] = max(box[1, k], other[1, k])


@kernel
def holds(box, boxes, n_boxes):
    """Return whether one of a filter's boxes holds a box."""
    for j in range(n_boxes):  # noqa: SIM110  (Numba has no generators here)
        if within(box, boxes[j]):
            return True
    return False


@kernel
def growth_bound(box, volume, boxes, n_boxes, spare, density):
    """Return a lower bound of the growth of a filter that must hold a box of this volume.

    Overlaps between the filter's own boxes are subtracted more than once. Writes `spare`.
    """
    for j in range(n_boxes):
        if overlap(box, boxes[j], spare):
            volume -= box_volume(spare, density)
    return volume


@kernel
def cheapest(box, boxes, n_boxes, scratch, density):
    """Return the least growth that makes a filter hold a box, and the place that changes.

    The place is `INSIDE`, a box to enlarge, or `n_boxes` for a new one (if the filter has a free
    place). Ties go to the first box to enlarge, and to a new box last, as it uses up a place.
    Writes the scratch, except `carried`.
    """
    if holds(box, boxes, n_boxes):
        return 0.0, INSIDE
    least, place = np.inf, n_boxes
    for j in range(n_boxes):
        hull(box, boxes[j], scratch.spare)
        grown = growth(scratch.spare, boxes, n_boxes, scratch, density)
        if grown < least:
            least, place = grown, j
    if n_boxes < boxes.shape[0]:
        grown = growth(box, boxes, n_boxes, scratch, density)
        if grown < least:
            least, place = grown, n_boxes
    return least, place


@kernel
def grow_path(filters, box, broker, limit, take):
    """Return the growth of all filters from a broker up if they must hold a box.

    Each filter, from the leaf up, takes its own cheapest way, and its parent has to hold the box
    that changed: so every filter stays within its parent's. Stops early above `limit`. Writes the
    scratch, and if `take` is set, the filters.
    """
    total = 0.0
    at = broker
    carried = filters.scratch.carried
    copy_box(box, carried)
    while at != filters.publisher:
        boxes, n_boxes = filters.boxes[at], filters.n_boxes[at]
        grown, place = cheapest(carried, boxes, n_boxes, filters.scratch, filters.density)
        if place == INSIDE:
            break
        total += grown
        if total > limit:
            break
        if place < n_boxes:
            hull(carried, boxes[place], carried)
        if take:
            filters.n_boxes[at] = set_box(boxes, n_boxes, place, carried)
        at = filters.parent[at]
    return total


@kernel
def set_box(boxes, n_boxes, place, box):
    """Write a box of a filter and drop those that lie inside it; return how many there are then."""
    copy_box(box, boxes[place])
    kept = 0
    for j in range(max(n_boxes, place + 1)):
        if j == place or not within(boxes[j], box):
            copy_box(boxes[j], boxes[kept])
            kept += 1
    return kept
