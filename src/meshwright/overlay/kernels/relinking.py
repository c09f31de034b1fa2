"""Link one node anew with fewer links, or one link of it elsewhere, in a plan that lacks no join.

All links of a node are freed. It is then alone in each of its topics, and a topic falls into more
parts only if two or more of its neighbours took part. Fewer links than before have to join all of
them. First each topic counts as if it had one other part: partners that take part in all topics are
chosen greedily, along lists of members and without a search in any topic. Most nodes are given up
there, because that takes as many links as they had.
"""

from typing import NamedTuple

import numpy as np

from meshwright.overlay.greedy.kernels.exclusions import is_excluded
from meshwright.overlay.kernels.completion import (
    LINKED,
    N_OPEN,
    N_REMOVED,
    STAMP,
    UNLINKED,
    write_log,
)
from meshwright.overlay.kernels.plan import link, slot_of, unlink
from meshwright.overlay.kernels.topic_parts import ATTACHED, label_cut_off, label_of
from meshwright.runtime.arrays import Bools, Ints, Words
from meshwright.runtime.compile import kernel

MOST_LINKS = 32  # of a node that is linked anew: parts are bits of a word, and hubs have hundreds
NOBODY = -1
TOO_MANY = -1  # links
NO_LIMIT = 1 << 40  # links


class Work(NamedTuple):
    """The topics of the node that is linked anew; void between two nodes."""

    slot: Ints  # int32[n_topics], the slot of the node
    shared: Ints  # int32[n_topics], neighbours that took part before links were freed
    plain: Bools  # bool[n_topics], whether all other members are one part
    joined: Words  # uint64[n_topics], bit i: the node is joined with part i; unless it is plain
    apart: Ints  # int32[n_topics], parts that it is not joined with
    partners: Ints  # int32[MOST_LINKS + 1], those chosen
    elsewhere: Ints  # int32[n_nodes], links that are not part of the plan
    all_carry: bool  # whether no node is a leaf of a topic
    slack: int  # links more than one less than before that a node may get


class Wanted(NamedTuple):
    """Partners of a node that are looked for."""

    node: int
    most: int  # how many there may be
    highest: int  # links that each may have already


@kernel
def relink(members, plan, search, exclusions, work, u):
    """Free all links of a node and join its topics by fewer; return whether that went well.

    Writes the plan, the log and `work`. If it went wrong, the plan has to be restored by the log.
    """
    wanted = Wanted(u, plan.degree[u] - 1 + work.slack, NO_LIMIT)
    free_all(members, plan, search, work, u)
    sort_open(members, search)
    n_links = np.int64(0)
    if work.all_carry:
        n_links = choose_partners(members, plan, search, exclusions, work, wanted)
        if n_links == TOO_MANY:
            return False
    is_plain = find_parts(members, plan, search, work)
    if not (work.all_carry and is_plain):
        n_links = choose_partners(members, plan, search, exclusions, work, wanted)
        if n_links == TOO_MANY:
            return False
    return link_partners(plan, search, work, u, n_links)


@kernel
def relieve(members, plan, search, exclusions, work, change):
    """Replace a link of a node by one to another partner; return whether that went well.

    `change` are the node, its neighbour, and the links that the new partner may have already.
    Writes as `relink` does.
    """
    u, v, highest = change
    free(plan, search, u, v)
    for slot in range(members.indptr[u], members.indptr[u + 1]):
        topic = members.topics[slot]
        if search.n_parts[topic] != 1 or not takes_part(members, v, topic):
            continue
        removed = search.removed[: search.counts[N_REMOVED]]
        stamp = search.counts[STAMP]
        if label_cut_off(members, plan, search.parts, topic, removed, stamp) > 1:
            open_topic(search, work, topic, slot)
            set_apart(members, search, work, topic, 1)
    sort_open(members, search)
    wanted = Wanted(u, 1, highest)
    n_links = choose_partners(members, plan, search, exclusions, work, wanted)
    return n_links != TOO_MANY and link_partners(plan, search, work, u, n_links)


