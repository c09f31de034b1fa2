"""Few boxes that hold many: several ways to cluster boxes, then what is at the faces is moved.

A box has a low and a high corner: `boxes[j, 0]` and `boxes[j, 1]`. Clusters are labels; each stands
for the smallest box that holds its members. What counts is the volume of the union of those.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from meshwright.assignment.growth_kernel import cheapest, copy_box, hull, within
from meshwright.assignment.volume_kernel import box_volume, union_volume

WORTH = 1e-9  # relative: a smaller gain is taken for rounding


@njit(cache=True, nogil=True)
def outermost(boxes, order, most):
    """Return which boxes lie in none before them, in an order by falling width.

    Only the first `most` of those kept and the last one are compared with: some boxes that lie in
    others may stay, but none twice.
    """
    kept = np.empty(len(order), np.int64)
    count = 0
    for j in order:
        lies_in = count > 0 and within(boxes[j], boxes[kept[count - 1]])
        for k in range(min(count, most)):
            if within(boxes[j], boxes[kept[k]]):
                lies_in = True
                break
        if not lies_in:
            kept[count] = j
            count += 1
    return kept[:count]


@njit(cache=True, nogil=True)
def clear_box(box):
    """Write a box that holds nothing: low above high."""
    for k in range(box.shape[1]):
        box[0, k] = np.inf
        box[1, k] = -np.inf


@njit(cache=True, nogil=True)
def members_of(labels, c):
    """Return who is in a cluster."""
    members = np.empty(len(labels), np.int64)
    count = 0
    for j in range(len(labels)):
        if labels[j] == c:
            members[count] = j
            count += 1
    return members[:count]


@njit(cache=True, nogil=True)
def by_extent(boxes, members, side, axis, sign):
    """Return members in the order of one of their coordinates, rising or (sign -1) falling."""
    extent = np.empty(len(members))
    for i in range(len(members)):
        extent[i] = sign * boxes[members[i], side, axis]
    order = np.argsort(extent, kind="mergesort")
    for i in range(len(members)):
        order[i] = members[order[i]]
    return order


@njit(cache=True, nogil=True)
def hulls(boxes, labels, n_clusters):
    """Return the box of each cluster; an empty one has low above high."""
    found = np.empty((n_clusters, 2, boxes.shape[2]))
    for c in range(n_clusters):
        clear_box(found[c])
    for j in range(len(labels)):
        hull(boxes[j], found[labels[j]], found[labels[j]])
    return found


@njit(cache=True, nogil=True)
def filter_volume(found, density):
    """Return the volume of the union of the boxes that are not empty."""
    edges, first, below = density
    used = np.empty(len(found), np.int64)
    count = 0
    for c in range(len(found)):
        if found[c, 0, 0] <= found[c, 1, 0]:
            used[count] = c
            count += 1
    low, high = np.empty((count, found.shape[2])), np.empty((count, found.shape[2]))
    for i in range(count):
        for k in range(found.shape[2]):
            low[i, k], high[i, k] = found[used[i], 0, k], found[used[i], 1, k]
    return union_volume(low, high, edges, first, below)


@njit(cache=True, nogil=True)
def _volume(box, density):
    edges, first, below = density
    return box_volume(box[0], box[1], edges, first, below)


@njit(cache=True, nogil=True)
def best_split(boxes, members, density):
    """Return how much volume a cut of a cluster in two saves, and who is beyond the cut."""
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
                behind[i] = _volume(box, density)
            whole = behind[0]
            clear_box(box)
            for i in range(n - 1):
                hull(boxes[order[i]], box, box)
                saved = whole - _volume(box, density) - behind[i + 1]
                if saved > best:
                    best, best_order, best_at = saved, order, i + 1
    return best, best_order[best_at:]


@njit(cache=True, nogil=True)
def split_down(boxes, alpha, density):
    """Return labels: one cluster is cut again and again, where it saves most."""
    n = len(boxes)
    labels = np.zeros(n, np.int64)
    saved = np.zeros(alpha)
    beyond = np.zeros(n, np.int64)  # for each member: whether it lies beyond its cluster's cut
    todo_a, todo_b = 0, -1
    for n_clusters in range(1, alpha):
        for c in (todo_a, todo_b):
            if c >= 0:
                members = members_of(labels, c)
                saved[c], cut = best_split(boxes, members, density)
                for j in members:
                    beyond[j] = 0
                for j in cut:
                    beyond[j] = 1
        c = np.argmax(saved[:n_clusters])
        if saved[c] <= 0.0:
            break
        for j in range(n):
            if labels[j] == c and beyond[j]:
                labels[j] = n_clusters
        todo_a, todo_b = c, n_clusters
    return labels


@njit(cache=True, nogil=True)
def _merge_cost(a, b, volume_a, volume_b, spare, density):
    """Return what the hull of two boxes holds beyond their union."""
    hull(a, b, spare)
    cost = _volume(spare, density) - volume_a - volume_b
    for k in range(a.shape[1]):
        spare[0, k] = max(a[0, k], b[0, k])
        spare[1, k] = min(a[1, k], b[1, k])
        if spare[0, k] >= spare[1, k]:
            return cost
    return cost + _volume(spare, density)


@njit(cache=True, nogil=True)
def merge_up(boxes, along, n_start, alpha, density):
    """Return labels: runs along a curve are merged, the pair that wastes least first."""
    n = len(boxes)
    n_start = min(n, n_start)
    labels = np.empty(n, np.int64)
    for i in range(n):
        labels[along[i]] = i * n_start // n
    found = hulls(boxes, labels, n_start)
    volume = np.empty(n_start)
    for c in range(n_start):
        volume[c] = _volume(found[c], density)
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
        volume[a] = _volume(found[a], density)
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
    for j in range(n):
        labels[j] = number[into[labels[j]]]
    return labels


@njit(cache=True, nogil=True)
def insert_each(boxes, alpha, density):
    """Return labels: each box in turn joins the cluster that makes the union grow least."""
    n, d = len(boxes), boxes.shape[2]
    labels = np.empty(n, np.int64)
    found = np.empty((alpha, 2, d))
    spare = np.empty((2, d))
    scratch = (np.empty((alpha + 1, 2, d)), np.empty(alpha + 2, np.int64))
    count = 0
    for j in range(n):
        _, place = cheapest(boxes[j], found, count, spare, scratch, density)
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


@njit(cache=True, nogil=True)
def _join(box, found, left_out, spare, density):
    """Put a box into the cluster that grows least, but not the one left out; return which."""
    best, least = -1, np.inf
    for c in range(len(found)):
        if c == left_out or found[c, 0, 0] > found[c, 1, 0]:
            continue
        if within(box, found[c]):
            return c
        hull(box, found[c], spare)
        cost = _volume(spare, density) - _volume(found[c], density)
        if cost < least:
            best, least = c, cost
    hull(box, found[best], found[best])
    return best


@njit(cache=True, nogil=True)
def _peel(boxes, order, found, c, volume, density):
    """Move members of a cluster, in order, to the others: as many as shrink the union most.

    Returns how many, the new volume (0 and the old one if it never shrinks) and where they go.
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
        if filter_volume(moved, density) >= least:  # without c: it only grows from here
            break
        copy_box(rest[i + 1], moved[c])
        grown = filter_volume(moved, density)
        clear_box(moved[c])
        if grown < least:
            best, least = i + 1, grown
    return best, least if best else volume, goes


@njit(cache=True, nogil=True)
def peel_faces(boxes, labels, alpha, rounds, density):
    """Move members at the faces of clusters to others while that shrinks the union.

    Writes the labels; returns the volume of the union.
    """
    found = hulls(boxes, labels, alpha)
    volume = filter_volume(found, density)
    for _ in range(rounds):
        better = False
        for c in range(alpha):
            for axis in range(boxes.shape[2]):
                for side in range(2):
                    members = members_of(labels, c)
                    if len(members) < 2 or len(members) == len(labels):
                        continue
                    # From the face inwards.
                    order = by_extent(boxes, members, side, axis, 1.0 if side == 0 else -1.0)
                    count, volume, goes = _peel(boxes, order, found, c, volume, density)
                    for i in range(count):
                        labels[order[i]] = goes[i]
                    if count:
                        found = hulls(boxes, labels, alpha)
                        better = True
        if not better:
            break
    return volume
