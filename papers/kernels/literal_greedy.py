"""The loops of the methods to the letter (`literal_greedy.py`): components counted by pair."""

from typing import NamedTuple

import numpy as np

from meshwright.runtime.compile import kernel, maker
from papers.kernels.naive_greedy import NONE, Candidate, choose, keep_better


class Overlay(NamedTuple):
    """The interests, the edges added so far, and room to count components."""

    indptr: np.ndarray  # int64[n_nodes + 1]
    topics: np.ndarray  # int32[n_slots], sorted within a node
    edges: np.ndarray  # int32[most edges, 2]
    degree: np.ndarray  # int32[n_nodes]
    parent: np.ndarray  # int32[n_slots], towards the slot that stands for a component; scratch


@maker
def count_and_add(indptr, topics, rule):
    """Return the edges and their gains: the best pair of each scan, until no pair gains."""
    n_nodes = len(indptr) - 1
    # One more than can be added: the pair whose weight is being counted.
    most = min(len(topics), n_nodes * (n_nodes - 1) // 2) + 1
    degree, parent = np.zeros(n_nodes, np.int32), np.empty(len(topics), np.int32)
    state = Overlay(indptr, topics, np.empty((most, 2), np.int32), degree, parent)
    gains = np.empty(most, np.int32)
    count, max_degree = 0, 0
    while True:
        by_gain, by_degree = _scan(state, count, max_degree)
        if by_gain.gain == 0:
            return state.edges[:count].copy(), gains[:count].copy()
        best = choose(rule, by_gain, by_degree)
        state.edges[count, 0], state.edges[count, 1], gains[count] = best.u, best.v, best.gain
        count += 1
        state.degree[best.u] += 1
        state.degree[best.v] += 1
        max_degree = best.max_degree


@kernel
def _scan(state, count, max_degree):
    """Return the best candidates of gm and of minmax.

    Writes the edge number `count`, and the scratch.
    """
    n_nodes = len(state.degree)
    by_gain = by_degree = Candidate(n_nodes, 0, n_nodes, NONE, NONE)
    components = _components(state, count)
    for u in range(n_nodes):
        for v in range(u + 1, n_nodes):
            state.edges[count, 0], state.edges[count, 1] = u, v
            gain = components - _components(state, count + 1)
            if gain == 0:
                continue
            larger = np.int64(max(state.degree[u], state.degree[v]))
            candidate = Candidate(max(max_degree, larger + 1), gain, larger, u, v)
            by_gain, by_degree = keep_better(by_gain, by_degree, candidate)
    return by_gain, by_degree


@kernel
def _components(state, count):
    """Return the number of components over all topics, with the first `count` edges.

    Writes the scratch.
    """
    for slot in range(len(state.topics)):
        state.parent[slot] = slot
    left = len(state.topics)
    for e in range(count):
        u, v = state.edges[e, 0], state.edges[e, 1]
        i, j = state.indptr[u], state.indptr[v]
        while i < state.indptr[u + 1] and j < state.indptr[v + 1]:
            a, b = state.topics[i], state.topics[j]
            if a == b:
                one, other = _root(state.parent, i), _root(state.parent, j)
                state.parent[one] = other
                left -= one != other
            i += a <= b
            j += b <= a
    return left


@kernel
def _root(parent, slot):
    """Return the slot that stands for a component. Shortens the way to it in `parent`."""
    while parent[slot] != slot:
        parent[slot] = parent[parent[slot]]
        slot = parent[slot]
    return slot
