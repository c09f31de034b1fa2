"""The loops of the greedy methods: one subscriber after the other to the leaf it costs least.

`tree` is (publisher, parent, leaves, capacity of each leaf), `filters` the boxes of every broker
and `n_boxes` how many it has. Limits have a row per load balance factor; `state` says which one
holds, and counts what happens.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from meshwright.assignment.growth_kernel import growth_bound, holds, path_cost, take_box
from meshwright.assignment.volume_kernel import box_volume
from meshwright.kernels.random import uniform

LEVEL, DONE, OVERLOADED, EVICTED, DRAWN, HEAD, TAIL = range(7)  # of `state`
N_STATE = 7


@njit(cache=True, nogil=True)
def has_bit(words, i):
    """Tell whether leaf i is in a row of bits."""
    return (words[i >> 6] >> np.uint64(i & 63)) & np.uint64(1) != np.uint64(0)


@njit(cache=True, nogil=True)
def _relative(load, capacity):
    """Return a load relative to the capacity; a leaf without any is the most loaded of all."""
    return load / capacity if capacity > 0.0 else np.inf


@njit(cache=True, nogil=True)
def least_cost(box, row, loads, limits, respect, tree, filters, n_boxes, work, scratch, density):
    """Return the leaf, of those in the row of bits, that grows the filters least, or -1.

    With `respect`, leaves at their limit do not count. Ties go to the least loaded for its
    capacity, then to the smaller id.
    """
    publisher, parent, leaves, capacity = tree
    best, least, least_load = -1, np.inf, np.inf
    for i in range(len(leaves)):  # whoever holds the box already costs nothing
        if not has_bit(row, i) or (respect and loads[i] >= limits[i]):
            continue
        if holds(box, filters[leaves[i]], n_boxes[leaves[i]]):
            load = _relative(loads[i], capacity[i])
            if best < 0 or load < least_load:
                best, least, least_load = i, 0.0, load
    edges, first, below = density
    volume = box_volume(box[0], box[1], edges, first, below)
    for i in range(len(leaves)):
        if not has_bit(row, i) or (respect and loads[i] >= limits[i]):
            continue
        leaf = leaves[i]
        if growth_bound(box, volume, filters[leaf], n_boxes[leaf], work[1], density) > least:
            continue
        cost = path_cost(
            box, leaf, publisher, parent, filters, n_boxes, least, work, scratch, density
        )
        if cost > least:
            continue
        load = _relative(loads[i], capacity[i])
        if best < 0 or cost < least or load < least_load or (load == least_load and i < best):
            best, least, least_load = i, cost, load
    return best


@njit(cache=True, nogil=True)
def serve(box, row, loads, limits, state, tree, filters, n_boxes, work, scratch, density):
    """Return the leaf for a subscriber, raising the load balance factor if it must; -1 for none."""
    while True:
        leaf = least_cost(
            box, row, loads, limits[state[LEVEL]], True, tree, filters, n_boxes, work, scratch,
            density,
        )  # fmt: skip
        if leaf >= 0 or state[LEVEL] == limits.shape[0] - 1:
            return leaf
        state[LEVEL] += 1


@njit(cache=True, nogil=True)
def seat(
    j, boxes, marks, loads, limits, state, leaf_of, tree, filters, n_boxes, work, scratch, density
):
    """Give a subscriber a leaf, an overloaded one if there is no other; return it."""
    publisher, parent, leaves, _ = tree
    leaf = serve(
        boxes[j], marks[j], loads, limits, state, tree, filters, n_boxes, work, scratch, density
    )
    if leaf < 0:
        leaf = least_cost(
            boxes[j], marks[j], loads, limits[0], False, tree, filters, n_boxes, work, scratch,
            density,
        )  # fmt: skip
        state[OVERLOADED] += 1
    take_box(boxes[j], leaves[leaf], publisher, parent, filters, n_boxes, work, scratch, density)
    leaf_of[j] = leaf
    loads[leaf] += 1
    state[DONE] += 1
    return leaf


@njit(cache=True, nogil=True)
def assign_in_order(
    boxes, marks, steps, loads, limits, state, leaf_of, tree, filters, n_boxes, density
):
    """Assign so many more subscribers, in the order of their ids."""
    work, scratch = rooms(filters)
    for _ in range(steps):
        seat(
            state[DONE], boxes, marks, loads, limits, state, leaf_of, tree, filters, n_boxes, work,
            scratch, density,
        )  # fmt: skip


@njit(cache=True, nogil=True)
def rooms(filters):
    """Return the working space for growths of filters of this shape."""
    alpha, d = filters.shape[1], filters.shape[3]
    return np.empty((2, 2, d)), (np.empty((alpha + 1, 2, d)), np.empty(alpha + 2, np.int64))


# The queue of gr-star: a set of bits per number of candidates, lowest id first.


@njit(cache=True, nogil=True)
def _enter(queue, cursor, size, count, j):
    queue[count, j >> 6] |= np.uint64(1) << np.uint64(j & 63)
    size[count] += 1
    cursor[count] = min(cursor[count], j >> 6)


@njit(cache=True, nogil=True)
def _leave(queue, size, count, j):
    queue[count, j >> 6] &= ~(np.uint64(1) << np.uint64(j & 63))
    size[count] -= 1


@njit(cache=True, nogil=True)
def _first(queue, cursor, size):
    """Return who has the fewest candidates, the smallest id of them."""
    count = 0
    while size[count] == 0:
        count += 1
    while queue[count, cursor[count]] == np.uint64(0):
        cursor[count] += 1
    word, bit = queue[count, cursor[count]], 0
    while (word >> np.uint64(bit)) & np.uint64(1) == np.uint64(0):
        bit += 1
    return cursor[count] * 64 + bit


@njit(cache=True, nogil=True)
def count_candidates(marks, loads, limits, leaf_of, counts, queue, cursor, size):
    """Count the leaves in time with room of everyone not assigned yet, and queue them anew."""
    queue[:] = np.uint64(0)
    cursor[:] = queue.shape[1]
    size[:] = 0
    for j in range(marks.shape[0]):
        if leaf_of[j] >= 0:
            continue
        count = 0
        for i in range(len(loads)):
            count += has_bit(marks[j], i) and loads[i] < limits[i]
        counts[j] = count
        _enter(queue, cursor, size, count, j)


@njit(cache=True, nogil=True)
def _leaf_filled(marks, leaf, leaf_of, counts, queue, cursor, size):
    """Take a leaf that is full off everyone's candidates."""
    for j in range(marks.shape[0]):
        if leaf_of[j] < 0 and has_bit(marks[j], leaf):
            _leave(queue, size, counts[j], j)
            counts[j] -= 1
            _enter(queue, cursor, size, counts[j], j)


