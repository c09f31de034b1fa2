"""Spanning trees, cycles and MQTT matching, slow and obvious."""

from collections.abc import Iterable

import networkx as nx

Edge = tuple[int, int]


def breadth_first(
    nodes: Iterable[int], edges: Iterable[Edge], root: int, forced: Iterable[Edge] = ()
) -> tuple[dict[int, int], dict[int, int]]:
    """Return (depth, parent) of the tree from a root, in the order in which nodes are reached.

    Neighbours come in order, first come first served. Forced edges are in the tree: a piece they
    join is entered once and walked along them.
    """
    graph = nx.Graph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edges)
    pieces = nx.Graph()
    pieces.add_nodes_from(nodes)
    pieces.add_edges_from(forced)
    depth = {root: 0}
    parent: dict[int, int] = {}
    entered = set(nx.node_connected_component(pieces, root))
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
            parent[v] = u
            queue.append(v)
    return depth, parent


def shallow(
    nodes: Iterable[int],
    edges: Iterable[Edge],
    forced: Iterable[Edge] = (),
    weight: dict[int, int] | None = None,
) -> tuple[dict[int, int], dict[int, int]]:
    """Return the tree of least depth over all roots: the lightest among equals, the smallest."""
    nodes, edges, forced = list(nodes), list(edges), list(forced)
    roots = sorted(nodes, key=lambda v: (weight[v] if weight else 0, v))
    trees = [breadth_first(nodes, edges, root, forced) for root in roots]
    return min(trees, key=lambda tree: max(tree[0].values()))


def balanced(
    nodes: Iterable[int],
    edges: Iterable[Edge],
    link_load: dict[Edge, int],
    broker_load: dict[int, int],
    forced: Iterable[Edge] = (),
) -> dict[int, int]:
    """Return the parents: least loaded, reached before, at most twice as deep as need be."""
    edges, forced = list(edges), list(forced)
    level, shallow_parent = shallow(nodes, edges, forced, broker_load)
    depth: dict[int, int] = {}
    parent: dict[int, int] = {}
    for node in level:  # in the order in which they were reached
        if not depth:
            depth[node] = 0
            continue
        choices = [shallow_parent[node]]
        if edge_between(choices[0], node) not in forced:
            near = [u if v == node else v for u, v in edges if node in (u, v)]
            choices = [u for u in near if u in depth and depth[u] + 1 <= 2 * level[node]]
        best = min(choices, key=lambda u: (link_load[edge_between(u, node)], broker_load[u], u))
        depth[node], parent[node] = depth[best] + 1, best
        link_load[edge_between(best, node)] += 1
        for end in (best, node):
            broker_load[end] += 1
    return parent


def edge_between(u: int, v: int) -> Edge:
    """Return the edge of two nodes."""
    return min(u, v), max(u, v)


def has_cycle(edges: Iterable[Edge]) -> bool:
    """Return whether links, two between the same ends included, close a circle."""
    graph = nx.MultiGraph()
    graph.add_edges_from(edges)
    return any(
        graph.subgraph(piece).number_of_edges() >= len(piece)
        for piece in nx.connected_components(graph)
    )


def matches(pattern: str, topic: str) -> bool:
    """Return whether a filter matches a name, by the words of the MQTT standard."""
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


def lost_without(
    edges: Iterable[Edge], publishers: Iterable[int], subscribers: Iterable[int], node: int
) -> tuple[int, int]:
    """Return the deliveries that a node's failure parts, and the subscribers that miss some."""
    whole = nx.Graph(edges)
    left = nx.Graph(edges)
    left.remove_nodes_from([node])
    lost = [
        (p, s)
        for p in set(publishers) & set(left)
        for s in set(subscribers) & set(left)
        if nx.has_path(whole, p, s) and not nx.has_path(left, p, s)
    ]
    return len(lost), len({s for _, s in lost})
