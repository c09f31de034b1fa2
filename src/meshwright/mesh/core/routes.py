"""Routes of a mesh: pure functions of the log, a version, an origin and a topic name.

The hops are those of `trace` and `simulate` (`meshwright.smallworld.routing.routes`). While agents
are away or links are down, and for nodes that a small world's ring does not hold yet, messages
travel over shortest paths and trees of what is left, with relays.
"""

from collections import deque
from collections.abc import Collection
from typing import Any, NamedTuple

from meshwright.mesh.core.log import MeshLog, Shape
from meshwright.mesh.core.values import Version
from meshwright.smallworld.routing.routes import (
    Message as Hop,
)
from meshwright.smallworld.routing.routes import (
    RingLinks,
    Taking,
    parents,
    ring_route,
    tree_route,
)

MOST_ROUTES = 20_000
MOST_GRAPHS = 50
START = -1  # the "hop" before the first ones: the origin itself


class Route(NamedTuple):
    """The hops of a publication as a tree."""

    hops: list[Hop]
    children: dict[int, list[int]]  # of each hop, and of START
    serves: list[frozenset[int]]  # by hop: the nodes that get the message by it or below it
    wanted: frozenset[int]  # who has to get the message: who wants it, but not its own broker
    reached: frozenset[int]  # who of them gets it; the others are out of reach


class Graph(NamedTuple):
    """The links that can be used at a shape of the overlay."""

    neighbours: dict[int, list[int]]
    away: frozenset[int]
    routing: str
    ring: RingLinks | None  # None: route over trees
    nodes: tuple[int, ...]  # at each position
    positions: dict[int, int]


class Routes:
    """The routes over a log, remembered."""

    def __init__(self, log: MeshLog) -> None:
        self._log = log
        self._resets = log.resets
        self._graphs: dict[int, Graph] = {}  # by the number of their shape
        self._by_name: dict[tuple[int, int, str], Route] = {}
        self._routes: dict[tuple[int, int, frozenset[int]], Route] = {}
        self._distances: dict[tuple[int, int], dict[int, int]] = {}

    def route(self, version: Version, origin: int, name: str) -> Route:
        """Return the route of a message at a live version."""
        self._follow_log()
        found = self._by_name.get((version.number, origin, name))
        if found is not None:
            return found
        shape = self._log.shape_at(version.number)
        members = self._log.wanting(name, version.number)
        key = (shape.number, origin, members)
        found = self._routes.get(key)
        if found is None:
            found = _room(self._routes)[key] = make_route(self.graph(shape), members, origin)
        _room(self._by_name)[version.number, origin, name] = found
        return found

    def graph(self, shape: Shape) -> Graph:
        """Return what can be used of an overlay."""
        self._follow_log()
        if shape.number not in self._graphs:
            self._graphs[shape.number] = usable(shape)
        return self._graphs[shape.number]

    def distances(self, goal: int) -> dict[int, int]:
        """Return the hops from each node to a goal at the newest version."""
        self._follow_log()
        shape = self._log.shape
        key = (shape.number, goal)
        if key not in self._distances:
            _room(self._distances, 2_000)[key] = distances(self.graph(shape).neighbours, goal)
        return self._distances[key]

    def _follow_log(self) -> None:
        """Forget everything when the log was replaced, and graphs of versions long gone."""
        if self._resets != self._log.resets:
            self.__init__(self._log)  # type: ignore[misc]
        elif len(self._graphs) > MOST_GRAPHS:
            self._graphs.clear()


def _room(cache: dict[Any, Any], most: int = MOST_ROUTES) -> dict[Any, Any]:
    """Empty a cache that is full."""
    if len(cache) >= most:
        cache.clear()
    return cache


def usable(shape: Shape) -> Graph:
    """Return the links of a shape without those that are down or lead to nodes that are away."""
    topology, health = shape.topology, shape.health
    away, down = set(health.away), {tuple(sorted(link)) for link in health.down}
    neighbours: dict[int, list[int]] = {}
    for u, v in topology.edges:
        if u not in away and v not in away and (u, v) not in down:
            neighbours.setdefault(u, []).append(v)
            neighbours.setdefault(v, []).append(u)
    for linked in neighbours.values():
        linked.sort()
    ring = None
    whole = not down and not away.intersection(topology.ring)
    if topology.routing != "tree" and topology.ring and whole:
        n = len(topology.ring)
        reach = [[(w - v) % n for w in row] for v, row in enumerate(topology.fingers)]
        ring = RingLinks(reach, None, reach)
    positions = {node: position for position, node in enumerate(topology.ring)}
    routing = topology.routing
    return Graph(neighbours, frozenset(away), routing, ring, topology.ring, positions)


def make_route(graph: Graph, members: frozenset[int], origin: int) -> Route:
    """Return the route of a message from its origin to those who want it."""
    hops = _hops(graph, members - graph.away, origin)
    children: dict[int, list[int]] = {}
    above = parents(hops)
    serves: list[set[int]] = [set() for _ in hops]
    reached = set()
    for i, hop in enumerate(hops):
        children.setdefault(above[i], []).append(i)
        if hop.receiver == hop.low and hop.low in members and hop.low != origin:
            serves[i].add(hop.low)
            reached.add(hop.low)
    for i in range(len(hops) - 1, -1, -1):
        if above[i] != START:
            serves[above[i]] |= serves[i]
    ways = [frozenset(nodes) for nodes in serves]
    return Route(hops, children, ways, members - {origin}, frozenset(reached))


def _hops(graph: Graph, members: frozenset[int], origin: int) -> list[Hop]:
    others = members - {origin}
    if graph.ring is not None and origin in graph.positions and others <= graph.positions.keys():
        places = sorted(graph.positions[node] for node in members)
        nodes = graph.nodes
        found = ring_route(graph.routing, graph.ring, places, graph.positions[origin])
        return [
            Hop(nodes[h.sender], nodes[h.receiver], nodes[h.low], nodes[h.high], h.hops)
            for h in found
        ]
    taking = Taking(sorted(members), members)
    return tree_route(graph.neighbours, taking, origin, relays=True)


def distances(neighbours: dict[int, list[int]], goal: int) -> dict[int, int]:
    """Return the hops from each node to a goal."""
    found = {goal: 0}
    queue = deque([goal])
    while queue:
        u = queue.popleft()
        for v in neighbours.get(u, ()):
            if v not in found:
                found[v] = found[u] + 1
                queue.append(v)
    return found


def components(nodes: Collection[int], neighbours: dict[int, list[int]]) -> list[list[int]]:
    """Return the connected parts of the nodes, each in rising order, by their smallest node."""
    left = set(nodes)
    found = []
    for node in sorted(nodes):
        if node in left:
            part = distances(neighbours, node).keys() & left
            left -= part
            found.append(sorted(part))
    return found
