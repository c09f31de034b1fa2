"""One tree per topic, so that every name travels over a forest.

A filter's line carries everything that the filter matches, so the trees of a wider pattern are part
of those of the narrower ones: the bridges that carry a concrete name are then the tree of the
narrowest pattern that matches it. Patterns go from wide to narrow, each with the trees of its wider
filters forced. Where the trees of crossing filters close a cycle together, these filters share one
tree, cut for each filter to the part its subscribers need.
"""

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from meshwright.deploy.graphs import neighbours, search
from meshwright.deploy.kernels import trees as kernels
from meshwright.errors import check_choice
from meshwright.model.instance import Instance, subscribers_of
from meshwright.model.overlay import linked_parts
from meshwright.patterns.filters import is_filter, nearest, wider_filters
from meshwright.runtime.arrays import Bools, Longs

Edge = tuple[int, int]  # u < v
Array = npt.NDArray[Any]
TREES = ("shallow", "balanced")


@dataclass(frozen=True, slots=True)
class Forest:
    """The trees of all topics, by topic id."""

    trees: list[list[Edge]]
    subscribers: list[list[int]]
    relays: list[list[int]]  # nodes of the tree that do not want the topic
    disconnected: dict[int, list[int]]  # topic -> subscribers that its tree does not reach
    shared: list[list[str]]  # filters that share a tree


class TreesConflict(Exception):  # noqa: N818 - a signal inside this file
    """Trees of crossing filters close a cycle: the filters share one when trees are grown again."""


def grow_trees(
    instance: Instance,
    edges: Iterable[Edge],
    tree: str,
    *,
    relay: bool,
    leaves: Iterable[tuple[int, int]] = (),
) -> Forest:
    """Return a tree for each topic of an expanded instance, on the links of an overlay.

    With `relay`, subscribers that the topic's own sub-overlay does not connect are reached through
    other nodes; without, they are listed in `disconnected`. `leaves` are (node, topic): such a node
    gets one link to a carrier in the topic's tree, the first of `edges`, so it passes nothing on.
    """
    check_choice("tree", tree, TREES)
    grower = _Grower(instance, edges, tree, relay=relay, leaves=leaves)
    while True:
        with suppress(TreesConflict):
            return grower.grow()