@njit(cache=True, nogil=True)
def assign_fewest_first(
    boxes, marks, steps, loads, limits, state, leaf_of, tree, filters, n_boxes, density,
    counts, queue, cursor, size,
):  # fmt: skip
    """Assign so many more subscribers, those with the fewest candidates first."""
    work, scratch = rooms(filters)
    for _ in range(steps):
        j = _first(queue, cursor, size)
        _leave(queue, size, counts[j], j)
        level = state[LEVEL]
        leaf = seat(
            j, boxes, marks, loads, limits, state, leaf_of, tree, filters, n_boxes, work, scratch,
            density,
        )  # fmt: skip
        if state[LEVEL] != level:
            count_candidates(
                marks, loads, limits[state[LEVEL]], leaf_of, counts, queue, cursor, size
            )
        elif loads[leaf] == limits[level, leaf]:
            _leaf_filled(marks, leaf, leaf_of, counts, queue, cursor, size)


@njit(cache=True, nogil=True)
def assign_evicting(
    boxes, marks, steps, loads, limits, state, leaf_of, tree, filters, n_boxes, density,
    queue, now, most, key, members,
):  # fmt: skip
    """Take so many more from the queue; who finds no leaf takes the place of someone by chance.

    The queue is a ring of ids, one place longer than there are subscribers: who lost his place
    goes to its head (`now`) or its tail. `members` has a row per leaf, as long as evictions can
    make it. After `most` evictions the rest is assigned as `gr` does.
    """
    publisher, parent, leaves, _ = tree
    work, scratch = rooms(filters)
    length = len(queue)
    for _ in range(steps):
        if state[HEAD] == state[TAIL]:
            return
        j = queue[state[HEAD]]
        state[HEAD] = (state[HEAD] + 1) % length
        leaf = serve(
            boxes[j], marks[j], loads, limits, state, tree, filters, n_boxes, work, scratch, density
        )
        if leaf < 0 and state[EVICTED] < most:
            leaf = _evict(marks[j], loads, state, leaf_of, queue, now, key, members)
        if leaf < 0:
            leaf = least_cost(
                boxes[j], marks[j], loads, limits[0], False, tree, filters, n_boxes, work, scratch,
                density,
            )  # fmt: skip
            state[OVERLOADED] += 1
        take_box(
            boxes[j], leaves[leaf], publisher, parent, filters, n_boxes, work, scratch, density
        )
        leaf_of[j] = leaf
        if loads[leaf] < members.shape[1]:
            members[leaf, loads[leaf]] = j
        loads[leaf] += 1
        state[DONE] += 1


@njit(cache=True, nogil=True)
def _evict(row, loads, state, leaf_of, queue, now, key, members):
    """Remove someone by chance from the leaves of a row of bits; return the leaf, -1 for none."""
    total = 0
    for i in range(len(loads)):
        if has_bit(row, i):
            total += loads[i]
    if total == 0:
        return -1
    rest = np.int64(uniform(key, state[DRAWN]) * total)
    state[DRAWN] += 1
    leaf = 0
    while not has_bit(row, leaf) or rest >= loads[leaf]:
        if has_bit(row, leaf):
            rest -= loads[leaf]
        leaf += 1
    out = members[leaf, rest]
    loads[leaf] -= 1
    members[leaf, rest] = members[leaf, loads[leaf]]
    leaf_of[out] = -1
    state[EVICTED] += 1
    if now:
        state[HEAD] = (state[HEAD] - 1) % len(queue)
        queue[state[HEAD]] = out
    else:
        queue[state[TAIL]] = out
        state[TAIL] = (state[TAIL] + 1) % len(queue)
    return leaf
