"""Small worlds as the paper writes them: slow, obvious, and nothing of ours.

A ring is the list of nodes in order; fingers are, for each node, one node per phase.
"""

from tests.naive.overlays import Edge, Interest, degrees, gain, pairs
from tests.naive.random_numbers import stream, uniform

Fingers = dict[int, list[int]]


def phases(n: int) -> list[range]:
    """The distances of each phase: from 2^i up to but not including min(2^(i+1), n)."""
    found = []
    while 2 ** len(found) < n:
        i = len(found)
        found.append(range(2**i, min(2 ** (i + 1), n)))
    return found


def property_1(n: int, ring: list[int], fingers: Fingers) -> bool:
    """The ring visits each node once; each node has a finger in each phase, within its range."""
    if sorted(ring) != list(range(n)) or sorted(fingers) != list(range(n)):
        return False
    for here, v in enumerate(ring):
        if len(fingers[v]) != len(phases(n)):
            return False
        for phase, distances in enumerate(phases(n)):
            if fingers[v][phase] not in [ring[(here + d) % n] for d in distances]:
                return False
    return True


def chord(ring: list[int]) -> Fingers:
    """The finger of a phase is the first node of it."""
    n = len(ring)
    return {v: [ring[(p + d[0]) % n] for d in phases(n)] for p, v in enumerate(ring)}


def common(interest: Interest, u: int, v: int) -> int:
    return len(interest[u] & interest[v])


def circle_is_possible(nodes: list[int], edges: list[Edge]) -> bool:
    """Some circle through all nodes covers the edges: they are paths, or the circle itself."""
    neighbours: dict[int, list[int]] = {v: [] for v in nodes}
    for u, v in edges:
        neighbours[u].append(v)
        neighbours[v].append(u)
    if any(len(near) > 2 for near in neighbours.values()):
        return False
    left = set(nodes)
    while left:
        part, reached = set(), [min(left)]
        while reached:
            v = reached.pop()
            if v not in part:
                part.add(v)
                reached += neighbours[v]
        closed = len(part) > 2 and all(len(neighbours[v]) == 2 for v in part)
        if closed and len(part) < len(nodes):
            return False
        left -= part
    return True


def edges_of_circle(n: int) -> int:
    """A circle has as many edges as nodes; two nodes have one, one node has none."""
    return n if n > 2 else max(n - 1, 0)


def ring_edges(interest: Interest) -> list[Edge]:
    """GSwicoS: the best edge that can still end in one circle, until the circle is closed.

    While an edge gains: greatest gain, lower larger degree, smaller ids. Then paths are joined end
    to end: greatest common interest, smaller ids.
    """
    nodes, edges = sorted(interest), []
    while len(edges) < edges_of_circle(len(nodes)):
        fit = [
            e for e in pairs(interest) if e not in edges and circle_is_possible(nodes, [*edges, e])
        ]
        degree = degrees(interest, edges)
        best = min((-gain(interest, edges, u, v), max(degree[u], degree[v]), u, v) for u, v in fit)
        if best[0] == 0:
            best = min((-common(interest, u, v), u, v) for u, v in fit)
        edges.append(best[-2:])
    return edges


def gswico_s(interest: Interest) -> list[int]:
    """The ring of GSwicoS: node 0 first, then towards its smaller neighbour."""
    edges = ring_edges(interest)
    ring = [0] if interest else []
    while len(ring) < len(interest):
        near = {u for e in edges for u in e if ring[-1] in e} - set(ring)
        ring.append(min(near))
    return ring


def gswico_l(interest: Interest, ring: list[int], fill: str = "interest", seed: int = 1) -> Fingers:
    """GSwicoL: one finger per node and phase, best gain first.

    A candidate is (v, phase >= 1, w): greatest gain, lower larger degree, smaller ids, then the
    slot of the smaller node. Slots that nothing gains in take the node of greatest common
    interest, then the nearest; or a node of the phase by the random numbers of their position.
    """
    n = len(ring)
    position = {v: p for p, v in enumerate(ring)}
    within = {
        (v, phase): [ring[(position[v] + d) % n] for d in distances]
        for v in ring
        for phase, distances in enumerate(phases(n))
    }
    edges: list[Edge] = []  # distinct and undirected, the ring first
    chosen: dict[tuple[int, int], int] = {}

    def choose(v: int, phase: int, w: int) -> None:
        chosen[v, phase] = w
        if (min(v, w), max(v, w)) not in edges:
            edges.append((min(v, w), max(v, w)))

    for v in ring:
        if n > 1:
            choose(v, 0, within[v, 0][0])
    while True:
        degree = degrees(interest, edges)
        keys = []
        for v, phase in within.keys() - chosen.keys():
            for w in within[v, phase]:
                g = gain(interest, edges, v, w)
                if g > 0:
                    keys.append((-g, max(degree[v], degree[w]), min(v, w), max(v, w), v, phase, w))
        if not keys:
            break
        choose(*min(keys)[-3:])
    for v, phase in within.keys() - chosen.keys():
        if fill == "random":
            number = uniform(stream(seed, position[v]), phase)
            chosen[v, phase] = within[v, phase][int(number * len(within[v, phase]))]
            continue
        # Listed from the nearest on, and max() keeps the first of equals.
        chosen[v, phase] = max(within[v, phase], key=lambda w, v=v: common(interest, v, w))
    return {v: [chosen[v, phase] for phase in range(len(phases(n)))] for v in ring}
