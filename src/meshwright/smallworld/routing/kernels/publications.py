"""Publications: drawing them, and counting what their routing costs."""

from typing import NamedTuple

import numpy as np

from meshwright.runtime.arrays import Bools, Ints, Longs
from meshwright.runtime.compile import kernel, maker
from meshwright.runtime.kernels.random import stream, uniform

# The columns of `Tally.counts`; the hops are those of the deliveries.
DELIVERIES, MISSED, OVERHEAD, HOPS_SUM, HOPS_MAX = range(5)
N_COUNTS = 5
# The columns of `Tally.trace`.
SENDER, RECEIVER, LOW, HIGH, HOPS = range(5)
N_FIELDS = 5
NO_RANGE = -1  # the `high` of a message that carries no range


class Tally(NamedTuple):
    """The arrays that routing writes."""

    counts: Longs  # [n_publications, N_COUNTS]
    sent: Longs  # [n_nodes], messages
    received: Longs  # [n_nodes], messages
    trace: Ints  # [room, N_FIELDS]; messages beyond the room are only counted
    n_messages: Longs  # [1], an array because kernels change it in place


class Members(NamedTuple):
    """Who takes part in topic t: ``nodes[pointers[t] : pointers[t + 1]]``."""

    pointers: Longs  # [n_topics + 1]
    nodes: Ints  # [n_members], ids or ring positions
    wants: Bools  # [n_members]; False: the node only publishes the topic
    n_wanting: Longs  # [n_topics]


class Publication(NamedTuple):
    """One publication while it is routed. Nodes are ids or ring positions, the same throughout."""

    number: int  # its row of `Tally.counts`
    publisher: int
    members: Ints  # who takes part in the topic
    wanting: Bools  # [len(members)]
    n_wanting: int
    place: Ints  # [n_nodes], index in `members`; arbitrary for other nodes
    tally: Tally


def new_tally(n_publications: int, n_nodes: int, room: int = 0) -> Tally:
    """Return an empty tally with room to trace that many messages."""
    return Tally(
        counts=np.zeros((n_publications, N_COUNTS), np.int64),
        sent=np.zeros(n_nodes, np.int64),
        received=np.zeros(n_nodes, np.int64),
        trace=np.empty((room, N_FIELDS), np.int32),
        n_messages=np.zeros(1, np.int64),
    )


@maker
def draw_publications(seed, first, last, draws):
    """Return (topics, publishers), int32 each, of the publications first..last-1.

    Numbers 0 and 1 of the stream of (seed, publication) decide topic and publisher, so any range of
    publications can be drawn separately. The publisher is uniform among the topic's subscribers, or
    as the shares of `draws.publishing` say.
    """
    live, pointers = draws.live, draws.publishing.pointers
    topics = np.empty(last - first, np.int32)
    publishers = np.empty(last - first, np.int32)
    for i in range(last - first):
        key = stream(seed, first + i)
        u = uniform(key, 0)
        if draws.weighted:
            # Rounding may leave the last share below 1.
            chosen = min(np.searchsorted(draws.cumulative, u, side="right"), len(live) - 1)
        else:
            chosen = int(u * len(live))
        topic = live[chosen]
        size = pointers[topic + 1] - pointers[topic]
        topics[i] = topic
        if draws.shared:
            shares = draws.shares[pointers[topic] : pointers[topic + 1]]
            place = min(np.searchsorted(shares, uniform(key, 1), side="right"), size - 1)
        else:
            place = int(uniform(key, 1) * size)
        publishers[i] = draws.publishing.nodes[pointers[topic] + place]
    return topics, publishers


@kernel
def set_places(members, place):
    """Write into `place` the index of each member, for `wants`."""
    for i in range(len(members)):
        place[members[i]] = i


@maker
def new_publication(i, topics, publishers, taking, place, tally):
    """Return publication number i before it is routed; `taking` are Members. Writes `place`."""
    start, end = taking.pointers[topics[i]], taking.pointers[topics[i] + 1]
    members, wanting = taking.nodes[start:end], taking.wants[start:end]
    set_places(members, place)
    n_wanting = taking.n_wanting[topics[i]]
    return Publication(i, publishers[i], members, wanting, n_wanting, place, tally)


@kernel
def takes_part(p, v):
    """Return whether v is a member; entries of `place` from earlier topics do no harm."""
    i = p.place[v]
    return i < len(p.members) and p.members[i] == v


@kernel
def wants(p, v):
    """Return whether v subscribes."""
    return takes_part(p, v) and p.wanting[p.place[v]]


@kernel
def count_message(p, sender, receiver, low, high, hops):
    """Count a message, as overhead unless its receiver subscribes. Writes the tally."""
    tally = p.tally
    tally.sent[sender] += 1
    tally.received[receiver] += 1
    if not wants(p, receiver):
        tally.counts[p.number, OVERHEAD] += 1
    number = tally.n_messages[0]
    tally.n_messages[0] += 1
    if number < len(tally.trace):
        row = tally.trace[number]
        row[SENDER], row[RECEIVER], row[HOPS] = sender, receiver, hops
        row[LOW], row[HIGH] = low, high


@kernel
def count_delivery(p, hops):
    """Count a delivery. Writes the tally."""
    row = p.tally.counts[p.number]
    row[DELIVERIES] += 1
    row[HOPS_SUM] += hops
    row[HOPS_MAX] = max(row[HOPS_MAX], hops)


@kernel
def count_missed(p):
    """Count the subscribers other than the publisher without a delivery. Writes the tally."""
    row = p.tally.counts[p.number]
    row[MISSED] = p.n_wanting - wants(p, p.publisher) - row[DELIVERIES]
