"""The state of one greedy run that both orders share; pairs of nodes, and heaps of pairs and rows.

A pair has a key, gain << 32 | (NO_LIMIT - larger degree), larger is better; and a code,
a << 32 | b with the instance's node ids a < b, smaller is better among equal keys. Where pairs have
costs, their rank stands between gain and degree (`costs`).
"""

from typing import NamedTuple

import numpy as np

from meshwright.model.kernels.components import Components
from meshwright.overlay.greedy.kernels.costs import Costs, cost_rank
from meshwright.runtime.arrays import Ints, Longs
from meshwright.runtime.compile import kernel

NO_LIMIT = 2**31 - 1  # a degree cap that no node reaches; a gain that no pair exceeds
LOWEST_GAIN = 2  # pairs that gain less are left to the last level

N_EDGES, STOP = 0, 1  # places in Run.counts


class Run(NamedTuple):
    """A run. Nodes are given by their rank: the order in which the engine numbers them."""

    components: Components
    ids: Ints  # int32[n_nodes], rank -> node id of the instance
    rank: Ints  # int32[n_nodes], node id of the instance -> rank
    degree: Ints  # int32[n_nodes], the edges of each node so far
    edges: Ints  # int32[max_edges, 2], the edges in the order added
    gains: Ints  # int32[max_edges], the gain of each edge
    counts: Longs  # int64[2], [N_EDGES, STOP: the number of edges at which a kernel returns]
    by_degree: bool  # whether the lower degree decides between equal gains
    costs: Costs  # of pairs; the lower one decides between equal gains, before the degree


@kernel
def add_edge(run, u, w, gain):
    """Append an edge and raise the degrees of its nodes; the components are joined elsewhere."""
    k = run.counts[N_EDGES]
    run.edges[k, 0], run.edges[k, 1], run.gains[k] = u, w, gain
    run.counts[N_EDGES] = k + 1
    run.degree[u] += 1
    run.degree[w] += 1


@kernel
def at_stop(run):
    """Return whether the kernel must return to Python. Reads only."""
    return run.counts[N_EDGES] >= run.counts[STOP]


@kernel
def pair_key(run, gain, u, w):
    """Return the key of a pair with this gain at the current degrees. Reads only."""
    larger = max(run.degree[u], run.degree[w]) if run.by_degree else 0
    rest = np.int64(NO_LIMIT - larger)
    if run.costs.some:
        rest -= cost_rank(run.costs, u, w) << run.costs.shift
    return (np.int64(gain) << 32) | rest


@kernel
def gain_of(key):
    """Return the gain of a key."""
    return key >> 32


@kernel
def pair_code(run, u, w):
    """Return the code of a pair. Reads only."""
    a, b = np.int64(run.ids[u]), np.int64(run.ids[w])
    return (min(a, b) << 32) | max(a, b)


@kernel
def partner_of(run, code, u):
    """Return the partner of u in a pair. Reads only."""
    return run.rank[(code >> 32) ^ (code & 0xFFFFFFFF) ^ run.ids[u]]


@kernel
def largest_of(gains):
    """Return the largest gain, or 0. The compiler vectorises a loop from 0 to a slice's length."""
    best = np.int32(0)
    for i in range(len(gains)):
        best = max(best, np.int32(gains[i]))
    return best


@kernel
def better(key_a, code_a, key_b, code_b):
    """Return whether pair a comes before pair b."""
    return (key_a > key_b) | ((key_a == key_b) & (code_a < code_b))


@kernel
def sift(key, code, first, at, size):
    """Restore the order of the heap of pairs at `first`, best on top, below the place `at`."""
    # Unsigned indices save the check for negative ones.
    one, base, at, end = np.uint64(1), np.uint64(first), np.uint64(at), np.uint64(size)
    moved_key, moved = key[base + at], code[base + at]
    while True:
        child = at + at + one
        if child >= end:
            break
        k = base + child
        right = k + np.uint64(child + one < end)
        k += np.uint64(better(key[right], code[right], key[k], code[k]))
        if not better(key[k], code[k], moved_key, moved):
            break
        key[base + at], code[base + at] = key[k], code[k]
        at = k - base
    key[base + at], code[base + at] = moved_key, moved


@kernel
def sift_row(heap, heap_key, heap_code, at, size):
    """Restore the order of the heap of rows below the place `at`. Writes all three arrays.

    heap int32[size] holds rows, heap_key and heap_code (int64) the best pair of each, best on top.
    """
    one, k, end = np.uint64(1), np.uint64(at), np.uint64(size)
    row, key, code = heap[k], heap_key[k], heap_code[k]
    while True:
        child = k + k + one
        if child >= end:
            break
        right = child + np.uint64(child + one < end)
        child += np.uint64(
            better(heap_key[right], heap_code[right], heap_key[child], heap_code[child])
        )
        if not better(heap_key[child], heap_code[child], key, code):
            break
        heap[k], heap_key[k], heap_code[k] = heap[child], heap_key[child], heap_code[child]
        k = child
    heap[k], heap_key[k], heap_code[k] = row, key, code


@kernel
def heapify(key, code, first, size):
    """Order `size` pairs at `first` as a heap."""
    for at in range(size // 2 - 1, -1, -1):
        sift(key, code, first, at, size)


@kernel
def swap(key, code, i, j):
    """Swap two pairs."""
    key[i], key[j] = key[j], key[i]
    code[i], code[j] = code[j], code[i]


@kernel
def shrink(key, code, size, room):
    """Move the best `room` pairs to the front; return how many, and the best (key, code) left."""
    if size <= room:
        return size, np.int64(0), np.int64(0)
    low, high = 0, size - 1
    while low < high:  # quickselect: the place `room` is in low .. high
        middle = (low + high) // 2
        swap(key, code, middle, high)
        pivot_key, pivot = key[high], code[high]
        place = low
        for i in range(low, high):
            # Swap in either case: a branch here could not be predicted.
            is_better = better(key[i], code[i], pivot_key, pivot)
            swap(key, code, i, place)
            place += is_better
        swap(key, code, place, high)
        if room < place:
            high = place - 1
        elif room > place:
            low = place + 1
        else:
            break
    return room, key[room], code[room]
