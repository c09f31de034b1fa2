"""List what may be lost of each topic, and who remains."""

import numpy as np

from meshwright.runtime.compile import kernel, maker

NOBODY = -1  # in a list of lost nodes


@kernel
def first_choice(chosen, size):
    """Write the first choice of `size` places: 0, 1, 2, ..."""
    for i in range(size):
        chosen[i] = i


@kernel
def next_choice(chosen, size, n):
    """Write the next choice of `size` out of n places, in order; return whether there is one."""
    i = size - 1
    while i >= 0 and chosen[i] == n - size + i:
        i -= 1
    if i < 0:
        return False
    chosen[i] += 1
    for j in range(i + 1, size):
        chosen[j] = chosen[j - 1] + 1
    return True


@kernel
def is_needed(flags, chosen, size):
    """Return whether a flag is set at a place that is not among the chosen. Reads only."""
    left = 0
    for i in range(len(flags)):
        left += flags[i]
    for i in range(size):
        left -= flags[chosen[i]]
    return left > 0


@maker
def list_losses(topic_ptr, sends, wants, most):
    """Return int32[n, 1 + most]: a topic, and the places of members whose loss it has to survive.

    `most` nodes of each topic are lost, fewer if fewer than two would remain. Left out is what
    leaves no sender, or nobody who wants the topic.
    """
    chosen = np.empty(most, np.int64)
    rows = np.empty((64, 1 + most), np.int32)
    n_rows = 0
    for t in range(len(topic_ptr) - 1):
        first, last = topic_ptr[t], topic_ptr[t + 1]
        n = last - first
        if n < 2:
            continue
        size = min(most, n - 2)
        first_choice(chosen, size)
        while True:
            if is_needed(sends[first:last], chosen, size) and is_needed(
                wants[first:last], chosen, size
            ):
                if n_rows == len(rows):
                    longer = np.empty((2 * n_rows, 1 + most), np.int32)
                    longer[:n_rows] = rows
                    rows = longer
                rows[n_rows, 0] = t
                rows[n_rows, 1:] = NOBODY
                for i in range(size):
                    rows[n_rows, 1 + i] = chosen[i]
                n_rows += 1
            if not next_choice(chosen, size, n):
                break
    return rows[:n_rows].copy()


@maker
def who_remains(topic_ptr, members, slot_at, losses, n_nodes):
    """Return the interests in what remains: pointers int64, topics int32, and their old slots.

    Topic k of the result is what remains of topic losses[k, 0]; `slot_at` are the slots of members.
    """
    most = losses.shape[1] - 1
    pointers = np.zeros(n_nodes + 1, np.int64)
    for round_ in range(2):
        if round_ == 1:
            for v in range(n_nodes):
                pointers[v + 1] += pointers[v]
            topics = np.empty(pointers[n_nodes], np.int32)
            slots = np.empty(pointers[n_nodes], np.int64)
            end = pointers[:-1].copy()
        for k in range(len(losses)):
            first, last = topic_ptr[losses[k, 0]], topic_ptr[losses[k, 0] + 1]
            at = 0  # the places of the lost rise
            for i in range(last - first):
                if at < most and losses[k, 1 + at] == i:
                    at += 1
                    continue
                v = members[first + i]
                if round_ == 0:
                    pointers[v + 1] += 1
                else:
                    topics[end[v]] = k
                    slots[end[v]] = slot_at[first + i]
                    end[v] += 1
    return pointers, topics, slots
