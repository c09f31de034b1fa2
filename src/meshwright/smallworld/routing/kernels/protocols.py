"""Routing: ranges divided among next hops, trees around a rendezvous, spanning trees flooded.

Chen, Tock, Girdzijauskas (DEBS 2018), Protocols 4 and 5, and section 5.1. On small worlds, nodes
are ring positions; `ring` is a `RingTables`, the links and the subscribers.

In spanning trees nodes are ids. A topic's subscribers are listed breadth-first from the smallest,
so that the children of each stand side by side; each component of a disconnected topic has its own
tree. A place is an index among the subscribers of one topic.
"""

from typing import NamedTuple

import numpy as np

from meshwright.model.kernels.graphs import adjacency
from meshwright.runtime.arrays import Longs
from meshwright.runtime.compile import kernel, maker
from meshwright.smallworld.routing.kernels import publications

NO_PIVOT, PIVOT_IF_FINGER, PIVOT_ALWAYS = range(3)
# The columns of a stack of ranges: its first position, its length, the hops travelled so far.
START, LENGTH, TRAVELLED = range(3)
NO_PARENT = -1
# The columns of a stack of places: the place, the one it got the message from, the hops to it.
PLACE, SENDER, HOPS = range(3)


class RendezvousTree(NamedTuple):
    """The tree of one topic, built again for each publication: that costs as much as walking it."""

    built_for: Longs  # [n], the publication for which a node was last in the tree
    hops: Longs  # [n], from the publisher
    route: Longs  # [n], room for one route


@kernel
def ahead(v, offset, n):
    """Return the position `offset` after v, for offsets up to n."""
    w = v + offset
    return w - n if w >= n else w


@kernel
def distance(v, w, n):
    """Return the clockwise distance from v to w."""
    return w - v if w >= v else w - v + n


@kernel
def step_towards(ring, v, left):
    """Return the distance to the link of v over which a message goes, `left` > 0 from its goal."""
    if ring.both_ways:
        return step_either_way(ring.neighbours, v, left, len(ring.reach))
    return step_clockwise(ring.reach, v, left)


@kernel
def step_clockwise(reach, v, left):
    """Return the distance to the longest finger of v that does not go beyond `left` > 0.

    A finger that goes beyond leaves more than before, almost a full turn. So this is the finger
    with the least distance left. It is in the phase of `left` or the one below: all fingers of
    the one below are nearer than `left`.
    """
    phase = 0
    while (2 << phase) <= left:
        phase += 1
    step = reach[v, phase]
    return step if step <= left else reach[v, phase - 1]


@kernel
def step_either_way(neighbours, v, left, n):
    """Return the clockwise distance to the neighbour of v nearest to its goal, in either direction.

    Of two equally near ones, that before the goal. Every hop leaves less: both neighbours on the
    ring are among them.
    """
    offsets = neighbours.offsets[neighbours.pointers[v] : neighbours.pointers[v + 1]]
    after = np.searchsorted(offsets, left, "right")
    before = offsets[after - 1] if after > 0 else offsets[-1]
    behind = offsets[after] if after < len(offsets) else offsets[0]
    return before if distance(before, left, n) <= distance(left, behind, n) else behind


@kernel
def forward(ring, p, v, low, high, hops):
    """Send from v, link by link, to `low`; return the hops from the publisher.

    `hops` are those to v. Writes the tally.
    """
    n = len(ring.reach)
    while v != low:
        w = ahead(v, step_towards(ring, v, distance(v, low, n)), n)
        hops += 1
        publications.count_message(p, v, w, low, high, hops)
        v = w
    return hops


@kernel
def nearest_subscriber(p, v, n):
    """Return the distance from v to the next subscriber, or n if there is no other."""
    k = len(p.members)
    if k == 0:
        return n
    i = p.place[v] + 1 if publications.wants(p, v) else np.searchsorted(p.members, v)
    w = p.members[i] if i < k else p.members[0]
    return distance(v, w, n) if w != v else n


