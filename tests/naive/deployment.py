"""Spanning trees, cycles and MQTT matching, slow and obvious."""

from __future__ import annotations

from collections.abc import Iterable

import networkx as nx

Edge = tuple[int, int]


def breadth_first(
    nodes: Iterable[int], edges: Iterable[Edge], root: int, forced: Iterable[Edge] = ()
) -> tuple[int, set[Edge]]:
    """Return (depth, edges) of the tree from a root: neighbours in order, first come first served.

    Forced edges are in the tree: a piece they join is entered once and walked along them.
    """
    graph = nx.Graph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edges)
    pieces = nx.Graph()
    pieces.add_nodes_from(nodes)
    pieces.add_edges_from(forced)
    depth = {root: 0}
    entered = set(nx.node_connected_component(pieces, root))
    tree: set[Edge] = set()
    queue = [root]
    for u in queue:
        for v in sorted(graph[u]):
            if v in depth:
                continue
            if not pieces.has_edge(u, v):
                if v in entered:
                    continue
                entered |= nx.node_connected_component(pieces, v)
            depth[v] = depth[u] + 1
            tree.add((min(u, v), max(u, v)))
            queue.append(v)
    return max(depth.values()), tree


def shallow(
    nodes: Iterable[int], edges: Iterable[Edge], forced: Iterable[Edge] = ()
) -> tuple[int, set[Edge]]:
    """Return the tree of least depth over all roots, the smallest root among equals."""
    nodes, edges, forced = list(nodes), list(edges), list(forced)
    best: tuple[int, int, set[Edge]] | None = None
    for root in sorted(nodes):
        depth, tree = breadth_first(nodes, edges, root, forced)
        if best is None or depth < best[0]:
            best = (depth, root, tree)
    assert best is not None
    return best[0], best[2]


def balanced(
    nodes: Iterable[int],
    edges: Iterable[Edge],
    link_load: dict[Edge, int],
    broker_load: dict[int, int],
    forced: Iterable[Edge] = (),
) -> set[Edge]:
    """Return the tree grown by the least loaded edge that joins two pieces; loads are updated."""
    pieces = nx.Graph()
    pieces.add_nodes_from(nodes)
    tree: set[Edge] = set()

    def take(edge: Edge) -> None:
        pieces.add_edge(*edge)
        tree.add(edge)
        link_load[edge] += 1
        for end in edge:
            broker_load[end] += 1

    for edge in sorted(forced):
        take(edge)
    while True:
        joining = [(u, v) for u, v in edges if v not in nx.node_connected_component(pieces, u)]
        if not joining:
            return tree
        take(
            min(
                joining,
                key=lambda e: (
                    link_load[e],
                    max(broker_load[e[0]], broker_load[e[1]]),
                    e,
                ),
            )
        )


def has_cycle(edges: Iterable[Edge]) -> bool:
    """Tell whether links, two between the same ends included, close a circle."""
    graph = nx.MultiGraph()
    graph.add_edges_from(edges)
    return any(
        graph.subgraph(piece).number_of_edges() >= len(piece)
        for piece in nx.connected_components(graph)
    )


def matches(pattern: str, topic: str) -> bool:
    """Tell whether a filter matches a name, by the words of the MQTT standard."""
    wanted, given = pattern.split("/"), topic.split("/")
    if given[0].startswith("$") and wanted[0] in ("+", "#"):
        return False
    while wanted:
        level = wanted.pop(0)
        if level == "#":
            return True
        if not given:
            return False
        here = given.pop(0)
        if level not in ("+", here):
            return False
    return not given
