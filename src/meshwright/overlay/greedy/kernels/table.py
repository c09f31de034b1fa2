"""The gains of all pairs in one table, kept current: for dense interests.

An edge that joins two components of a topic lowers the gain of every pair across them by one.
Nearly always one of the two is a single node that joins many topics at once: the losses of its
pairs are summed first and subtracted in one pass.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from meshwright.model.kernels.components import new_counters
from meshwright.overlay.greedy.kernels.tuning import DENSE_LOSS, FOLLOW_COST
from meshwright.runtime.arrays import Ints, Longs, Unsigned
from meshwright.runtime.compile import kernel, maker

Gains = npt.NDArray[Any]  # uint16, or int32 where a gain could be larger

JOIN_TOPIC, JOIN_MOVES, JOIN_STAYS = range(3)  # columns of Table.joins
WIDE = 1 << 16  # a gain that 16 bits do not hold


class Table(NamedTuple):
    """The gain of the pair a < b is at start[a] + b. A table of 0 nodes stands for none."""

    gains: Gains  # [n_nodes * (n_nodes - 1) / 2]
    start: Longs  # int64[n_nodes]
    lost: Gains  # [n_nodes], what the pair of a node and the current mover loses
    touched: Unsigned  # uint32[n_nodes + 1], the nodes whose pair loses something
    head: Ints  # int32[n_nodes], the last move of a node, or -1
    movers: Unsigned  # uint32[n_nodes], the nodes that change their component
    joins: Ints  # int32[largest, 3], [JOIN_TOPIC, JOIN_MOVES: a label, JOIN_STAYS: a label]


def table_bytes(n_nodes: int, largest: int) -> int:
    """Return the memory of a table if nodes want at most `largest` topics."""
    return n_nodes * (n_nodes - 1) // 2 * new_counters(1, largest).itemsize


def new_table(n_nodes: int, largest: int, *, wide: bool) -> Table:
    """Return a table of zeros; `fill` counts the gains."""
    most = WIDE if wide else largest
    a = np.arange(n_nodes, dtype=np.int64)
    return Table(
        gains=new_counters(n_nodes * (n_nodes - 1) // 2, most),
        start=a * n_nodes - a * (a + 1) // 2 - a - 1,
        lost=new_counters(n_nodes, most),
        touched=np.empty(n_nodes + 1, dtype=np.uint32),
        head=np.full(n_nodes, -1, dtype=np.int32),
        movers=np.empty(n_nodes, dtype=np.uint32),
        joins=np.empty((largest, 3), dtype=np.int32),
    )


@kernel
def fill(c, table, first, last):
    """Count the gains in the rows from `first` to `last` before the first edge."""
    topics, topic_ptr, position_at = c.topics, c.topic_ptr, c.position_at
    for u in range(first, last):
        row = table.gains[table.start[u] + u + 1 : table.start[u] + len(table.lost)]
        for slot in range(c.indptr[u], c.row_end[u]):
            partners = c.nodes[position_at[slot] + 1 : topic_ptr[topics[slot] + 1]]
            for i in range(len(partners)):
                row[partners[i] - np.uint32(u + 1)] += 1


@maker
def lower_gains(c, table, u, v):
    """Subtract what all pairs lose by the edge (u, v), before the edge is added."""
    nodes, follower = c.nodes, c.follower
    head, movers, joins = table.head, table.movers, table.joins
    n_joins, n_moves = find_joins(c, joins, u, v)
    following = np.empty(n_moves, np.int32)  # by move: the same node's move before it, or -1
    join_of = np.empty(n_moves, np.int32)  # by move: its join
    move, n_movers = 0, 0
    for k in range(n_joins):
        position = joins[k, JOIN_MOVES]
        for _ in range(c.size[position]):
            node = nodes[position]
            if head[node] < 0:
                movers[n_movers] = node
                n_movers += 1
            following[move], join_of[move] = head[node], k
            head[node] = move
            move += 1
            position = follower[position]
    for i in range(n_movers):
        lower_pairs(c, table, movers[i], following, join_of)
        head[movers[i]] = -1


@kernel
def find_joins(c, joins, u, v):
    """List the joins of the edge (u, v); return how many joins and how many moves there are."""
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
            joins[n_joins, JOIN_TOPIC] = a
            joins[n_joins, JOIN_MOVES], joins[n_joins, JOIN_STAYS] = moves, stays
            n_joins += 1
            n_moves += size[moves]
        i += a <= b
        j += b <= a
    return n_joins, n_moves


@kernel
def lower_pairs(c, table, node, following, join_of):
    """Subtract what the pairs of a node lose by its moves."""
    size, topic_ptr, joins, head, lost = c.size, c.topic_ptr, table.joins, table.head, table.lost
    work, move = 0, head[node]
    while move >= 0:
        topic, stays = joins[join_of[move], JOIN_TOPIC], joins[join_of[move], JOIN_STAYS]
        work += min(size[stays] * FOLLOW_COST, topic_ptr[topic + 1] - topic_ptr[topic])
        move = following[move]
    dense = work * DENSE_LOSS >= len(lost)
    n_touched, move = 0, head[node]
    while move >= 0:
        topic, stays = joins[join_of[move], JOIN_TOPIC], joins[join_of[move], JOIN_STAYS]
        first, end = topic_ptr[topic], topic_ptr[topic + 1]
        if dense and size[stays] * FOLLOW_COST >= end - first:
            nodes, labels = c.nodes[first:end], c.label[first:end]
            for i in range(len(nodes)):
                lost[nodes[i]] += labels[i] == stays
        else:
            n_touched = list_members(c, table, n_touched, stays)
        move = following[move]
    if dense:
        subtract_row(table, node)
    else:
        subtract_touched(table, node, n_touched)


@kernel
def list_members(c, table, n_touched, stays):
    """Add one to the loss of each member of a component, list them; return how many are listed."""
    lost, touched, position = table.lost, table.touched, stays
    for _ in range(c.size[stays]):
        w = c.nodes[position]
        touched[n_touched] = w
        n_touched += lost[w] == 0
        lost[w] += 1
        position = c.follower[position]
    return n_touched


@kernel
def subtract_touched(table, node, n_touched):
    """Subtract the losses of the listed nodes from their pairs with a node."""
    start, lost = table.start, table.lost
    for w in table.touched[:n_touched]:
        table.gains[start[node] + w if node < w else start[w] + node] -= lost[w]
        lost[w] = 0


@kernel
def subtract_row(table, node):
    """Subtract the losses of all nodes from their pairs with a node."""
    gains, start, lost = table.gains, table.start, table.lost
    for w in range(node):
        if lost[w] > 0:
            gains[start[w] + node] -= lost[w]
    behind = lost[node + 1 :]
    row = gains[start[node] + node + 1 : start[node] + len(lost)]
    for i in range(len(behind)):
        row[i] -= behind[i]
    lost[:] = 0
