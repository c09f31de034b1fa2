"""The greedy overlay methods as the papers write them: slow, obvious, and nothing of ours."""

from fractions import Fraction
from itertools import combinations

Interest = dict[int, set[int]]
Edge = tuple[int, int]


def components(interest: Interest, edges: list[Edge], topic: int) -> int:
    """Count the components of a topic's sub-overlay."""
    members = {v for v, topics in interest.items() if topic in topics}
    neighbours: dict[int, set[int]] = {v: set() for v in members}
    for u, v in edges:
        if u in members and v in members:
            neighbours[u].add(v)
            neighbours[v].add(u)
    count, left = 0, set(members)
    while left:
        count += 1
        reached = [left.pop()]
        while reached:
            for w in neighbours[reached.pop()] & left:
                left.remove(w)
                reached.append(w)
    return count


def tcc(interest: Interest, edges: list[Edge]) -> int:
    """Sum the components over the topics."""
    topics = set().union(*interest.values()) if interest else set()
    return sum(components(interest, edges, t) for t in topics)


def gain(interest: Interest, edges: list[Edge], u: int, v: int) -> int:
    """Count the components that one more edge would save, topic by topic that both want."""
    return sum(
        components(interest, edges, t) - components(interest, [*edges, (u, v)], t)
        for t in interest[u] & interest[v]
    )


def degrees(interest: Interest, edges: list[Edge]) -> dict[int, int]:
    count = dict.fromkeys(interest, 0)
    for u, v in edges:
        count[u] += 1
        count[v] += 1
    return count


def pairs(interest: Interest) -> list[Edge]:
    return list(combinations(sorted(interest), 2))


def best_edge(interest: Interest, edges: list[Edge], ties: str = "degree"):
    """The edge of the greatest gain; then the lower larger degree; then the smaller ids."""
    degree = degrees(interest, edges)
    keys = []
    for u, v in pairs(interest):
        g = gain(interest, edges, u, v)
        if g > 0:
            keys.append((-g, max(degree[u], degree[v]) if ties == "degree" else 0, u, v))
    return min(keys, default=None)


def least_degree_edge(interest: Interest, edges: list[Edge]):
    """The best edge of positive gain among those that raise the maximum degree least."""
    degree = degrees(interest, edges)
    top = max(degree.values(), default=0)
    keys = []
    for u, v in pairs(interest):
        g = gain(interest, edges, u, v)
        if g > 0:
            larger = max(degree[u], degree[v])
            keys.append((max(top, larger + 1), -g, larger, u, v))
    return min(keys, default=None)


def gm(interest: Interest, ties: str = "degree") -> list[Edge]:
    edges: list[Edge] = []
    while (best := best_edge(interest, edges, ties)) is not None:
        edges.append(best[-2:])
    return edges


def gpa(interest: Interest, max_edges: int, ties: str = "degree") -> list[Edge]:
    edges: list[Edge] = []
    while len(edges) < max_edges:
        best = best_edge(interest, edges, ties)
        if best is None:
            break
        edges.append(best[-2:])
    return edges


def minmax(interest: Interest) -> list[Edge]:
    edges: list[Edge] = []
    while (best := least_degree_edge(interest, edges)) is not None:
        edges.append(best[-2:])
    return edges


def minmax_with_idle_edges(interest: Interest) -> list[Edge]:
    """Alg. 3 of paper 1 to the letter, without a limit: edges of gain 0 are added as well.

    Until every topic is connected, the next edge is the one of greatest gain, 0 included, among
    those that raise the maximum degree least.
    """
    edges: list[Edge] = []
    while (best := least_degree_edge_or_idle(interest, edges)) is not None:
        edges.append(best[-2:])
    return edges


def least_degree_edge_or_idle(interest: Interest, edges: list[Edge]):
    """The best edge, of gain 0 too, among those that raise the maximum degree least."""
    if not any(gain(interest, edges, u, v) for u, v in pairs(interest)):
        return None  # every topic is connected
    degree = degrees(interest, edges)
    top = max(degree.values())
    keys = []
    for u, v in pairs(interest):
        if (u, v) not in edges:
            larger = max(degree[u], degree[v])
            keys.append((max(top, larger + 1), -gain(interest, edges, u, v), larger, u, v))
    return min(keys)


def gpm(interest: Interest, max_degree: int, max_edges: int | None = None) -> list[Edge]:
    edges: list[Edge] = []
    while max_edges is None or len(edges) < max_edges:
        best = least_degree_edge(interest, edges)
        if best is None:
            break
        trial = [*edges, best[-2:]]
        if max(degrees(interest, trial).values()) > max_degree:
            break
        edges = trial
    return edges


def low(interest: Interest, k: Fraction = Fraction(2)) -> list[Edge]:
    edges: list[Edge] = []
    while True:
        first, second = best_edge(interest, edges), least_degree_edge(interest, edges)
        if first is None or second is None:
            return edges
        one = -first[0] >= k * -second[1]
        edges.append(first[-2:] if one else second[-2:])


def _stars(interest: Interest, rank) -> list[Edge]:
    """A star per round at the node that ranks highest; then its topics are done."""
    edges: list[Edge] = []
    wanted = {v: set(topics) for v, topics in interest.items()}

    def subscribers(t: int) -> int:
        return sum(t in topics for topics in interest.values())

    left = {t for topics in interest.values() for t in topics if subscribers(t) > 1}
    while left:
        best, centre = None, None
        for u in sorted(interest):
            mine = wanted[u] & left
            near = {v for v in interest if v != u and wanted[v] & mine}
            weight = sum(sum(t in wanted[v] for v in interest if v != u) for t in mine)
            if near and (best is None or rank(len(near), weight) > best):
                best, centre = rank(len(near), weight), u
        mine = wanted[centre] & left
        near = sorted(v for v in interest if v != centre and wanted[v] & mine)
        edges += [(min(centre, v), max(centre, v)) for v in near]
        left -= mine
    return edges


def cd(interest: Interest) -> list[Edge]:
    return _stars(interest, lambda near, weight: near)


def cd1(interest: Interest) -> list[Edge]:
    return _stars(interest, lambda near, weight: weight)


def cd2(interest: Interest) -> list[Edge]:
    return _stars(interest, lambda near, weight: Fraction(weight, near))
