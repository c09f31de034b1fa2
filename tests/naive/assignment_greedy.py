"""Gr, Gr* and their variants by their definition: lists, tuples and cells, one step at a time.

A problem is plain here: `parent` and `place` of each broker (the publisher's parent is -1), the
`share` of each leaf, and of each subscriber `at` and `box` ((low, ...), (high, ...)) and `delay`.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product

import networkx as nx

from tests.naive.random_numbers import stream, uniform

Box = tuple[tuple[float, ...], tuple[float, ...]]


@dataclass
class Plain:
    parent: list[int]
    place: list[tuple[float, ...]]
    share: dict[int, float]
    at: list[tuple[float, ...]]
    box: list[Box]
    delay: list[float]
    alpha: int
    beta: float
    beta_max: float
    last_hop: bool = False

    @property
    def leaves(self) -> list[int]:
        return sorted(self.share)

    def path(self, leaf: int) -> list[int]:
        """The brokers from a leaf up, without the publisher."""
        path = []
        while self.parent[leaf] >= 0:
            path.append(leaf)
            leaf = self.parent[leaf]
        return path

    def latency(self, j: int, leaf: int) -> float:
        hops = [(self.at[j], self.place[leaf])]
        if not self.last_hop:
            hops += [(self.place[b], self.place[self.parent[b]]) for b in self.path(leaf)]
        return sum(math.dist(a, b) for a, b in hops)

    def in_time(self, j: int) -> list[int]:
        least = min(self.latency(j, leaf) for leaf in self.leaves)
        limit = (1 + self.delay[j]) * least
        return [i for i in self.leaves if self.latency(j, i) <= limit + 1e-9 * abs(limit)]

    def limit(self, leaf: int, factor: float) -> int:
        return math.floor(factor * self.share[leaf] * len(self.at) * (1 + 1e-12))


def union(boxes: list[Box]) -> Fraction:
    """The volume of a union: all coordinates cut the space into cells, and cells are counted."""
    if not boxes:
        return Fraction(0)
    axes = range(len(boxes[0][0]))
    cuts = [sorted({corner[k] for box in boxes for corner in box}) for k in axes]
    total = Fraction(0)
    for cell in product(*(list(pairwise(cut)) for cut in cuts)):
        if any(all(b[0][k] <= cell[k][0] and cell[k][1] <= b[1][k] for k in axes) for b in boxes):
            volume = Fraction(1)
            for low, high in cell:
                volume *= Fraction(high) - Fraction(low)
            total += volume
    return total


def inside(box: Box, other: Box) -> bool:
    return all(o <= b for o, b in zip(other[0], box[0], strict=True)) and all(
        b <= o for o, b in zip(other[1], box[1], strict=True)
    )


def hull(boxes: list[Box]) -> Box:
    low = tuple(min(box[0][k] for box in boxes) for k in range(len(boxes[0][0])))
    high = tuple(max(box[1][k] for box in boxes) for k in range(len(boxes[0][0])))
    return low, high


def hold(boxes: list[Box], box: Box, alpha: int) -> tuple[Fraction, list[Box], Box | None]:
    """The least growth that makes a filter hold a box, the filter then, and its changed box."""
    if any(inside(box, other) for other in boxes):
        return Fraction(0), boxes, None
    ways = [(hull([box, other]), k) for k, other in enumerate(boxes)]
    if len(boxes) < alpha:
        ways.append((box, len(boxes)))
    grown = []
    for changed, k in ways:
        after = [*boxes[:k], changed, *boxes[k + 1 :]]
        # Boxes that the changed one holds are not needed any more.
        after = [b for i, b in enumerate(after) if i == k or not inside(b, changed)]
        grown.append((union(after) - union(boxes), after, changed))
    return min(grown, key=lambda way: way[0])  # the first of the least


def with_box(
    plain: Plain, filters: dict[int, list[Box]], leaf: int, box: Box
) -> tuple[Fraction, dict[int, list[Box]]]:
    """What the filters on a leaf's path grow by to hold a box, and all filters then."""
    after, total, need = dict(filters), Fraction(0), box
    for broker in plain.path(leaf):
        growth, boxes, changed = hold(after[broker], need, plain.alpha)
        total += growth
        after[broker] = boxes
        if changed is None:
            break
        need = changed
    return total, after