class _Grower:
    """The state of `grow_trees`: which topics share a tree, and the loads so far.

    Nodes and topics are ids, edges (u, v) with u < v. `tree` is one of TREES; with `relay`, trees
    may pass through nodes that do not want the topic.
    """

    def __init__(
        self,
        instance: Instance,
        edges: Iterable[Edge],
        tree: str,
        *,
        relay: bool,
        leaves: Iterable[tuple[int, int]] = (),
    ):
        self.n_nodes = instance.n_nodes
        given = list(edges)
        self.edges = sorted(given)
        self.rank = {edge: i for i, edge in enumerate(given)}
        self.leaves: dict[int, set[int]] = {}  # topic -> its leaves
        for node, topic in leaves:
            self.leaves.setdefault(topic, set()).add(node)
        self.edge_id = {edge: i for i, edge in enumerate(self.edges)}
        self.ends = np.array(self.edges, np.int64).reshape(-1, 2)
        self.balanced = tree == "balanced"
        self.relay = relay
        self.names = list(instance.topic_names)
        ids = {name: t for t, name in enumerate(self.names)}
        wider = wider_filters(self.names)
        self.wider, self.nearest = (  # topic -> filters that cover it: all, the narrowest of them
            {ids[name]: [ids[wide] for wide in filters] for name, filters in found.items()}
            for found in (wider, nearest(wider))
        )
        self.group: dict[int, int] = {}  # topic -> the smallest topic that it shares a tree with
        pointers, nodes = subscribers_of(instance)
        self.subscribers = [nodes[start:end].tolist() for start, end in pairwise(pointers)]
        interests = [set(instance.topics_of(node).tolist()) for node in range(instance.n_nodes)]
        self.topic_edges: list[list[int]] = [[] for _ in self.names]  # both ends want the topic
        for i, (u, v) in enumerate(self.edges):
            for t in interests[u] & interests[v]:
                self.topic_edges[t].append(i)

    def share(self, topics: Collection[int]) -> TreesConflict:
        """Let topics, and all that share a tree with them, have one; return what to raise."""
        groups = {self.group.get(t, t) for t in topics}
        joined = [t for t, group in self.group.items() if group in groups]
        for t in {*topics, *joined, *groups}:
            self.group[t] = min(groups)
        return TreesConflict()

    def grow(self) -> Forest:
        """Return the trees; raise TreesConflict after letting the filters in conflict share one.

        Begins anew each time, with the groups of topics that `share` has made so far.
        """
        self.link_load = np.zeros(len(self.edges), np.int64)  # by edge: trees that use it
        self.broker_load = np.zeros(self.n_nodes, np.int64)  # by node: ends of edges of all trees
        self.trees: list[list[Edge]] = [[] for _ in self.names]
        self.disconnected: dict[int, list[int]] = {}
        for group in self.order():
            self.grow_group(group)
        shared: dict[int, list[str]] = {}
        for t, group_id in self.group.items():
            shared.setdefault(group_id, []).append(self.names[t])
        return Forest(
            trees=self.trees,
            subscribers=self.subscribers,
            relays=[
                sorted(_nodes(tree).difference(wanted))
                for tree, wanted in zip(self.trees, self.subscribers, strict=True)
            ],
            disconnected=self.disconnected,
            shared=[sorted(names) for names in shared.values()],
        )

    def order(self) -> list[list[int]]:
        """Return the topics that share a tree, wide before narrow; equals by size, then id."""
        nested = {t for t, near in self.nearest.items() if len(near) > 1}
        nested |= {t for t, name in enumerate(self.names) if is_filter(name)} | set(self.group)
        groups: dict[int, list[int]] = {}
        for t in sorted(nested):
            groups.setdefault(self.group.get(t, t), []).append(t)
        before = {
            group: {self.group.get(w, w) for t in topics for w in self.wider.get(t, ())} - {group}
            for group, topics in groups.items()
        }
        try:
            first = [groups[group] for group in TopologicalSorter(before).static_order()]
        except CycleError as error:
            raise self.share([t for group in error.args[1] for t in groups[group]]) from None
        rest = [t for t in range(len(self.names)) if t not in nested]
        rest.sort(key=lambda t: (-len(self.subscribers[t]), t))
        return [*first, *([t] for t in rest)]

    def grow_group(self, topics: list[int]) -> None:
        """Grow the tree of topics that share one, and give each its part."""
        near = {w for t in topics for w in self.nearest.get(t, ()) if w not in topics}
        forced = {edge for w in near for edge in self.trees[w]}
        if len(near) > 1 and pruned(forced, set()):
            raise self.share(near)
        nodes = {node for t in topics for node in self.subscribers[t]}
        if len(topics) == 1 and nodes >= _nodes(forced):
            links = np.array(self.topic_edges[topics[0]], np.int64)
        else:
            nodes |= _nodes(forced)
            links = self.induced(nodes)
        if len(topics) == 1:
            links = self.without_transit(topics[0], links, forced)
        whole = self.spanning(sorted(nodes), links, forced)
        for t in topics:
            wanted = self.subscribers[t]
            connected = len(whole) == len(nodes) - 1
            if self.relay and not connected and len(largest_part(whole, wanted)) < len(wanted):
                relays = self.relays_between(nodes, links, wanted)
                if relays:
                    nodes |= relays
                    links = self.induced(nodes)
                    whole = self.spanning(sorted(nodes), links, forced)
        for edge in whole:
            self.link_load[self.edge_id[edge]] += 1
            self.broker_load[list(edge)] += 1
        for t in topics:
            wanted = self.subscribers[t]
            if len(whole) < len(nodes) - 1:
                missing = set(wanted) - largest_part(whole, wanted)
                if missing:
                    self.disconnected[t] = sorted(missing)
            inner = _nodes(edge for w in self.nearest.get(t, ()) for edge in self.trees[w])
            self.trees[t] = whole if len(nodes) == len(wanted) else pruned(whole, inner | {*wanted})

    def without_transit(self, topic: int, links: Array, forced: set[Edge]) -> Array:
        """Return the links with one to a carrier for each leaf of a topic, and the forced ones."""
        leaves = self.leaves.get(topic)
        if not leaves:
            return links
        chosen = {node: edge for edge in forced for node in edge if node in leaves}
        edges = [self.edges[i] for i in links.tolist()]
        for edge in sorted(edges, key=self.rank.__getitem__):
            ends = [node for node in edge if node in leaves]
            if len(ends) == 1:
                chosen.setdefault(ends[0], edge)
        kept = [
            edge in forced or all(chosen.get(node) == edge for node in edge if node in leaves)
            for edge in edges
        ]
        return links[np.array(kept, np.bool_)]

    def induced(self, nodes: set[int]) -> Array:
        """Return the places of the edges between the nodes."""
        inside = np.zeros(self.n_nodes, np.bool_)
        inside[list(nodes)] = True
        return np.flatnonzero(inside[self.ends].all(axis=1))

    def spanning(self, nodes: list[int], links: Array, forced: set[Edge]) -> list[Edge]:
        """Return a spanning forest of the nodes by some links, the forced ones in it."""
        brokers = np.array(nodes, np.int64)
        u, v = np.searchsorted(brokers, self.ends[links]).T.copy()
        flags = np.zeros(len(links), np.bool_)
        if forced:
            flags[np.searchsorted(links, [self.edge_id[edge] for edge in forced])] = True
        part_of = linked_parts(len(nodes), np.column_stack((u, v)))
        chosen = np.zeros(len(links), np.bool_)
        for part in np.unique(part_of):
            some, here = np.flatnonzero(part_of == part), np.flatnonzero(part_of[u] == part)
            ends = np.searchsorted(some, u[here]), np.searchsorted(some, v[here])
            graph = new_graph(len(some), *ends, flags[here])
            if self.balanced:
                # Copies: the tree may be grown again with relays, and is counted once it stands.
                loads = self.link_load.copy(), brokers[some], self.broker_load.copy()
                via = kernels.balanced_tree(graph, kernels.Loads(links[here], *loads))
            else:
                via = kernels.shallow_tree(graph, np.zeros(len(some), np.int64)).via
            chosen[here[via[via >= 0]]] = True
        return [self.edges[i] for i in links[chosen].tolist()]

    def relays_between(self, nodes: set[int], links: Array, wanted: list[int]) -> set[int]:
        """Return nodes to add so that the wanted ones are connected, as far as the overlay can."""
        edges = {self.edges[i] for i in links.tolist()}
        added: set[int] = set()
        while True:
            reached = largest_part(edges, wanted)
            path = shortest_path(self.edges, reached, set(wanted) - reached)
            if not path:
                return added
            added |= set(path) - nodes
            edges |= {ordered(a, b) for a, b in pairwise(path)}


