"""A plan that changes link by link: who is linked, and whether topics need a link.

Nothing is kept for each topic between changes. A table of bits says at once whether a node takes
part in a topic, and a search over the members of a topic whether they are joined.
"""

from typing import NamedTuple

import numpy as np

from meshwright.runtime.arrays import Bools, Ints, Longs, Words
from meshwright.runtime.compile import kernel

NOT_A_MEMBER = -1


class Members(NamedTuple):
    """Which node takes part in which topic. Nothing here changes."""

    indptr: Longs  # int64[n_nodes + 1], the slots of node u are indptr[u] .. indptr[u + 1]
    topics: Ints  # int32[n_slots], the topic of each slot, rising within a node
    topic_ptr: Longs  # int64[n_topics + 1], the members of topic t are nodes[topic_ptr[t] ...]
    nodes: Ints  # int32[n_slots], the members of each topic, rising
    slot_at: Ints  # int32[n_slots], the slot of each member
    node_of: Ints  # int32[n_slots], the node of each slot
    carries: Bools  # bool[n_slots], False: a leaf of the topic
    has_topic: Words  # uint64[n_nodes, n_words], bit t: the node takes part in topic t
    before: Ints  # int32[n_nodes, n_words], the topics of the node in earlier words
    carried: Words  # uint64[n_nodes, n_words], bit t: the node carries topic t


class Plan(NamedTuple):
    """The links, and scratch space to search topics."""

    degree: Ints  # int32[n_nodes], the links of each node
    neighbours: Ints  # int32[n_nodes, most], of node u the first degree[u]
    seen: Longs  # int64[n_slots], the last search that reached the slot
    queue: Ints  # int32[n_nodes], the nodes that a search has yet to look at
    counts: Longs  # int64[2], [N_LINKS, N_SEARCHES]


N_LINKS, N_SEARCHES = 0, 1  # places in Plan.counts


@kernel
def count_bits(word):
    """Return the number of ones in a word of 64 bits."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def index_members(members):
    """Write `has_topic`, `before` and `carried` from the interests."""
    for u in range(len(members.indptr) - 1):
        for slot in range(members.indptr[u], members.indptr[u + 1]):
            topic = members.topics[slot]
            bit = np.uint64(1) << np.uint64(topic & 63)
            members.has_topic[u, topic >> 6] |= bit
            if members.carries[slot]:
                members.carried[u, topic >> 6] |= bit
        so_far = 0
        for word in range(members.has_topic.shape[1]):
            members.before[u, word] = so_far
            so_far += count_bits(members.has_topic[u, word])


@kernel
def slot_of(members, u, topic):
    """Return the slot of node u in a topic, or NOT_A_MEMBER. Reads only."""
    word, bit = members.has_topic[u, topic >> 6], np.uint64(topic & 63)
    if (word >> bit) & np.uint64(1) == np.uint64(0):
        return np.int64(NOT_A_MEMBER)
    lower = word & ((np.uint64(1) << bit) - np.uint64(1))
    return members.indptr[u] + members.before[u, topic >> 6] + count_bits(lower)


@kernel
def is_linked(plan, u, v):
    """Return whether two nodes are linked. Reads only."""
    if plan.degree[u] > plan.degree[v]:
        u, v = v, u
    found = False
    for k in range(plan.degree[u]):
        found |= plan.neighbours[u, k] == v
    return found


@kernel
def link(plan, u, v):
    """Link two nodes that are not linked; both have room. Writes the links."""
    plan.neighbours[u, plan.degree[u]] = v
    plan.neighbours[v, plan.degree[v]] = u
    plan.degree[u] += 1
    plan.degree[v] += 1
    plan.counts[N_LINKS] += 1


@kernel
def link_all(plan, edges):
    """Add the links of `edges` int32[n, 2], none of which is there."""
    for k in range(len(edges)):
        link(plan, edges[k, 0], edges[k, 1])


@kernel
def unlink(plan, u, v):
    """Remove the link between two nodes. Writes the links."""
    forget_neighbour(plan, u, v)
    forget_neighbour(plan, v, u)
    plan.counts[N_LINKS] -= 1


@kernel
def forget_neighbour(plan, u, v):
    """Remove v from the neighbours of u; the order of the others stays."""
    k = 0
    while plan.neighbours[u, k] != v:
        k += 1
    plan.degree[u] -= 1
    for i in range(k, plan.degree[u]):
        plan.neighbours[u, i] = plan.neighbours[u, i + 1]


@kernel
def is_redundant(members, plan, u, v):
    """Return whether no topic needs the link between u and v. Writes `seen` and `queue`."""
    if depends_on(members, plan, u, v) or depends_on(members, plan, v, u):
        return False
    i, j = members.indptr[u], members.indptr[v]
    while i < members.indptr[u + 1] and j < members.indptr[v + 1]:
        a, b = members.topics[i], members.topics[j]
        if a == b:
            if members.carries[i] and members.carries[j]:
                if not reaches(members, plan, a, u, v):
                    return False
            elif members.carries[i] != members.carries[j]:
                leaf, carrier = (v, u) if members.carries[i] else (u, v)
                if not has_other_carrier(members, plan, a, leaf, carrier):
                    return False
        i += a <= b
        j += b <= a
    return True


@kernel
def depends_on(members, plan, u, v):
    """Return whether v is the only neighbour of u that carries some topic of u. Reads only.

    Most links are needed for this reason, and words of 64 topics tell it at once.
    """
    for word in range(members.has_topic.shape[1]):
        topics = members.has_topic[u, word] & members.carried[v, word]
        k = 0
        while topics != np.uint64(0) and k < plan.degree[u]:
            w = plan.neighbours[u, k]
            if w != v:
                topics &= ~members.carried[w, word]
            k += 1
        if topics != np.uint64(0):
            return True
    return False


@kernel
def has_other_carrier(members, plan, topic, leaf, carrier):
    """Return whether a leaf of a topic is linked to a carrier besides this one. Reads only."""
    for k in range(plan.degree[leaf]):
        w = plan.neighbours[leaf, k]
        slot = slot_of(members, w, topic)
        if w != carrier and slot != NOT_A_MEMBER and members.carries[slot]:
            return True
    return False


@kernel
def reaches(members, plan, topic, u, v):
    """Return whether carriers of a topic join u and v without the link between them.

    Searches from the end with fewer links. Writes `seen` and `queue`.
    """
    if plan.degree[v] < plan.degree[u]:
        u, v = v, u
    plan.counts[N_SEARCHES] += 1
    search = plan.counts[N_SEARCHES]
    queue, head, tail = plan.queue, 0, 1
    queue[0] = u
    plan.seen[slot_of(members, u, topic)] = search
    while head < tail:
        x = queue[head]
        head += 1
        for k in range(plan.degree[x]):
            w = plan.neighbours[x, k]
            if w == v:
                if x == u:
                    continue
                return True
            slot = slot_of(members, w, topic)
            if slot != NOT_A_MEMBER and plan.seen[slot] != search and members.carries[slot]:
                plan.seen[slot] = search
                queue[tail] = w
                tail += 1
    return False
