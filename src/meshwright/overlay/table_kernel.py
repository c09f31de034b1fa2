"""The gains of all pairs, kept up to date: for dense interests.

An edge that joins two components of a topic lowers the gain of every pair across them by one, so
the table is lowered once per incidence over the whole run. Nearly always one of the two components
is a single node that joins many topics with the same edge: what its pairs lose is added up over
those topics first, and then taken from the table in one go. And nearly always the other is the main
component of its topic. Which nodes are in that is kept as bits where nodes want many of all topics,
so that what all pairs of the node lose in 64 topics is one pass over words.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from meshwright.kernels.bits import WORD, WORTH, Words, add_common, bit_of
from meshwright.kernels.compile import kernel, maker
from meshwright.kernels.components import Unsigned
from meshwright.overlay.count_kernel import row_cost

CHASE = 100  # a member followed misses the cache: as much as so many positions of a topic in order
DENSE = 8  # a node whose pairs lose at least an eighth as often as there are nodes: whole rows

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Gains = npt.NDArray[Any]  # of 16 bits without sign, or of 32 where a gain could be larger


class Table(NamedTuple):
    """The gain of the pair a < b lies at start[a] + b."""

    gains: Gains
    start: Longs
    lost: Gains  # scratch by node: what its pair loses
    touched: Unsigned  # scratch: the nodes whose pair loses something
    head: Ints  # scratch by node: its last move, or -1
    movers: Unsigned  # scratch: the nodes that change their component
    joins: Ints  # scratch: by join its topic, the label that moves and the label that stays
    main: Ints  # by topic: the label of its main component, or -1
    inside: Words  # the topics in whose main component a node is
    mask: Words  # scratch by word: the topics in which a node joins the main component
    weight: Longs  # scratch by word: the nodes that want these topics


def table_bytes(n_nodes: int, largest: int) -> int:
    """Return the memory of a table over so many nodes, the largest of `largest` topics."""
    return n_nodes * (n_nodes - 1) // 2 * _gain_type(largest)().itemsize


def new_table(
    n_nodes: int, largest: int, n_topics: int = 0, n_words: int = 0, *, wide: bool = False
) -> Table:
    """Return a table of zeros; `fill` counts the gains. Bits of topics are kept in `n_words`."""
    kind = np.int32 if wide else _gain_type(largest)
    a = np.arange(n_nodes, dtype=np.int64)
    return Table(
        gains=np.zeros(n_nodes * (n_nodes - 1) // 2, dtype=kind),
        start=a * n_nodes - a * (a + 1) // 2 - a - 1,
        lost=np.zeros(n_nodes, dtype=kind),
        touched=np.empty(n_nodes + 1, dtype=np.uint32),
        head=np.full(n_nodes, -1, dtype=np.int32),
        movers=np.empty(n_nodes, dtype=np.uint32),
        joins=np.empty((largest, 3), dtype=np.int32),
        main=np.full(n_topics if n_words else 0, -1, dtype=np.int32),
        inside=np.zeros((n_words, n_nodes), dtype=np.uint64),
        mask=np.zeros(n_words, dtype=np.uint64),
        weight=np.zeros(n_words, dtype=np.int64),
    )


def _gain_type(largest: int) -> type[np.uint16] | type[np.int32]:
    return np.uint16 if largest <= np.iinfo(np.uint16).max else np.int32


@kernel
def fill(c, table, wants, first, last):
    """Count the gains in the rows from `first` to `last` of an overlay without edges.

    `wants` are the interests as words, or nothing.
    """
    topics, topic_ptr, position_at = c.topics, c.topic_ptr, c.position_at
    for u in range(first, last):
        row = table.gains[table.start[u] + u + 1 : table.start[u] + len(table.lost)]
        if len(wants) > 0 and row_cost(c, u, -1) * WORTH >= len(wants) * len(row):
            for k in range(len(wants)):
                add_common(row, wants[k, u], wants[k, u + 1 :])
            continue
        for slot in range(c.indptr[u], c.row_end[u]):
            partners = c.nodes[position_at[slot] + 1 : topic_ptr[topics[slot] + 1]]
            for i in range(len(partners)):
                row[partners[i] - np.uint32(u + 1)] += 1


@maker
def lower_gains(c, table, u, v):
    """Take from the table what its pairs lose by the edge (u, v), before the edge is added."""
    size, label, follower = c.size, c.label, c.follower
    nodes, topic_ptr = c.nodes, c.topic_ptr
    head, movers, joins = table.head, table.movers, table.joins
    lost, touched, n_nodes = table.lost, table.touched, len(table.lost)
    n_joins, n_moves = find_joins(c, joins, u, v)
    following = np.empty(n_moves, np.int32)  # by move: the same node's move before, or -1
    join_of = np.empty(n_moves, np.int32)
    move, n_movers = 0, 0
    for k in range(n_joins):
        position = joins[k, 1]
        while True:
            node = nodes[position]
            if head[node] < 0:
                movers[n_movers] = node
                n_movers += 1
            following[move], join_of[move] = head[node], k
            head[node] = move
            move += 1
            position = follower[position]
            if position == joins[k, 1]:
                break
    for i in range(n_movers):
        node = movers[i]
        work, move = 0, head[node]
        while move >= 0:
            topic, stays = joins[join_of[move], 0], joins[join_of[move], 2]
            work += min(size[stays] * CHASE, topic_ptr[topic + 1] - topic_ptr[topic])
            move = following[move]
        dense = work * DENSE >= n_nodes
        if dense and len(table.inside) > 0:
            move = head[node]
            while move >= 0:
                mask_join(c, table, join_of[move])
                move = following[move]
        n_touched, move = 0, head[node]
        while move >= 0:
            topic, stays = joins[join_of[move], 0], joins[join_of[move], 2]
            first, end = topic_ptr[topic], topic_ptr[topic + 1]
            if dense and size[stays] * CHASE >= end - first:
                if not is_masked(table, topic, stays):
                    add_members(lost, nodes[first:end], label[first:end], stays)
            else:
                n_touched = list_members(c, lost, touched, n_touched, stays)
            move = following[move]
        if dense:
            add_masked(table)
            take_row(table, node)
        else:
            take(table, node, n_touched)
        head[node] = -1
    if len(table.inside) > 0:
        for k in range(n_joins):
            keep_main(c, table, joins[k, 0], joins[k, 1], joins[k, 2])


@kernel
def mask_join(c, table, k):
    """Note a join of a node with the main component of its topic."""
    topic = table.joins[k, 0]
    if table.main[topic] == table.joins[k, 2]:
        table.mask[topic // WORD] |= bit_of(topic)
        table.weight[topic // WORD] += c.topic_ptr[topic + 1] - c.topic_ptr[topic]


@kernel
def is_masked(table, topic, stays):
    """Tell whether a join is among those that are counted by words."""
    if len(table.inside) == 0 or table.main[topic] != stays:
        return False
    return table.weight[topic // WORD] * WORTH >= len(table.lost)


@kernel
def add_masked(table):
    """Add what is counted by words to what the pairs lose, and begin anew."""
    mask, weight, lost = table.mask, table.weight, table.lost
    for k in range(len(mask)):
        if weight[k] > 0:
            if weight[k] * WORTH >= len(lost):
                add_common(lost, mask[k], table.inside[k])
            mask[k], weight[k] = 0, 0


@kernel
def keep_main(c, table, topic, moves, stays):
    """Keep the main component of a topic and its bits, as a join changes them."""
    main, size = table.main, c.size
    if main[topic] == stays:
        set_members(c, table.inside[topic // WORD], topic, moves)
    elif main[topic] == moves or (
        main[topic] < 0
        and (size[moves] + size[stays]) * CHASE >= c.topic_ptr[topic + 1] - c.topic_ptr[topic]
    ):
        if main[topic] != moves:
            set_members(c, table.inside[topic // WORD], topic, moves)
        set_members(c, table.inside[topic // WORD], topic, stays)
        main[topic] = stays


@kernel
def set_members(c, words, topic, first):
    """Set the bit of a topic for the members of a component."""
    nodes, follower, bit = c.nodes, c.follower, bit_of(topic)
    position = first
    while True:
        words[nodes[position]] |= bit
        position = follower[position]
        if position == first:
            return


@kernel
def add_members(lost, nodes, labels, stays):
    """Add one to what the pair loses for each node of a component."""
    for i in range(len(nodes)):
        lost[nodes[i]] += labels[i] == stays


@kernel
def list_members(c, lost, touched, n_touched, stays):
    """The same by following the component, and list the nodes."""
    nodes, follower = c.nodes, c.follower
    position = stays
    while True:
        w = nodes[position]
        touched[n_touched] = w
        n_touched += lost[w] == 0
        lost[w] += 1
        position = follower[position]
        if position == stays:
            return n_touched


@kernel
def find_joins(c, joins, u, v):
    """List the joins of the edge (u, v); return their number and that of the nodes that move."""
    topics, slot_label, size = c.topics, c.slot_label, c.size
    i, end_i = c.indptr[u], c.row_end[u]
    j, end_j = c.indptr[v], c.row_end[v]
    n_joins, n_moves = 0, 0
    while i < end_i and j < end_j:
        a, b = topics[i], topics[j]
        if a == b and slot_label[i] != slot_label[j]:
            stays, moves = slot_label[i], slot_label[j]
            if size[stays] < size[moves]:  # as `join_two` does
                stays, moves = moves, stays
            joins[n_joins, 0], joins[n_joins, 1], joins[n_joins, 2] = a, moves, stays
            n_joins += 1
            n_moves += size[moves]
        i += a <= b
        j += b <= a
    return n_joins, n_moves


@kernel
def take(table, node, n_touched):
    """Take what its pairs lost from the gains of a node."""
    gains, start, lost, touched = table.gains, table.start, table.lost, table.touched
    base = start[node]
    for i in range(n_touched):
        w = touched[i]
        at = base + w if node < w else start[w] + node
        gains[at] -= lost[w]
        lost[w] = 0


@kernel
def take_row(table, node):
    """The same for a node that has lost much: go over all pairs."""
    gains, start, lost = table.gains, table.start, table.lost
    for w in range(node):
        if lost[w] > 0:
            gains[start[w] + node] -= lost[w]
    behind = lost[node + 1 :]
    row = gains[start[node] + node + 1 : start[node] + len(lost)]
    for i in range(len(behind)):
        row[i] -= behind[i]
    lost[:] = 0
