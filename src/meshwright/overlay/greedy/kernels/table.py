"""The gains of all pairs in one table, kept current: for dense interests.

An edge that joins two components of a topic lowers the gain of every pair across them by one.
Nearly always one of the two is a single node that joins many topics at once: the losses of its
pairs are summed first and subtracted in one pass. And nearly always the other is the main component
of its topic, whose members are kept as bits where nodes want many of all topics.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from meshwright.model.kernels.components import Ints, Longs, Unsigned, new_counters
from meshwright.overlay.greedy.kernels.counts import row_cost
from meshwright.overlay.greedy.kernels.tuning import DENSE_LOSS, FOLLOW_COST
from meshwright.runtime.compile import kernel, maker
from meshwright.runtime.kernels.bits import WORD, WORTH, Words, add_common, bit_of

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
    main: Ints  # int32[n_topics], the label of the main component, or -1; only with words
    inside: Words  # uint64[n_words, n_nodes], the topics in whose main component a node is
    mask: Words  # uint64[n_words], the topics in which the mover joins the main component
    weight: Longs  # int64[n_words], the subscribers of these topics
    has_words: bool  # whether main components are kept as bits


def table_bytes(n_nodes: int, largest: int) -> int:
    """Return the memory of a table if nodes want at most `largest` topics."""
    return n_nodes * (n_nodes - 1) // 2 * new_counters(1, largest).itemsize


def new_table(n_nodes: int, largest: int, wants: Words, n_topics: int, *, wide: bool) -> Table:
    """Return a table of zeros; `fill` counts the gains. Bits are kept if the interests have any."""
    most = WIDE if wide else largest
    a = np.arange(n_nodes, dtype=np.int64)
    n_words = len(wants)
    return Table(
        gains=new_counters(n_nodes * (n_nodes - 1) // 2, most),
        start=a * n_nodes - a * (a + 1) // 2 - a - 1,
        lost=new_counters(n_nodes, most),
        touched=np.empty(n_nodes + 1, dtype=np.uint32),
        head=np.full(n_nodes, -1, dtype=np.int32),
        movers=np.empty(n_nodes, dtype=np.uint32),
        joins=np.empty((largest, 3), dtype=np.int32),
        main=np.full(n_topics if n_words else 0, -1, dtype=np.int32),
        inside=np.zeros((n_words, n_nodes), dtype=np.uint64),
        mask=np.zeros(n_words, dtype=np.uint64),
        weight=np.zeros(n_words, dtype=np.int64),
        has_words=n_words > 0,
    )


@kernel
def fill(c, table, wants, first, last):
    """Count the gains in some rows without edges; `wants` are the interests as words."""
    topics, topic_ptr, position_at = c.topics, c.topic_ptr, c.position_at
    for u in range(first, last):
        row = table.gains[table.start[u] + u + 1 : table.start[u] + len(table.lost)]
        if table.has_words and row_cost(c, u, -1) * WORTH >= len(wants) * len(row):
            for k in range(len(wants)):
                add_common(row, wants[k, u], wants[k, u + 1 :])
            continue
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
    if table.has_words:
        for k in range(n_joins):
            update_main(c, table, k)


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
    if dense and table.has_words:
        move = head[node]
        while move >= 0:  # mask the joins with the main component of a topic
            topic = joins[join_of[move], JOIN_TOPIC]
            if table.main[topic] == joins[join_of[move], JOIN_STAYS]:
                table.mask[topic // WORD] |= bit_of(topic)
                table.weight[topic // WORD] += topic_ptr[topic + 1] - topic_ptr[topic]
            move = following[move]
    n_touched, move = 0, head[node]
    while move >= 0:
        topic, stays = joins[join_of[move], JOIN_TOPIC], joins[join_of[move], JOIN_STAYS]
        first, end = topic_ptr[topic], topic_ptr[topic + 1]
        if dense and size[stays] * FOLLOW_COST >= end - first:
            if not is_masked(table, topic, stays):
                nodes, labels = c.nodes[first:end], c.label[first:end]
                for i in range(len(nodes)):
                    lost[nodes[i]] += labels[i] == stays
        else:
            n_touched = list_members(c, table, n_touched, stays)
        move = following[move]
    if dense:
        add_masked(table)
        subtract_row(table, node)
    else:
        subtract_touched(table, node, n_touched)


@kernel
def is_masked(table, topic, stays):
    """Return whether a join is counted by words. Reads only."""
    if not table.has_words or table.main[topic] != stays:
        return False
    return table.weight[topic // WORD] * WORTH >= len(table.lost)


@kernel
def add_masked(table):
    """Add the losses that are counted by words, and clear the masks."""
    mask, weight, lost = table.mask, table.weight, table.lost
    for k in range(len(mask)):
        if weight[k] > 0:
            if weight[k] * WORTH >= len(lost):
                add_common(lost, mask[k], table.inside[k])
            mask[k], weight[k] = 0, 0


@kernel
def update_main(c, table, k):
    """Update the main component of a topic and its bits for a join."""
    main, size, topic = table.main, c.size, table.joins[k, JOIN_TOPIC]
    moves, stays = table.joins[k, JOIN_MOVES], table.joins[k, JOIN_STAYS]
    n_subscribers = c.topic_ptr[topic + 1] - c.topic_ptr[topic]
    words = table.inside[topic // WORD]
    if main[topic] == stays:
        set_members(c, words, topic, moves)
    elif main[topic] == moves or (
        main[topic] < 0 and (size[moves] + size[stays]) * FOLLOW_COST >= n_subscribers
    ):
        if main[topic] != moves:
            set_members(c, words, topic, moves)
        set_members(c, words, topic, stays)
        main[topic] = stays


@kernel
def set_members(c, words, topic, label):
    """Set the bit of a topic for the members of a component."""
    position, bit = label, bit_of(topic)
    for _ in range(c.size[label]):
        words[c.nodes[position]] |= bit
        position = c.follower[position]


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
