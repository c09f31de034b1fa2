"""One tree per topic, so that every name travels over a forest.

A filter's line carries all that the filter matches, so the trees of a wider pattern are part of
those of the narrower ones: for a concrete name the bridges that carry it are then the tree of the
narrowest pattern around it. Patterns go from wide to narrow, each with the trees of those around
it forced. Where crossing filters have trees that close a cycle together, they share one tree, cut
for each filter to the part its subscribers need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from meshwright.deployment.filters import PatternIndex, is_filter
from meshwright.deployment.tree_kernel import (
    balanced_tree,
    edges_by_topic,
    pieces_of,
    shallow_tree,
)
from meshwright.errors import unknown_choice
from meshwright.values import Instance

Edge = tuple[int, int]  # u < v
TREES = ("shallow", "balanced")


@dataclass(slots=True)
class Forest:
    """The trees of all topics, by topic id."""

    trees: list[list[Edge]]
    own: list[list[Edge]]  # the edges that need a line of the topic itself, not a wider filter's
    relays: list[list[int]]
    apart: dict[int, list[int]]  # topic -> subscribers that its tree does not reach
    shared: list[list[str]]  # filters that share a tree


class Conflict(Exception):  # noqa: N818 - a signal inside this file
    """Trees of crossing filters close a cycle: their patterns must share one."""

    def __init__(self, patterns: Iterable[int]) -> None:
        super().__init__("trees close a cycle")
        self.patterns = sorted(patterns)


def grow_trees(
    instance: Instance, edges: Iterable[Edge], *, tree: str = "shallow", relay: bool = False
) -> Forest:
    """Return a tree for each topic of an expanded instance, on the links of an overlay.

    With `relay`, subscribers that the topic's own sub-overlay does not join are reached through
    other nodes; without, they are listed in `apart`.
    """
    if tree not in TREES:
        raise unknown_choice("tree", tree, TREES)
    grower = _Grower(instance, edges, tree, relay=relay)
    while True:
        try:
            return grower.grow()
        except Conflict as conflict:
            grower.share(conflict.patterns)


@dataclass(slots=True)
class _Patterns:
    """Which patterns lie around which, by topic id."""

    around: dict[int, list[int]] = field(default_factory=dict)  # all strictly wider
    nearest: dict[int, list[int]] = field(default_factory=dict)  # those with none in between


def _patterns(names: Sequence[str]) -> _Patterns:
    found = _Patterns()
    ids = {name: t for t, name in enumerate(names) if is_filter(name)}
    index = PatternIndex(ids)
    for t, name in enumerate(names):
        around = [ids[wide] for wide in index.covering(name) if wide != name] if ids else []
        if around:
            found.around[t] = around
    for t, around in found.around.items():
        beyond = {wide for near in around for wide in found.around.get(near, ())}
        found.nearest[t] = [near for near in around if near not in beyond]
    return found


class _Grower:
    def __init__(self, instance: Instance, edges: Iterable[Edge], tree: str, *, relay: bool):
        self.instance = instance
        self.edges = sorted(edges)
        self.edge_id = {edge: i for i, edge in enumerate(self.edges)}
        self.tree = tree
        self.relay = relay
        self.names = list(instance.topic_names)
        self.patterns = _patterns(self.names)
        self.unit: dict[int, int] = {}  # topic -> the smallest topic that it shares a tree with
        array = np.array(self.edges, np.int64).reshape(-1, 2)
        self.ends = array
        self.topic_start, self.topic_edges = edges_by_topic(
            instance.indptr, instance.topics, instance.n_topics, array
        )
        order = np.argsort(instance.topics, kind="stable")
        owner = np.repeat(np.arange(instance.n_nodes), np.diff(instance.indptr))
        self.member_start = np.searchsorted(
            instance.topics[order], np.arange(instance.n_topics + 1)
        )
        self.members = owner[order]
        self.neighbours: dict[int, list[int]] = {}
        for u, v in self.edges:
            self.neighbours.setdefault(u, []).append(v)
            self.neighbours.setdefault(v, []).append(u)

    def subscribers(self, t: int) -> list[int]:
        members = self.members[self.member_start[t] : self.member_start[t + 1]]
        return [int(node) for node in members]

    def share(self, patterns: Sequence[int]) -> None:
        """Let patterns, and all that share with them already, have one tree."""
        units = {self.unit.get(t, t) for t in patterns}
        joined = [t for t, unit in self.unit.items() if unit in units]
        for t in {*patterns, *joined, *units}:
            self.unit[t] = min(units)

    def grow(self) -> Forest:
        n_topics = self.instance.n_topics
        self.link_load = np.zeros(len(self.edges), np.int64)
        self.broker_load = np.zeros(self.instance.n_nodes, np.int64)
        self.forest = Forest([[] for _ in range(n_topics)], [], [], {}, [])
        for unit in self.order():
            self.grow_unit(unit)
        around = self.patterns.nearest
        for t, tree in enumerate(self.forest.trees):
            wider = {edge for near in around.get(t, ()) for edge in self.forest.trees[near]}
            self.forest.own.append([edge for edge in tree if edge not in wider])
            wanted = set(self.subscribers(t))
            self.forest.relays.append(sorted({n for edge in tree for n in edge} - wanted))
        units: dict[int, list[str]] = {}
        for t, unit_id in self.unit.items():
            units.setdefault(unit_id, []).append(self.names[t])
        self.forest.shared = [sorted(names) for names in units.values()]
        return self.forest

    def order(self) -> list[list[int]]:
        """Return what shares a tree, wide before narrow; equals by size, then id."""
        tangled = {t for t, near in self.patterns.nearest.items() if len(near) > 1}
        tangled |= {t for t, name in enumerate(self.names) if is_filter(name)} | set(self.unit)
        units: dict[int, list[int]] = {}
        for t in sorted(tangled):
            units.setdefault(self.unit.get(t, t), []).append(t)
        before = {
            unit: {self.unit.get(w, w) for t in ts for w in self.patterns.around.get(t, ())}
            - {unit}
            for unit, ts in units.items()
        }
        try:
            first = [units[unit] for unit in TopologicalSorter(before).static_order()]
        except CycleError as error:
            raise Conflict([t for unit in error.args[1] for t in units[unit]]) from None
        sizes = np.diff(self.member_start)
        rest = sorted(
            (t for t in range(len(self.names)) if t not in tangled), key=lambda t: (-sizes[t], t)
        )
        return [*first, *([t] for t in rest)]

    def grow_unit(self, unit: list[int]) -> None:
        """Grow the tree of topics that share one, and give each its part."""
        trees = self.forest.trees
        near = {w for t in unit for w in self.patterns.nearest.get(t, ()) if w not in unit}
        forced = {edge for w in near for edge in trees[w]}
        if len(near) > 1 and closes_cycle(forced):
            raise Conflict(near)
        nodes = {node for t in unit for node in self.subscribers(t)}
        plain = len(unit) == 1 and nodes.issuperset(n for edge in forced for n in edge)
        nodes.update(n for edge in forced for n in edge)
        if plain:
            t = unit[0]
            here = self.topic_edges[self.topic_start[t] : self.topic_start[t + 1]]
        else:
            here = self.induced(nodes)
        whole = self.spanning(sorted(nodes), here, forced)
        for t in unit:
            wanted = self.subscribers(t)
            if self.relay and len(_piece(whole, wanted)) < len(wanted):
                added = self.connected_by_relays(nodes, here, wanted)
                if added:
                    nodes |= added
                    here = self.induced(nodes)
                    whole = self.spanning(sorted(nodes), here, forced)
        self.count(whole)
        alone = len(unit) == 1 and len(nodes) == len(self.subscribers(unit[0]))
        for t in unit:
            wanted = self.subscribers(t)
            if len(whole) < len(nodes) - 1:
                missing = set(wanted) - _piece(whole, wanted)
                if missing:
                    self.forest.apart[t] = sorted(missing)
            keep = set(wanted) | {
                n for w in self.patterns.nearest.get(t, ()) for edge in trees[w] for n in edge
            }
            trees[t] = whole if alone else pruned(whole, keep)

    def induced(self, nodes: set[int]) -> npt.NDArray[np.int64]:
        inside = np.zeros(self.instance.n_nodes, np.bool_)
        inside[list(nodes)] = True
        return np.flatnonzero(inside[self.ends[:, 0]] & inside[self.ends[:, 1]])

    def spanning(
        self, nodes: list[int], here: npt.NDArray[np.int64], forced: set[Edge]
    ) -> list[Edge]:
        """Return a spanning forest of the nodes by the links `here`, the forced ones in it."""
        brokers = np.array(nodes, np.int64)
        ends = np.searchsorted(brokers, self.ends[here])
        u, v = ends[:, 0].copy(), ends[:, 1].copy()
        flags = np.zeros(len(here), np.bool_)
        if forced:
            flags[np.searchsorted(here, [self.edge_id[edge] for edge in forced])] = True
        piece = pieces_of(len(nodes), u, v, np.ones(len(here), np.bool_))
        whole = not piece.any()
        chosen = np.zeros(len(here), np.bool_)
        for root in [0] if whole else np.unique(piece):
            some = np.arange(len(nodes)) if whole else np.flatnonzero(piece == root)
            part = np.arange(len(here)) if whole else np.flatnonzero(piece[u] == root)
            local_u, local_v = np.searchsorted(some, u[part]), np.searchsorted(some, v[part])
            if self.tree == "shallow":
                equal = np.zeros(len(some), np.int64)
                via, _, _ = shallow_tree(len(some), local_u, local_v, flags[part], equal)
            else:
                # Copies: the tree may be grown again with relays, and is counted once it stands.
                loads = here[part], self.link_load.copy(), brokers[some], self.broker_load.copy()
                via = balanced_tree(len(some), local_u, local_v, flags[part], *loads)
            chosen[part[via[via >= 0]]] = True
        return [self.edges[i] for i in here[chosen].tolist()]

    def count(self, tree: list[Edge]) -> None:
        for edge in tree:
            self.link_load[self.edge_id[edge]] += 1
            for node in edge:
                self.broker_load[node] += 1

    def connected_by_relays(
        self, nodes: set[int], here: npt.NDArray[np.int64], wanted: list[int]
    ) -> set[int]:
        """Return nodes to add so that all wanted ones are joined, as far as the overlay can."""
        links = {self.edges[i] for i in here.tolist()}
        added: set[int] = set()
        while True:
            reached = _piece([*links], wanted)
            missing = set(wanted) - reached
            path = self.shortest(reached, missing) if missing else []
            if not path:
                return added
            added |= set(path) - nodes
            links |= {(min(a, b), max(a, b)) for a, b in pairwise(path)}

    def shortest(self, sources: set[int], targets: set[int]) -> list[int]:
        """Return a shortest path of the overlay, smallest nodes first, or nothing."""
        came: dict[int, int] = dict.fromkeys(sorted(sources), -1)
        queue = list(came)
        for u in queue:
            if u in targets:
                path = [u]
                while came[path[-1]] >= 0:
                    path.append(came[path[-1]])
                return path
            for v in self.neighbours.get(u, ()):
                if v not in came:
                    came[v] = u
                    queue.append(v)
        return []


def closes_cycle(edges: Iterable[Edge]) -> bool:
    """Tell whether distinct edges close a cycle."""
    parent: dict[int, int] = {}
    find = _finder(parent)
    for u, v in edges:
        a, b = find(u), find(v)
        if a == b:
            return True
        parent[a] = b
    return False


def _finder(parent: dict[int, int]) -> Callable[[int], int]:
    def find(node: int) -> int:
        parent.setdefault(node, node)
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    return find


def _piece(edges: Sequence[Edge], wanted: Sequence[int]) -> set[int]:
    """Return the wanted nodes in the piece that holds most of them, the first among equals."""
    if len(wanted) < 2:
        return set(wanted)
    parent: dict[int, int] = {}
    find = _finder(parent)
    for u, v in edges:
        parent[find(u)] = find(v)
    pieces: dict[int, list[int]] = {}
    for node in wanted:
        pieces.setdefault(find(node), []).append(node)
    largest = max(map(len, pieces.values()))
    return set(next(piece for piece in pieces.values() if len(piece) == largest))


def pruned(tree: Iterable[Edge], keep: set[int]) -> list[Edge]:
    """Return the part of a forest that the kept nodes need to reach each other."""
    left = set(tree)
    at: dict[int, set[Edge]] = {}
    for edge in left:
        for node in edge:
            at.setdefault(node, set()).add(edge)
    waiting = [node for node, edges in at.items() if len(edges) == 1 and node not in keep]
    while waiting:
        node = waiting.pop()
        for edge in at[node]:
            left.discard(edge)
            other = edge[0] + edge[1] - node
            at[other].discard(edge)
            if len(at[other]) == 1 and other not in keep:
                waiting.append(other)
        at[node] = set()
    return sorted(left)


def topics_per_link(trees: Iterable[Iterable[Edge]]) -> Mapping[Edge, int]:
    """Return how many trees use each edge."""
    counts: dict[Edge, int] = {}
    for tree in trees:
        for edge in tree:
            counts[edge] = counts.get(edge, 0) + 1
    return counts
