"""What each node's failure would cost: the deliveries, topic by topic, that pass through it alone.

Tarjan, "Depth-first search and linear graph algorithms", 1972: a search gives each node the
earliest one that its subtree reaches without it; a child whose subtree reaches nothing earlier is
cut off when the node fails.
"""

import numpy as np

from meshwright.model.kernels.graphs import adjacency
from meshwright.runtime.compile import maker

TOPICS, DELIVERIES, SUBSCRIBERS = 0, 1, 2  # rows of `lost` in all topics
PAIRS, MISSING = 0, 1  # rows of `lost` in one topic
ONE, OTHER, RANK = 0, 1, 2  # rows of `ends`: the places of a link's ends, and its rank
SENDERS, WANTERS, PRODUCTS = 0, 1, 2  # rows of what is counted in subtrees


@maker
def count_lost(graph, rank, sends, wants, first, last):
    """Return what the loss of each node costs the others, and how many nodes split each topic.

    int64[3, n_nodes] by TOPICS, DELIVERIES and SUBSCRIBERS, those who miss a sender, summed over
    topics; and int64[last - first]. Of the topics first..last-1. `rank` is the place of each owned
    link in the order added; `sends` and `wants` are flags beside `graph.members`. A leaf counts
    with its first link to a carrier.
    """
    n_nodes = len(graph.owned_ptr) - 1
    lost = np.zeros((3, n_nodes), np.int64)
    splitting = np.zeros(last - first, np.int64)
    place = np.full(n_nodes, -1, np.int32)
    for t in range(first, last):
        members = graph.members[graph.topic_ptr[t] : graph.topic_ptr[t + 1]]
        found = losses_of_topic(graph, rank, sends, wants, t, place)
        for i in range(len(members)):
            lost[TOPICS, members[i]] += found[PAIRS, i] > 0
            lost[DELIVERIES, members[i]] += found[PAIRS, i]
            lost[SUBSCRIBERS, members[i]] += found[MISSING, i]
            splitting[t - first] += found[PAIRS, i] > 0
    return lost, splitting


@maker
def list_splits(graph, rank, sends, wants, splitting):
    """Return int32[n, 2]: the nodes whose loss splits a topic, and the topic; by rising topics.

    `splitting` is how many do so in each topic, of `count_lost`, whose other arguments these are.
    """
    rows = np.empty((splitting.sum(), 2), np.int32)
    place = np.full(len(graph.owned_ptr) - 1, -1, np.int32)
    n = 0
    for t in range(len(splitting)):
        if splitting[t] == 0:
            continue
        members = graph.members[graph.topic_ptr[t] : graph.topic_ptr[t + 1]]
        found = losses_of_topic(graph, rank, sends, wants, t, place)
        for i in range(len(members)):
            if found[PAIRS, i] > 0:
                rows[n, 0], rows[n, 1] = members[i], t
                n += 1
    return rows


@maker
def losses_of_topic(graph, rank, sends, wants, t, place):
    """Return `lost_in_topic` of topic t. `place` int32[n_nodes] is -1 before and after."""
    begin, end = graph.topic_ptr[t], graph.topic_ptr[t + 1]
    ends = links_of_topic(graph, rank, t, place)
    pointers, neighbours = adjacency(end - begin, ends[ONE], ends[OTHER])
    return lost_in_topic(pointers, neighbours, sends[begin:end], wants[begin:end])


@maker
def links_of_topic(graph, rank, t, place):
    """Return int64[3, n]: both ends of topic t's links, as places of members, and the rank.

    A leaf has its first link to a carrier. `place` int32[n_nodes] is -1 before and after.
    """
    begin, end = graph.topic_ptr[t], graph.topic_ptr[t + 1]
    members, carries = graph.members[begin:end], graph.carries[begin:end]
    room = 0
    for i in range(len(members)):
        place[members[i]] = i
        room += graph.owned_ptr[members[i] + 1] - graph.owned_ptr[members[i]]
    ends = np.empty((3, room), np.int64)  # by ONE, OTHER and RANK
    n = 0
    for u in members:
        for k in range(graph.owned_ptr[u], graph.owned_ptr[u + 1]):
            w = place[graph.owned[k]]
            if w >= 0 and (carries[place[u]] or carries[w]):
                ends[ONE, n], ends[OTHER, n], ends[RANK, n] = place[u], w, rank[k]
                n += 1
    for u in members:
        place[u] = -1
    kept = keep_first_carriers(carries, ends[:, :n])
    return ends[:, :kept]


