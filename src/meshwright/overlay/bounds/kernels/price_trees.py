"""Minimum spanning trees of topics under prices: the loops behind the bounds by prices.

The price of a pair of nodes is shared among the topics that both want. `PriceTable.share` holds
the part of each topic, so the shares of a pair add up to at most `UNIT`. All arithmetic is on
integers: no rounding error can raise a bound.
"""

from typing import NamedTuple

import numpy as np

from meshwright.runtime.arrays import Ints, Longs
from meshwright.runtime.compile import kernel, maker

UNIT = 1 << 20  # a whole price; the shares of a pair sum to at most this
NO_ENTRY = -1  # in Trees.entry: a topic has one tree edge less than members


class PriceTable(NamedTuple):
    """The shares of all pairs in all topics; only `share` changes."""

    indptr: Longs  # int64[n_nodes + 1], the slots of node u are indptr[u] .. indptr[u + 1]
    topics: Ints  # int32[n_slots], the topic of each slot, rising within a node
    place: Ints  # int32[n_slots], the place of the slot's node among the members of its topic
    topic_ptr: Longs  # int64[n_topics + 1], the members of topic t are nodes[topic_ptr[t] ...]
    nodes: Ints  # int32[n_slots], the members of each topic, rising
    first: Longs  # int64[n_topics + 1], the entries of topic t begin at first[t]
    share: Ints  # int32[n_entries], of the members i < j of t at first[t] + j (j - 1) / 2 + i


class Trees(NamedTuple):
    """One tree for each topic: its edges begin at topic_ptr[t], one less than it has members."""

    entry: Longs  # int64[n_slots], where the edge's share is in the table, or NO_ENTRY
    weight: Longs  # int64[n_slots], the share times the prices of both ends
    u: Ints  # int32[n_slots], the ends, u < v
    v: Ints  # int32[n_slots]


class PrimScratch(NamedTuple):
    """Room to grow one tree: members that are not in it yet, by rising place."""

    member: Ints  # int32[largest topic]
    nearest: Ints  # int32[largest topic], the member of the tree that is nearest
    distance: Longs  # int64[largest topic], the weight of that pair
    price: Longs  # int64[largest topic], the price of the node


@kernel
def entry_of(first, i, j):
    """Return the place of the pair of members i < j, counted from the topic's first entry."""
    return first + j * (j - 1) // 2 + i


@kernel
def share_equally(table, counts, first, last):
    """Give each common topic of a pair an equal share, for the pairs of nodes first..last.

    A pair belongs to its larger node. Writes `share`; `counts` int32[n] is zeros before and after.
    """
    for u in range(first, last):
        slots = range(table.indptr[u], table.indptr[u + 1])
        for slot in slots:
            start = table.topic_ptr[table.topics[slot]]
            for k in range(start, start + table.place[slot]):
                counts[table.nodes[k]] += 1
        for slot in slots:
            topic, place = table.topics[slot], np.int64(table.place[slot])
            start, entry = table.topic_ptr[topic], entry_of(table.first[topic], 0, place)
            for i in range(place):
                table.share[entry + i] = UNIT // counts[table.nodes[start + i]]
        for slot in slots:
            start = table.topic_ptr[table.topics[slot]]
            for k in range(start, start + table.place[slot]):
                counts[table.nodes[k]] = 0


@maker
def grow_trees(table, price, trees, first, last):
    """Find the minimum spanning trees of the topics first..last, by Prim; return their weight.

    The weight of a pair in a topic is its share times the sum of the `price` int64[n] of its ends.
    Trees grow from the first member; of equal weights the member of the lowest place comes first.
    Writes `trees` at these topics.
    """
    largest = 0
    for topic in range(first, last):
        largest = max(largest, table.topic_ptr[topic + 1] - table.topic_ptr[topic])
    scratch = PrimScratch(
        np.empty(largest, np.int32),
        np.empty(largest, np.int32),
        np.empty(largest, np.int64),
        np.empty(largest, np.int64),
    )
    total = 0
    for topic in range(first, last):
        total += grow_tree(table, price, trees, scratch, topic)
    return total


