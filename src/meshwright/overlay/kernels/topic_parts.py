"""The components of a topic after links were removed: the parts that a repair has to join.

Most removals cut off a small part of a topic. So searches start at the ends of the removed links
and take turns; when all but one have ended, what they have reached are the parts cut off, and the
rest of the topic, which is never walked, is the main part.
"""

from typing import NamedTuple

import numpy as np

from meshwright.overlay.kernels.plan import N_SEARCHES, NOT_A_MEMBER, has_other_carrier, slot_of
from meshwright.runtime.arrays import Ints, Longs
from meshwright.runtime.compile import kernel

MAIN = 0  # the label of slots without a label of this round, if they carry
ATTACHED = (1 << 31) - 1  # the label of a leaf that has a link to a carrier: it needs no other
NONE = -1  # the end of a list
FIRST, LAST = 0, 1  # columns of the lists of a search


class Parts(NamedTuple):
    """Labels of slots, and the searches that find them. Labels of earlier rounds are void."""

    label: Longs  # int64[n_slots], the round << 32 | the label
    owner: Ints  # int32[n_slots], the search that has reached the slot
    next_reached: Ints  # int32[n_slots], the next slot that the same search has reached
    next_waiting: Ints  # int32[n_slots], the next slot whose links are to be walked
    reached: Ints  # int32[most_searches, 2], FIRST and LAST slot reached, or NONE
    waiting: Ints  # int32[most_searches, 2], FIRST and LAST slot waiting, or NONE
    parent: Ints  # int32[most_searches], the search that has taken over this one, or itself


@kernel
def label_of(members, parts, slot, stamp):
    """Return the label of a slot in a round. Reads only."""
    packed = parts.label[slot]
    if packed >> 32 == stamp:
        return packed & 0x7FFFFFFF
    return np.int64(MAIN) if members.carries[slot] else np.int64(ATTACHED)


@kernel
def set_label(parts, slot, stamp, label):
    """Give a slot a label for a round."""
    parts.label[slot] = (np.int64(stamp) << 32) | np.int64(label)


@kernel
def label_all(members, plan, parts, topic, stamp):
    """Label every member of a topic; return the number of parts. Writes `label`.

    Carriers are joined by links among them. A leaf that is linked to a carrier is ATTACHED, any
    other leaf a part of its own. A topic without a carrier has nothing to join: 0.
    """
    first, last = members.topic_ptr[topic], members.topic_ptr[topic + 1]
    plan.counts[N_SEARCHES] += 1
    search, count = plan.counts[N_SEARCHES], 0
    for at in range(first, last):
        slot = members.slot_at[at]
        if members.carries[slot] and plan.seen[slot] != search:
            spread_label(members, plan, parts, slot, stamp, count)
            count += 1
    if count == 0:
        return 0
    for at in range(first, last):
        slot = members.slot_at[at]
        if plan.seen[slot] != search:
            set_label(parts, slot, stamp, count)
            count += 1
    return count


@kernel
def spread_label(members, plan, parts, start, stamp, label):
    """Label what a carrier reaches over carriers of its topic. Writes `label`, `seen`, `queue`."""
    topic, search = members.topics[start], plan.counts[N_SEARCHES]
    queue, head, tail = plan.queue, 0, 1
    queue[0] = members.node_of[start]
    plan.seen[start] = search
    set_label(parts, start, stamp, label)
    while head < tail:
        u = queue[head]
        head += 1
        for k in range(plan.degree[u]):
            w = plan.neighbours[u, k]
            slot = slot_of(members, w, topic)
            if slot == NOT_A_MEMBER or plan.seen[slot] == search:
                continue
            plan.seen[slot] = search
            if members.carries[slot]:
                set_label(parts, slot, stamp, label)
                queue[tail] = w
                tail += 1
            else:
                set_label(parts, slot, stamp, ATTACHED)


