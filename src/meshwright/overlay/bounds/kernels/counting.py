"""The gains of all pairs, counted row by row: the numbers behind the certificate."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from meshwright.overlay.greedy.kernels.exclusions import is_excluded
from meshwright.runtime.arrays import Longs
from meshwright.runtime.compile import kernel, maker

NO_PARTNER = 2**31 - 1  # needed links of a node that cannot be joined in one of its topics
DENSE = 4  # a row of at least a quarter as many positions as nodes is read as a whole


class ProfileScan(NamedTuple):
    """What to count of each row, and room for it."""

    max_degree: int  # how many of a node's largest gains are summed
    before_links: bool  # whether no edge has been added: then `needed` is written too
    needed: Longs  # int64[n], the neighbours each node needs in any complete overlay
    counts: npt.NDArray[np.integer]  # [n], zeros between rows


@maker
def gain_profile(c, scan, first, last):
    """Return the pairs by gain, int64[largest row + 1], and the sum of each node's largest gains.

    Of the nodes from `first` to `last`; a pair counts at its smaller node. Writes `needed`.
    """
    n, count = len(c.indptr) - 1, scan.counts
    largest = 0
    for u in range(first, last):
        largest = max(largest, c.indptr[u + 1] - c.indptr[u])
    histogram = np.zeros(largest + 1, np.int64)
    row = np.zeros(largest + 1, np.int64)  # the pairs of one node by gain
    touched = np.empty(n + 1, np.uint32)
    best_sum = 0
    for u in range(first, last):
        cost = 0
        for slot in range(c.indptr[u], c.row_end[u]):
            cost += c.topic_ptr[c.topics[slot] + 1] - c.topic_ptr[c.topics[slot]]
        n_touched, is_dense = 0, cost * DENSE >= n
        if is_dense:
            count_gains(c, u, scan.before_links, count)
            tally(count[:u], row)
            before = row.copy()
            tally(count[u + 1 :], row)
            histogram += row - before
            row[0] = 0
        else:
            n_touched = list_gains(c, u, scan.before_links, count, touched)
            for i in range(n_touched):
                gain = count[touched[i]]
                row[gain] += 1
                histogram[gain] += touched[i] > u
        if scan.before_links:
            scan.needed[u] = neighbours_needed(c, u, count, row)
        left = np.int64(scan.max_degree)
        for gain in range(c.indptr[u + 1] - c.indptr[u], 0, -1):
            best_sum += gain * min(left, row[gain])
            left -= min(left, row[gain])
            row[gain] = 0
        if is_dense:
            count[:] = 0
        for i in range(n_touched):
            count[touched[i]] = 0
    histogram[0] = 0
    return histogram, best_sum


@kernel
def count_gains(c, u, before_links, count):
    """Count the gain of each partner of u, smaller and larger.

    Before the first edge no labels are read: tasks on Spark have none.
    """
    for slot in range(c.indptr[u], c.row_end[u]):
        first, end = c.topic_ptr[c.topics[slot]], c.topic_ptr[c.topics[slot] + 1]
        nodes = c.nodes[first:end]
        if before_links:
            for i in range(len(nodes)):
                count[nodes[i]] += 1
        else:
            own, labels = c.label[c.position_at[slot]], c.label[first:end]
            for i in range(len(nodes)):
                count[nodes[i]] += labels[i] != own
    count[u] = 0


@kernel
def list_gains(c, u, before_links, count, touched):
    """The same, and list the partners of positive gain; return how many."""
    n_touched = 0
    for slot in range(c.indptr[u], c.row_end[u]):
        first, end = c.topic_ptr[c.topics[slot]], c.topic_ptr[c.topics[slot] + 1]
        nodes, labels = c.nodes[first:end], c.label[first:end]
        own = np.int32(-1) if before_links else c.label[c.position_at[slot]]
        for i in range(len(nodes)):
            if before_links or labels[i] != own:
                touched[n_touched] = nodes[i]
                n_touched += (count[nodes[i]] == 0) & (nodes[i] != u)
                count[nodes[i]] += 1
    count[u] = 0
    return n_touched


@kernel
def tally(count, row):
    """Add to `row` how often each gain occurs."""
    for i in range(len(count)):
        row[count[i]] += 1


@kernel
def neighbours_needed(c, u, count, row):
    """Return how many neighbours u needs at least in any complete overlay.

    The larger of two bounds: the fewest partners whose common topics could cover its shared ones,
    and the sum over its shared topics of 1 / (the most topics shared with a subscriber of it).
    `row` is the number of partners by topics shared with u.
    """
    shared, by_topic = 0, 0.0
    for slot in range(c.indptr[u], c.row_end[u]):
        topic = c.topics[slot]
        nodes = c.nodes[c.topic_ptr[topic] : c.topic_ptr[topic + 1]]
        if len(nodes) < 2:
            continue
        shared += 1
        most = np.int32(1)
        for i in range(len(nodes)):
            most = max(most, np.int32(count[nodes[i]]))
        by_topic += 1.0 / most
    covered, fewest = 0, 0
    for gain in range(c.indptr[u + 1] - c.indptr[u], 0, -1):
        if covered < shared and row[gain] > 0:
            take = min(row[gain], (shared - covered + gain - 1) // gain)
            covered += take * gain
            fewest += take
    # Rounding may leave a sum of fractions slightly above a whole number.
    return max(fewest, np.int64(np.ceil(by_topic - 1e-9)))


@maker
def links_needed(c, exclusions, counts, needed, first, last):
    """Write into `needed` how many links the nodes from `first` to `last` need at least.

    Before the first edge. In a topic where a node's component is the node alone, it needs a partner
    of another component that is not excluded; NO_PARTNER if there is none. As `neighbours_needed`
    otherwise. `counts` int[n_nodes] are zeros before and after.
    """
    touched = np.empty(len(c.row_end) + 1, np.uint32)
    row = np.zeros(len(c.topics) + 1, np.int64)  # partners by what they have in common with u
    for u in range(first, last):
        n_touched, n_topics = 0, 0
        for slot in range(c.indptr[u], c.row_end[u]):
            if not needs_partner(c, slot):
                continue
            n_topics += 1
            own = c.slot_label[slot]
            for i in range(c.topic_ptr[c.topics[slot]], c.topic_ptr[c.topics[slot] + 1]):
                w = c.nodes[i]
                if c.label[i] != own and not is_excluded(exclusions, u, w):
                    touched[n_touched] = w
                    n_touched += counts[w] == 0
                    counts[w] += 1
        by_topic, is_possible = 0.0, True
        for slot in range(c.indptr[u], c.row_end[u]):
            if needs_partner(c, slot):
                most = np.int64(0)
                for i in range(c.topic_ptr[c.topics[slot]], c.topic_ptr[c.topics[slot] + 1]):
                    if c.nodes[i] != u:
                        most = max(most, np.int64(counts[c.nodes[i]]))
                is_possible &= most > 0
                by_topic += 1.0 / max(most, 1)
        for i in range(n_touched):
            row[counts[touched[i]]] += 1
            counts[touched[i]] = 0
        covered, fewest = 0, 0
        for common in range(n_topics, 0, -1):
            if covered < n_topics:
                take = min(row[common], (n_topics - covered + common - 1) // common)
                covered += take * common
                fewest += take
            row[common] = 0
        # Rounding may leave a sum of fractions slightly above a whole number.
        needed[u] = max(fewest, np.int64(np.ceil(by_topic - 1e-9))) if is_possible else NO_PARTNER


@kernel
def needs_partner(c, slot):
    """Return whether the node must have a partner in the topic of a slot. Reads only."""
    return c.open_count[c.topics[slot]] > 1 and c.size[c.slot_label[slot]] == 1
