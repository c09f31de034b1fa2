"""The greedy methods with leaves, most links per node and pairs that are not allowed: obvious ones.

A leaf is (node, topic): the node takes part in the topic without carrying it for others. A topic
lacks one join for each component of its carriers but one, and one for each leaf that has no link to
a carrier. The gain of a link is the number of joins that are lacking without it and not with it.
Of links that gain as much, the cheaper comes first, and those without a cost come last.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from math import inf

from tests.naive.overlays import Edge, Interest, components, degrees


@dataclass
class Rules:
    """What a plan must obey; `most` without a node, and `allowed` None: no limit."""

    leaves: set[tuple[int, int]] = field(default_factory=set)
    most: dict[int, int] = field(default_factory=dict)
    forbidden: set[Edge] = field(default_factory=set)
    allowed: set[Edge] | None = None
    cost: dict[Edge, float] = field(default_factory=dict)

    def admit(self, edges: list[Edge], u: int, v: int) -> bool:
        if (u, v) in self.forbidden or (self.allowed is not None and (u, v) not in self.allowed):
            return False
        return all(sum(w in e for e in edges) < self.most.get(w, 10**9) for w in (u, v))


def carriers(interest: Interest, rules: Rules, topic: int) -> set[int]:
    wanted_by = {v for v, topics in interest.items() if topic in topics}
    return {v for v in wanted_by if (v, topic) not in rules.leaves}


def lacking(interest: Interest, rules: Rules, edges: list[Edge], topic: int) -> int:
    """Count the joins that a topic lacks."""
    carry = carriers(interest, rules, topic)
    if not carry:
        return 0
    within = {v: {topic} if v in carry else set() for v in interest}
    alone = sum(
        1
        for v, t in rules.leaves
        if t == topic and not any(v in e and carry & set(e) for e in edges)
    )
    return components(within, edges, topic) - 1 + alone


def all_topics(interest: Interest) -> set[int]:
    return set().union(*interest.values()) if interest else set()


def mu(interest: Interest, rules: Rules) -> int:
    return sum(lacking(interest, rules, [], t) for t in all_topics(interest))


def gain(interest: Interest, rules: Rules, edges: list[Edge], u: int, v: int) -> int:
    return sum(
        lacking(interest, rules, edges, t) - lacking(interest, rules, [*edges, (u, v)], t)
        for t in interest[u] & interest[v]
    )


def candidates(interest: Interest, rules: Rules, edges: list[Edge]):
    """Yield (gain, cost, larger degree, u, v) of the links that gain and are admitted."""
    degree = degrees(interest, edges)
    for u, v in combinations(sorted(interest), 2):
        if rules.admit(edges, u, v) and (g := gain(interest, rules, edges, u, v)) > 0:
            yield g, rules.cost.get((u, v), inf), max(degree[u], degree[v]), u, v


def best_edge(interest: Interest, rules: Rules, edges: list[Edge], ties: str):
    found = candidates(interest, rules, edges)
    keys = [(-g, cost, larger if ties == "degree" else 0, u, v) for g, cost, larger, u, v in found]
    return min(keys, default=None)


def least_degree_edge(interest: Interest, rules: Rules, edges: list[Edge]):
    top = max(degrees(interest, edges).values(), default=0)
    keys = [
        (max(top, larger + 1), -g, cost, larger, u, v)
        for g, cost, larger, u, v in candidates(interest, rules, edges)
    ]
    return min(keys, default=None)


def gm(
    interest: Interest, rules: Rules, ties: str = "degree", max_edges: int = 10**9
) -> list[Edge]:
    """`gm`, and `gpa` with `max_edges`."""
    edges: list[Edge] = []
    while len(edges) < max_edges and (best := best_edge(interest, rules, edges, ties)) is not None:
        edges.append(best[-2:])
    return edges


def minmax(interest: Interest, rules: Rules, max_degree: int = 10**9) -> list[Edge]:
    """`minmax`, and `gpm` with `max_degree`."""
    edges: list[Edge] = []
    while (best := least_degree_edge(interest, rules, edges)) is not None and best[0] <= max_degree:
        edges.append(best[-2:])
    return edges


def low(interest: Interest, rules: Rules, k: Fraction = Fraction(2)) -> list[Edge]:
    edges: list[Edge] = []
    while (first := best_edge(interest, rules, edges, "degree")) is not None:
        second = least_degree_edge(interest, rules, edges)
        one = -first[0] >= k * -second[1]
        edges.append(first[-2:] if one else second[-2:])
    return edges


def topic_parts(interest: Interest, rules: Rules, edges: list[Edge], topic: int) -> list[set[int]]:
    """A topic's components: carriers with the leaves linked to them; and leaves alone."""
    carry, found = carriers(interest, rules, topic), []
    leaves = {v for v, t in rules.leaves if t == topic}
    left = set(carry)
    while left:
        part, reached = set(), [min(left)]
        while reached:
            u = reached.pop()
            part.add(u)
            reached += [w for w in carry - part if (min(u, w), max(u, w)) in edges]
        left -= part
        found.append(part | {v for v in leaves if any(is_link(edges, u, v) for u in part)})
    alone = leaves.difference(*found) if carry else set()
    return found + [{v} for v in sorted(alone)]


def is_link(edges: list[Edge], u: int, v: int) -> bool:
    return (min(u, v), max(u, v)) in edges


def topic_diameter(interest: Interest, rules: Rules, edges: list[Edge], topic: int) -> int:
    """The longest of the shortest paths within components; paths pass through carriers only."""
    carry, longest = carriers(interest, rules, topic), 0
    for part in topic_parts(interest, rules, edges, topic):
        for start in part:
            far, ring, seen = 0, {start}, {start}
            while ring:
                ring = {
                    w
                    for u in ring
                    if u in carry or u == start
                    for w in part - seen
                    if is_link(edges, u, w) and (u in carry or w in carry)
                }
                seen |= ring
                far += bool(ring)
            longest = max(longest, far)
    return longest


def lost_without(
    interest: Interest, rules: Rules, edges: list[Edge], node: int, sends: set, wants: set
) -> tuple[int, int, int]:
    """Count the topics and deliveries among others that depend on a node, and who misses a sender.

    `sends` and `wants` are pairs (node, topic); a leaf has its first link to a carrier only.
    """
    topics = deliveries = subscribers = 0
    for topic in all_topics(interest):
        carry = carriers(interest, rules, topic)
        leaves = {v for v, t in rules.leaves if t == topic}
        kept = [e for e in edges if set(e) <= carry]
        for leaf in leaves:
            first = [e for e in edges if leaf in e and carry & set(e)][:1]
            kept += first
        members = carry | leaves
        without = [e for e in kept if node not in e]
        pairs = [
            (p, s)
            for p in members - {node}
            for s in members - {node, p}
            if (p, topic) in sends and (s, topic) in wants
        ]
        lost = [(p, s) for p, s in pairs if has_path(kept, p, s) and not has_path(without, p, s)]
        if node in members:
            topics += bool(lost)
            deliveries += len(lost)
            subscribers += len({s for _, s in lost})
    return topics, deliveries, subscribers


def has_path(edges: list[Edge], one: int, other: int) -> bool:
    reached, left = {one}, list(edges)
    while more := [e for e in left if (e[0] in reached) != (e[1] in reached)]:
        reached |= {v for e in more for v in e}
    return other in reached
