"""Steps on the ring: the nearest subscriber, and greedy forwarding.

Nodes are ring positions; `reach` holds the distance to the finger of each position and phase.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from meshwright.routing.tally_kernel import count_message, wants


@njit(cache=True)
def ahead(v, offset, n):
    """Return the position `offset` after v, for offsets up to n."""
    w = v + offset
    return w - n if w >= n else w


@njit(cache=True)
def distance(v, w, n):
    """Return how far w is from v, clockwise."""
    return w - v if w >= v else w - v + n


@njit(cache=True)
def step_towards(reach, v, left):
    """Return the distance to the longest finger of v that does not go beyond `left` > 0.

    A finger that goes beyond leaves more than before, almost a full turn. So this is the finger
    with the least distance left. It is in the phase of `left` or the one below: all fingers of
    the one below are nearer than `left`.
    """
    phase = 0
    while (2 << phase) <= left:
        phase += 1
    step = reach[v, phase]
    return step if step <= left else reach[v, phase - 1]


@njit(cache=True)
def forward(reach, members, place, v, low, high, hops, tally, publication):
    """Send from v, finger by finger, until `low` has it; return the hops from the publisher.

    `hops` are those to v. Writes the tally.
    """
    n = len(reach)
    left = distance(v, low, n)
    while left > 0:
        step = step_towards(reach, v, left)
        w = ahead(v, step, n)
        hops += 1
        count_message(tally, publication, wants(members, place, w), v, w, low, high, hops)
        left -= step
        v = w
    return hops


@njit(cache=True)
def nearest_subscriber(members, place, v, n):
    """Return how far the next subscriber after v is, or n if there is no other.

    `members` are the topic's subscribers in ring order.
    """
    k = len(members)
    if k == 0:
        return n
    i = place[v] + 1 if wants(members, place, v) else np.searchsorted(members, v)
    w = members[i] if i < k else members[0]
    return distance(v, w, n) if w != v else n
