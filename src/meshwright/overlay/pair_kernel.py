"""Pairs of nodes in order: keys, codes, and the heaps they wait in.

A pair has a key, gain << 32 | (NO_DEGREE - larger degree), larger is better; and a code,
u << 32 | v of the user's ids with u < v, smaller is better among equal keys.
"""

from __future__ import annotations

import numpy as np

from meshwright.kernels.compile import kernel

NO_DEGREE = 2**31 - 1


@kernel
def pair_key(by_degree, degree, gain, u, w):
    """Return the key of a pair."""
    larger = max(degree[u], degree[w]) if by_degree else 0
    return (np.int64(gain) << 32) | np.int64(NO_DEGREE - larger)


@kernel
def gain_of(key):
    """Return the gain in a key."""
    return key >> 32


@kernel
def pair_code(ids, u, w):
    """Return the code of a pair of ranks."""
    a, b = np.int64(ids[u]), np.int64(ids[w])
    return (min(a, b) << 32) | max(a, b)


@kernel
def partner_of(ids, rank, code, u):
    """Return the rank of the other node of a pair in row u."""
    return rank[(code >> 32) ^ (code & 0xFFFFFFFF) ^ ids[u]]


@kernel
def largest_of(gains):
    """Return the largest of some gains; 0 when there are none.

    Loops over a slice from 0 to its length are the ones that the compiler can vectorise.
    """
    best = np.int32(0)
    for i in range(len(gains)):
        best = max(best, np.int32(gains[i]))
    return best


@kernel
def better(key_a, code_a, key_b, code_b):
    """Tell whether pair a comes before pair b."""
    return (key_a > key_b) | ((key_a == key_b) & (code_a < code_b))


@kernel
def sift(key, code, first, at, size):
    """Move a pair of the heap at `first`, the best on top, down to where it belongs."""
    # Without a sign an index need not be asked for it.
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
    """Move a row down the heap of rows."""
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
    """Put the best of `size` pairs on top."""
    for at in range(size // 2 - 1, -1, -1):
        sift(key, code, first, at, size)


@kernel
def swap(key, code, i, j):
    """Let two pairs change places."""
    key[i], key[j] = key[j], key[i]
    code[i], code[j] = code[j], code[i]


@kernel
def shrink(key, code, size, room):
    """Bring the best `room` of `size` pairs to the front.

    Return how many there are, and the best (key, code) of the others, or (0, 0).
    """
    if size <= room:
        return size, np.int64(0), np.int64(0)
    low, high = 0, size - 1
    while low < high:  # quickselect: the place `room` lies in low .. high
        middle = (low + high) // 2
        swap(key, code, middle, high)
        pivot_key, pivot = key[high], code[high]
        place = low
        for i in range(low, high):
            # Swapped whether it is better or not, so that there is nothing to foresee.
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
    best_key, best = key[room], code[room]
    return room, best_key, best
