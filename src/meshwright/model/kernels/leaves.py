"""Leaf incidences: members of a topic that do not carry it for others.

A leaf of a topic must have a link to one of its carriers, and joins nothing else. The trick that
keeps this out of all other kernels: each leaf incidence becomes a topic of its own, whose members
are the leaf and the topic's carriers, and whose carriers count as joined from the beginning. In
that topic the leaf gains with each carrier until it has one, carriers gain nothing with each other,
and two leaves of a topic share nothing. The carriers keep the topic itself.
"""

from typing import NamedTuple

import numpy as np

from meshwright.errors import InputError
from meshwright.model.kernels.components import Components, join_two, new_components, next_slot
from meshwright.model.kernels.graphs import adjacency
from meshwright.runtime.arrays import Bools, Ints, Longs
from meshwright.runtime.compile import kernel, maker

MOST = np.iinfo(np.int32).max


class SplitTopics(NamedTuple):
    """Interests in which each leaf incidence is a topic of its own; leaf k has topic first + k."""

    indptr: Longs  # int64[n_nodes + 1]
    topics: Ints  # int32[n], rising within a node
    first: int  # the number of topics before the split
    leaf_node: Ints  # int32[n_leaves], by rising node, then topic
    leaf_topic: Ints  # int32[n_leaves], the topic that was split

    @property
    def n_topics(self) -> int:
        """The topics and the leaf incidences."""
        return self.first + len(self.leaf_node)


def split_leaves(indptr: Longs, topics: Ints, n_topics: int, carries: Bools) -> SplitTopics:
    """Return interests with the leaf incidences, those that do not carry, as topics of their own.

    Cost: memory in the order of the leaf incidences times the carriers of their topics, which is
    part of the pairs that a design looks at anyway.
    """
    n_nodes = len(indptr) - 1
    nodes = np.repeat(np.arange(n_nodes, dtype=np.int32), np.diff(indptr))
    leaves = np.flatnonzero(~carries)
    leaf_node, leaf_topic = nodes[leaves], topics[leaves]
    carrier_node, carrier_topic = nodes[carries], topics[carries]
    counts = np.bincount(carrier_topic, minlength=n_topics)
    first = np.cumsum(counts) - counts  # of each topic in `by_topic`
    by_topic = carrier_node[np.argsort(carrier_topic, kind="stable")]
    n_carriers = counts[leaf_topic]
    n_extra = int(n_carriers.sum())
    if len(topics) + n_extra > MOST:
        raise InputError(
            f"{len(leaves):,} leaf incidences with {n_extra:,} carriers in all are more than "
            "2^31 - 1, the most that the engine can index. Let more nodes carry topics."
        )
    own = np.arange(n_topics, n_topics + len(leaves), dtype=np.int32)
    ends = np.cumsum(n_carriers)
    places = np.arange(n_extra) + np.repeat(first[leaf_topic] - (ends - n_carriers), n_carriers)
    all_nodes = np.concatenate((carrier_node, leaf_node, by_topic[places]))
    all_topics = np.concatenate((carrier_topic, own, np.repeat(own, n_carriers)))
    order = np.lexsort((all_topics, all_nodes))
    pointers = np.concatenate(([0], np.cumsum(np.bincount(all_nodes, minlength=n_nodes))))
    return SplitTopics(
        pointers.astype(np.int64), all_topics[order], n_topics, leaf_node, leaf_topic
    )


def components_with_leaves(
    indptr: Longs, topics: Ints, n_topics: int, carries: Bools
) -> tuple[Components, SplitTopics]:
    """Return the components of an overlay without edges, of topics split by their leaves."""
    split = split_leaves(indptr, topics, n_topics, carries)
    components = new_components(split.indptr, split.topics, split.n_topics)
    join_carriers(components, split.first, split.leaf_node)
    return components, split


@kernel
def join_carriers(c, first, leaf_node):
    """Join the carriers in the topics of the leaf incidences, from topic `first` on.

    `leaf_node` are the leaves, numbered as the nodes of `c` are. Writes what `join_two` writes.
    """
    for k in range(len(leaf_node)):
        topic, anchor = first + k, np.int64(-1)
        for position in range(c.topic_ptr[topic], c.topic_ptr[topic + 1]):
            if c.nodes[position] == leaf_node[k]:
                continue
            if anchor < 0:
                anchor = position
            else:
                join_two(c, topic, c.label[anchor], c.label[position])


def components_of_topics(c: Components, split: SplitTopics) -> Ints:
    """Return how many components each topic has: those of its carriers, and leaves without one."""
    count = c.open_count[: split.first].copy()
    alone = c.open_count[split.first :] - 1
    np.add.at(count, split.leaf_topic, alone)
    return count


def largest_with_leaves(c: Components, split: SplitTopics, edges: Ints) -> Ints:
    """Return the most members that a component of each topic has: carriers, and their leaves."""
    pointers, neighbours = adjacency(len(c.row_end), edges[:, 0], edges[:, 1])
    found: Ints = _largest(c, split.first, split.leaf_node, split.leaf_topic, pointers, neighbours)
    return found


@maker
def _largest(c, first, leaf_node, leaf_topic, pointers, neighbours):
    """Return the size of each topic's largest component with its leaves. Reads only."""
    members = np.zeros(len(c.label), np.int32)  # by label
    counted_by = np.full(len(c.label), -1, np.int32)  # by label, the last leaf that was counted
    largest = np.zeros(first, np.int32)
    for topic in range(first):
        for position in range(c.topic_ptr[topic], c.topic_ptr[topic + 1]):
            members[c.label[position]] += 1
    for k in range(len(leaf_node)):
        topic = leaf_topic[k]
        largest[topic] = 1
        for i in range(pointers[leaf_node[k]], pointers[leaf_node[k] + 1]):
            w = neighbours[i]
            slot = next_slot(c.topics, c.indptr[w], c.row_end[w], topic)
            if slot < c.row_end[w] and c.topics[slot] == topic:
                label = c.slot_label[slot]
                members[label] += counted_by[label] != k
                counted_by[label] = k
    for topic in range(first):
        for position in range(c.topic_ptr[topic], c.topic_ptr[topic + 1]):
            largest[topic] = max(largest[topic], members[c.label[position]])
    return largest
