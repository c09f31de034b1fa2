"""Bounds by prices: every topic of a complete overlay contains a spanning tree.

Share the price of each pair of nodes among the topics that both want. A link pays its price once,
and what a topic's links pay is at least the weight of its minimum spanning tree under its shares.
So the trees of all topics together weigh at most what a complete overlay pays. With the price 1
for every pair that is its number of links; if a pair costs what its two nodes cost, it is at most
the maximum degree times the cost of all nodes. Any shares give a bound. They begin equal, and each
round of the ascent raises the shares of the edges in trees, at the cost of the pair's other topics:
the subgradient method on the Lagrangian dual (Held, Karp, 1971), in whole numbers. Proofs are in
docs/certificates.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from meshwright.model.instance import Instance
from meshwright.overlay.bounds.kernels import price_trees as kernel
from meshwright.overlay.bounds.kernels.price_trees import NO_ENTRY, UNIT, PriceTable, Trees
from meshwright.runtime.arrays import Floats, Longs
from meshwright.runtime.threads import in_parts

PRICE_SUM = 1 << 26  # of all nodes together; weights and their sums then fit int64
MOST_NODES = 1 << 17  # with prices of nodes, for the same reason
WORTH_THREADS = 1 << 20  # entries; starting threads takes as long as a walk over a tenth of them
MOST_ENTRIES = 1 << 28  # pairs by topics that a table may hold: 4 bytes each

# The ascent by default: about a quarter of a second, with a table of at most 64 MB.
DEFAULT_WORK = 50_000_000  # entries that are walked
MOST_DEFAULT_ROUNDS = 300
MOST_DEFAULT_ENTRIES = 1 << 24

# The ascent, set on FB1K, zipf 1,000 x 100 and the bundled example (docs/certificates.md). Half or
# double of a value changes the bound after 100 rounds by less than 3%.
FIRST_STEP = 0.5  # of the way to the target, by Polyak's rule
STALLED = 10  # rounds without progress until the step is reduced
SHORTER = 0.7  # to this share
PROGRESS = 1e-4  # a bound has to rise by this share to count as progress
LAST_STEP = 1e-3  # below it the ascent ends
TOWARDS_NODES = 0.3  # by which share the price of the busiest node rises in a round
REMEMBERED = 0.8  # how much of the use of nodes is that of earlier rounds


@dataclass(frozen=True, slots=True)
class Effort:
    """How long an ascent may take: both limits hold."""

    rounds: int
    deadline: float | None = None  # by time.monotonic()

    def is_over(self, rounds: int) -> bool:
        """Return whether no further round may begin."""
        late = self.deadline is not None and time.monotonic() > self.deadline
        return late or rounds >= self.rounds


@dataclass(frozen=True, slots=True)
class PriceBound:
    """What one ascent found."""

    least: int  # of the measure, for every complete overlay
    most_joins: int  # of any overlay within the budget
    rounds: int


def count_entries(instance: Instance) -> int:
    """Return the entries of an instance's table: the pairs of each topic, summed."""
    sizes = np.bincount(instance.topics, minlength=1)
    return int((sizes * (sizes - 1) // 2).sum(dtype=np.int64))


def default_rounds(n_entries: int) -> int:
    """Return the rounds that an ascent makes unless told otherwise: the same on every machine."""
    if n_entries > MOST_DEFAULT_ENTRIES:
        return 0
    return min(DEFAULT_WORK // max(n_entries, 1), MOST_DEFAULT_ROUNDS)


def least_links(instance: Instance, target: int) -> int:
    """Return the fewest links of complete overlays, by the rounds of the default; 0 without any."""
    rounds = default_rounds(count_entries(instance))
    if rounds == 0:
        return 0
    return bound_links(PriceTrees(make_table(instance)), 0, Effort(rounds), target=target).least


def make_table(instance: Instance) -> PriceTable:
    """Return the table with equal shares."""
    indptr, topics = instance.indptr, instance.topics
    sizes = np.bincount(topics, minlength=instance.n_topics).astype(np.int64)
    first = np.concatenate(([0], np.cumsum(sizes * (sizes - 1) // 2)))
    table = PriceTable(
        indptr,
        topics,
        place=np.empty(len(topics), np.int32),
        topic_ptr=np.concatenate(([0], np.cumsum(sizes))),
        nodes=np.empty(len(topics), np.int32),
        first=first,
        share=np.empty(first[-1], np.int32),
    )
    kernel.place_members(table, np.zeros(instance.n_topics, np.int64))

    def work(first: int, last: int) -> None:
        kernel.share_equally(table, np.zeros(instance.n_nodes, np.int32), first, last)

    _in_parts(work, instance.n_nodes, table)
    return table


def _in_parts(work: Callable[[int, int], None], size: int, table: PriceTable) -> None:
    """Call work(first, last) for parts of range(size): several threads pay for large tables."""
    if len(table.share) < WORTH_THREADS:
        work(0, size)
    else:
        in_parts(work, size, smallest=16)


class PriceTrees:
    """A table with the trees that belong to it."""

    def __init__(self, table: PriceTable) -> None:
        self.table = table
        n, self.n_nodes = len(table.topics), len(table.indptr) - 1
        self.trees = Trees(
            np.empty(n, np.int64),
            np.empty(n, np.int64),
            np.empty(n, np.int32),
            np.empty(n, np.int32),
        )
        self._entries = np.empty(int(np.diff(table.indptr).max(initial=0)), np.int64)

    def grow(self, price: Longs) -> int:
        """Find the trees under the prices of the nodes; return their weight."""
        totals: list[int] = []

        def work(first: int, last: int) -> None:
            totals.append(int(kernel.grow_trees(self.table, price, self.trees, first, last)))

        _in_parts(work, len(self.table.topic_ptr) - 1, self.table)
        return sum(totals)

    def raise_shares(self, step: int) -> float:
        """Raise the shares of the edges in trees; return the squared length of the step."""
        trees = self.trees
        edges = np.flatnonzero(trees.entry != NO_ENTRY)
        pairs = trees.u[edges].astype(np.int64) * self.n_nodes + trees.v[edges]
        order = edges[np.argsort(pairs, kind="stable")]
        return float(kernel.raise_shares(self.table, trees, order, step, self._entries))

    def count_edges(self) -> int:
        """Return the number of tree edges."""
        return int(np.count_nonzero(self.trees.entry != NO_ENTRY))

    def node_use(self) -> Longs:
        """Return what the trees use of each node, in units of `UNIT`."""
        use = np.empty(self.n_nodes, np.int64)
        kernel.count_use(self.table, self.trees, use)
        return use

    def most_joins(self, budget: int) -> int:
        """Return how many tree edges, the lightest first, weigh at most `budget` together."""
        weights = np.sort(self.trees.weight[self.trees.entry != NO_ENTRY])
        return int(np.searchsorted(np.cumsum(weights), budget, side="right"))


class _Best:
    """The best of the bounds so far, and when to shorten the step or end."""

    def __init__(self) -> None:
        self.value = 0.0
        self.step = FIRST_STEP
        self._stalled = 0

    def take(self, value: float) -> None:
        """Take the bound of one more round."""
        self._stalled = 0 if value > self.value * (1 + PROGRESS) else self._stalled + 1
        self.value = max(self.value, value)
        if self._stalled >= STALLED:
            self.step *= SHORTER
            self._stalled = 0


def bound_links(
    trees: PriceTrees,
    n_links: int,
    effort: Effort,
    *,
    target: int | None = None,
    on_round: Callable[[int, int], None] | None = None,
) -> PriceBound:
    """Return the fewest links of complete overlays by prices, and the most joins of `n_links`.

    `target` is the number of links of a complete overlay: the ascent heads for it and ends there.
    `on_round` is called with the rounds and the bound so far.
    """
    price = np.ones(trees.n_nodes, np.int64)  # a pair costs 2, so a link weighs 2 * UNIT
    best, least, rounds = _Best(), 0, 0
    joins, length = np.iinfo(np.int64).max, 0.0
    while True:
        total = trees.grow(price)
        value = total / (2 * UNIT)
        best.take(value)
        least = max(least, -(-total // (2 * UNIT)))
        joins = min(joins, trees.most_joins(n_links * 2 * UNIT))
        if on_round is not None:
            on_round(rounds, least)
        ahead = (2 * best.value if target is None else target) - value
        is_proved = (target is not None and least >= target) or ahead <= 0 or total == 0
        if is_proved or best.step < LAST_STEP or effort.is_over(rounds):
            return PriceBound(least, joins, rounds)
        length = length or trees.count_edges() / 2
        length = trees.raise_shares(max(1, int(best.step * ahead / length * UNIT)))
        rounds += 1


def bound_degree(
    trees: PriceTrees,
    max_degree: int,
    effort: Effort,
    *,
    target: int | None = None,
    on_round: Callable[[int, int], None] | None = None,
) -> PriceBound:
    """Return the lowest maximum degree of complete overlays, and the most joins of `max_degree`.

    As `bound_links`; the prices of nodes rise where trees use them most.
    """
    n = trees.n_nodes
    weight: Floats = np.full(n, 1.0 / max(n, 1))
    use: Floats = np.zeros(n)
    best, least, rounds = _Best(), 0, 0
    joins, length = np.iinfo(np.int64).max, 0.0
    while True:
        price = np.floor(weight * PRICE_SUM).astype(np.int64)
        whole = int(price.sum()) * UNIT  # what a maximum degree of 1 can pay
        total = trees.grow(price)
        best.take(total / max(whole, 1))
        least = max(least, -(-total // max(whole, 1)))
        joins = min(joins, trees.most_joins(max_degree * whole))
        if on_round is not None:
            on_round(rounds, least)
        used = trees.node_use() / UNIT
        is_proved = target is not None and least >= target
        if is_proved or not used.any() or best.step < LAST_STEP or effort.is_over(rounds):
            return PriceBound(least, joins, rounds)
        use = used if rounds == 0 else REMEMBERED * use + (1 - REMEMBERED) * used
        rate = TOWARDS_NODES * best.step / FIRST_STEP
        weight = weight * (1 + rate * (use / use.max() - 0.5))
        weight /= np.cumsum(weight)[-1]  # added up in order: equal on every machine
        length = length or trees.count_edges() / 2
        length = trees.raise_shares(int(best.step * np.cumsum(used)[-1] / 4 / length * UNIT) + 1)
        rounds += 1