def new_graph(n: int, u: Longs, v: Longs, forced: Bools) -> kernels.Graph:
    """Return the graph of edges that are given in order."""
    links = np.column_stack((u, v))
    ends = links.ravel()
    start = np.concatenate(([0], np.cumsum(np.bincount(ends, minlength=n))))
    edge_at = np.argsort(ends, kind="stable") // 2
    group = linked_parts(n, links[forced]) if forced.any() else np.arange(n)
    return kernels.Graph(u, v, start, edge_at, forced, group)


def ordered(u: int, v: int) -> Edge:
    """Return the edge between two nodes."""
    return (u, v) if u < v else (v, u)


def _nodes(edges: Iterable[Edge]) -> set[int]:
    return {node for edge in edges for node in edge}


def shortest_path(edges: Iterable[Edge], sources: set[int], targets: set[int]) -> list[int]:
    """Return a shortest path from a target to a source, smallest nodes first, or nothing."""
    before = search(neighbours(edges), sorted(sources))
    path: list[int] = []
    node = next((node for node in before if node in targets), None)
    while node is not None:
        path.append(node)
        node = before[node]
    return path


def largest_part(edges: Iterable[Edge], wanted: Sequence[int]) -> set[int]:
    """Return the wanted nodes in the component that holds most, the first among equals."""
    near, left, best = neighbours(edges), set(wanted), set[int]()
    for node in wanted:
        if node in left and len(best) < len(left):
            part = left.intersection(search(near, [node]))
            left -= part
            best = max(best, part, key=len)
    return best


def pruned(tree: Iterable[Edge], keep: set[int]) -> list[Edge]:
    """Return the part of a forest that the kept nodes need to reach each other.

    Of any graph, with no nodes to keep: edges that cycles need, so nothing if it is a forest.
    """
    near = {node: set(others) for node, others in neighbours(tree).items()}
    leaves = [node for node, others in near.items() if len(others) == 1 and node not in keep]
    while leaves:
        leaf = leaves.pop()
        for other in near.pop(leaf):
            near[other].discard(leaf)
            if len(near[other]) == 1 and other not in keep:
                leaves.append(other)
    return sorted((u, v) for u, others in near.items() for v in others if u < v)
