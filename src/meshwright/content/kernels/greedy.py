"""The loops of the greedy methods: one subscriber after another goes to the leaf of least cost."""

from typing import NamedTuple

import numpy as np

from meshwright.content.kernels.growth import FilterTree, grow_path, growth_bound, holds
from meshwright.content.kernels.volume import box_volume
from meshwright.runtime.compile import kernel
from meshwright.runtime.kernels.random import uniform

# Slots of `Run.state`.
FACTOR = 0  # row of `limits` that holds: the current load balance factor
OVERLOADED = 1  # subscribers that went to a full leaf
EVICTED = 2  # evictions made, and random numbers used
HEAD, TAIL = 3, 4  # first and end of the ring of `Queue`
N_STATE = 5


class Run(NamedTuple):
    """The problem as the kernels read it, and what they write: loads, leaf_of, filters, state."""

    boxes: np.ndarray  # float64[subscribers, 2, d], low and high corners
    marks: np.ndarray  # uint64[subscribers, words], bit i is set if leaf i may serve
    leaves: np.ndarray  # int32[leaves], the broker of each leaf
    capacity: np.ndarray  # float64[leaves], fractions
    limits: np.ndarray  # int64[factors, leaves], the largest loads at each load balance factor
    loads: np.ndarray  # int64[leaves], subscribers so far
    leaf_of: np.ndarray  # int32[subscribers], the leaf's index, -1 if not assigned
    filters: FilterTree
    state: np.ndarray  # int64[N_STATE], see the slots above


class Waiting(NamedTuple):
    """Subscribers not yet assigned, by their number of candidates: leaves in time with room."""

    counts: np.ndarray  # int32[subscribers], candidates
    members: np.ndarray  # uint64[leaves + 1, words], bit j of row c: subscriber j has c candidates
    cursor: np.ndarray  # int64[leaves + 1], words of a row before this one are 0
    size: np.ndarray  # int64[leaves + 1], bits set in each row


class Queue(NamedTuple):
    """Subscribers that wait, and the ones of each leaf that may be evicted for them."""

    ring: np.ndarray  # int32[subscribers + 1], those who wait, from state[HEAD] to state[TAIL]
    members: np.ndarray  # int32[leaves, width], a leaf's subscribers in its first places
    evicted_next: bool  # whether an evicted subscriber is served next, or last
    most: int  # evictions allowed; the rest is assigned without
    key: np.uint64  # random stream


@kernel
def has_bit(words, i):
    """Return whether bit i of a row of words is set."""
    return (words[i >> 6] >> np.uint64(i & 63)) & np.uint64(1) != np.uint64(0)


@kernel
def has_room(run, leaf):
    """Return whether a leaf is below its limit at the current load balance factor."""
    return run.loads[leaf] < run.limits[run.state[FACTOR], leaf]


@kernel
def relative_load(run, leaf):
    """Return a leaf's load relative to its capacity, infinite for a leaf without capacity."""
    return run.loads[leaf] / run.capacity[leaf] if run.capacity[leaf] > 0.0 else np.inf


@kernel
def least_cost(run, j, ignore_limits):
    """Return the leaf in time for subscriber j that makes the filters grow least, or -1.

    Full leaves do not count unless `ignore_limits`. Ties go to the leaf with the least relative
    load, then to the smaller id. Writes the scratch only.
    """
    box, filters = run.boxes[j], run.filters
    best, least, least_load = -1, np.inf, np.inf
    for i in range(len(run.leaves)):  # a leaf whose filter holds the box costs nothing
        if not has_bit(run.marks[j], i) or not (ignore_limits or has_room(run, i)):
            continue
        leaf = run.leaves[i]
        if holds(box, filters.boxes[leaf], filters.n_boxes[leaf]):
            load = relative_load(run, i)
            if best < 0 or load < least_load:
                best, least, least_load = i, 0.0, load
    volume = box_volume(box, filters.density)
    spare = filters.scratch.spare
    for i in range(len(run.leaves)):
        if not has_bit(run.marks[j], i) or not (ignore_limits or has_room(run, i)):
            continue
        leaf = run.leaves[i]
        boxes, n_boxes = filters.boxes[leaf], filters.n_boxes[leaf]
        if growth_bound(box, volume, boxes, n_boxes, spare, filters.density) > least:
            continue
        cost = grow_path(filters, box, leaf, least, False)
        if cost > least:
            continue
        load = relative_load(run, i)
        if best < 0 or cost < least or load < least_load or (load == least_load and i < best):
            best, least, least_load = i, cost, load
    return best


@kernel
def find_leaf(run, j):
    """Return a leaf for subscriber j, or -1. Raises the load balance factor of `run` if needed."""
    while True:
        leaf = least_cost(run, j, False)
        if leaf >= 0 or run.state[FACTOR] == run.limits.shape[0] - 1:
            return leaf
        run.state[FACTOR] += 1


