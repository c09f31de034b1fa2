"""The routing protocols event by event, as the paper writes them: nothing of ours.

Nodes are named by their ring positions 0..n-1. `fingers[v]` lists the positions that v's fingers
lead to, `wanting` is the set of the topic's subscribers. Each protocol yields its messages in the
order in which they are sent. `low` is whom a message is for; without a range, `high` is NO_RANGE.
"""

import hashlib
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import NamedTuple

NO_RANGE = -1

Fingers = list[list[int]]
NextHops = Callable[[Fingers, set[int], int, int, int], list[int]]
Hop = Callable[[int, int], int]  # (node, target) -> the next node on the way


class Message(NamedTuple):
    sender: int
    receiver: int
    low: int
    high: int
    hops: int  # from the publisher to the receiver


class Counts(NamedTuple):
    deliveries: int
    missed: int
    overhead: int
    hops_sum: int
    hops_max: int


def counts(messages: list[Message], wanting: set[int], publisher: int) -> Counts:
    """What a publication came to: a delivery is a subscriber reached by a message for it."""
    others = wanting - {publisher}
    path = {m.low: m.hops for m in messages if m.receiver == m.low and m.low in others}
    return Counts(
        deliveries=len(path),
        missed=len(others - path.keys()),
        overhead=sum(m.receiver not in wanting for m in messages),
        hops_sum=sum(path.values()),
        hops_max=max(path.values(), default=0),
    )


def distance(v: int, w: int, n: int) -> int:
    """Clockwise."""
    return (w - v) % n


def range_length(low: int, high: int, n: int) -> int:
    """The publisher's range, from itself to itself, is the whole ring."""
    return distance(low, high, n) or n


def towards(fingers: Fingers, v: int, target: int) -> int:
    """Greedy forwarding: the finger with the smallest clockwise distance left."""
    return min(fingers[v], key=lambda w: distance(w, target, len(fingers)))


def towards_either_way(links: Fingers, v: int, target: int) -> int:
    """Greedy forwarding by absolute distance; of two neighbours as near, that before the target."""
    n = len(links)

    def left(w: int) -> tuple[int, int]:
        clockwise = distance(w, target, n)
        return min(clockwise, distance(target, w, n)), clockwise

    return min(links[v], key=left)


def in_both_directions(fingers: Fingers) -> Fingers:
    """The neighbours of each node: its fingers, and the nodes whose finger it is."""
    links: list[set[int]] = [set(row) for row in fingers]
    for v, row in enumerate(fingers):
        for w in row:
            links[w].add(v)
    return [sorted(row) for row in links]


def nearest_subscriber(wanting: set[int], v: int, n: int) -> int | None:
    """The next subscriber clockwise, never the node itself."""
    return min(wanting - {v}, key=lambda w: distance(v, w, n), default=None)


def distant_range(low: int, high: int, n: int) -> list[int]:
    """The second half of a range, nearest first."""
    length = range_length(low, high, n)
    return [(low + offset) % n for offset in range(length) if 2 * offset >= length]


def po(fingers: Fingers, wanting: set[int], v: int, low: int, high: int) -> list[int]:
    """The nearest subscriber and the fingers that subscribe, within the range."""
    n = len(fingers)
    hops = {w for w in fingers[v] if w in wanting} | {nearest_subscriber(wanting, v, n)} - {None}
    inside = [w for w in hops if 0 < distance(low, w, n) < range_length(low, high, n)]
    return sorted(inside, key=lambda w: distance(v, w, n))


def pivot_by_finger(fingers: Fingers, v: int, low: int, high: int) -> int | None:
    """The nearest finger in the distant range."""
    distant = distant_range(low, high, len(fingers))
    return next((w for w in distant if w in fingers[v]), None)


