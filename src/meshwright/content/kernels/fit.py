"""Few boxes that hold many: three ways to cluster boxes, and moves at the faces of clusters.

Boxes are float64[n, 2, d], a low and a high corner each; an empty box has low above high. Clusters
are labels, int64[n]; each is represented by the smallest box that holds its members, its hull. The
cost of a clustering is the volume of the union of the hulls. A density is a `DensityTable`.
"""

import numpy as np

from meshwright.content.kernels.growth import cheapest, hull, new_scratch, within
from meshwright.content.kernels.volume import box_volume, copy_box, overlap, union_volume
from meshwright.runtime.compile import kernel, maker

RUNS = 128  # clusters that merging starts from
ROUNDS = 50  # over all faces, at most; it ends by itself when no face can be improved
LARGEST = 2_000  # boxes that others are compared with: enough to find most that lie in others
WORTH = 1e-9  # relative: a smaller gain is regarded as rounding


@maker
def outermost(boxes, order):
    """Return the boxes that lie in none before them, in an order by falling width.

    They are compared only with the first `LARGEST` of those kept and with the last one: some boxes
    that lie in others may stay, but none twice.
    """
    kept = np.empty(len(order), np.int64)
    count = 0
    for j in order:
        lies_in = count > 0 and within(boxes[j], boxes[kept[count - 1]])
        for k in range(min(count, LARGEST)):
            if within(boxes[j], boxes[kept[k]]):
                lies_in = True
                break
        if not lies_in:
            kept[count] = j
            count += 1
    return kept[:count]


@kernel
def clear_box(box):
    """Make a box empty."""
    for k in range(box.shape[1]):
        box[0, k] = np.inf
        box[1, k] = -np.inf


@maker
def by_extent(boxes, members, side, axis, sign):
    """Return members in the order of one of their coordinates, rising or (sign -1) falling."""
    return members[np.argsort(sign * boxes[members, side, axis], kind="mergesort")]


@maker
def hulls(boxes, labels, n_clusters):
    """Return the hull of each cluster, float64[n_clusters, 2, d]."""
    found = np.empty((n_clusters, 2, boxes.shape[2]))
    for c in range(n_clusters):
        clear_box(found[c])
    for j in range(len(labels)):
        hull(boxes[j], found[labels[j]], found[labels[j]])
    return found


@maker
def best_split(boxes, members, density):
    """Return the most volume that splitting a cluster saves, and the members of the second part."""
    n, d = len(members), boxes.shape[2]
    behind = np.empty(n)
    box = np.empty((2, d))
    best, best_order, best_at = 0.0, members, n
    for axis in range(d):
        for side in range(2):
            order = by_extent(boxes, members, side, axis, 1.0)
            clear_box(box)
            for i in range(n - 1, -1, -1):
                hull(boxes[order[i]], box, box)
                behind[i] = box_volume(box, density)
            whole = behind[0]
            clear_box(box)
            for i in range(n - 1):
                hull(boxes[order[i]], box, box)
                saved = whole - box_volume(box, density) - behind[i + 1]
                if saved > best:
                    best, best_order, best_at = saved, order, i + 1
    return best, best_order[best_at:]


@maker
def split_down(boxes, alpha, density):
    """Return labels: clusters are split, starting from one, where that saves most."""
    n = len(boxes)
    labels = np.zeros(n, np.int64)
    saved = np.zeros(alpha)
    second = np.zeros(n, np.bool_)  # whether a member is in the second part of its cluster
    new_a, new_b = 0, -1  # clusters whose best split is not known yet
    for n_clusters in range(1, alpha):
        for c in (new_a, new_b):
            if c >= 0:
                members = np.flatnonzero(labels == c)
                saved[c], part = best_split(boxes, members, density)
                second[members] = False
                second[part] = True
        c = np.argmax(saved[:n_clusters])
        if saved[c] <= 0.0:
            break
        labels[second & (labels == c)] = n_clusters
        new_a, new_b = c, n_clusters
    return labels


@kernel
def _merge_cost(a, b, volume_a, volume_b, spare, density):
    """Return the volume of the hull of two boxes outside their union. Writes `spare`."""
    hull(a, b, spare)
    cost = box_volume(spare, density) - volume_a - volume_b
    return cost + box_volume(spare, density) if overlap(a, b, spare) else cost


