"""Passes over members: their clusters, the targets that cover them, their groups."""

import numpy as np

from meshwright.runtime.compile import kernel, maker


@kernel
def enclose(members, splits, boxes):
    """Extend the box of each member's cluster to hold its subscription.

    `members` is (location, low, high), `splits` a `SplitTree`; writes `boxes`, a row per cluster.
    """
    location, low, high = members
    n_network, n_events = location.shape[1], low.shape[1]
    for j in range(len(low)):
        at = 0 if len(splits.axis) else -1
        while at >= 0:
            k = splits.axis[at]
            if k < n_network:
                value = location[j, k]
            elif k < n_network + n_events:
                value = low[j, k - n_network]
            else:
                value = high[j, k - n_network - n_events]
            at = splits.left[at] if value <= splits.threshold[at] else splits.right[at]
        for k in range(n_events):
            boxes.low[~at, k] = min(boxes.low[~at, k], low[j, k])
            boxes.high[~at, k] = max(boxes.high[~at, k], high[j, k])


@kernel
def cover(members, filters, span, out):
    """Write to `out` the targets in time that have a box around each member.

    For the members of `span`, (first, last). `members` is (low, high, targets), `filters` a
    `TargetFilters`; `out` has rows of bits as `targets` has, uint64[n, words], bit i for target i.
    """
    (low, high, targets), (first, last) = members, span
    for j in range(first, last):
        for word in range(targets.shape[1]):
            out[j, word] = np.uint64(0)
        for b in range(len(filters.owners)):
            for k in range(low.shape[1]):
                if low[j, k] < filters.boxes.low[b, k] or high[j, k] > filters.boxes.high[b, k]:
                    break
            else:
                for word in range(targets.shape[1]):
                    out[j, word] |= filters.owners[b, word]
        for word in range(targets.shape[1]):
            out[j, word] &= targets[j, word]


@maker
def join_leaves(in_time, target_of_leaf, least, out):
    """Write the targets, as bits, with at least `least` leaves in time, int64[n_targets].

    `target_of_leaf` gives the target of each leaf, -1 for none. For members that no target has as
    many leaves for, those with any leaf in time are written.
    """
    counts = np.zeros(len(least), np.int64)  # leaves in time of one member, by target
    for j in range(len(in_time)):
        counts[:] = 0
        for i in range(len(target_of_leaf)):
            target = target_of_leaf[i]
            if target >= 0 and (in_time[j, i >> 6] >> np.uint64(i & 63)) & np.uint64(1):
                counts[target] += 1
        enough = (counts >= least).any()
        for word in range(out.shape[1]):
            out[j, word] = np.uint64(0)
        for target in range(len(least)):
            if counts[target] >= (least[target] if enough else 1):
                out[j, target >> 6] |= np.uint64(1) << np.uint64(target & 63)


@maker
def find_last(rows, words):
    """Return the place of the last of the sorted `rows` that is not after each row of `words`.

    Rows are compared word by word. If all of them are after, the place is 0.
    """
    found = np.empty(len(words), np.int64)
    for j in range(len(words)):
        first, last = 0, len(rows)
        while last - first > 1:
            middle = (first + last) // 2
            is_after = False
            for word in range(words.shape[1]):
                if rows[middle, word] != words[j, word]:
                    is_after = rows[middle, word] > words[j, word]
                    break
            if is_after:
                last = middle
            else:
                first = middle
        found[j] = first
    return found
