"""What both orders of the greedy engine share: the rule, the ranking of nodes, caps, progress.

Paper 3 observes that the greedy overlay algorithms differ in one line, which edge comes next. Here
that line is a `Rule`: how ties are settled, and which degrees may be reached when.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.model.kernels.components import copy_rows, new_components
from meshwright.model.kernels.leaves import join_carriers
from meshwright.overlay.greedy.kernels.costs import Costs, no_costs, rank_costs
from meshwright.overlay.greedy.kernels.exclusions import (
    Exclusions,
    exclude_by_limits,
    no_exclusions,
)
from meshwright.overlay.greedy.kernels.idle_edges import (
    add_idle_edges,
    link_all,
    new_neighbours,
    with_room,
)
from meshwright.overlay.greedy.kernels.run import N_EDGES, NO_LIMIT, STOP, Run
from meshwright.runtime.arrays import Bools, Floats, Ints, Longs
from meshwright.runtime.progress import OnProgress

Edges = tuple[Ints, Ints]  # int32[n_edges, 2] in the order added, and int32[n_edges]: their gains


@dataclass(frozen=True, slots=True)
class Rule:
    """Which edge comes next, and when to stop."""

    by_degree: bool = True  # ties are settled by the lower degree before the smaller ids
    rising_cap: bool = False  # as minmax: the best edge under a degree cap of 1, then 2, and so on
    threshold: Fraction | None = None  # as low: k times the best gain under the cap, or that edge
    max_edges: int | None = None
    max_degree: int | None = None
    idle_edges: bool = False  # with rising_cap: fill up each phase with edges of gain 0


class PairCosts(NamedTuple):
    """What pairs cost; those that are not listed have no cost and come last among equals."""

    pairs: Ints  # int32[n, 2], node ids
    values: Floats  # float64[n]


@dataclass(frozen=True, slots=True, eq=False)
class Restrictions:
    """What a run must obey besides its rule: who carries topics, most links, pairs, costs."""

    carries: Bools | None = None  # bool[n_subscriptions]; False: a leaf of the topic
    max_links: Ints | None = None  # int32[n_nodes]
    pairs: Ints | None = None  # int32[n, 2], the only pairs allowed, or forbidden ones
    only_listed: bool = False  # whether `pairs` are the only ones allowed
    costs: PairCosts | None = None
    leaf_node: Ints | None = None  # of the last topics, once `carries` has been split off

    @property
    def exclude_pairs(self) -> bool:
        """Whether pairs that share topics may be excluded."""
        return self.max_links is not None or self.pairs is not None

    @property
    def any(self) -> bool:
        """Whether anything is restricted."""
        return self.exclude_pairs or self.carries is not None or self.costs is not None

    def exclusions(self, ids: Ints, degree: Ints | None = None) -> Exclusions:
        """Return the excluded pairs; `ids` are the nodes in the order that kernels number them.

        `degree` is the array of a run, which changes; by default no node has a link.
        """
        if not self.exclude_pairs:
            return no_exclusions()
        degree = np.zeros(len(ids), np.int32) if degree is None else degree
        most = np.full(len(ids), NO_LIMIT, np.int32)
        if self.max_links is not None:
            most = self.max_links[ids].astype(np.int32)
        pairs = np.empty((0, 2), np.int32)
        if self.pairs is not None:
            pairs = np.argsort(ids).astype(np.int32)[self.pairs]
        return exclude_by_limits(degree, most, pairs, only_listed=self.only_listed)

    def pair_costs(self, ids: Ints) -> Costs:
        """Return what pairs cost; `ids` are the nodes in the order that kernels number them."""
        if self.costs is None:
            return no_costs()
        rank = np.argsort(ids).astype(np.int32)
        return rank_costs(len(ids), rank[self.costs.pairs], self.costs.values)


# A function that finds the edges of a rule: `greedy_edges`, or the levels on Spark.
Engine = Callable[[Instance, Rule, OnProgress], Edges]


def rank_nodes(instance: Instance) -> Ints:
    """Return the node ids by falling number of subscriptions: rank -> node id."""
    return np.argsort(-np.diff(instance.indptr), kind="stable").astype(np.int32)


def reorder_nodes(instance: Instance, ids: Ints) -> tuple[Longs, Ints]:
    """Return the interests, `indptr` and `topics`, with the nodes in the order of `ids`."""
    sizes = np.diff(instance.indptr)
    indptr = np.concatenate(([0], np.cumsum(sizes[ids]))).astype(np.int64)
    topics = np.empty_like(instance.topics)
    copy_rows(instance.indptr, instance.topics, ids, topics)
    return indptr, topics


class GreedyRun:
    """One run of either order: the state that kernels change, its limits and its progress."""

    def __init__(
        self,
        instance: Instance,
        ids: Ints,
        rule: Rule,
        on_progress: OnProgress = None,
        restrictions: Restrictions | None = None,
    ) -> None:
        """Begin a run; leaves are split off already, as `split_leaves` does.

        `ids` are the nodes in the order in which the engine numbers them.
        """
        restrictions = restrictions or Restrictions()
        leaf_node = restrictions.leaf_node
        if instance.n_subscriptions > np.iinfo(np.int32).max:
            raise InputError(
                f"{instance.n_subscriptions:,} subscriptions are more than 2^31 - 1, the most that "
                "the engine can index. Sample the workload."
            )
        self.rule = rule
        rank = np.argsort(ids).astype(np.int32)
        components = new_components(*reorder_nodes(instance, ids), instance.n_topics)
        if leaf_node is not None:
            join_carriers(components, instance.n_topics - len(leaf_node), rank[leaf_node])
        # Each edge joins at least one pair of components.
        self.mu = int(np.maximum(components.open_count - 1, 0).sum(dtype=np.int64))
        self.max_edges = self.mu if rule.max_edges is None else min(self.mu, rule.max_edges)
        self.run = Run(
            components,
            ids,
            rank=rank,
            degree=np.zeros(instance.n_nodes, dtype=np.int32),
            edges=np.empty((self.max_edges, 2), dtype=np.int32),
            gains=np.empty(self.max_edges, dtype=np.int32),
            counts=np.zeros(2, dtype=np.int64),
            by_degree=rule.by_degree,
            costs=restrictions.pair_costs(ids),
        )
        self._neighbours = new_neighbours(instance.n_nodes if rule.idle_edges else 0)
        self._idle: list[tuple[int, Ints]] = []  # (edges that gain before them, idle edges)
        self.joined = 0  # pairs of components, by the edges reported so far
        self._n_reported = 0
        self._on_progress = on_progress

    @property
    def n_edges(self) -> int:
        """The number of edges added so far."""
        return int(self.run.counts[N_EDGES])

    @property
    def is_complete(self) -> bool:
        """Whether no further edge is wanted."""
        return self.n_edges >= self.max_edges

    def edges(self) -> Edges:
        """Return the edges added so far, as node ids of the instance, and their gains."""
        links, gains = self.run.edges[: self.n_edges], self.run.gains[: self.n_edges].copy()
        if self._idle:
            places = np.repeat(
                [at for at, _ in self._idle], [len(edges) for _, edges in self._idle]
            )
            links = np.insert(links, places, np.concatenate([e for _, e in self._idle]), axis=0)
            gains = np.insert(gains, places, 0)
        links = self.run.ids[links]
        links.sort(axis=1)
        return links, gains

    def caps(self) -> Iterator[int]:
        """Yield the degree caps of the rule in turn, until a cap adds no edge."""
        if not self.rule.rising_cap:
            yield NO_LIMIT
            return
        last = NO_LIMIT if self.rule.max_degree is None else self.rule.max_degree
        cap, before = 1, -1
        while cap <= last and before < self.n_edges and not self.is_complete:
            before = self.n_edges
            yield cap
            if self.rule.idle_edges:
                self._fill_up(cap)
            cap += 1

    def _fill_up(self, cap: int) -> None:
        """End the phase of a cap with edges of gain 0, unless every topic is connected by now."""
        gains = self.run.gains[: self.n_edges]
        if int(gains.sum(dtype=np.int64)) == self.mu:
            return
        since = self._idle[-1][0] if self._idle else 0
        below_cap = int(np.maximum(cap - self.run.degree, 0).sum(dtype=np.int64))
        idle = np.empty((below_cap // 2, 2), dtype=np.int32)
        self._neighbours = with_room(self._neighbours, self.n_edges - since + len(idle))
        link_all(self._neighbours, self.run.edges[since : self.n_edges])
        below = np.empty_like(self.run.degree)
        n_idle = add_idle_edges(self.run, self._neighbours, cap, below, idle)
        self._idle.append((self.n_edges, idle[:n_idle]))

    def add_edges(self, add: Callable[[], object], step: int) -> None:
        """Call a kernel that adds edges, `step` at most each time, until it finds no more."""
        stop = self.n_edges
        while self.n_edges == stop and not self.is_complete:
            stop = self.set_stop(step)
            add()
            self.report()

    def set_stop(self, step: int) -> int:
        """Let the next kernel add up to `step` edges; return the number of edges it stops at."""
        stop = min(self.max_edges, self.n_edges + step)
        self.run.counts[STOP] = stop
        return stop

    def report(self) -> None:
        """Report the share of all joins done so far."""
        gains = self.run.gains[self._n_reported : self.n_edges]
        self.joined += int(gains.sum(dtype=np.int64))
        self._n_reported = self.n_edges
        if self._on_progress is not None:
            self._on_progress(self.joined / self.mu if self.mu else 1.0)
