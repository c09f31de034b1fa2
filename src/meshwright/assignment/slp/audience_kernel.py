"""Passes over subscribers: which cluster each is in, which targets a choice of boxes covers it."""

from __future__ import annotations

import numpy as np
from numba import njit

from meshwright.kernels.random import stream


@njit(cache=True, nogil=True)
def number(seed, ids, out):
    """Write a random number per id that depends on seed and id only."""
    for j in range(len(ids)):
        out[j] = stream(seed, ids[j])


@njit(cache=True, nogil=True)
def enclose(location, low, high, axis, cut, left, right, box_low, box_high):
    """Stretch the box of each subscriber's cluster to hold its subscription."""
    n_network, n_events = location.shape[1], low.shape[1]
    for j in range(len(low)):
        at = 0 if len(axis) else -1
        while at >= 0:
            k = axis[at]
            if k < n_network:
                value = location[j, k]
            elif k < n_network + n_events:
                value = low[j, k - n_network]
            else:
                value = high[j, k - n_network - n_events]
            at = left[at] if value <= cut[at] else right[at]
        for k in range(n_events):
            box_low[~at, k] = min(box_low[~at, k], low[j, k])
            box_high[~at, k] = max(box_high[~at, k], high[j, k])


@njit(cache=True, nogil=True)
def holds(box_low, box_high, low, high):
    """Return whether a box holds another."""
    for k in range(len(low)):
        if low[k] < box_low[k]:
            return False
        if high[k] > box_high[k]:
            return False
    return True


@njit(cache=True, nogil=True)
def mark_covering(low, high, marks, box_low, box_high, box_marks, first, last, out):
    """Write the targets, in time, of which some box holds each subscription of a range."""
    n_words = marks.shape[1]
    for j in range(first, last):
        for word in range(n_words):
            out[j, word] = np.uint64(0)
        for k in range(len(box_low)):
            if holds(box_low[k], box_high[k], low[j], high[j]):
                for word in range(n_words):
                    out[j, word] |= box_marks[k, word]
        for word in range(n_words):
            out[j, word] &= marks[j, word]


@njit(cache=True, nogil=True)
def join_marks(marks, target_of_leaf, out):
    """Write, for bits of leaves, the bits of the targets they belong to (-1: to none)."""
    for j in range(len(marks)):
        for word in range(out.shape[1]):
            out[j, word] = np.uint64(0)
        for i in range(len(target_of_leaf)):
            target = target_of_leaf[i]
            if target >= 0 and (marks[j, i >> 6] >> np.uint64(i & 63)) & np.uint64(1):
                out[j, target >> 6] |= np.uint64(1) << np.uint64(target & 63)