@maker
def merge_up(boxes, along, alpha, density):
    """Return labels: runs along a curve are merged, the pair that wastes least first.

    `along` is the order of the boxes on the curve.
    """
    n = len(boxes)
    n_start = min(n, RUNS)
    labels = np.empty(n, np.int64)
    labels[along] = np.arange(n) * n_start // n
    found = hulls(boxes, labels, n_start)
    volume = np.empty(n_start)
    for c in range(n_start):
        volume[c] = box_volume(found[c], density)
    alive = np.ones(n_start, np.bool_)
    into = np.arange(n_start)
    nearest, nearest_cost = np.zeros(n_start, np.int64), np.full(n_start, np.inf)
    spare = np.empty((2, boxes.shape[2]))
    stale = np.ones(n_start, np.bool_)
    n_alive = n_start
    while n_alive > alpha:
        for a in range(n_start):
            if not alive[a] or not stale[a]:
                continue
            nearest_cost[a] = np.inf
            stale[a] = False
            for b in range(n_start):
                if b != a and alive[b]:
                    cost = _merge_cost(found[a], found[b], volume[a], volume[b], spare, density)
                    if cost < nearest_cost[a]:
                        nearest[a], nearest_cost[a] = b, cost
        a, least = -1, np.inf
        for c in range(n_start):
            if alive[c] and (a < 0 or nearest_cost[c] < least):
                a, least = c, nearest_cost[c]
        b = nearest[a]
        hull(found[a], found[b], found[a])
        volume[a] = box_volume(found[a], density)
        alive[b] = False
        n_alive -= 1
        for c in range(n_start):
            if into[c] == b:
                into[c] = a
            if not alive[c]:
                continue
            if c == a or nearest[c] == a or nearest[c] == b:
                stale[c] = True
            else:  # the merged box may have come nearer
                cost = _merge_cost(found[c], found[a], volume[c], volume[a], spare, density)
                if cost < nearest_cost[c]:
                    nearest[c], nearest_cost[c] = a, cost
    number = np.cumsum(alive) - 1
    return number[into[labels]]


@maker
def insert_each(boxes, alpha, density):
    """Return labels: each box in turn joins the cluster that makes the union grow least."""
    n, d = len(boxes), boxes.shape[2]
    labels = np.empty(n, np.int64)
    found = np.empty((alpha, 2, d))
    scratch = new_scratch(alpha, d)
    count = 0
    for j in range(n):
        _, place = cheapest(boxes[j], found, count, scratch, density)
        if place < 0:
            place = 0
            while not within(boxes[j], found[place]):
                place += 1
        elif place == count:
            copy_box(boxes[j], found[place])
            count += 1
        else:
            hull(boxes[j], found[place], found[place])
        labels[j] = place
    return labels


@kernel
def _join(box, found, left_out, spare, density):
    """Add a box to the hull that grows least, except one left out; return which."""
    best, least = -1, np.inf
    for c in range(len(found)):
        if c == left_out or found[c, 0, 0] > found[c, 1, 0]:  # empty
            continue
        if within(box, found[c]):
            return c
        hull(box, found[c], spare)
        cost = box_volume(spare, density) - box_volume(found[c], density)
        if cost < least:
            best, least = c, cost
    hull(box, found[best], found[best])
    return best


@maker
def _peel(boxes, order, found, c, volume, density):
    """Return how many members of a cluster, in order, should move to others to shrink the union.

    Also returns the new volume (the old one if none should move) and the cluster each goes to.
    """
    n, d = len(order), boxes.shape[2]
    rest = np.empty((n + 1, 2, d))  # the hull of the members from each one on
    clear_box(rest[n])
    for i in range(n - 1, -1, -1):
        hull(boxes[order[i]], rest[i + 1], rest[i])
    moved = found.copy()
    clear_box(moved[c])
    spare = np.empty((2, d))
    goes = np.empty(n, np.int64)
    best, least = 0, volume * (1.0 - WORTH)
    for i in range(n - 1):
        goes[i] = _join(boxes[order[i]], moved, c, spare, density)
        if union_volume(moved, density) >= least:  # without c: it only grows from here
            break
        copy_box(rest[i + 1], moved[c])
        grown = union_volume(moved, density)
        clear_box(moved[c])
        if grown < least:
            best, least = i + 1, grown
    return best, least if best else volume, goes


@maker
def peel_faces(boxes, labels, alpha, density):
    """Move members at the faces of clusters to others while that shrinks the union.

    Writes the labels; returns the volume of the union.
    """
    found = hulls(boxes, labels, alpha)
    volume = union_volume(found, density)
    for _ in range(ROUNDS):
        better = False
        for c in range(alpha):
            for axis in range(boxes.shape[2]):
                for side in range(2):
                    members = np.flatnonzero(labels == c)
                    if len(members) < 2 or len(members) == len(labels):
                        continue
                    # From the face inwards.
                    order = by_extent(boxes, members, side, axis, 1.0 if side == 0 else -1.0)
                    count, volume, goes = _peel(boxes, order, found, c, volume, density)
                    labels[order[:count]] = goes[:count]
                    if count:
                        found = hulls(boxes, labels, alpha)
                        better = True
        if not better:
            break
    return volume
