"""Scribe and iScribe: to the topic's rendezvous, then down the tree of its routes.

Chen, Tock, Girdzijauskas (DEBS 2018), section 5.1. Nodes are ring positions. The tree is made anew
for each publication, which costs about as much as walking it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from meshwright.routing.ring_kernel import ahead, distance, forward, step_towards
from meshwright.routing.tally_kernel import (
    DELIVERIES,
    MISSED,
    NO_RANGE,
    count_delivery,
    count_message,
    place_all,
    wants,
)


@njit(cache=True)
def hand_down(members, place, publisher, v, w, hops, tally, publication):
    """Send from v to its child w in the tree. Writes the tally."""
    wanted = wants(members, place, w)
    count_message(tally, publication, wanted, v, w, w, NO_RANGE, hops)
    if wanted and w != publisher:
        count_delivery(tally, publication, hops)


@njit(cache=True)
def down_scribe(reach, members, place, publisher, root, in_tree, hops, route, tally, publication):
    """Send down the reversed routes of the subscribers. Writes the tally.

    `in_tree` holds the publication for which a node was last in the tree, `hops` the hops to it;
    `route` is room for a route.
    """
    n = len(reach)
    for i in range(len(members)):
        above, length = members[i], 0
        while in_tree[above] != publication:
            route[length] = above
            length += 1
            above = ahead(above, step_towards(reach, above, distance(above, root, n)), n)
        for j in range(length - 1, -1, -1):
            v = route[j]
            in_tree[v] = publication
            hops[v] = hops[above] + 1
            hand_down(members, place, publisher, above, v, hops[v], tally, publication)
            above = v


@njit(cache=True)
def down_iscribe(reach, members, place, publisher, root, in_tree, hops, tally, publication):
    """Send along the routes from the rendezvous to the subscribers. Writes the tally.

    A node keeps its first parent. Routes that part never meet again, as the next finger of the
    longer one leads beyond the end of the shorter; so the order of the subscribers is all one.
    """
    n = len(reach)
    for i in range(len(members)):
        v, left = root, distance(root, members[i], n)
        while left > 0:
            step = step_towards(reach, v, left)
            w = ahead(v, step, n)
            if in_tree[w] != publication:
                in_tree[w] = publication
                hops[w] = hops[v] + 1
                hand_down(members, place, publisher, v, w, hops[w], tally, publication)
            left -= step
            v = w


@njit(cache=True)
def meet_all(inverted, reach, topic_ptr, subscribers, rendezvous, topics, publishers, tally):
    """Route publications by iScribe if inverted, else by Scribe. Writes the tally."""
    n = len(reach)
    place = np.zeros(n, np.int32)
    in_tree, hops = np.full(n, -1, np.int64), np.zeros(n, np.int64)
    route = np.empty(n, np.int64)
    for i in range(len(topics)):
        members = subscribers[topic_ptr[topics[i]] : topic_ptr[topics[i] + 1]]
        place_all(members, place)
        publisher, root = publishers[i], rendezvous[topics[i]]
        hops[root] = forward(reach, members, place, publisher, root, NO_RANGE, 0, tally, i)
        if publisher != root and wants(members, place, root):
            count_delivery(tally, i, hops[root])
        in_tree[root] = i
        if inverted:
            down_iscribe(reach, members, place, publisher, root, in_tree, hops, tally, i)
        else:
            down_scribe(reach, members, place, publisher, root, in_tree, hops, route, tally, i)
        others = len(members) - wants(members, place, publisher)
        tally.counts[i, MISSED] = others - tally.counts[i, DELIVERIES]
