"""Partitions of a topic's members that a fractional solution violates."""

import numpy as np

from meshwright.overlay.bounds.kernels.price_trees import UNIT, list_entries, take_back
from meshwright.runtime.compile import kernel, maker


@maker
def violated_partitions(use, least):
    """Return partitions of the members that the solution violates by more than `least`.

    `use` float64[k, k] is the solution on the pairs of the members. Parts are merged step by step,
    always the two with the most use between them; the partition that lacks most is returned, and
    besides it the split into two that lacks most, if there is one.
    """
    k = len(use)
    between = use.copy()
    part = np.arange(k).astype(np.int32)
    is_alive = np.ones(k, np.bool_)
    crossing = 0.0
    for i in range(k):
        between[i, i] = 0.0
        for j in range(i):
            crossing += use[i, j]
    best, best_part = least, part.copy()
    split, split_part = least, part.copy()
    is_found, is_split = False, False
    for n_parts in range(k, 1, -1):
        lacking = n_parts - 1 - crossing
        if lacking > best:
            best, best_part, is_found = lacking, part.copy(), True
        for i in range(k):
            if is_alive[i] and n_parts > 2:
                lacking = 1.0 - between[i].sum()
                if lacking > split:
                    split, is_split = lacking, True
                    split_part = (part == i).astype(np.int32)
        a, b = most_between(between, is_alive)
        crossing -= between[a, b]
        for i in range(k):
            between[a, i] += between[b, i]
            between[i, a] = between[a, i]
            between[b, i], between[i, b] = 0.0, 0.0
            if part[i] == b:
                part[i] = a
        between[a, a] = 0.0
        is_alive[b] = False
    found = [best_part for _ in range(is_found)]
    if is_split:
        found.append(split_part)
    return found


@kernel
def most_between(between, is_alive):
    """Return the two parts with the most use between them. Reads only."""
    most, a, b = -1.0, 0, 1
    for i in range(len(between)):
        if not is_alive[i]:
            continue
        for j in range(i):
            if is_alive[j] and between[i, j] > most:
                most, a, b = between[i, j], j, i
    return a, b


@kernel
def lower_excess(table, entries):
    """Lower the shares of each pair to a whole price in all. Writes `share`.

    `entries` int64[most topics of a node] is scratch.
    """
    n = len(table.indptr) - 1
    for u in range(n):
        for v in range(u + 1, n):
            count, total = list_entries(table, u, v, entries), np.int64(0)
            for k in range(count):
                total += table.share[entries[k]]
            if total > UNIT:
                take_back(table.share, entries[:count], total - UNIT)