class Greedy:
    """The state of a greedy run: who is where, how full, and every filter."""

    def __init__(self, plain: Plain, *, any_leaf: bool = False) -> None:
        self.plain = plain
        n = range(len(plain.at))
        self.choices = [plain.leaves if any_leaf else plain.in_time(j) for j in n]
        self.filters: dict[int, list[Box]] = {
            b: [] for b in range(len(plain.parent)) if plain.parent[b] >= 0
        }
        self.members: dict[int, list[int]] = {leaf: [] for leaf in plain.leaves}
        self.factor = plain.beta
        self.overloaded = 0
        self.evicted = 0

    def candidates(self, j: int) -> list[int]:
        plain = self.plain
        return [i for i in self.choices[j] if len(self.members[i]) < plain.limit(i, self.factor)]

    def cheapest(self, j: int, leaves: list[int]) -> int:
        plain = self.plain

        def key(leaf: int) -> tuple[Fraction, float, int]:
            cost, _ = with_box(plain, self.filters, leaf, plain.box[j])
            share = plain.share[leaf]
            load = len(self.members[leaf]) / share if share > 0 else math.inf
            return cost, load, leaf

        return min(leaves, key=key)

    def settle(self, j: int) -> list[int]:
        """The candidates of j, after raising the load balance factor as far as needed."""
        while not self.candidates(j) and self.factor < self.plain.beta_max:
            self.factor = min(self.factor * 1.05, self.plain.beta_max)
        return self.candidates(j)

    def put(self, j: int, leaf: int) -> None:
        _, self.filters = with_box(self.plain, self.filters, leaf, self.plain.box[j])
        self.members[leaf].append(j)

    def serve(self, j: int) -> None:
        leaves = self.settle(j)
        if not leaves:
            self.overloaded += 1
            leaves = self.choices[j]
        self.put(j, self.cheapest(j, leaves))

    def leaf_of(self) -> list[int]:
        found = {j: leaf for leaf, members in self.members.items() for j in members}
        return [found[j] for j in range(len(self.plain.at))]


def gr(plain: Plain, *, any_leaf: bool = False) -> Greedy:
    run = Greedy(plain, any_leaf=any_leaf)
    for j in range(len(plain.at)):
        run.serve(j)
    return run


def gr_star(plain: Plain) -> Greedy:
    run = Greedy(plain)
    waiting = set(range(len(plain.at)))
    while waiting:
        j = min(waiting, key=lambda j: (len(run.candidates(j)), j))
        waiting.remove(j)
        run.serve(j)
    return run


def gr_evict(plain: Plain, *, now: bool, seed: int, most: int) -> Greedy:
    run = Greedy(plain)
    queue, key = list(range(len(plain.at))), stream(seed, 0)
    while queue:
        j = queue.pop(0)
        there = [leaf for leaf in run.choices[j] for _ in run.members[leaf]]
        if run.settle(j) or run.evicted >= most or not there:
            run.serve(j)
            continue
        drawn = int(uniform(key, run.evicted) * len(there))
        leaf = there[drawn]
        members = run.members[leaf]
        at = drawn - there.index(leaf)
        out = members[at]
        members[at] = members[-1]  # the last takes the place of whoever leaves
        members.pop()
        run.evicted += 1
        if now:
            queue.insert(0, out)
        else:
            queue.append(out)
        run.put(j, leaf)
    return run


def closest(plain: Plain, j: int, leaves: list[int]) -> int:
    def square(leaf: int) -> float:
        return sum((a - b) ** 2 for a, b in zip(plain.at[j], plain.place[leaf], strict=True))

    return min(leaves, key=lambda leaf: (square(leaf), leaf))


def closest_balanced(plain: Plain) -> list[int]:
    loads = dict.fromkeys(plain.leaves, 0)
    found = []
    for j in range(len(plain.at)):
        room = [i for i in plain.leaves if loads[i] < plain.limit(i, plain.beta_max)]
        found.append(closest(plain, j, room or plain.leaves))
        loads[found[-1]] += 1
    return found


def least_factor(plain: Plain) -> float:
    """The least load balance factor at which everyone finds a leaf in time, one by one."""
    n = len(plain.at)
    shares = [share for share in plain.share.values() if share > 0]
    for factor in sorted({t / (share * n) for share in shares for t in range(n + 1)}):
        graph = nx.DiGraph()
        graph.add_nodes_from(["source", "sink"])
        for leaf in plain.leaves:
            graph.add_edge("source", ("leaf", leaf), capacity=plain.limit(leaf, factor))
        for j in range(n):
            graph.add_edge(("subscriber", j), "sink", capacity=1)
            for leaf in plain.in_time(j):
                graph.add_edge(("leaf", leaf), ("subscriber", j), capacity=1)
        if nx.maximum_flow_value(graph, "source", "sink") == n:
            return factor
    return math.inf
