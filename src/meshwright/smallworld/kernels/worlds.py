"""Kernels of small worlds: random numbers, edges by gain, the circle of a ring, slots of fingers.

In rings nodes are ids; in fingers they are positions, so that a phase is a stretch of the ring.
"""

import numpy as np

from meshwright.model.kernels.components import forget_labels, join
from meshwright.overlay.greedy.kernels.exclusions import exclude_after_edge
from meshwright.overlay.greedy.kernels.row_queue import find_in_rows
from meshwright.overlay.greedy.kernels.run import add_edge, at_stop
from meshwright.runtime.compile import kernel, maker
from meshwright.runtime.kernels.random import stream, uniform

EMPTY = -1  # a slot without a finger


@maker
def random_numbers(n, count, seed):
    """Return float64[n, count]: the first numbers of the stream of (seed, i) for each i below n."""
    numbers = np.empty((n, count), np.float64)
    for i in range(n):
        key = stream(seed, i)
        for j in range(count):
            numbers[i, j] = uniform(key, j)
    return numbers


@kernel
def run_small_world(run, rows, scratch):
    """Add the best edges not excluded, up to STOP or while one gains. Writes all its arguments."""
    while not at_stop(run):
        key, code = find_in_rows(run, rows, scratch)
        if key == 0:
            return
        u, w = run.rank[code >> 32], run.rank[code & 0xFFFFFFFF]
        gain = join(run.components, u, w)
        forget_labels(scratch.labels)
        exclude_after_edge(rows.exclusions, u, w)
        add_edge(run, u, w, gain)


@maker
def close_circle(n, edges):
    """Join paths to one circle; return int32[n, 2], the two neighbours of each node.

    The paths are given by their edges. While there are several, the smallest pair (u, v) of ends of
    two of them is linked; the ends of the last one close the circle. For three nodes or more.
    """
    near = np.full((n, 2), -1, np.int32)
    degree = np.zeros(n, np.int32)
    other_end = np.arange(n).astype(np.int32)  # of the path that a node ends
    for i in range(len(edges)):
        link(near, degree, other_end, edges[i, 0], edges[i, 1])
    u = 0
    for _ in range(n - len(edges) - 1):
        while degree[u] == 2:
            u += 1
        v = u + 1
        while degree[v] == 2 or v == other_end[u]:
            v += 1
        link(near, degree, other_end, u, v)
    while degree[u] == 2:
        u += 1
    link(near, degree, other_end, u, other_end[u])
    return near


@kernel
def link(near, degree, other_end, u, v):
    """Make the ends of two paths neighbours. Writes all three arrays."""
    near[u, degree[u]], near[v, degree[v]] = v, u
    degree[u] += 1
    degree[v] += 1
    a, b = other_end[u], other_end[v]
    other_end[a], other_end[b] = b, a


@maker
def walk_circle(near):
    """Return the nodes of a circle in order, from node 0 towards its smaller neighbour."""
    ring = np.empty(len(near), np.int32)
    before, here = max(near[0, 0], near[0, 1]), 0
    for position in range(len(near)):
        ring[position] = here
        ahead = near[here, 1] if near[here, 0] == before else near[here, 0]
        before, here = here, ahead
    return ring


@maker
def fill_slots(edges, ids, n_phases):
    """Return int32[n, n_phases]: the position that each slot's edge leads to, or EMPTY.

    Each edge, in the order picked, fills the slot of its node of the smaller id, or that of the
    other one if it is filled already. `ids` are the nodes at the positions.
    """
    n = len(ids)
    slots = np.full((n, n_phases), EMPTY, np.int32)
    for p in range(n):
        if n > 1:
            slots[p, 0] = (p + 1) % n
    for i in range(len(edges)):
        p, q = edges[i, 0], edges[i, 1]
        if ids[p] > ids[q]:
            p, q = q, p
        phase = phase_of((q - p) % n)
        if slots[p, phase] != EMPTY:
            p, q = q, p
            phase = phase_of((q - p) % n)
        slots[p, phase] = q
    return slots


@kernel
def phase_of(distance):
    """Return the phase that a distance of 1 or more lies in."""
    phase = 0
    while distance >> (phase + 1) > 0:
        phase += 1
    return phase


@maker
def fill_rest(slots, indptr, topics, subscribers, first, last):
    """Fill the empty slots of some positions: greatest common interest, then the nearest.

    `indptr` and `topics` are the interests by position, `subscribers` the positions by topic.
    """
    n, n_phases = slots.shape
    common = np.zeros(2 * n, np.int32)  # twice round the ring, so that no phase is cut in two
    for p in range(first, last):
        if np.all(slots[p] != EMPTY):
            continue
        common[:] = 0
        for topic in topics[indptr[p] : indptr[p + 1]]:
            start, end = subscribers.pointers[topic], subscribers.pointers[topic + 1]
            others = subscribers.nodes[start:end]
            for i in range(len(others)):
                common[np.uint32(others[i])] += 1  # an index below 0 would have to be checked for
        common[n:] = common[:n]
        for phase in range(n_phases):
            if slots[p, phase] == EMPTY:
                nearest, behind = 1 << phase, min(2 << phase, n)
                stretch = common[p + nearest : p + behind]
                slots[p, phase] = (p + nearest + place_of_largest(stretch)) % n


@kernel
def place_of_largest(counts):
    """Return the index of the first of the largest numbers."""
    largest = counts[0]
    for i in range(len(counts)):
        largest = max(largest, counts[i])
    place = 0
    while counts[place] < largest:
        place += 1
    return place
