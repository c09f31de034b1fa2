"""The loops of paper 3's EdgeContrib index (`edge_contrib.py`)."""

import numpy as np

from meshwright.runtime.compile import maker
from papers.kernels.naive_greedy import GM, LOW, K

NEXT, PREV, CONTRIB, DEGREE = 0, 1, 2, 3  # the fields of an EDGESTRUCT
NONE = -1  # pairs are numbered from 1, so that an array of zeros has only empty entries


@maker
def count_common_topics(structs, row, owner, topics, n_topics):
    """Alg. 4, lines 8-9: write the contribution of each pair."""
    topic_ptr = np.zeros(n_topics + 1, np.int64)
    for t in topics:
        topic_ptr[t + 1] += 1
    topic_ptr = np.cumsum(topic_ptr)
    met = topic_ptr[:-1].copy()  # nodes of each topic up to the current one
    nodes = np.empty(len(topics), np.int32)
    for slot in range(len(topics)):
        t = topics[slot]
        nodes[met[t]] = owner[slot]
        met[t] += 1
    met[:] = topic_ptr[:-1]
    for slot in range(len(topics)):
        u, t = owner[slot], topics[slot]
        met[t] += 1
        for position in range(met[t], topic_ptr[t + 1]):
            structs[row[u] + nodes[position], CONTRIB] += 1


@maker
def gen_oda(structs, array, row, indptr, topics, owner, rule, summed):
    """Alg. 1: add the edge that the rule finds, update, until no pair is left."""
    n_nodes = len(row)
    label = np.arange(len(topics)).astype(np.int32)  # by slot: the first slot of its component
    follower = np.full(len(topics), NONE, np.int32)  # by slot: the next of its component
    degree = np.zeros(n_nodes, np.int32)
    scratch = np.empty((4, n_nodes), np.uint32)
    size = len(structs) if summed else 0
    fall = np.zeros(size, np.uint16)  # by pair: what the edge being added takes off it
    falling = np.empty(size, np.uint32)  # the pairs with a fall
    before_row = row.astype(np.int64) + np.arange(n_nodes)
    most = min(len(topics), len(structs))
    found, gains = np.empty((most, 2), np.int32), np.empty(most, np.int32)
    count = 0

    for pair in range(len(structs) - 1, 0, -1):  # backwards: the lists begin in order
        if structs[pair, CONTRIB] > 0:
            _insert_edge(structs, array, pair, structs[pair, CONTRIB], 0)
    max_contrib, max_degree = len(array) - 1, 0
    contrib, low_degree = max_contrib, 0  # curContrib, curDegree: the entry of the last edge
    sorted_contrib, sorted_degree = 0, 0

    while True:
        avg_degree = NONE
        while max_contrib > 0 and avg_degree == NONE:
            avg_degree = _lowest_degree(array, max_contrib, 0, max_degree + 1)
            max_contrib -= avg_degree == NONE
        if avg_degree == NONE:
            return found[:count].copy(), gains[:count].copy()
        if rule != GM:
            contrib, low_degree = _find_minmax(array, contrib, low_degree, max_contrib, max_degree)
        # Alg. 8 compares contributions, and those are known from the entries.
        if rule == GM or (rule == LOW and max_contrib >= K * contrib):
            contrib, low_degree = max_contrib, avg_degree
        if contrib != sorted_contrib or low_degree != sorted_degree:
            _sort_entry(structs, array, contrib, low_degree)
            sorted_contrib, sorted_degree = contrib, low_degree

        pair = array[contrib, low_degree]
        u = np.searchsorted(before_row, pair) - 1
        v = np.int64(pair) - np.int64(row[u])
        found[count, 0], found[count, 1], gains[count] = u, v, contrib
        count += 1
        sets = (owner, label, follower, scratch)
        n_falling = _merge(structs, array, fall, falling, row, indptr, topics, sets, u, v)
        _lower_contribs(structs, array, fall, falling[:n_falling])
        degree[u] += 1
        degree[v] += 1
        max_degree = max(max_degree, degree[u], degree[v])
        _raise_degree(structs, array, row, degree, u)
        _raise_degree(structs, array, row, degree, v)


@maker
def _lowest_degree(array, contrib, first, end):
    """Return the lowest degree in first .. end - 1 with a pair of that contribution, or NONE."""
    for d in range(first, end):
        if array[contrib, d] != 0:
            return d
    return NONE


@maker
def _find_minmax(array, contrib, degree, max_contrib, max_degree):
    """Alg. 7: go on from the entry of the last edge; return the entry of the next."""
    while contrib > 0:
        d = _lowest_degree(array, contrib, degree, max_degree)
        if d != NONE:
            return contrib, d
        contrib, degree = contrib - 1, 0
    return max_contrib, max_degree  # a new phase: all that is left raises the maximum


@maker
def _insert_edge(structs, array, pair, contrib, degree):
    """Put a pair first in its entry."""
    first = array[contrib, degree]
    structs[pair, NEXT] = first
    structs[pair, PREV] = 0
    structs[pair, CONTRIB] = contrib
    structs[pair, DEGREE] = degree
    if first != 0:
        structs[first, PREV] = pair
    array[contrib, degree] = pair


