"""One level: the candidates that still gain as much as the level become edges.

A pair waits at its node of larger degree, in the order of arrival, and the nodes wait by degree,
lowest first. Degrees only rise: a node whose degree has risen moves on, with all of its pairs, to
the nodes of its new degree, and a pair whose other node now has the larger degree moves to it.
"""

from typing import NamedTuple

import numpy as np

from meshwright.model.kernels import components as topic_components
from meshwright.overlay.greedy.kernels.candidates import candidates_of, update_top
from meshwright.overlay.greedy.kernels.run import LOWEST_GAIN, NO_LIMIT, add_edge, at_stop
from meshwright.overlay.greedy.kernels.tuning import LOAD_LABELS_ABOVE, SEARCH_RATIO
from meshwright.runtime.arrays import Ints
from meshwright.runtime.compile import kernel, maker

HEAD, TAIL = 0, 1  # columns of `ends`, int32[n_degrees, 2]: the first and last node of each degree


class Queues(NamedTuple):
    """Where the pairs of a level wait."""

    first: Ints  # int32[n_nodes], the pair of each node that has waited longest, or -1
    last: Ints  # int32[n_nodes], the pair that came last
    after: Ints  # int32[n_nodes], the next node of the same degree, or -1


def new_queues(n_nodes: int) -> Queues:
    """Return empty queues."""
    first, last, after = np.full((3, n_nodes), -1, dtype=np.int32)
    return Queues(first, last, after)


@kernel
def link(c, u, w, least):
    """Add the edge (u, w) if it gains `least` or more; return the gain, or 0 below LOWEST_GAIN."""
    topics, slot_label = c.topics, c.slot_label
    i, end_i = c.indptr[u], c.row_end[u]
    j, end_j = c.indptr[w], c.row_end[w]
    if end_i - i < end_j - j:
        i, end_i, j, end_j = j, end_j, i, end_i
    gain, search = 0, end_i - i > SEARCH_RATIO * (end_j - j)
    while i < end_i and j < end_j:
        if gain + end_j - j < LOWEST_GAIN:
            return 0
        b = topics[j]
        if search:
            i = topic_components.next_slot(topics, i, end_i, b)
            if i == end_i:
                break
        a = topics[i]
        gain += a == b and slot_label[i] != slot_label[j]
        i += a <= b
        j += b <= a
    if gain >= least:
        topic_components.join(c, u, w)
    return gain


@kernel
def link_loaded(c, loaded, u, w, least):
    """Do the same with the labels of u loaded: less work for several partners in turn."""
    topic_components.load_labels(c, loaded, u)
    gain = topic_components.gain_with(c, loaded, w)
    if gain >= least:
        topic_components.join_with(c, loaded, w)
    return gain


@kernel
def evaluate_level(run, candidates, loaded, level, first, last):
    """Compute the current gain of the candidates in the rows from `first` to `last` of a level.

    Rows share no candidates, so several threads can do this, each with its own `loaded`.
    """
    c, degree, cap = run.components, run.degree, level.cap
    partners, gains = candidates.partner, candidates.gain
    for row in range(first, last):
        u = level.rows[row]
        if candidates.top[u] < level.gain or degree[u] >= cap:
            continue
        topic_components.forget_labels(loaded)
        begin, end = candidates.first[u], candidates.first[u] + candidates.used[u]
        n_due = 0
        for k in range(begin, end):
            n_due += gains[k] >= level.gain and degree[partners[k]] < cap
        for k in range(begin, end):
            if gains[k] < level.gain or degree[partners[k]] >= cap:
                continue
            if n_due > LOAD_LABELS_ABOVE:
                gains[k] = link_loaded(c, loaded, u, partners[k], NO_LIMIT)
            else:
                gains[k] = link(c, u, partners[k], NO_LIMIT)


@maker
def queue_node(queues, ends, d, u):
    """Append a node to those of degree d; return `ends`, which may have grown."""
    if d >= len(ends):
        longer = np.full((2 * d + 64, 2), -1, np.int32)
        longer[: len(ends)] = ends
        ends = longer
    queues.after[u] = -1
    if ends[d, HEAD] < 0:
        ends[d, HEAD] = u
    else:
        queues.after[ends[d, TAIL]] = u
    ends[d, TAIL] = u
    return ends


@kernel
def queue_pair(queues, next_pair, u, pair):
    """Append a pair to those of a node; return whether it is the only one."""
    alone = queues.first[u] < 0
    if alone:
        queues.first[u] = pair
    else:
        next_pair[queues.last[u]] = pair
    queues.last[u] = pair
    next_pair[pair] = -1
    return alone


@maker
def run_level(run, candidates, queues, loaded, level):
    """Add the candidates that gain as much as the level, up to STOP.

    If it stops before, no candidate that takes part is known to gain as much any more.
    """
    c, degree, by_degree, cap = run.components, run.degree, run.by_degree, level.cap
    rows, places = candidates_of(candidates, degree, level)
    partners, next_pair = candidates.partner[places], np.empty(len(places), np.int32)
    queues.first[rows] = -1
    queues.first[partners] = -1
    ends, d = np.full((64, 2), -1, np.int32), 0
    for pair in range(len(rows)):
        u, w = rows[pair], partners[pair]
        at = w if by_degree and degree[w] > degree[u] else u
        if queue_pair(queues, next_pair, at, pair):
            ends = queue_node(queues, ends, degree[at] if by_degree else 0, at)
    while d < len(ends):
        u = ends[d, HEAD]
        if u < 0:
            d += 1
            continue
        ends[d, HEAD] = queues.after[u]
        if by_degree and degree[u] > d:
            ends = queue_node(queues, ends, degree[u], u)
            continue
        topic_components.forget_labels(loaded)
        pair, added = queues.first[u], False
        while pair >= 0 and not (added and by_degree):
            this, pair = pair, next_pair[pair]
            w = partners[this] if rows[this] == u else rows[this]
            if degree[u] >= cap or degree[w] >= cap:
                continue
            if by_degree and degree[w] > d:
                if queue_pair(queues, next_pair, w, this):
                    ends = queue_node(queues, ends, degree[w], w)
                continue
            if at_stop(run):
                return
            if pair >= 0 or loaded.state[topic_components.LOADED_NODE] == u:
                gain = link_loaded(c, loaded, u, w, level.gain)
            else:
                gain = link(c, u, w, level.gain)
            added = gain >= level.gain
            candidates.gain[places[this]] = 0 if added else gain
            if added:
                add_edge(run, rows[this], partners[this], gain)
        queues.first[u] = pair
        if pair >= 0:
            ends = queue_node(queues, ends, degree[u], u)
    for u in level.rows:
        if candidates.top[u] >= level.gain:
            topic_components.drop_connected(c, u)
            update_top(candidates, degree, cap, u)
