"""What routing counts: a row per publication, the load of each node, and messages if asked for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

# The columns of a row of counts. The hops are those of the deliveries.
DELIVERIES, MISSED, OVERHEAD, HOPS_SUM, HOPS_MAX = 0, 1, 2, 3, 4
N_COUNTS = 5
# The columns of a message in the trace are sender, receiver, low, high, hops.
N_FIELDS = 5
NO_RANGE = -1  # the `high` of a message that carries no range


class Tally(NamedTuple):
    """The arrays that routing writes."""

    counts: npt.NDArray[np.int64]  # n_publications x N_COUNTS
    sent: npt.NDArray[np.int64]  # by node
    received: npt.NDArray[np.int64]  # by node
    trace: npt.NDArray[np.int32]  # room x N_FIELDS; messages beyond the room are only counted
    n_messages: npt.NDArray[np.int64]  # one number


def new_tally(n_publications: int, n_nodes: int, room: int = 0) -> Tally:
    """Return a tally of nothing, with room for the trace of so many messages."""
    return Tally(
        counts=np.zeros((n_publications, N_COUNTS), np.int64),
        sent=np.zeros(n_nodes, np.int64),
        received=np.zeros(n_nodes, np.int64),
        trace=np.empty((room, N_FIELDS), np.int32),
        n_messages=np.zeros(1, np.int64),
    )


@njit(cache=True)
def count_message(tally, publication, wanted, sender, receiver, low, high, hops):
    """Count a message, as overhead unless its receiver wants the topic. Writes the tally."""
    tally.sent[sender] += 1
    tally.received[receiver] += 1
    if not wanted:
        tally.counts[publication, OVERHEAD] += 1
    number = tally.n_messages[0]
    tally.n_messages[0] += 1
    if number < len(tally.trace):
        message = tally.trace[number]
        message[0], message[1], message[2] = sender, receiver, low
        message[3], message[4] = high, hops


@njit(cache=True)
def count_delivery(tally, publication, hops):
    """Count a delivery. Writes the tally."""
    row = tally.counts[publication]
    row[DELIVERIES] += 1
    row[HOPS_SUM] += hops
    row[HOPS_MAX] = max(row[HOPS_MAX], hops)


@njit(cache=True)
def place_all(members, place):
    """Note in `place` where each of a topic's members stands, for `wants`."""
    for i in range(len(members)):
        place[members[i]] = i


@njit(cache=True)
def wants(members, place, v):
    """Return whether v is among the members. What earlier topics left in `place` does no harm."""
    i = place[v]
    return i < len(members) and members[i] == v
