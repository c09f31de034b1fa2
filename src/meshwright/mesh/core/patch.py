"""Keeping the present agents connected, at once, until the next design."""

from collections.abc import Collection

from meshwright.mesh.core.log import Shape
from meshwright.mesh.core.routes import components, usable
from meshwright.mesh.core.values import Health, Topology


def without_others(topology: Topology, nodes: Collection[int]) -> Topology:
    """Return the overlay without links of nodes that do not take part; a ring with such a one ends.

    Examples
    --------
    >>> without_others(Topology("tree", ((0, 1), (1, 2))), [0, 1]).edges
    ((0, 1),)
    """
    present = set(nodes)
    edges = tuple(edge for edge in topology.edges if present.issuperset(edge))
    if present.issuperset(topology.ring):
        return topology._replace(edges=edges)
    return topology._replace(edges=edges, ring=(), fingers=())


def connected(topology: Topology, nodes: Collection[int], health: Health, routing: str) -> Topology:
    """Return the overlay with links added until all agents that are not away are connected.

    The nodes of fewest links are linked, the smallest ones first; links that are down are not used.

    Examples
    --------
    >>> connected(Topology("tree", ((0, 1),)), [0, 1, 2], Health((), ()), "tree").edges
    ((0, 1), (0, 2))
    """
    present = [node for node in nodes if node not in health.away]
    neighbours = usable(Shape(0, topology, health)).neighbours
    parts = components(present, neighbours)
    if len(parts) < 2:
        return topology if topology.edges else topology._replace(routing=routing)
    edges = set(topology.edges)
    degrees = {node: len(neighbours.get(node, ())) for node in present}
    whole = list(parts[0])
    for part in parts[1:]:
        pairs = (
            (degrees[u] + degrees[v], u, v)
            for u in whole
            for v in part
            if (min(u, v), max(u, v)) not in health.down
        )
        best = min(pairs, default=None)
        if best is not None:
            _, u, v = best
            edges.add((min(u, v), max(u, v)))
            degrees[u] += 1
            degrees[v] += 1
            whole += part
    return topology._replace(routing=routing, edges=tuple(sorted(edges)))
