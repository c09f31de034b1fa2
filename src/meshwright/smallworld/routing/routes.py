"""The route of one publication, hop by hop, in plain Python: for `trace`, and for agents of a mesh.

`simulate` routes millions of publications with kernels; these functions take the same hops in the
same order for one of them, from small tables that an agent can hold, without loading a compiler.
The routings are explained in `protocols`. One thing is added, because messages must arrive on real
networks whatever the plan foresaw: with `relays`, a publisher that does not take part in a topic
enters its tree over a shortest path, and components that the topic's own links leave apart are
joined over shortest paths. Nodes on these paths are relays.
"""

import itertools
from bisect import bisect_left
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

NO_RANGE = -1  # the `high` of a message that carries no range
PIVOTS = {"po": 0, "pie": 1, "pal": 2}  # none, a finger if there is one, always
NO_PIVOT, PIVOT_ALWAYS = PIVOTS["po"], PIVOTS["pal"]


class Message(NamedTuple):
    """One hop of a publication. Nodes are ids.

    The message is for all subscribers from `low` up to but not including `high`, clockwise on the
    ring, and `receiver` is the next node on the way to `low`; `high` is -1 if it carries no range.
    """

    sender: int
    receiver: int
    low: int
    high: int
    hops: int  # from the publisher to the receiver


class RingLinks(NamedTuple):
    """The links of a small world by ring positions; distances are clockwise."""

    reach: Sequence[Sequence[int]]  # of a position and phase, the distance to the finger
    neighbours: Sequence[Sequence[int]] | None  # distances over all links, nearest first, to
    # forward in both directions; None: forward over fingers only
    matched: Sequence[Sequence[int]]  # distances to look for subscribers among, nearest first


class Taking(NamedTuple):
    """Who takes part in a topic."""

    members: Sequence[int]  # in rising order
    wanting: Collection[int]  # those who subscribe
    leaves: Collection[int] = ()  # members that do not carry the topic on


def tree_route(
    neighbours: Mapping[int, Sequence[int]],
    taking: Taking,
    publisher: int,
    *,
    relays: bool = False,
) -> list[Message]:
    """Return the messages of a publication over the spanning tree of its topic.

    `neighbours` are the linked nodes of each node in rising order. With `relays`, whoever can be
    reached at all is reached; without, what the topic's own links connect to the publisher.

    Examples
    --------
    >>> links = {0: [1], 1: [0, 2], 2: [1]}
    >>> tree_route(links, Taking([0, 2], {0, 2}), 0)
    []
    >>> [message[:2] for message in tree_route(links, Taking([0, 2], {0, 2}), 0, relays=True)]
    [(0, 1), (1, 2)]
    """
    trees = _spanning_trees(neighbours, taking)
    if not relays:
        return _flood(trees, publisher, 0) if publisher in trees.parent else []
    reached = {publisher: 0}  # and the hops to each
    messages: list[Message] = []
    if publisher in trees.parent:
        _add(messages, reached, _flood(trees, publisher, 0))
    missing = {v for v in taking.wanting if v not in reached}
    while missing:
        path = _shortest_path(neighbours, reached, missing)
        if not path:
            break
        for u, v in itertools.pairwise(path):
            _add(messages, reached, [Message(u, v, v, NO_RANGE, reached[u] + 1)])
        entry = path[-1]
        _add(messages, reached, _flood(trees, entry, reached[entry]))
        missing.difference_update(reached)
    return messages


class _Trees(NamedTuple):
    parent: dict[int, int | None]  # of each member, in the order of the trees
    children: dict[int, list[int]]
    below: set[int]  # members with a subscriber at or below them
    beyond: set[int]  # members whose way to their parent leads to a subscriber


def _spanning_trees(neighbours: Mapping[int, Sequence[int]], taking: Taking) -> _Trees:
    """Return a tree for each component: breadth-first from its smallest carrier."""
    waiting = set(taking.members)
    parent: dict[int, int | None] = {}
    children: dict[int, list[int]] = {}
    roots = [v for v in taking.members if v not in taking.leaves]
    roots += [v for v in taking.members if v in taking.leaves]
    for root in roots:
        if root not in waiting:
            continue
        waiting.discard(root)
        parent[root] = None
        queue = deque([root])
        while queue:
            u = queue.popleft()
            children[u] = []
            if u in taking.leaves:
                continue
            for w in neighbours.get(u, ()):
                if w in waiting:
                    waiting.discard(w)
                    parent[w] = u
                    children[u].append(w)
                    queue.append(w)
    counts = {v: int(v in taking.wanting) for v in parent}
    for v in reversed(parent):
        above = parent[v]
        if above is not None:
            counts[above] += counts[v]
    total: dict[int, int] = {}
    for v, above in parent.items():
        total[v] = counts[v] if above is None else total[above]
    below = {v for v in parent if counts[v]}
    return _Trees(parent, children, below, {v for v in parent if total[v] > counts[v]})