@kernel
def next_hops(pivot, ring, p, v, length, offsets):
    """List v's next hops for the range of `length` from v into `offsets`; return how many.

    These are the nearest subscriber, the fingers that subscribe, and, with a pivot and none of them
    in the second half of the range, the nearest finger there or else the middle of it. The fingers
    are the links in `ring.matched`.
    """
    n, links = len(ring.reach), ring.matched
    nearest = nearest_subscriber(p, v, n)
    if nearest >= length:
        return 0
    offsets[0] = nearest
    count = 1
    distant = 0  # the nearest finger in the second half, 0 for none
    for i in range(links.pointers[v], links.pointers[v + 1]):
        offset = links.offsets[i]
        if offset >= length:
            break
        if distant == 0 and 2 * offset >= length:
            distant = offset
        if offset > nearest and publications.wants(p, ahead(v, offset, n)):
            offsets[count] = offset
            count += 1
    if pivot != NO_PIVOT and 2 * offsets[count - 1] < length:
        if distant > 0:
            offsets[count] = distant
            count += 1
        elif pivot == PIVOT_ALWAYS:
            offsets[count] = ((length + 1) // 2 + length) // 2
            count += 1
    return count


@kernel
def convey(pivot, ring, p, length, stack, offsets):
    """Serve the range of `length` from the publisher. Writes the tally.

    The ranges still to be served are disjoint, each with a node of its own as its start, so a
    `stack` of n suffices; `offsets` has room for the next hops of a node.
    """
    n = len(ring.reach)
    stack[0, START], stack[0, LENGTH], stack[0, TRAVELLED] = p.publisher, length, 0
    waiting = 1
    while waiting > 0:
        waiting -= 1
        v, end, travelled = stack[waiting, START], stack[waiting, LENGTH], stack[waiting, TRAVELLED]
        count = next_hops(pivot, ring, p, v, end, offsets)
        for j in range(count):
            behind = offsets[j + 1] if j + 1 < count else end
            low, high = ahead(v, offsets[j], n), ahead(v, behind, n)
            hops = forward(ring, p, v, low, high, travelled)
            if publications.wants(p, low):
                publications.count_delivery(p, hops)
            stack[waiting, START], stack[waiting, LENGTH] = low, behind - offsets[j]
            stack[waiting, TRAVELLED] = hops
            waiting += 1


@maker
def convey_all(pivot, ring, topics, publishers, tally):
    """Route publications, each over the whole ring. Writes the tally."""
    n = len(ring.reach)
    place = np.zeros(n, np.int32)
    stack, offsets = np.empty((max(n, 1), 3), np.int64), np.empty(n + 2, np.int64)
    for i in range(len(topics)):
        p = publications.new_publication(i, topics, publishers, ring.members, place, tally)
        convey(pivot, ring, p, n, stack, offsets)
        publications.count_missed(p)


@kernel
def send_down(p, tree, v, w):
    """Send from v to a new child w in the rendezvous tree. Writes tree and tally."""
    tree.built_for[w] = p.number
    tree.hops[w] = tree.hops[v] + 1
    publications.count_message(p, v, w, w, publications.NO_RANGE, tree.hops[w])
    if w != p.publisher and publications.wants(p, w):
        publications.count_delivery(p, tree.hops[w])


@kernel
def down_scribe(ring, p, root, tree):
    """Send down the reversed routes of the subscribers. Writes tree and tally."""
    n = len(ring.reach)
    for i in range(len(p.members)):
        above, length = p.members[i], 0
        while tree.built_for[above] != p.number:
            tree.route[length] = above
            length += 1
            above = ahead(above, step_towards(ring, above, distance(above, root, n)), n)
        for j in range(length - 1, -1, -1):
            send_down(p, tree, above, tree.route[j])
            above = tree.route[j]


@kernel
def down_iscribe(ring, p, root, tree):
    """Send along the routes from the rendezvous to the subscribers. Writes tree and tally.

    Subscribers come in ring order from the rendezvous, and a node keeps its first parent. (Routes
    that go clockwise and part never meet again, so there the order does not matter.)
    """
    n, k = len(ring.reach), len(p.members)
    first = np.searchsorted(p.members, root)
    for i in range(k):
        subscriber = p.members[first + i] if first + i < k else p.members[first + i - k]
        v = root
        while v != subscriber:
            w = ahead(v, step_towards(ring, v, distance(v, subscriber, n)), n)
            if tree.built_for[w] != p.number:
                send_down(p, tree, v, w)
            v = w


@maker
def meet_all(inverted, tables, topics, publishers, tally):
    """Route publications by iScribe if inverted, else by Scribe. Writes the tally."""
    ring = tables.ring
    n = len(ring.reach)
    place = np.zeros(n, np.int32)
    tree = RendezvousTree(np.full(n, -1, np.int64), np.zeros(n, np.int64), np.empty(n, np.int64))
    for i in range(len(topics)):
        p = publications.new_publication(i, topics, publishers, ring.members, place, tally)
        root = tables.rendezvous[topics[i]]
        tree.hops[root] = forward(ring, p, p.publisher, root, publications.NO_RANGE, 0)
        if p.publisher != root and publications.wants(p, root):
            publications.count_delivery(p, tree.hops[root])
        tree.built_for[root] = i
        if inverted:
            down_iscribe(ring, p, root, tree)
        else:
            down_scribe(ring, p, root, tree)
        publications.count_missed(p)


@maker
def spanning_trees(n, edges, topic_ptr, subscribers, carries):
    """Return int32 arrays like `subscribers`: (nodes, parent, first child, end of children).

    Topic by topic, in tree order; the last three are places. `carries` are flags beside
    `subscribers`: a node that does not carry a topic has no children in its tree.
    """
    pointers, neighbours = adjacency(n, edges[:, 0], edges[:, 1])
    for u in range(n):
        neighbours[pointers[u] : pointers[u + 1]].sort()
    nodes, parent = np.empty_like(subscribers), np.full_like(subscribers, NO_PARENT)
    first_child, end_child = np.zeros_like(subscribers), np.zeros_like(subscribers)
    is_open = np.zeros(n, np.bool_)  # whether a node is a subscriber not reached yet
    is_leaf = np.zeros(n, np.bool_)  # whether a node does not carry this topic
    for topic in range(len(topic_ptr) - 1):
        start, end = topic_ptr[topic], topic_ptr[topic + 1]
        members = subscribers[start:end]
        is_open[members] = True
        is_leaf[members] = ~carries[start:end]
        tail, root, carriers_left = start, 0, True
        for head in range(start, end):
            if head == tail:  # a component is complete: go on from the smallest open carrier
                while carriers_left and (not is_open[members[root]] or is_leaf[members[root]]):
                    root += 1
                    if root == len(members):  # only leaves without a carrier are left
                        root, carriers_left = 0, False
                while not is_open[members[root]]:
                    root += 1
                nodes[tail] = members[root]
                is_open[members[root]] = False
                tail += 1
            u = nodes[head]
            first_child[head] = tail - start
            for i in range(pointers[u], pointers[u + 1]):
                if tail == end or is_leaf[u]:
                    break  # all are reached: skip the other links of a dense overlay
                w = neighbours[i]
                if is_open[w]:
                    nodes[tail] = w
                    parent[tail] = head - start
                    is_open[w] = False
                    tail += 1
            end_child[head] = tail - start
    return nodes, parent, first_child, end_child


@maker
def wanted_ways(topic_ptr, parent, wants):
    """Return bool arrays like `parent`: whether a subscriber is at or below a place, and beyond.

    `wants` is in tree order; beyond a place is what the way to its parent leads to.
    """
    below, total = sum_subtrees(topic_ptr, parent, wants.astype(np.int64))
    return below > 0, total > below


@maker
def sum_subtrees(topic_ptr, parent, values):
    """Return arrays like `values`: their sum at and below each place, and over its whole tree."""
    below, total = values.copy(), np.zeros_like(values)
    for topic in range(len(topic_ptr) - 1):
        start, end = topic_ptr[topic], topic_ptr[topic + 1]
        for i in range(end - 1, start - 1, -1):
            if parent[i] != NO_PARENT:
                below[start + parent[i]] += below[i]
        for i in range(start, end):
            total[i] = below[i] if parent[i] == NO_PARENT else total[start + parent[i]]
    return below, total


@kernel
def flood(trees, first, p, stack):
    """Flood one tree from the publisher, towards subscribers only. Writes the tally.

    `first` is the index of the topic's first subscriber; `stack` is int64[n, 3].
    """
    stack[0, PLACE], stack[0, SENDER], stack[0, HOPS] = p.place[p.publisher], NO_PARENT, 0
    waiting = 1
    while waiting > 0:
        waiting -= 1
        v, sender, hops = stack[waiting, PLACE], stack[waiting, SENDER], stack[waiting, HOPS] + 1
        child = trees.first_child[first + v]
        for i in range(-1, trees.end_child[first + v] - child):
            w = trees.parent[first + v] if i < 0 else child + i
            if w in (sender, NO_PARENT):
                continue
            if not (trees.beyond[first + v] if i < 0 else trees.below[first + w]):
                continue
            publications.count_message(
                p, p.members[v], p.members[w], p.members[w], publications.NO_RANGE, hops
            )
            if p.wanting[w]:
                publications.count_delivery(p, hops)
            stack[waiting, PLACE], stack[waiting, SENDER], stack[waiting, HOPS] = w, v, hops
            waiting += 1


@maker
def flood_all(trees, topics, publishers, tally):
    """Route publications, each over the tree of its topic. Writes the tally."""
    n = len(tally.sent)
    place = np.zeros(n, np.int32)
    stack = np.empty((max(n, 1), 3), np.int64)
    for i in range(len(topics)):
        p = publications.new_publication(i, topics, publishers, trees.members, place, tally)
        if publications.takes_part(p, p.publisher):
            flood(trees, trees.members.pointers[topics[i]], p, stack)
        publications.count_missed(p)
