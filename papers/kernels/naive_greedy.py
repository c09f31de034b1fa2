"""The loops of the methods without an index (`naive_greedy.py`): each step scans all pairs."""

from typing import NamedTuple

import numpy as np

from meshwright.runtime.compile import kernel, maker

GM, MINMAX, LOW = 0, 1, 2  # rules
K = 2  # low takes the edge of gm if it gains at least K times as much as that of minmax
NONE = -1


class Interests(NamedTuple):
    """The instance and its components. A slot is a place in `topics`: one topic of one node."""

    indptr: np.ndarray  # int64[n_nodes + 1]
    topics: np.ndarray  # int32[n_slots], sorted within a node
    label: np.ndarray  # int32[n_slots], a slot that stands for the component of this one
    follower: np.ndarray  # int32[n_slots], the next slot of the component, in a circle
    degree: np.ndarray  # int32[n_nodes]


class Candidate(NamedTuple):
    """A pair of nodes as an edge to add."""

    max_degree: int  # of the overlay with this edge
    gain: int
    larger_degree: int  # of u and v before
    u: int
    v: int


@maker
def scan_and_add(indptr, topics, n_topics, rule):
    """Return the edges and their gains: the best pair of each scan, until no pair gains."""
    n_nodes = len(indptr) - 1
    slots = np.arange(len(topics)).astype(np.int32)
    state = Interests(indptr, topics, slots, slots.copy(), np.zeros(n_nodes, np.int32))
    label_of_topic = np.full(n_topics, NONE, np.int32)  # of the node u of the scan
    most = min(len(topics), n_nodes * (n_nodes - 1) // 2)
    edges, gains = np.empty((most, 2), np.int32), np.empty(most, np.int32)
    count, max_degree = 0, 0
    while True:
        by_gain, by_degree = _scan(state, label_of_topic, max_degree)
        if by_gain.gain == 0:
            return edges[:count].copy(), gains[:count].copy()
        best = choose(rule, by_gain, by_degree)
        edges[count, 0], edges[count, 1], gains[count] = best.u, best.v, best.gain
        count += 1
        _join(state, best.u, best.v)
        max_degree = best.max_degree


@kernel
def choose(rule, by_gain, by_degree):
    """Return the candidate that the rule adds. Reads only."""
    if rule == GM or (rule == LOW and by_gain.gain >= K * by_degree.gain):
        return by_gain
    return by_degree


@kernel
def keep_better(by_gain, by_degree, candidate):
    """Return the best candidates of gm and of minmax, with one more to choose from. Reads only.

    Pairs come in order, and only a better one replaces: ties go to the smaller pair.
    """
    gain, larger = candidate.gain, candidate.larger_degree
    if gain > by_gain.gain or (gain == by_gain.gain and larger < by_gain.larger_degree):
        by_gain = candidate
    if candidate.max_degree < by_degree.max_degree or (
        candidate.max_degree == by_degree.max_degree
        and (gain > by_degree.gain or (gain == by_degree.gain and larger < by_degree.larger_degree))
    ):
        by_degree = candidate
    return by_gain, by_degree


@kernel
def _scan(state, label_of_topic, max_degree):
    """Return the best candidates of gm and of minmax. `label_of_topic` ends as it was."""
    n_nodes = len(state.degree)
    by_gain = by_degree = Candidate(n_nodes, 0, n_nodes, NONE, NONE)
    for u in range(n_nodes):
        for i in range(state.indptr[u], state.indptr[u + 1]):
            label_of_topic[state.topics[i]] = state.label[i]
        for v in range(u + 1, n_nodes):
            gain = 0
            for j in range(state.indptr[v], state.indptr[v + 1]):
                label = label_of_topic[state.topics[j]]
                gain += (label != NONE) & (label != state.label[j])
            if gain == 0:
                continue
            larger = np.int64(max(state.degree[u], state.degree[v]))
            candidate = Candidate(max(max_degree, larger + 1), gain, larger, u, v)
            by_gain, by_degree = keep_better(by_gain, by_degree, candidate)
        for i in range(state.indptr[u], state.indptr[u + 1]):
            label_of_topic[state.topics[i]] = NONE
    return by_gain, by_degree


@kernel
def _join(state, u, v):
    """Add the edge (u, v): join the components of every topic of both, and count degrees."""
    i, j = state.indptr[u], state.indptr[v]
    while i < state.indptr[u + 1] and j < state.indptr[v + 1]:
        if state.topics[i] == state.topics[j] and state.label[i] != state.label[j]:
            slot = j
            while state.label[slot] != state.label[i]:
                state.label[slot] = state.label[i]
                slot = state.follower[slot]
            # Two circles become one by exchanging their followers.
            state.follower[i], state.follower[j] = state.follower[j], state.follower[i]
        a, b = state.topics[i], state.topics[j]
        i += a <= b
        j += b <= a
    state.degree[u] += 1
    state.degree[v] += 1