def _flood(trees: _Trees, start: int, hops: int) -> list[Message]:
    """Return the messages over a tree from one of its members, towards subscribers only."""
    messages = []
    stack: list[tuple[int, int | None, int]] = [(start, None, hops)]
    while stack:
        v, sender, travelled = stack.pop()
        above = trees.parent[v]
        ways = [above] if above is not None and v in trees.beyond else []
        for w in [*ways, *(w for w in trees.children[v] if w in trees.below)]:
            if w != sender:
                messages.append(Message(v, w, w, NO_RANGE, travelled + 1))
                stack.append((w, v, travelled + 1))
    return messages


def _add(messages: list[Message], reached: dict[int, int], more: Iterable[Message]) -> None:
    for message in more:
        messages.append(message)
        reached[message.receiver] = message.hops


def _shortest_path(
    neighbours: Mapping[int, Sequence[int]], sources: Iterable[int], goals: Collection[int]
) -> list[int]:
    """Return a shortest path from a source to a goal; the smallest nodes win ties. Or none."""
    before: dict[int, int | None] = dict.fromkeys(sorted(sources))
    queue = deque(before)
    while queue:
        u = queue.popleft()
        for w in neighbours.get(u, ()):
            if w in before:
                continue
            before[w] = u
            if w in goals:
                path = [w]
                step: int | None = u
                while step is not None:
                    path.append(step)
                    step = before[step]
                return path[::-1]
            queue.append(w)
    return []


def ring_route(
    routing: str, links: RingLinks, members: Sequence[int], publisher: int
) -> list[Message]:
    """Return the messages of a publication by `po`, `pal` or `pie`. Nodes are ring positions.

    `members` are the subscribers in rising order. Chen, Tock, Girdzijauskas (DEBS 2018),
    Protocol 4.

    Examples
    --------
    >>> reach = [[1, 2], [1, 2], [1, 2], [1, 2]]
    >>> ring_route("po", RingLinks(reach, None, reach), [0, 3], 0)
    [Message(sender=0, receiver=2, low=3, high=0, hops=1), \
Message(sender=2, receiver=3, low=3, high=0, hops=2)]
    """
    n = len(links.reach)
    messages: list[Message] = []
    wanting = set(members)
    stack = [(publisher, n, 0)]
    while stack:
        v, end, travelled = stack.pop()
        offsets = _next_hops(PIVOTS[routing], links, (members, wanting), v, end)
        for offset, behind in itertools.pairwise([*offsets, end]):
            low, high = (v + offset) % n, (v + behind) % n
            u, hops = v, travelled
            while u != low:
                w = (u + _step(links, u, (low - u) % n)) % n
                hops += 1
                messages.append(Message(u, w, low, high, hops))
                u = w
            stack.append((low, behind - offset, hops))
    return messages


def _next_hops(
    pivot: int, links: RingLinks, subscribers: tuple[Sequence[int], set[int]], v: int, length: int
) -> list[int]:
    """Return the offsets of v's next hops for the range of `length` from v."""
    n = len(links.reach)
    members, wanting = subscribers
    if not members:
        return []
    i = bisect_left(members, v + 1 if v in wanting else v)
    nearest = (members[i % len(members)] - v) % n or n
    if nearest >= length:
        return []
    offsets = [nearest]
    distant = 0  # the nearest finger in the second half, 0 for none
    for offset in links.matched[v]:
        if offset >= length:
            break
        if distant == 0 and 2 * offset >= length:
            distant = offset
        if offset > nearest and (v + offset) % n in wanting:
            offsets.append(offset)
    if pivot != NO_PIVOT and 2 * offsets[-1] < length:
        if distant:
            offsets.append(distant)
        elif pivot == PIVOT_ALWAYS:
            offsets.append(((length + 1) // 2 + length) // 2)
    return offsets


def _step(links: RingLinks, v: int, left: int) -> int:
    """Return the distance to the link of v over which a message goes, `left` > 0 from its goal."""
    if links.neighbours is None:
        phase = left.bit_length() - 1
        step = links.reach[v][phase]
        return step if step <= left else links.reach[v][phase - 1]
    n, offsets = len(links.reach), links.neighbours[v]
    after = bisect_left(offsets, left + 1)
    before, behind = offsets[after - 1], offsets[after % len(offsets)]
    return before if (left - before) % n <= (behind - left) % n else behind


def parents(messages: Sequence[Message]) -> list[int]:
    """Return for each message the index of the one that caused it; -1 for the publisher's own.

    A node forwards a message that is for another node, and divides one that is for itself.
    """
    found = []
    arrived: dict[int, int] = {}  # by node, the message for the node itself
    for i, message in enumerate(messages):
        before = messages[i - 1] if i else message
        if before.receiver == message.sender and before[2:4] == message[2:4]:
            found.append(i - 1)  # hops of one way stand side by side
        else:
            found.append(arrived.get(message.sender, -1))
        if message.low == message.receiver:
            arrived[message.receiver] = i
    return found