@kernel
def label_cut_off(members, plan, parts, topic, removed, stamp):
    """Label the parts that removed links have cut off a connected topic; return how many there are.

    `removed` int32[n, 2] are links, of any topics. The main part counts, and has no labels.
    """
    plan.counts[N_SEARCHES] += 1
    n_searches, n_leaves = 0, 0
    for k in range(len(removed)):
        slot, other = slot_of(members, removed[k, 0], topic), slot_of(members, removed[k, 1], topic)
        if slot == NOT_A_MEMBER or other == NOT_A_MEMBER:
            continue
        n_searches = start_search(members, plan, parts, slot, n_searches)
        n_searches = start_search(members, plan, parts, other, n_searches)
    n_parts, n_active, turn = 0, n_searches, 0
    while n_active > 1:
        turn = turn + 1 if turn + 1 < n_searches else 0
        if parts.parent[turn] != turn or parts.waiting[turn, FIRST] == NONE:
            continue
        n_active -= walk_one(members, plan, parts, topic, turn)
        if n_active > 1 and parts.waiting[turn, FIRST] == NONE:
            n_parts += 1
            n_active -= 1
            slot = parts.reached[turn, FIRST]
            while slot != NONE:
                set_label(parts, slot, stamp, n_parts)
                slot = parts.next_reached[slot]
    for k in range(len(removed)):
        for end in range(2):
            u = np.int64(removed[k, end])
            slot = slot_of(members, u, topic)
            if slot == NOT_A_MEMBER or members.carries[slot] or parts.label[slot] >> 32 == stamp:
                continue
            if not has_other_carrier(members, plan, topic, u, u):
                n_leaves += 1
                set_label(parts, slot, stamp, n_parts + n_leaves)
    return n_parts + n_leaves + 1


@kernel
def start_search(members, plan, parts, slot, n_searches):
    """Start a search at a carrier that no search has reached; return the number of searches."""
    if not members.carries[slot] or plan.seen[slot] == plan.counts[N_SEARCHES]:
        return n_searches
    plan.seen[slot] = plan.counts[N_SEARCHES]
    parts.owner[slot], parts.parent[n_searches] = n_searches, n_searches
    parts.next_reached[slot], parts.next_waiting[slot] = NONE, NONE
    parts.reached[n_searches, FIRST], parts.reached[n_searches, LAST] = slot, slot
    parts.waiting[n_searches, FIRST], parts.waiting[n_searches, LAST] = slot, slot
    return n_searches + 1


@kernel
def walk_one(members, plan, parts, topic, search):
    """Walk the links of one waiting carrier; return how many searches this one has taken over."""
    slot = np.int64(parts.waiting[search, FIRST])
    parts.waiting[search, FIRST] = parts.next_waiting[slot]
    u, taken = members.node_of[slot], 0
    for k in range(plan.degree[u]):
        other = slot_of(members, plan.neighbours[u, k], topic)
        if other == NOT_A_MEMBER or not members.carries[other]:
            continue
        if plan.seen[other] != plan.counts[N_SEARCHES]:
            plan.seen[other] = plan.counts[N_SEARCHES]
            parts.owner[other] = search
            append(parts.reached, parts.next_reached, search, other, other)
            append(parts.waiting, parts.next_waiting, search, other, other)
            parts.next_reached[other], parts.next_waiting[other] = NONE, NONE
            continue
        owner = np.int64(parts.owner[other])
        while parts.parent[owner] != owner:
            owner = np.int64(parts.parent[owner])
        if owner != search:
            taken += 1
            parts.parent[owner] = search
            append(parts.reached, parts.next_reached, search, *parts_of(parts.reached, owner))
            if parts.waiting[owner, FIRST] != NONE:
                append(parts.waiting, parts.next_waiting, search, *parts_of(parts.waiting, owner))
    return taken


@kernel
def parts_of(ends, search):
    """Return the first and the last slot of a search's list."""
    return ends[search, FIRST], ends[search, LAST]


@kernel
def append(ends, following, search, first, last):
    """Append the list from `first` to `last` to a list of a search."""
    if ends[search, FIRST] == NONE:
        ends[search, FIRST] = first
    else:
        following[ends[search, LAST]] = first
    ends[search, LAST] = last
