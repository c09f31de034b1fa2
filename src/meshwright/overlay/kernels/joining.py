"""Join the open topics of an overlay that has links: the rule of `gm`, from where it stands.

A pair gains only if its nodes are in different components of an open topic, so one of them is
outside the topic's largest component. Only such nodes have a row here: its best pair, which is
counted again when it seems the best of all. Keys only fall as links are added, so the first row
whose pair is still what it was is the best.
"""

from typing import NamedTuple

import numpy as np

from meshwright.model.kernels.components import join
from meshwright.overlay.greedy.kernels.exclusions import is_excluded
from meshwright.overlay.greedy.kernels.run import add_edge, at_stop, gain_of, pair_code, pair_key
from meshwright.runtime.arrays import Ints, Longs
from meshwright.runtime.compile import kernel

NO_PAIR = -1  # the key of a row without a pair that gains


class OuterRows(NamedTuple):
    """The rows of the nodes outside a largest component, and scratch space to count them."""

    node: Ints  # int32[n_rows]
    key: Longs  # int64[n_rows], at most the key of the best pair; NO_PAIR if none gains
    code: Longs  # int64[n_rows], of the pair with that key
    gain: Ints  # int32[n_nodes], zeros between two rows
    touched: Ints  # int32[n_nodes], the nodes whose gain was above 0


@kernel
def mark_outer(c, is_outer):
    """Mark the nodes outside the largest component of an open topic. Writes `is_outer`."""
    for topic in range(len(c.topic_ptr) - 1):
        if c.open_count[topic] < 2:
            continue
        first, last = c.topic_ptr[topic], c.topic_ptr[topic + 1]
        largest = c.label[first]
        for position in range(first, last):
            if c.size[c.label[position]] > c.size[largest]:
                largest = c.label[position]
        for position in range(first, last):
            if c.label[position] != largest:
                is_outer[c.nodes[position]] = True


@kernel
def find_best(run, exclusions, rows, i):
    """Find the best pair of a row. Writes its key and its code."""
    c, u, n_touched = run.components, np.int64(rows.node[i]), 0
    for slot in range(c.indptr[u], c.row_end[u]):
        topic, own = np.int64(c.topics[slot]), c.slot_label[slot]
        if c.open_count[topic] < 2:
            continue
        for position in range(c.topic_ptr[topic], c.topic_ptr[topic + 1]):
            if c.label[position] != own:
                w = c.nodes[position]
                if rows.gain[w] == 0:
                    rows.touched[n_touched] = w
                    n_touched += 1
                rows.gain[w] += 1
    best, best_code = np.int64(NO_PAIR), np.int64(0)
    for k in range(n_touched):
        w = np.int64(rows.touched[k])
        key, code = pair_key(run, rows.gain[w], u, w), pair_code(run, u, w)
        rows.gain[w] = 0
        is_better = key > best or (key == best and code < best_code)
        if is_better and not is_excluded(exclusions, u, w):
            best, best_code = key, code
    rows.key[i], rows.code[i] = best, best_code


@kernel
def find_all_best(run, exclusions, rows):
    """Find the best pair of every row."""
    for i in range(len(rows.node)):
        find_best(run, exclusions, rows, i)


@kernel
def join_open(run, exclusions, rows):
    """Add the best pair until none gains, or the run stops. Writes the run and the rows.

    Nodes are numbered as in the instance: `ids` and `rank` of the run say nothing.
    """
    while not at_stop(run):
        at = -1
        for i in range(len(rows.node)):
            if rows.key[i] == NO_PAIR:
                continue
            is_first = at < 0 or rows.key[i] > rows.key[at]
            if is_first or (rows.key[i] == rows.key[at] and rows.code[i] < rows.code[at]):
                at = i
        if at < 0:
            return
        key, code = rows.key[at], rows.code[at]
        find_best(run, exclusions, rows, at)
        if rows.key[at] == key and rows.code[at] == code:
            u, w = code >> 32, code & 0xFFFFFFFF
            add_edge(run, u, w, gain_of(key))
            join(run.components, u, w)
