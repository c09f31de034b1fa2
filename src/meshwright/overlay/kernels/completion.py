"""Complete a plan again: the best links of a few chosen nodes, until no topic can be joined.

The gain of a link is the number of open topics in which it joins two parts. Gains are counted once
for the chosen nodes, and brought up to date with each link that is added.
"""

from typing import NamedTuple

import numpy as np

from meshwright.overlay.greedy.kernels.exclusions import is_excluded
from meshwright.overlay.kernels.plan import NOT_A_MEMBER, link, slot_of
from meshwright.overlay.kernels.topic_parts import ATTACHED, Parts, label_of, set_label
from meshwright.runtime.arrays import Bools, Ints, Longs
from meshwright.runtime.compile import kernel
from meshwright.runtime.kernels.random import uniform


class Settings(NamedTuple):
    """How far a round goes."""

    seed: int
    most_nodes: int  # nodes whose links are freed while joins are missing; else half as many
    most_freed: int  # links that are freed, about; twice as many while joins are missing
    noise: float  # by how many square roots of itself a gain may seem higher than it is


class Batch(NamedTuple):
    """Rounds that are run in one call."""

    first: int
    last: int  # the first round that is not run
    enough: int  # links: with as few, and every topic joined, no further round is run


class Search(NamedTuple):
    """What a round works with; everything is cleared when it ends."""

    chosen: Ints  # int32[most_nodes], the nodes whose links are freed
    is_chosen: Bools  # bool[n_nodes]
    gain: Ints  # int32[most_nodes, n_nodes], the topics that a link to a node would join
    touched: Ints  # int32[most_nodes, n_nodes], the nodes whose gain was above 0
    n_touched: Ints  # int32[most_nodes]
    topic_round: Longs  # int64[n_topics], the last round in which the topic was affected
    affected: Ints  # int32[n_topics]
    open_topics: Ints  # int32[n_topics], the affected topics in more than one component
    n_parts: Ints  # int32[n_topics], the components of each topic
    n_parts_before: Ints  # int32[n_topics], of the affected topics before the round, in their order
    weight: Ints  # int32[n_topics], what a join of the topic counts; rises while it resists
    parts: Parts  # the labels of the affected topics
    removed: Ints  # int32[most_logged, 2], the links that were freed
    log: Ints  # int32[most_logged, 3] by KIND, LOG_U and LOG_V, to undo a round
    best: Longs  # int64[2], [FEWEST, STALLED]: missing joins at best, rounds without progress
    best_degree: Ints  # int32[n_nodes], the links of the plan that lacks fewest joins
    best_neighbours: Ints  # int32[n_nodes, most]
    counts: Longs  # int64[10], see below


# Places in Search.counts. MENDS: 1 if joins were missing before the round; STAMP: its number + 1;
# MISSING: the missing joins, each by the weight of its topic; SWAPS: 1 if one link is freed.
N_CHOSEN, N_AFFECTED, N_OPEN, N_LOGGED, N_DRAWN, N_REMOVED, STAMP, MENDS, MISSING, SWAPS = range(10)
FEWEST, STALLED = 0, 1  # places in Search.best
KIND, LOG_U, LOG_V = 0, 1, 2  # columns of Search.log
LINKED, UNLINKED = 1, -1  # kinds
MENDING_NOISE = 12  # times as much noise at most: what gains most has not helped


@kernel
def list_gains(members, search):
    """Count what links of the chosen nodes would join. Writes `gain` and `touched`."""
    for index in range(search.counts[N_OPEN]):
        topic = search.open_topics[index]
        for k in range(search.counts[N_CHOSEN]):
            slot = slot_of(members, np.int64(search.chosen[k]), topic)
            if slot == NOT_A_MEMBER:
                continue
            for at in range(members.topic_ptr[topic], members.topic_ptr[topic + 1]):
                if joins_two(members, search, slot, members.slot_at[at]):
                    w = members.nodes[at]
                    if search.gain[k, w] == 0:
                        search.touched[k, search.n_touched[k]] = w
                        search.n_touched[k] += 1
                    search.gain[k, w] += search.weight[topic]


