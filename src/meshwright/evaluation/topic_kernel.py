"""The links inside each topic: of every subscriber the links to other subscribers.

A link belongs to the end that wants fewer topics, so that a hub's links are not looked at once for
each of its topics.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from meshwright.evaluation.diameter_kernel import evaluate_sub_overlay


@njit(cache=True)
def by_key(key, value, n_keys):
    """Return the CSR (pointers, values) of the values of each key, in the order given."""
    pointers = np.zeros(n_keys + 1, np.int64)
    for k in key:
        pointers[k + 1] += 1
    for k in range(n_keys):
        pointers[k + 1] += pointers[k]
    place = pointers[:-1].copy()
    values = np.empty(len(value), np.int32)
    for i in range(len(key)):
        values[place[key[i]]] = value[i]
        place[key[i]] += 1
    return pointers, values


@njit(cache=True)
def owners(u, v, sizes):
    """Return for each link (its end that wants fewer topics, the other end)."""
    owner, other = np.empty(len(u), np.int32), np.empty(len(u), np.int32)
    for i in range(len(u)):
        first = sizes[u[i]] <= sizes[v[i]]
        owner[i], other[i] = (u[i], v[i]) if first else (v[i], u[i])
    return owner, other


@njit(cache=True)
def topic_costs(topic_ptr, members, owned_ptr):
    """Return for each topic how many subscribers, and links of theirs, are looked at."""
    costs = np.empty(len(topic_ptr) - 1, np.int64)
    for t in range(len(costs)):
        cost = 0
        for i in range(topic_ptr[t], topic_ptr[t + 1]):
            u = members[i]
            cost += 1 + owned_ptr[u + 1] - owned_ptr[u]
        costs[t] = cost
    return costs


@njit(cache=True, nogil=True)
def count_links(topic_ptr, members, owned_ptr, owned, first, last, links):
    """Write into `links` the links inside the topics first..last-1."""
    inside = np.zeros(len(owned_ptr) - 1, np.bool_)
    for t in range(first, last):
        nodes = members[topic_ptr[t] : topic_ptr[t + 1]]
        for u in nodes:
            inside[u] = True
        count = 0
        for u in nodes:
            for i in range(owned_ptr[u], owned_ptr[u + 1]):
                count += inside[owned[i]]
        for u in nodes:
            inside[u] = False
        links[t] = count


@njit(cache=True, nogil=True)
def evaluate_topics(topic_ptr, members, owned_ptr, owned, exact, first, last, rows):
    """Write into `rows` of the topics first..last-1: components, largest, diameter low and high.

    Topic `first` is row 0. `exact` is the number of nodes up to which a diameter is worked out and
    not only bounded.
    """
    place = np.full(len(owned_ptr) - 1, -1, np.int32)
    one, other = np.empty(64, np.int32), np.empty(64, np.int32)
    for t in range(first, last):
        nodes = members[topic_ptr[t] : topic_ptr[t + 1]]
        room = 0
        for i in range(len(nodes)):
            place[nodes[i]] = i
            room += owned_ptr[nodes[i] + 1] - owned_ptr[nodes[i]]
        if room > len(one):
            one, other = np.empty(2 * room, np.int32), np.empty(2 * room, np.int32)
        n = 0
        for u in nodes:
            for i in range(owned_ptr[u], owned_ptr[u + 1]):
                w = place[owned[i]]
                one[n], other[n] = place[u], w
                n += w >= 0
        for u in nodes:
            place[u] = -1
        found = evaluate_sub_overlay(len(nodes), one[:n], other[:n], exact)
        for k in range(4):
            rows[t - first, k] = found[k]