@kernel
def grow_tree(table, price, trees, scratch, topic):
    """Find the tree of one topic; return its weight. Writes `trees` and `scratch`."""
    member, nearest, distance = scratch.member, scratch.nearest, scratch.distance
    start = table.topic_ptr[topic]
    size = table.topic_ptr[topic + 1] - start
    if size == 0:
        return 0
    nodes, entry = table.nodes[start : start + size], table.first[topic]
    out = start
    joined, closest, left = np.int64(0), -1, size
    for i in range(size):
        member[i], distance[i], scratch.price[i] = i, np.int64(2**62), price[nodes[i]]
    total = 0
    while True:
        # Leave `joined` out, bring the others up to date and find the closest: one walk.
        own = price[nodes[joined]]
        base = entry_of(entry, 0, joined)
        kept, best, closest = 0, np.int64(2**62), -1
        for k in range(left):
            w = np.int64(member[k])
            if w == joined:
                continue
            at = base + w if w < joined else entry_of(entry, joined, w)
            weight = np.int64(table.share[at]) * (own + scratch.price[k])
            if weight < distance[k]:
                distance[kept], nearest[kept] = weight, joined
            else:
                distance[kept], nearest[kept] = distance[k], nearest[k]
            member[kept], scratch.price[kept] = w, scratch.price[k]
            if distance[kept] < best:
                best, closest = distance[kept], kept
            kept += 1
        left = kept
        if left == 0:
            break
        i, j = np.int64(nearest[closest]), np.int64(member[closest])
        joined = j
        i, j = min(i, j), max(i, j)
        trees.entry[out], trees.weight[out] = entry_of(entry, i, j), best
        trees.u[out], trees.v[out] = nodes[i], nodes[j]
        total += best
        out += 1
    trees.entry[out] = NO_ENTRY
    return total


@kernel
def count_use(table, trees, use):
    """Write into `use` int64[n] what the trees use of each node: the shares of its tree edges."""
    use[:] = 0
    for k in range(len(trees.entry)):
        if trees.entry[k] != NO_ENTRY:
            share = table.share[trees.entry[k]]
            use[trees.u[k]] += share
            use[trees.v[k]] += share


@kernel
def raise_shares(table, trees, order, step, entries):
    """Raise the share of each tree edge by `step`, at the cost of the pair's other topics.

    `order` lists the tree edges by pair; `entries` int64[most topics of a node] is scratch. The
    shares of a pair keep their sum. Return the squared length of the step in units of `step`.
    Writes `share`.
    """
    length, k = 0.0, 0
    while k < len(order):
        u, v = trees.u[order[k]], trees.v[order[k]]
        n_topics = list_entries(table, u, v, entries)
        end = k
        while end < len(order) and trees.u[order[end]] == u and trees.v[order[end]] == v:
            end += 1
        n_trees = end - k
        if n_trees < n_topics:  # else every topic of the pair would rise alike
            for i in range(k, end):
                table.share[trees.entry[order[i]]] += step
            take_back(table.share, entries[:n_topics], step * n_trees)
            length += n_trees * (1.0 - n_trees / n_topics)
        k = end
    return length


@kernel
def list_entries(table, u, v, entries):
    """Write into `entries` where the shares of the pair u < v are; return how many topics."""
    count = 0
    i, j = table.indptr[u], table.indptr[v]
    while i < table.indptr[u + 1] and j < table.indptr[v + 1]:
        a, b = table.topics[i], table.topics[j]
        if a == b:
            low, high = np.int64(table.place[i]), np.int64(table.place[j])
            entries[count] = entry_of(table.first[a], low, high)
            count += 1
        i += a <= b
        j += b <= a
    return count


@kernel
def take_back(share, entries, excess):
    """Lower the shares at `entries` by `excess` in all, equally where they are large enough."""
    while excess > 0:
        positive = 0
        for k in range(len(entries)):
            positive += share[entries[k]] > 0
        each = (excess + positive - 1) // positive
        for k in range(len(entries)):
            amount = min(np.int64(share[entries[k]]), each, excess)
            share[entries[k]] -= amount
            excess -= amount


@kernel
def place_members(table, next_place):
    """Write `nodes` and `place` from the interests; `next_place` int64[n_topics] starts at 0."""
    for u in range(len(table.indptr) - 1):
        for slot in range(table.indptr[u], table.indptr[u + 1]):
            topic = table.topics[slot]
            table.place[slot] = next_place[topic]
            table.nodes[table.topic_ptr[topic] + next_place[topic]] = u
            next_place[topic] += 1
