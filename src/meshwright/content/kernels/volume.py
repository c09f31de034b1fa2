"""Exact volumes of boxes and of unions of a few boxes, by volume or by a density of events.

A union is summed box by box: a box adds its volume, less its overlaps with the boxes before it,
plus its overlaps with two of them, and so on. That is exact, and quick for the few boxes of a
filter. A box is float64[2, d], its low and high corner; boxes are float64[n, 2, d].
"""

import numpy as np

from meshwright.runtime.compile import kernel, maker


@kernel
def _share(edges, value):
    """Return the cell of a coordinate and how far into the cell it is, both within the grid."""
    n = len(edges)
    if value <= edges[0]:
        return 0, 0.0
    if value >= edges[n - 1]:
        return n - 2, 1.0
    cell, beyond = 0, n - 1
    while beyond - cell > 1:  # by hand: NumPy's search takes seconds to compile for each caller
        middle = (cell + beyond) // 2
        if edges[middle] <= value:
            cell = middle
        else:
            beyond = middle
    return cell, (value - edges[cell]) / (edges[cell + 1] - edges[cell])


@maker
def _below(point, density):
    """Return the measure of everything below a point: linear within each cell, per dimension."""
    first = density.first
    d = len(point)
    cells = np.empty(d, np.int64)
    shares = np.empty(d)
    for k in range(d):
        cells[k], shares[k] = _share(density.edges[first[k] : first[k + 1]], point[k])
    total = 0.0
    for corner in range(1 << d):
        weight, at = 1.0, 0
        for k in range(d):
            up = (corner >> k) & 1
            weight *= shares[k] if up else 1.0 - shares[k]
            at = at * (first[k + 1] - first[k]) + cells[k] + up
        if weight > 0.0:
            total += weight * density.below[at]
    return total


@maker
def box_volume(box, density):
    """Return the volume of a box, or the share of events in it if there is a density."""
    d = box.shape[1]
    if density.is_uniform:
        volume = 1.0
        for k in range(d):
            volume *= box[1, k] - box[0, k]
        return volume
    total = 0.0
    point = np.empty(d)
    for corner in range(1 << d):
        sign = 1.0
        for k in range(d):
            upper = (corner >> k) & 1
            point[k] = box[upper, k]
            if not upper:
                sign = -sign
        total += sign * _below(point, density)
    return max(total, 0.0)


@maker
def union_volume(boxes, density):
    """Return the exact volume of the union of boxes; an empty one has low above high."""
    n, d = len(boxes), boxes.shape[2]
    met, following = np.empty((n + 1, 2, d)), np.empty(n + 2, np.int64)
    total = 0.0
    for i in range(n):
        if d and boxes[i, 0, 0] > boxes[i, 1, 0]:
            continue
        copy_box(boxes[i], met[0])
        total += added_volume(i, boxes, met, following, density)
    return total


@kernel
def copy_box(box, out):
    """Write a box."""  # element by element: an assignment of arrays is slow to compile
    for k in range(box.shape[1]):
        out[0, k] = box[0, k]
        out[1, k] = box[1, k]


@kernel
def overlap(one, other, out):
    """Write the box that two boxes have in common; return whether it has a volume."""
    for k in range(one.shape[1]):
        out[0, k] = max(one[0, k], other[0, k])
        out[1, k] = min(one[1, k], other[1, k])
        if out[0, k] >= out[1, k]:
            return False
    return True


@kernel
def added_volume(n, boxes, met, following, density):
    """Return the volume that the box `met[0]` adds to the union of the first n boxes.

    Sets of boxes that overlap are visited depth first. `met`, float64[n + 1, 2, d], holds their
    overlap at each depth, and `following`, int64[n + 2], the next box to try. (There is no
    recursion because Numba cannot cache recursive functions that others call.) Writes both.
    """
    total = box_volume(met[0], density)
    depth = 1
    following[1] = 0
    while depth > 0:
        j = following[depth]
        if j >= n:
            depth -= 1
            continue
        following[depth] = j + 1
        if overlap(met[depth - 1], boxes[j], met[depth]):
            volume = box_volume(met[depth], density)
            total += -volume if depth & 1 else volume
            depth += 1
            following[depth] = j + 1
    return total
