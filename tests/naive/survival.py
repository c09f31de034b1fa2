"""Survivable overlays by definition: lose every set of nodes, and look."""

from itertools import combinations

from tests.naive.overlays import Edge, Interest, components, degrees, gm, minmax


def members(interest: Interest, topic) -> list[int]:
    return sorted(v for v, topics in interest.items() if topic in topics)


def topics_of(interest: Interest) -> list:
    return sorted(set().union(*interest.values())) if interest else []


def split_topics(
    interest: Interest,
    edges: list[Edge],
    k: int,
    sends: set | None = None,
    wants: set | None = None,
) -> set:
    """Return the topics in which the loss of at most k nodes cuts a delivery among the others off.

    `sends` and `wants` are pairs (node, topic); by default every member does both.
    """
    found = set()
    for topic in topics_of(interest):
        for size in range(k + 1):
            for lost in combinations(sorted(interest), size):
                left = [v for v in members(interest, topic) if v not in lost]
                for p in left:
                    for s in left:
                        is_sent = sends is None or (p, topic) in sends
                        is_wanted = wants is None or (s, topic) in wants
                        if p != s and is_sent and is_wanted and not joined(edges, left, p, s):
                            found.add(topic)
    return found


def joined(edges: list[Edge], among: list[int], one: int, other: int) -> bool:
    reached, queue = {one}, [one]
    while queue:
        u = queue.pop()
        for w in among:
            if w not in reached and (min(u, w), max(u, w)) in edges:
                reached.add(w)
                queue.append(w)
    return other in reached


def remaining(interest: Interest, k: int) -> dict:
    """Return the interests in (topic, lost): k members lost, or as many as leave two."""
    left: dict = {v: set() for v in interest}
    for topic in topics_of(interest):
        wanted_by = members(interest, topic)
        if len(wanted_by) < 2:
            continue
        for lost in combinations(wanted_by, min(k, len(wanted_by) - 2)):
            for v in set(wanted_by) - set(lost):
                left[v].add((topic, lost))
    return left


def is_connected(interest: dict, edges: list[Edge]) -> bool:
    return all(components(interest, edges, t) <= 1 for t in set().union(*interest.values(), set()))


def design(interest: Interest, method: str, k: int) -> list[Edge]:
    """Greedy by the (topic, lost) that a link joins; then drop, the last first, what none needs."""
    left = remaining(interest, k)
    edges = {"gm": gm, "minmax": minmax}[method](left)
    for edge in edges[::-1]:
        without = [e for e in edges if e != edge]
        if is_connected(left, without):
            edges = without
    return edges


def least(
    interest: Interest, k: int, sends: set | None = None, wants: set | None = None
) -> tuple[int, int]:
    """Return the fewest links, and the lowest maximum degree, of overlays that survive k losses."""
    useful = [(u, v) for u, v in combinations(sorted(interest), 2) if interest[u] & interest[v]]
    found = [
        edges
        for m in range(len(useful) + 1)
        for edges in combinations(useful, m)
        if not split_topics(interest, list(edges), k, sends, wants)
    ]
    return len(found[0]), min(max(degrees(interest, list(e)).values(), default=0) for e in found)
