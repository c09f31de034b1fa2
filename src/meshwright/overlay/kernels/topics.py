"""Sub-overlays: components by breadth-first search, diameters by few searches.

A search bounds the eccentricity of every node, and nodes that cannot be farther out than the
farthest found need no search of their own: Takes and Kosters, "Determining the Diameter of Small
World Networks", CIKM 2011. Nothing here is shared with the greedy engine.
"""

from typing import NamedTuple

import numpy as np

from meshwright.model.kernels.graphs import adjacency
from meshwright.runtime.arrays import Bools, Ints, Longs
from meshwright.runtime.compile import kernel, maker

# The columns of what is evaluated of each topic.
COMPONENTS, LARGEST, DIAMETER_LOW, DIAMETER_HIGH = range(4)
N_COLUMNS = 4


class SubOverlays(NamedTuple):
    """The subscribers of each topic and the links of each node.

    A link is listed at the end that wants fewer topics, its owner: hubs have many links and topics.
    """

    topic_ptr: Longs  # [n_topics + 1]
    members: Ints  # [n_subscriptions], those of topic t from topic_ptr[t] on
    carries: Bools  # [n_subscriptions], beside `members`; False: a leaf of the topic
    owned_ptr: Longs  # [n_nodes + 1]
    owned: Ints  # [n_links], the other ends of u's links from owned_ptr[u] on


class TopicGraph(NamedTuple):
    """The sub-overlay of one topic; nodes are places among its subscribers."""

    pointers: Longs  # [n + 1]
    neighbours: Ints  # [2 * n_links], those of node i from pointers[i] on
    carries: Bools  # [n]; False: a leaf, which passes nothing on


@maker
def topic_costs(graph):
    """Return int64[n_topics]: subscribers and links of theirs that a search of the topic reads."""
    costs = np.empty(len(graph.topic_ptr) - 1, np.int64)
    for t in range(len(costs)):
        members = graph.members[graph.topic_ptr[t] : graph.topic_ptr[t + 1]]
        costs[t] = len(members)
        for u in members:
            costs[t] += graph.owned_ptr[u + 1] - graph.owned_ptr[u]
    return costs


@maker
def count_links(graph, first, last, links):
    """Write into `links` the number of links inside each of the topics first..last-1."""
    inside = np.zeros(len(graph.owned_ptr) - 1, np.bool_)
    for t in range(first, last):
        members = graph.members[graph.topic_ptr[t] : graph.topic_ptr[t + 1]]
        for u in members:
            inside[u] = True
        links[t] = 0
        for u in members:
            for i in range(graph.owned_ptr[u], graph.owned_ptr[u + 1]):
                links[t] += inside[graph.owned[i]]
        for u in members:
            inside[u] = False


@maker
def evaluate_topics(graph, exact_up_to, first, last, rows):
    """Write into `rows`, int64[last - first, N_COLUMNS], the measures of topics first to last - 1.

    The columns: COMPONENTS, LARGEST, DIAMETER_LOW, DIAMETER_HIGH.
    """
    # [n_nodes], index among the topic's subscribers
    place = np.full(len(graph.owned_ptr) - 1, -1, np.int32)
    one, other = np.empty(64, np.int32), np.empty(64, np.int32)  # the ends of links, as places
    for t in range(first, last):
        members = graph.members[graph.topic_ptr[t] : graph.topic_ptr[t + 1]]
        carries = graph.carries[graph.topic_ptr[t] : graph.topic_ptr[t + 1]]
        room = 0
        for i in range(len(members)):
            place[members[i]] = i
            room += graph.owned_ptr[members[i] + 1] - graph.owned_ptr[members[i]]
        if room > len(one):
            one, other = np.empty(2 * room, np.int32), np.empty(2 * room, np.int32)
        n = 0
        for u in members:
            for i in range(graph.owned_ptr[u], graph.owned_ptr[u + 1]):
                w = place[graph.owned[i]]
                one[n], other[n] = place[u], w
                # A link that leaves the topic, or of two leaves, is overwritten by the next.
                n += w >= 0 and (carries[place[u]] or carries[w])
        for u in members:
            place[u] = -1
        row = rows[t - first]
        if has_double_leaf(carries, one[:n], other[:n]):
            evaluate_by_carriers(carries, one[:n], other[:n], exact_up_to, row)
        else:
            evaluate_sub_overlay(carries, one[:n], other[:n], exact_up_to, row)


@kernel
def breadth_first(graph, start, distance, queue):
    """Fill `distance` from `start`; return (how many were reached, the farthest's distance).

    Paths pass through carriers only.
    """
    pointers, neighbours = graph.pointers, graph.neighbours
    distance[start] = 0
    queue[0] = start
    head, tail = 0, 1
    while head < tail:
        u = queue[head]
        head += 1
        if not graph.carries[u] and u != start:
            continue
        for i in range(pointers[u], pointers[u + 1]):
            w = neighbours[i]
            if distance[w] < 0:
                distance[w] = distance[u] + 1
                queue[tail] = w
                tail += 1
    return tail, distance[queue[tail - 1]]


