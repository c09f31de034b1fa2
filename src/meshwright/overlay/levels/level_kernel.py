"""One level: the pairs noted with its gain, and those that still have it become edges.

A pair waits at the node of the larger degree, first come, first served, and the nodes wait by their
degrees, the lowest first. Degrees only rise: a node whose degree has risen goes on to wait with
those of its new degree, with all of its pairs, and a pair whose other node has risen above goes
over to that one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from meshwright.kernels.components import (
    drop_connected,
    gain_with,
    join_two,
    join_with,
    lay_out,
    next_slot,
)
from meshwright.overlay.levels.notes_kernel import UNKNOWN, find_top, noted_pairs
from meshwright.overlay.levels.scan_kernel import LOWEST

SEVERAL = 3  # partners; with more, a node is laid out to compare them
SEARCH = 16  # a list so many times longer than another is searched, not walked over

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


class Laid(NamedTuple):
    """The labels of one node by topic: a partner is then compared along its own topics alone."""

    own: Longs  # see `lay_out`
    clock: Longs  # [the node or -1, its stamp]


def new_laid(n_topics: int) -> Laid:
    """Return room for a node, which is yet to be laid out."""
    return Laid(np.zeros(n_topics, dtype=np.int64), np.array([-1, 0], dtype=np.int64))


@njit(cache=True, nogil=True)
def link(c, u, w, least):
    """Join the components of each common topic if that gains `least` or more; return the gain.

    A pair that gains less than LOWEST may be said to gain nothing.
    """
    topics, slot_label = c.topics, c.slot_label
    i, end_i = c.indptr[u], c.row_end[u]
    first, end_j = c.indptr[w], c.row_end[w]
    if end_i - i < end_j - first:
        i, end_i, first, end_j = first, end_j, i, end_i
    begin, search = i, end_i - i > SEARCH * (end_j - first)
    gain = 0
    for joins in range(2):
        i, j = begin, first
        while i < end_i and j < end_j:
            if not joins and gain + end_j - j < LOWEST:
                return 0
            b = topics[j]
            if search:
                i = next_slot(topics, i, end_i, b)
                if i == end_i:
                    break
            a = topics[i]
            if a == b and slot_label[i] != slot_label[j]:
                if joins:
                    join_two(c, a, slot_label[i], slot_label[j])
                else:
                    gain += 1
            i += a <= b
            j += b <= a
        if gain < least:
            break
    return gain


@njit(cache=True, nogil=True)
def link_laid(c, laid, u, w, least):
    """Do the same by u laid out: less work for several partners in turn."""
    if laid.clock[0] != u:
        laid.clock[0] = u
        laid.clock[1] += 1
        lay_out(c, laid.own, laid.clock[1], u)
    gain = gain_with(c, laid.own, laid.clock[1], w)
    if gain >= least:
        join_with(c, laid.own, laid.clock[1], w)
    return gain


@njit(cache=True, nogil=True)
def look_again(c, notes, laid, degree, cap, level, rows):
    """Evaluate the pairs noted with the gain of the level, and note what they gain now.

    Rows do not share notes, so several threads can do this at once, each with its own `laid`.
    """
    partners, noted = notes.partner, notes.gain
    for u in rows:
        if notes.top[u] < level or degree[u] >= cap:
            continue
        laid.clock[0] = -1
        first, end = notes.row[u], notes.row[u] + notes.used[u]
        n_due = 0
        for k in range(first, end):
            n_due += noted[k] >= level and degree[partners[k]] < cap
        for k in range(first, end):
            if noted[k] < level or degree[partners[k]] >= cap:
                continue
            if n_due > SEVERAL:
                noted[k] = link_laid(c, laid, u, partners[k], UNKNOWN)
            else:
                noted[k] = link(c, u, partners[k], UNKNOWN)


class Queues(NamedTuple):
    """Where the pairs of a level wait."""

    first: Ints  # by node: its pair that has waited longest, -1 without one
    last: Ints  # by node: its pair that came last
    after: Ints  # by node: the next one among those of its degree, -1 for the last


def new_queues(n_nodes: int) -> Queues:
    """Return queues for so many nodes."""
    first, last, after = np.full((3, n_nodes), -1, dtype=np.int32)
    return Queues(first, last, after)


@njit(cache=True, nogil=True)
def longer(ends, degree):
    """Return the first and last nodes by degree with room for one degree more."""
    more = np.full((2 * degree + 64, 2), -1, np.int32)
    more[: len(ends)] = ends
    return more


@njit(cache=True, nogil=True)
def queue_node(queues, ends, d, u):
    """Let a node wait with those of a degree; return the first and last nodes by degree."""
    if d >= len(ends):
        ends = longer(ends, d)
    queues.after[u] = -1
    if ends[d, 0] < 0:
        ends[d, 0] = u
    else:
        queues.after[ends[d, 1]] = u
    ends[d, 1] = u
    return ends


@njit(cache=True, nogil=True)
def queue_pair(queues, next_pair, u, pair):
    """Let a pair wait at a node; tell whether it is alone there."""
    alone = queues.first[u] < 0
    if alone:
        queues.first[u] = pair
    else:
        next_pair[queues.last[u]] = pair
    queues.last[u] = pair
    next_pair[pair] = -1
    return alone


@njit(cache=True, nogil=True)
def queue_all(queues, next_pair, owners, others, degree, by_degree):
    """Let all pairs of a level wait; return the first and last nodes by degree."""
    ends = np.full((64, 2), -1, np.int32)
    for pair in range(len(owners)):
        queues.first[owners[pair]] = queues.first[others[pair]] = -1
    for pair in range(len(owners)):
        u, w = owners[pair], others[pair]
        at = w if by_degree and degree[w] > degree[u] else u
        if queue_pair(queues, next_pair, at, pair):
            ends = queue_node(queues, ends, degree[at] if by_degree else 0, at)
    return ends


@njit(cache=True, nogil=True)
def run_level(
    c, notes, rows, queues, laid, degree, by_degree, cap, level, edges, gains, n_edges, stop
):
    """Add the pairs noted of some rows that gain as much as the level, up to `stop` edges.

    When there are fewer, no pair that takes part is noted with as much any more. Return how many.
    """
    owners, places = noted_pairs(notes, degree, cap, level, rows)
    others, next_pair = notes.partner[places], np.empty(len(places), np.int32)
    ends = queue_all(queues, next_pair, owners, others, degree, by_degree)
    d = 0
    while d < len(ends):
        u = ends[d, 0]
        if u < 0:
            d += 1
            continue
        ends[d, 0] = queues.after[u]
        if by_degree and degree[u] > d:
            ends = queue_node(queues, ends, degree[u], u)
            continue
        laid.clock[0] = -1  # labels may have changed since
        pair, waits = queues.first[u], False
        while pair >= 0 and not waits:
            this, pair = pair, next_pair[pair]
            w = others[this] if owners[this] == u else owners[this]
            if degree[u] >= cap or degree[w] >= cap:
                continue
            if by_degree and degree[w] > d:
                if queue_pair(queues, next_pair, w, this):
                    ends = queue_node(queues, ends, degree[w], w)
                continue
            if n_edges == stop:
                return n_edges
            if pair >= 0 or laid.clock[0] == u:
                gain = link_laid(c, laid, u, w, level)
            else:
                gain = link(c, u, w, level)
            notes.gain[places[this]] = 0 if gain >= level else gain
            if gain >= level:
                edges[n_edges, 0], edges[n_edges, 1] = owners[this], others[this]
                gains[n_edges] = gain
                n_edges += 1
                degree[u] += 1
                degree[w] += 1
                waits = by_degree
        queues.first[u] = pair
        if pair >= 0:
            ends = queue_node(queues, ends, degree[u], u)
    for u in rows:
        if notes.top[u] >= level:
            drop_connected(c, u)
            find_top(notes, degree, cap, u)
    return n_edges