@kernel
def complete(members, plan, search, exclusions, settings, key):
    """Add the best links of the chosen nodes until none gains."""
    room, noise = plan.neighbours.shape[1], settings.noise
    if search.counts[MENDS] > 0:
        search.counts[N_DRAWN] += 1
        noise *= MENDING_NOISE * uniform(key, search.counts[N_DRAWN]) ** 2
    while True:
        best, best_k, best_w = 0.0, -1, -1
        for k in range(search.counts[N_CHOSEN]):
            u = np.int64(search.chosen[k])
            if plan.degree[u] >= room:
                continue
            for i in range(search.n_touched[k]):
                w = np.int64(search.touched[k, i])
                gain = search.gain[k, w]
                # Without noise it would not be chosen; with it only if it comes close.
                spread = noise * np.sqrt(gain)
                if gain == 0 or gain + spread <= best:
                    continue
                search.counts[N_DRAWN] += 1
                seems = gain + spread * uniform(key, search.counts[N_DRAWN])
                if seems > best and plan.degree[w] < room and not is_excluded(exclusions, u, w):
                    best, best_k, best_w = seems, k, w
        if best_k < 0 or search.counts[N_LOGGED] == len(search.log):
            return
        add(members, plan, search, np.int64(search.chosen[best_k]), best_w)


@kernel
def add(members, plan, search, u, w):
    """Add a link, log it, and update labels, gains and the missing joins."""
    link(plan, u, w)
    write_log(search, LINKED, u, w)
    for index in range(search.counts[N_OPEN]):
        topic = search.open_topics[index]
        slot, other = slot_of(members, u, topic), slot_of(members, w, topic)
        if slot == NOT_A_MEMBER or other == NOT_A_MEMBER:
            continue
        if joins_two(members, search, slot, other):
            if not members.carries[slot]:
                slot, other = other, slot
            join_labels(members, search, topic, slot, other)
            search.n_parts[topic] -= 1
            search.counts[MISSING] -= search.weight[topic]


@kernel
def joins_two(members, search, slot, other):
    """Return whether a link between the nodes of two slots of a topic would join components."""
    stamp = search.counts[STAMP]
    a = label_of(members, search.parts, slot, stamp)
    b = label_of(members, search.parts, other, stamp)
    if a == b or ATTACHED in (a, b):
        return False
    return members.carries[slot] or members.carries[other]


@kernel
def join_labels(members, search, topic, slot, other):
    """Join the components of a carrier's slot and of another; pairs between them gain no more."""
    parts, stamp = search.parts, search.counts[STAMP]
    kept = label_of(members, parts, slot, stamp)
    given_up = label_of(members, parts, other, stamp)
    first, last = members.topic_ptr[topic], members.topic_ptr[topic + 1]
    for k in range(search.counts[N_CHOSEN]):
        own = slot_of(members, np.int64(search.chosen[k]), topic)
        if own == NOT_A_MEMBER:
            continue
        label = label_of(members, parts, own, stamp)
        if label in (kept, given_up):
            lost = given_up if label == kept else kept
            for at in range(first, last):
                partner = members.slot_at[at]
                if label_of(members, parts, partner, stamp) == lost:
                    carried = members.carries[own] or members.carries[partner]
                    search.gain[k, members.nodes[at]] -= carried * search.weight[topic]
    if not members.carries[other]:
        attach_leaf(members, search, topic, other, kept)
        return
    for at in range(first, last):
        if label_of(members, parts, members.slot_at[at], stamp) == given_up:
            set_label(parts, members.slot_at[at], stamp, kept)


@kernel
def attach_leaf(members, search, topic, slot, kept):
    """Attach a leaf to a component: links to carriers of other components gain no more."""
    parts, stamp, leaf = search.parts, search.counts[STAMP], members.node_of[slot]
    for k in range(search.counts[N_CHOSEN]):
        u = np.int64(search.chosen[k])
        own = slot_of(members, u, topic)
        if own == NOT_A_MEMBER:
            continue
        if u == leaf:
            for at in range(members.topic_ptr[topic], members.topic_ptr[topic + 1]):
                other = members.slot_at[at]
                is_other = label_of(members, parts, other, stamp) != kept
                is_lost = members.carries[other] and is_other
                search.gain[k, members.nodes[at]] -= is_lost * search.weight[topic]
        elif members.carries[own] and label_of(members, parts, own, stamp) != kept:
            search.gain[k, leaf] -= search.weight[topic]
    set_label(parts, slot, stamp, ATTACHED)


@kernel
def write_log(search, kind, u, v):
    """Log a change of links."""
    at = search.counts[N_LOGGED]
    search.log[at, KIND], search.log[at, LOG_U], search.log[at, LOG_V] = kind, u, v
    search.counts[N_LOGGED] += 1