@maker
def diameter_of(graph, members, distance, queue):
    """Return the diameter of a connected component. `distance` is -1 before and after."""
    n = len(members)
    least, most = np.zeros(n, np.int32), np.full(n, 2 * n, np.int32)  # bounds of eccentricities
    left = np.arange(n)  # the first n_left entries: members that may still be farther out
    n_left, diameter = n, 0
    take_most = True
    while n_left > 0:
        # Alternate between the node that may be farthest out and the one that may be most central.
        best = 0
        for k in range(1, n_left):
            i, j = left[k], left[best]
            if (take_most and most[i] > most[j]) or (not take_most and least[i] < least[j]):
                best = k
        take_most = not take_most
        _, reach = breadth_first(graph, members[left[best]], distance, queue)
        diameter = max(diameter, reach)
        most[left[best]] = least[left[best]] = reach
        kept = 0
        for k in range(n_left):
            i = left[k]
            d = distance[members[i]]
            least[i] = max(least[i], reach - d, d)
            most[i] = min(most[i], reach + d)
            # Drop nodes that cannot be farther out than the farthest found, or are known.
            if most[i] > diameter and least[i] < most[i]:
                left[kept] = i
                kept += 1
            else:
                diameter = max(diameter, least[i])
        n_left = kept
        for v in members:
            distance[v] = -1
    return diameter


@maker
def evaluate_sub_overlay(carries, one, other, exact_up_to, row):
    """Write into `row` the columns of one sub-overlay: its members and the links (one, other).

    The diameter is the largest over the components. Above `exact_up_to` nodes it is bounded: from
    below by the farthest found in two searches, from above by twice the lesser of their reaches. In
    a tree the second search, from the farthest that the first found, gives it exactly.
    """
    n = len(carries)
    pointers, neighbours = adjacency(n, one, other)
    graph = TopicGraph(pointers, neighbours, carries)
    seen = np.zeros(n, np.bool_)
    distance = np.full(n, -1, np.int32)
    queue = np.empty(n, np.int32)
    row[:] = 0
    for start in range(n):
        if seen[start]:
            continue
        size, far = breadth_first(graph, start, distance, queue)
        row[COMPONENTS] += 1
        row[LARGEST] = max(row[LARGEST], size)
        members = queue[:size].copy()
        n_ends = 0
        for v in members:
            seen[v] = True
            distance[v] = -1
            n_ends += pointers[v + 1] - pointers[v]
        is_tree = n_ends == 2 * (size - 1)
        if is_tree or size > exact_up_to:
            _, reach = breadth_first(graph, members[size - 1], distance, queue)
            for v in members:
                distance[v] = -1
            low, high = reach, reach if is_tree else 2 * min(far, reach)
        else:
            low = high = diameter_of(graph, members, distance, queue)
        row[DIAMETER_LOW] = max(row[DIAMETER_LOW], low)
        row[DIAMETER_HIGH] = max(row[DIAMETER_HIGH], high)


@maker
def has_double_leaf(carries, one, other):
    """Return whether a leaf has two links: only then a path could pass through it. Reads only."""
    if carries.all():
        return False
    links = np.zeros(len(carries), np.int32)
    for i in range(len(one)):
        links[one[i]] += 1
        links[other[i]] += 1
    return (links[~carries] > 1).any()


@maker
def evaluate_by_carriers(carries, one, other, exact_up_to, row):
    """As `evaluate_sub_overlay`, where leaves have links to several carriers.

    A component is one of carriers with the leaves that are linked to it, or a leaf alone. The
    diameter is that of the components; above `exact_up_to` nodes it is bounded as there.
    """
    n = len(carries)
    pointers, neighbours = adjacency(n, one, other)
    graph = TopicGraph(pointers, neighbours, carries)
    seen = np.zeros(n, np.bool_)
    distance = np.full(n, -1, np.int32)
    queue = np.empty(n, np.int32)
    row[:] = 0
    for start in range(n):
        if seen[start] or (not carries[start] and pointers[start] < pointers[start + 1]):
            continue
        size, far = breadth_first(graph, start, distance, queue)
        row[COMPONENTS] += 1
        row[LARGEST] = max(row[LARGEST], size)
        members = queue[:size].copy()
        for v in members:
            seen[v] = True
            distance[v] = -1
        low, high = far, 2 * far
        if size <= exact_up_to:
            inside = np.zeros(n, np.bool_)
            for v in members:
                inside[v] = True
            for v in members:
                reached, _ = breadth_first(graph, v, distance, queue)
                for w in queue[:reached]:
                    if inside[w]:  # a leaf reaches other components too
                        low = max(low, distance[w])
                    distance[w] = -1
            high = low
        row[DIAMETER_LOW] = max(row[DIAMETER_LOW], low)
        row[DIAMETER_HIGH] = max(row[DIAMETER_HIGH], high)