@kernel
def attach(run, j, leaf):
    """Assign subscriber j to a leaf, whose filters take its box; return the leaf.

    If it is -1, as no leaf has room, the leaf of least cost is overloaded.
    """
    if leaf < 0:
        run.state[OVERLOADED] += 1
        leaf = least_cost(run, j, True)
    grow_path(run.filters, run.boxes[j], run.leaves[leaf], np.inf, True)
    run.leaf_of[j] = leaf
    run.loads[leaf] += 1
    return leaf


@kernel
def _add(waiting, count, j):
    """Add subscriber j to those with `count` candidates. Writes `waiting`."""
    waiting.members[count, j >> 6] |= np.uint64(1) << np.uint64(j & 63)
    waiting.size[count] += 1
    waiting.cursor[count] = min(waiting.cursor[count], j >> 6)


@kernel
def _remove(waiting, count, j):
    """Remove subscriber j from those with `count` candidates. Writes `waiting`."""
    waiting.members[count, j >> 6] &= ~(np.uint64(1) << np.uint64(j & 63))
    waiting.size[count] -= 1


@kernel
def _fewest_candidates(waiting):
    """Return the subscriber with the fewest candidates, the smallest id among equals.

    Writes `waiting.cursor`: the first word of members that is not empty.
    """
    count = 0
    while waiting.size[count] == 0:
        count += 1
    while waiting.members[count, waiting.cursor[count]] == np.uint64(0):
        waiting.cursor[count] += 1
    j = waiting.cursor[count] * 64
    while not has_bit(waiting.members[count], j):
        j += 1
    return j


@kernel
def count_candidates(run, waiting):
    """Count the candidates of every unassigned subscriber. Writes all of `waiting`."""
    waiting.members[:] = np.uint64(0)
    waiting.cursor[:] = waiting.members.shape[1]
    waiting.size[:] = 0
    for j in range(run.marks.shape[0]):
        if run.leaf_of[j] >= 0:
            continue
        count = 0
        for i in range(len(run.leaves)):
            count += has_bit(run.marks[j], i) and has_room(run, i)
        waiting.counts[j] = count
        _add(waiting, count, j)


@kernel
def _remove_candidate(run, waiting, leaf):
    """Remove a leaf that became full from everyone's candidates."""
    for j in range(run.marks.shape[0]):
        if run.leaf_of[j] < 0 and has_bit(run.marks[j], leaf):
            _remove(waiting, waiting.counts[j], j)
            waiting.counts[j] -= 1
            _add(waiting, waiting.counts[j], j)


@kernel
def assign_fewest_first(run, steps, waiting):
    """Assign the next subscribers, those with the fewest candidates first."""
    for _ in range(steps):
        j = _fewest_candidates(waiting)
        _remove(waiting, waiting.counts[j], j)
        factor = run.state[FACTOR]
        leaf = attach(run, j, find_leaf(run, j))
        if run.state[FACTOR] != factor:
            count_candidates(run, waiting)
        elif run.loads[leaf] == run.limits[factor, leaf]:
            _remove_candidate(run, waiting, leaf)


@kernel
def assign_in_turn(run, steps, queue):
    """Assign the next subscribers who wait; one without a leaf may evict another at random."""
    state, ring, members = run.state, queue.ring, queue.members
    for _ in range(steps):
        if state[HEAD] == state[TAIL]:
            return
        j = ring[state[HEAD]]
        state[HEAD] = (state[HEAD] + 1) % len(ring)
        leaf = find_leaf(run, j)
        if leaf < 0 and state[EVICTED] < queue.most:
            leaf = _evict(run, j, queue)
        leaf = attach(run, j, leaf)
        if run.loads[leaf] <= members.shape[1]:
            members[leaf, run.loads[leaf] - 1] = j


@kernel
def _evict(run, j, queue):
    """Evict a random subscriber from the leaves in time for j; return its leaf, -1 for none."""
    state, ring, members, loads = run.state, queue.ring, queue.members, run.loads
    total = 0
    for i in range(len(loads)):
        if has_bit(run.marks[j], i):
            total += loads[i]
    if total == 0:
        return -1
    rest = np.int64(uniform(queue.key, state[EVICTED]) * total)
    state[EVICTED] += 1
    leaf = 0
    while not has_bit(run.marks[j], leaf) or rest >= loads[leaf]:
        if has_bit(run.marks[j], leaf):
            rest -= loads[leaf]
        leaf += 1
    evicted = members[leaf, rest]
    loads[leaf] -= 1
    members[leaf, rest] = members[leaf, loads[leaf]]
    run.leaf_of[evicted] = -1
    if queue.evicted_next:
        state[HEAD] = (state[HEAD] - 1) % len(ring)
        ring[state[HEAD]] = evicted
    else:
        ring[state[TAIL]] = evicted
        state[TAIL] = (state[TAIL] + 1) % len(ring)
    return leaf
