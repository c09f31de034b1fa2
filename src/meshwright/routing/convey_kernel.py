"""Po, Pal and Pie: one framework that divides the range among the next hops.

Chen, Tock, Girdzijauskas (DEBS 2018), Protocols 4 and 5. Nodes are ring positions, next hops are
distances from the node that looks for them. The ranges still to be served are disjoint, each with
a node of its own as `low`: a stack of n is room enough, and nothing is allocated per message.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from meshwright.routing.ring_kernel import ahead, forward, nearest_subscriber
from meshwright.routing.tally_kernel import DELIVERIES, MISSED, count_delivery, place_all, wants

NO_PIVOT, PIVOT_IF_FINGER, PIVOT_ALWAYS = 0, 1, 2


@njit(cache=True)
def next_hops(pivot, reach, members, place, v, length, hops):
    """List v's next hops for the range of `length` from v into `hops`; return how many.

    The nearest subscriber, the fingers that subscribe, and, with a pivot asked for and none of
    these in the second half of the range, the nearest finger there or else the middle of it.
    """
    n, n_phases = reach.shape
    nearest = nearest_subscriber(members, place, v, n)
    if nearest >= length:
        return 0
    hops[0] = nearest
    count = 1
    distant = 0  # the nearest finger in the second half, 0 for none
    for phase in range(n_phases):
        offset = reach[v, phase]
        if offset >= length:
            break
        if distant == 0 and 2 * offset >= length:
            distant = offset
        if offset > nearest and wants(members, place, ahead(v, offset, n)):
            hops[count] = offset
            count += 1
    if pivot != NO_PIVOT and 2 * hops[count - 1] < length:
        if distant > 0:
            hops[count] = distant
            count += 1
        elif pivot == PIVOT_ALWAYS:
            hops[count] = ((length + 1) // 2 + length) // 2
            count += 1
    return count


@njit(cache=True)
def convey(pivot, reach, members, place, start, length, stack, hops, tally, publication):
    """Serve the range of `length` from `start`. Writes the tally.

    `stack` has room for n ranges, `hops` for the next hops of a node.
    """
    n = len(reach)
    stack[0, 0], stack[0, 1], stack[0, 2] = start, length, 0
    waiting = 1
    while waiting > 0:
        waiting -= 1
        v, end, travelled = stack[waiting, 0], stack[waiting, 1], stack[waiting, 2]
        count = next_hops(pivot, reach, members, place, v, end, hops)
        for j in range(count):
            behind = hops[j + 1] if j + 1 < count else end
            low, high = ahead(v, hops[j], n), ahead(v, behind, n)
            path = forward(reach, members, place, v, low, high, travelled, tally, publication)
            if wants(members, place, low):
                count_delivery(tally, publication, path)
            stack[waiting, 0], stack[waiting, 1] = low, behind - hops[j]
            stack[waiting, 2] = path
            waiting += 1


@njit(cache=True)
def convey_all(pivot, reach, topic_ptr, subscribers, topics, publishers, tally):
    """Route publications, each over the whole ring. Writes the tally."""
    n, n_phases = reach.shape
    place = np.zeros(n, np.int32)
    stack, hops = np.empty((max(n, 1), 3), np.int64), np.empty(n_phases + 2, np.int64)
    for i in range(len(topics)):
        members = subscribers[topic_ptr[topics[i]] : topic_ptr[topics[i] + 1]]
        place_all(members, place)
        convey(pivot, reach, members, place, publishers[i], n, stack, hops, tally, i)
        others = len(members) - wants(members, place, publishers[i])
        tally.counts[i, MISSED] = others - tally.counts[i, DELIVERIES]