def pivot_in_distant_range(n: int, low: int, high: int) -> int:
    """The middle of the distant range."""
    length = range_length(low, high, n)
    half = (length + 1) // 2
    return (low + (half + length) // 2) % n


def needs_pivot(hops: list[int], low: int, high: int, n: int) -> bool:
    return bool(hops) and hops[-1] not in distant_range(low, high, n)


def pal(fingers: Fingers, wanting: set[int], v: int, low: int, high: int) -> list[int]:
    """Po, and a pivot always."""
    hops = po(fingers, wanting, v, low, high)
    if needs_pivot(hops, low, high, len(fingers)):
        pivot = pivot_by_finger(fingers, v, low, high)
        if pivot is None:
            pivot = pivot_in_distant_range(len(fingers), low, high)
        hops.append(pivot)
    return hops


def pie(fingers: Fingers, wanting: set[int], v: int, low: int, high: int) -> list[int]:
    """Po, and a pivot if there is a finger for it."""
    hops = po(fingers, wanting, v, low, high)
    if needs_pivot(hops, low, high, len(fingers)):
        pivot = pivot_by_finger(fingers, v, low, high)
        if pivot is not None:
            hops.append(pivot)
    return hops


def convey(
    next_hops: NextHops,
    fingers: Fingers,
    wanting: set[int],
    publisher: int,
    high: int | None = None,
    hop: Hop | None = None,
) -> Iterator[Message]:
    """Protocol 4, from a publisher whose range ends at `high`: all around unless told otherwise."""
    hop = hop or partial(towards, fingers)
    end = publisher if high is None else high
    arrived = deque([(publisher, publisher, end, 0)])
    while arrived:
        v, low, high, hops = arrived.popleft()
        if v == low:
            found = next_hops(fingers, wanting, v, low, high)
            outgoing = list(zip(found, [*found[1:], high], strict=True)) if found else []
        else:
            outgoing = [(low, high)]
        for sub_low, sub_high in outgoing:
            w = hop(v, sub_low)
            yield Message(v, w, sub_low, sub_high, hops + 1)
            arrived.append((w, sub_low, sub_high, hops + 1))


def along_the_ring(n: int, wanting: set[int], publisher: int) -> list[Message]:
    """Flooding from each node to the next until the last subscriber has it."""
    last = max((distance(publisher, w, n) for w in wanting), default=0)
    route = [(publisher + offset) % n for offset in range(last + 1)]
    return [Message(v, w, w, NO_RANGE, i + 1) for i, (v, w) in enumerate(pairwise(route))]


def rendezvous(name: str, n: int) -> int:
    return int.from_bytes(hashlib.sha256(name.encode("utf-8")).digest(), "big") % n


def scribe_parents(hop: Hop, wanting: set[int], root: int, n: int) -> dict[int, int]:
    """The routes from the subscribers to the rendezvous, reversed."""
    parent = {}
    for subscriber in wanting:
        v = subscriber
        while v != root:
            parent[v] = hop(v, root)
            v = parent[v]
    return parent


def iscribe_parents(hop: Hop, wanting: set[int], root: int, n: int) -> dict[int, int]:
    """The routes from the rendezvous to the subscribers; a node keeps its first parent."""
    parent: dict[int, int] = {}
    for subscriber in sorted(wanting, key=lambda w: distance(root, w, n)):
        v = root
        while v != subscriber:
            w = hop(v, subscriber)
            parent.setdefault(w, v)
            v = w
    return parent


def meet(
    parents: Callable[[Hop, set[int], int, int], dict[int, int]],
    fingers: Fingers,
    wanting: set[int],
    publisher: int,
    root: int,
    hop: Hop | None = None,
) -> Iterator[Message]:
    """Scribe and iScribe: to the rendezvous, then down its tree."""
    hop = hop or partial(towards, fingers)
    v, hops = publisher, 0
    while v != root:
        w, hops = hop(v, root), hops + 1
        yield Message(v, w, root, NO_RANGE, hops)
        v = w
    parent = parents(hop, wanting, root, len(fingers))
    arrived = deque([(root, hops)])
    while arrived:
        v, hops = arrived.popleft()
        for w in sorted(child for child, above in parent.items() if above == v):
            yield Message(v, w, w, NO_RANGE, hops + 1)
            arrived.append((w, hops + 1))


def spanning_forest(edges: list[tuple[int, int]], wanting: set[int]) -> list[tuple[int, int]]:
    """Breadth-first from the smallest subscriber not reached yet, neighbours in order of ids."""
    near: dict[int, set[int]] = {v: set() for v in wanting}
    for u, v in edges:
        if u in wanting and v in wanting:
            near[u].add(v)
            near[v].add(u)
    forest, left = [], set(wanting)
    while left:
        reached = deque([min(left)])
        left.remove(reached[0])
        while reached:
            v = reached.popleft()
            for w in sorted(near[v] & left):
                left.remove(w)
                forest.append((v, w))
                reached.append(w)
    return forest


def tree(edges: list[tuple[int, int]], wanting: set[int], publisher: int) -> Iterator[Message]:
    """Flood the topic's spanning tree: here nodes have no positions, and are named by their ids."""
    forest = spanning_forest(edges, wanting)
    arrived = deque([(publisher, publisher, 0)])
    while arrived:
        v, sender, hops = arrived.popleft()
        near = {w for e in forest if v in e for w in e} - {v, sender}
        for w in sorted(near):
            yield Message(v, w, w, NO_RANGE, hops + 1)
            arrived.append((w, v, hops + 1))