@maker
def _delete_edge(structs, array, pair):
    """Take a pair out of its entry."""
    before, after = structs[pair, PREV], structs[pair, NEXT]
    if before != 0:
        structs[before, NEXT] = after
    else:
        array[structs[pair, CONTRIB], structs[pair, DEGREE]] = after
    if after != 0:
        structs[after, PREV] = before


@maker
def _sort_entry(structs, array, contrib, degree):
    """Put the pairs of an entry in order."""
    size, pair = 0, array[contrib, degree]
    while pair != 0:
        size += 1
        pair = structs[pair, NEXT]
    pairs = np.empty(size, np.uint32)
    pair = array[contrib, degree]
    for i in range(size):
        pairs[i] = pair
        pair = structs[pair, NEXT]
    pairs.sort()
    array[contrib, degree] = pairs[0]
    for i in range(size):
        structs[pairs[i], PREV] = pairs[i - 1] if i > 0 else 0
        structs[pairs[i], NEXT] = pairs[i + 1] if i + 1 < size else 0


@maker
def _merge(structs, array, fall, falling, row, indptr, topics, sets, u, v):
    """Alg. 5, part 2: join the components of u and v in every topic that both want.

    Writes the entries or, where falls are summed, the falls; and the components. Returns how many
    pairs have a fall.
    """
    owner, label, follower, scratch = sets
    n_falling = 0
    i, j = indptr[u], indptr[v]
    while i < indptr[u + 1] and j < indptr[v + 1]:
        a, b = topics[i], topics[j]
        if a == b and label[i] != label[j]:
            n_a = _members(follower, owner, label[i], scratch[0], scratch[1])
            n_b = _members(follower, owner, label[j], scratch[2], scratch[3])
            ones, others = scratch[1, :n_a], scratch[3, :n_b]
            if len(fall) > 0:
                n_falling = _add_falls(fall, falling, n_falling, row, ones, others)
                n_falling = _add_falls(fall, falling, n_falling, row, others, ones)
            else:
                _lower_by_one(structs, array, row, ones, others)
                _lower_by_one(structs, array, row, others, ones)
            _join_lists(label, follower, scratch[0, :n_a], scratch[2, :n_b])
        i += a <= b
        j += b <= a
    return n_falling


@maker
def _members(follower, owner, slot, slots, nodes):
    """Write the slots and the nodes of a component, in order; return how many."""
    count = 0
    while slot != NONE:
        slots[count], nodes[count] = slot, owner[slot]
        count += 1
        slot = follower[slot]
    return count


@maker
def _lower_by_one(structs, array, row, ones, others):
    """Take one off the contribution of each pair (u, v) with u < v, u of the ones, v of the others.

    Lines 6-11 of Alg. 5.
    """
    first = 0
    for u in ones:
        while first < len(others) and others[first] < u:
            first += 1
        for k in range(first, len(others)):
            pair = row[u] + others[k]
            contrib, degree = structs[pair, CONTRIB], structs[pair, DEGREE]
            _delete_edge(structs, array, pair)
            if contrib > 1:
                _insert_edge(structs, array, pair, contrib - np.uint32(1), degree)
            else:
                structs[pair, CONTRIB] = 0


@maker
def _add_falls(fall, falling, n_falling, row, ones, others):
    """Add one to the fall of each pair (u, v) with u < v, u of the ones and v of the others."""
    first = 0
    for u in ones:
        while first < len(others) and others[first] < u:
            first += 1
        for k in range(first, len(others)):
            pair = row[u] + others[k]
            if fall[pair] == 0:
                falling[n_falling] = pair
                n_falling += 1
            fall[pair] += np.uint16(1)
    return n_falling


@maker
def _lower_contribs(structs, array, fall, falling):
    """Move the falling pairs to the contribution they have now; leave no fall."""
    for pair in falling:
        contrib, degree = structs[pair, CONTRIB], structs[pair, DEGREE]
        _delete_edge(structs, array, pair)
        if contrib > fall[pair]:
            _insert_edge(structs, array, pair, contrib - fall[pair], degree)
        else:
            structs[pair, CONTRIB] = 0
        fall[pair] = 0


@maker
def _join_lists(label, follower, ones, others):
    """Make one component of two, its list in order."""
    first = min(ones[0], others[0])
    i, j, last = 0, 0, NONE
    while i < len(ones) or j < len(others):
        if j == len(others) or (i < len(ones) and ones[i] < others[j]):
            slot = ones[i]
            i += 1
        else:
            slot = others[j]
            j += 1
        label[slot] = first
        if last != NONE:
            follower[last] = slot
        last = slot


@maker
def _raise_degree(structs, array, row, degree, u):
    """Alg. 5, part 3: move the pairs of u to the degree they have now."""
    for w in range(len(degree)):
        if w == u:
            continue
        pair = row[min(u, w)] + max(u, w)
        contrib = structs[pair, CONTRIB]
        if contrib > 0 and structs[pair, DEGREE] < degree[u]:
            _delete_edge(structs, array, pair)
            _insert_edge(structs, array, pair, contrib, degree[u])