@kernel
def takes_part(members, u, topic):
    """Return whether a node takes part in a topic. Reads only."""
    word, bit = members.has_topic[u, topic >> 6], np.uint64(topic & 63)
    return (word >> bit) & np.uint64(1) != np.uint64(0)


@kernel
def free(plan, search, u, v):
    """Remove a link. Writes the plan, the log and `removed`."""
    unlink(plan, u, v)
    write_log(search, UNLINKED, u, v)
    search.removed[search.counts[N_REMOVED], 0] = u
    search.removed[search.counts[N_REMOVED], 1] = v
    search.counts[N_REMOVED] += 1


@kernel
def open_topic(search, work, topic, slot):
    """List a topic as open, with all other members in one part. Writes its entries of `work`."""
    search.open_topics[search.counts[N_OPEN]] = topic
    search.counts[N_OPEN] += 1
    work.slot[topic], work.shared[topic] = slot, 0
    work.plain[topic], work.apart[topic] = True, 1


@kernel
def set_apart(members, search, work, topic, n_apart):
    """Note that a node is joined with its own part of a topic alone. Writes `work`."""
    label = label_of(members, search.parts, work.slot[topic], search.counts[STAMP])
    work.joined[topic] = np.uint64(1) << np.uint64(label)
    work.plain[topic], work.apart[topic] = False, n_apart


@kernel
def free_all(members, plan, search, work, u):
    """Free all links of a node; the topics that it shares with neighbours are open."""
    for k in range(plan.degree[u] - 1, -1, -1):
        v = np.int64(plan.neighbours[u, k])
        free(plan, search, u, v)
        for slot in range(members.indptr[u], members.indptr[u + 1]):
            topic = members.topics[slot]
            if search.n_parts[topic] == 1 and takes_part(members, v, topic):
                if search.topic_round[topic] != search.counts[STAMP]:
                    search.topic_round[topic] = search.counts[STAMP]
                    open_topic(search, work, topic, slot)
                work.shared[topic] += 1


@kernel
def find_parts(members, plan, search, work):
    """Find the parts of the open topics; return whether all are plain. Writes labels and `work`."""
    all_plain, removed = True, search.removed[: search.counts[N_REMOVED]]
    for index in range(search.counts[N_OPEN]):
        topic, stamp = np.int64(search.open_topics[index]), search.counts[STAMP]
        work.plain[topic], work.apart[topic] = True, 1
        if work.all_carry and work.shared[topic] == 1:  # all but this node are joined
            continue
        n_parts = label_cut_off(members, plan, search.parts, topic, removed, stamp)
        if n_parts != 2 or not work.all_carry:
            set_apart(members, search, work, topic, n_parts - 1)
            all_plain = False
    return all_plain


@kernel
def sort_open(members, search):
    """Sort the open topics by their number of members, then their numbers (Shell's method)."""
    topics, first, n_open = search.open_topics, members.topic_ptr, search.counts[N_OPEN]
    gap = n_open // 2
    while gap > 0:
        for i in range(gap, n_open):
            topic, k = topics[i], i
            size = first[topic + 1] - first[topic]
            while k >= gap:
                other = topics[k - gap]
                larger = first[other + 1] - first[other] - size
                if larger < 0 or (larger == 0 and other < topic):
                    break
                topics[k] = other
                k -= gap
            topics[k] = topic
        gap //= 2


@kernel
def part_bit(label, carries, slot, stamp):
    """Return the part of a slot as a bit; 0 for a leaf that is attached. Reads only."""
    packed = label[slot]
    if packed >> 32 != stamp:
        return np.uint64(carries[slot])  # the main part, unless it is a leaf
    if packed & 0x7FFFFFFF == ATTACHED:
        return np.uint64(0)
    return np.uint64(1) << np.uint64(packed & 0x7FFFFFFF)