@maker
def keep_first_carriers(carries, ends):
    """Move links between carriers, and the first link of each leaf, to the front; count them."""
    first = np.full(len(carries), -1, np.int64)  # the rank of each leaf's first link
    for k in range(ends.shape[1]):
        for side in (ONE, OTHER):
            i = ends[side, k]
            if not carries[i] and (first[i] < 0 or ends[RANK, k] < first[i]):
                first[i] = ends[RANK, k]
    kept = 0
    for k in range(ends.shape[1]):
        one, other, rank = ends[ONE, k], ends[OTHER, k], ends[RANK, k]
        if (carries[one] or first[one] == rank) and (carries[other] or first[other] == rank):
            ends[ONE, kept], ends[OTHER, kept] = one, other
            kept += 1
    return kept


@maker
def lost_in_topic(pointers, neighbours, sends, wants):
    """Return int64[2, n]: what each node's failure parts, by PAIRS and MISSING.

    The pairs of a sender and one that wants, and how many that want miss some sender. Those with
    the node itself do not count, nor do those that have no path anyway.
    """
    n = len(pointers) - 1
    lost = np.zeros((2, n), np.int64)
    number = np.full(n, -1, np.int64)  # in the order found
    reach = np.empty(n, np.int64)  # the earliest that a subtree reaches, by number
    parent = np.full(n, -1, np.int64)
    following = pointers[:-1].copy()
    below = np.empty((2, n), np.int64)  # by SENDERS and WANTERS, in the subtree
    cut = np.zeros((3, n), np.int64)  # summed over subtrees that are cut off
    most = np.zeros((2, n), np.int64)  # of the one with most senders
    stack, order = np.empty(n, np.int64), np.empty(n, np.int64)
    n_found = 0
    for root in range(n):
        if number[root] >= 0:
            continue
        begin, top = n_found, 0
        stack[0] = root
        number[root] = reach[root] = n_found
        order[n_found] = root
        n_found += 1
        below[SENDERS, root], below[WANTERS, root] = sends[root], wants[root]
        while top >= 0:
            v = stack[top]
            if following[v] < pointers[v + 1]:
                w = neighbours[following[v]]
                following[v] += 1
                if number[w] < 0:
                    parent[w] = v
                    number[w] = reach[w] = n_found
                    order[n_found] = w
                    n_found += 1
                    below[SENDERS, w], below[WANTERS, w] = sends[w], wants[w]
                    top += 1
                    stack[top] = w
                elif w != parent[v]:
                    reach[v] = min(reach[v], number[w])
                continue
            top -= 1
            up = parent[v]
            if up >= 0:
                reach[up] = min(reach[up], reach[v])
                below[SENDERS, up] += below[SENDERS, v]
                below[WANTERS, up] += below[WANTERS, v]
                if reach[v] >= number[up]:
                    cut[SENDERS, up] += below[SENDERS, v]
                    cut[WANTERS, up] += below[WANTERS, v]
                    cut[PRODUCTS, up] += below[SENDERS, v] * below[WANTERS, v]
                    if below[SENDERS, v] > most[SENDERS, up]:
                        most[SENDERS, up], most[WANTERS, up] = below[SENDERS, v], below[WANTERS, v]
        for k in range(begin, n_found):
            v = order[k]
            senders, wanters = below[SENDERS, root] - sends[v], below[WANTERS, root] - wants[v]
            rest = (senders - cut[SENDERS, v]) * (wanters - cut[WANTERS, v])
            lost[PAIRS, v] = senders * wanters - cut[PRODUCTS, v] - rest
            # Only those beside all senders miss nobody: in the rest, or in one subtree.
            if senders > 0 and cut[SENDERS, v] == 0:
                lost[MISSING, v] = cut[WANTERS, v]
            elif senders > 0:
                lost[MISSING, v] = wanters - (
                    most[WANTERS, v] if most[SENDERS, v] == senders else 0
                )
    return lost