@kernel
def choose_partners(members, plan, search, exclusions, work, wanted):
    """Choose partners that join all parts, the best first; return how many, or TOO_MANY.

    Gains only fall, so it is given up once the best could not do with the links that are left.
    Writes `partners`, `joined` and `apart` of `work`, and `gain`, which is cleared again.
    """
    list_joins(members, search, work)
    needed, n_links = 0, 0
    for index in range(search.counts[N_OPEN]):
        needed += work.apart[search.open_topics[index]]
    while needed > 0:
        w = best_partner(plan, search, exclusions, work, wanted)
        if w == NOBODY or search.gain[0, w] * (wanted.most - n_links) < needed:
            n_links = TOO_MANY
            break
        work.partners[n_links] = w
        n_links += 1
        needed -= join_partner(members, search, work, w)
    for k in range(search.n_touched[0]):
        search.gain[0, search.touched[0, k]] = 0
    search.n_touched[0] = 0
    return n_links


# The loops below run over all members of a topic. What they call takes few arrays: a call that is
# not compiled into its caller copies each array's description.


@kernel
def list_joins(members, search, work):
    """Count the parts that each link of the node would join. Writes `gain` and `touched`."""
    gain, touched, n_touched = search.gain, search.touched, 0
    nodes, slot_at, carries = members.nodes, members.slot_at, members.carries
    label, stamp = search.parts.label, search.counts[STAMP]
    for index in range(search.counts[N_OPEN]):
        topic = np.int64(search.open_topics[index])
        is_plain, others = work.plain[topic], ~work.joined[topic]
        own = carries[work.slot[topic]]
        for at in range(members.topic_ptr[topic], members.topic_ptr[topic + 1]):
            if not is_plain:
                slot = slot_at[at]
                is_apart = part_bit(label, carries, slot, stamp) & others != np.uint64(0)
                if not (is_apart and (own or carries[slot])):
                    continue
            w = nodes[at]
            if gain[0, w] == 0:
                touched[0, n_touched] = w
                n_touched += 1
            gain[0, w] += 1
    search.n_touched[0] = n_touched


@kernel
def best_partner(plan, search, exclusions, work, wanted):
    """Return the partner that joins most parts, or NOBODY; the first of equals.

    They are in the order of the smallest topic that they join, then of their numbers: the small
    topics leave the least choice. Reads only.
    """
    best, best_gain = np.int64(NOBODY), np.int32(0)
    gain, touched, room = search.gain, search.touched, plan.neighbours.shape[1]
    for k in range(search.n_touched[0]):
        w = np.int64(touched[0, k])
        if gain[0, w] <= best_gain or w == wanted.node:
            continue
        has_room = plan.degree[w] < room and plan.degree[w] + work.elsewhere[w] <= wanted.highest
        if has_room and not is_excluded(exclusions, np.int64(wanted.node), w):
            best, best_gain = w, gain[0, w]
    return best


@kernel
def join_partner(members, search, work, w):
    """Join the parts of a partner: links to them gain no more; return how many they were."""
    n_joins, gain, nodes, slot_at = 0, search.gain, members.nodes, members.slot_at
    carries, label, stamp = members.carries, search.parts.label, search.counts[STAMP]
    for index in range(search.counts[N_OPEN]):
        topic = np.int64(search.open_topics[index])
        if work.apart[topic] == 0 or not takes_part(members, w, topic):
            continue
        first, last = members.topic_ptr[topic], members.topic_ptr[topic + 1]
        if work.plain[topic]:
            for at in range(first, last):
                gain[0, nodes[at]] -= 1
            work.apart[topic] = 0
            n_joins += 1
            continue
        own, other = carries[work.slot[topic]], slot_of(members, w, topic)
        bit = part_bit(label, carries, other, stamp)
        if bit & ~work.joined[topic] == np.uint64(0) or not (own or carries[other]):
            continue
        for at in range(first, last):
            slot = slot_at[at]
            if part_bit(label, carries, slot, stamp) == bit:
                gain[0, nodes[at]] -= own or carries[slot]
        work.joined[topic] |= bit
        work.apart[topic] -= 1
        n_joins += 1
    return n_joins


@kernel
def link_partners(plan, search, work, u, n_links):
    """Link a node to its partners; return whether that changes anything. Writes plan and log."""
    n_same = 0
    for k in range(n_links):
        for i in range(search.counts[N_REMOVED]):
            n_same += search.removed[i, 1] == work.partners[k]
        link(plan, u, np.int64(work.partners[k]))
        write_log(search, LINKED, u, work.partners[k])
    return n_same < search.counts[N_REMOVED]
