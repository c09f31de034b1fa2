"""A lower bound on the bandwidth of every feasible assignment.

Take a point of the event space. Every subscriber interested in it needs a leaf, a leaf takes a
limited number of subscribers at beta_max, and each leaf with one of them has the point in its
filter, as do all brokers above it. So the fewest brokers with room for that many subscribers bound
the cost at the point, and the integral over the event space bounds the bandwidth.

Latency sharpens the bound. Leaves are joined into clusters, and clusters into larger ones.
Subscribers whose leaves in time are all in one cluster need brokers of that cluster, and clusters
without a common leaf need different brokers, so their numbers add up. Any clusters give a valid
bound; ours join leaves that often serve the same subscribers.

Subscriptions are counted on the grid of all coordinates. If that has too many cells, lines are left
out and boxes shrunk to the lines kept: fewer subscriptions per cell, so the bound stays valid.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from meshwright.content import subscribers
from meshwright.content.kernels.bound import combine, find_homes, sum_corners
from meshwright.content.problem import Density, Problem
from meshwright.content.subscribers import Leaves, PlainTable, SubscriberRows
from meshwright.model.problem import ProblemSummary
from meshwright.runtime.arrays import Floats, Ints, Longs, Words
from meshwright.runtime.kernels.random import streams

MOST_CELLS = 1 << 20  # of the grid: about a thousand lines in each of two dimensions
MOST_LINES = 1 << 20  # per axis that are gathered from Spark: 8 MB
N_SAMPLED = 20_000  # subscribers that decide which leaves are joined


@dataclass(frozen=True, slots=True)
class Bound:
    """The bound, and how it was counted."""

    value: float
    lines: tuple[int, ...]  # of the grid, per dimension
    is_exact: bool  # False if boxes were shrunk to the lines of a coarser grid


def lower_bound(problem: Problem, *, most_cells: int = MOST_CELLS) -> Bound:
    """Return a bandwidth that no feasible assignment can be below.

    Cost: a pass over the subscribers, and one over the grid for each cluster that serves any.

    Examples
    --------
    >>> from meshwright.content.problem import BrokerTree
    >>> tree = BrokerTree(parent=[-1, 0, 0], location=[[0.0], [1.0], [1.0]])
    >>> low, high = [[0.0], [0.0], [0.0]], [[4.0], [4.0], [6.0]]
    >>> lower_bound(Problem(tree, [[1.0]] * 3, low, high, 0.5, beta=1.4)).value
    10.0
    """
    table = subscribers.InMemory(subscribers.subscribers_of(problem))
    return bound_of(problem, table, most_cells=most_cells, most_lines=2 * problem.n_subscribers)


def bound_of(
    problem: ProblemSummary,
    table: PlainTable,
    *,
    most_cells: int = MOST_CELLS,
    most_lines: int = MOST_LINES,
) -> Bound:
    """Return the bound of a problem with the subscribers of a table."""
    found = table.reduce(partial(_lines_of, most=most_lines), partial(_joined, most=most_lines))
    lines = thin_out(list(found.values), most_cells)
    sizes = tuple(len(axis) for axis in lines)
    is_exact = found.complete and sizes == tuple(len(axis) for axis in found.values)
    if min(sizes) < 2:
        return Bound(0.0, sizes, is_exact)
    leaves = subscribers.leaves_of(problem)
    step = max(1, -(-problem.n_subscribers // N_SAMPLED))
    together = table.reduce(partial(_served_together, leaves=leaves, step=step), np.add)
    clusters = Clusters(problem, together)
    masks, above = clusters.masks, clusters.above
    task = partial(_corners, leaves=leaves, masks=masks, above=above, lines=lines)
    needed = clusters.needed(table.sums(task), tuple(size - 1 for size in sizes))
    return Bound(float(needed @ _cell_measures(problem.density, lines).ravel()), sizes, is_exact)


class Lines(NamedTuple):
    """Coordinates of boxes, distinct and sorted, per axis."""

    values: tuple[Floats, ...]
    complete: bool  # whether these are all; if not, the first, the last and a random sample


def _lines_of(rows: SubscriberRows, most: int) -> Lines:
    axes = zip(rows.low.T, rows.high.T, strict=True)
    return _limited([np.unique(np.concatenate(corners)) for corners in axes], True, most)


def _joined(one: Lines, other: Lines, most: int) -> Lines:
    axes = [np.union1d(*pair) for pair in zip(one.values, other.values, strict=True)]
    return _limited(axes, one.complete and other.complete, most)


def _limited(axes: list[Floats], complete: bool, most: int) -> Lines:
    """Keep the first, the last and `most` further coordinates per axis: a random sample.

    It has the lowest random numbers. These depend on the coordinates alone, so the sample is the
    same for all batches.
    """
    kept = list(axes)
    for axis, values in enumerate(axes):
        if len(values) > most:
            numbers = np.empty(len(values), np.uint64)
            streams(0, (values + 0.0).view(np.uint64), numbers)
            lowest = np.argpartition(numbers, most)[:most]
            kept[axis] = values[np.union1d([0, len(values) - 1], lowest)]
    return Lines(tuple(kept), complete and all(len(values) <= most for values in axes))


def _served_together(rows: SubscriberRows, leaves: Leaves, step: int) -> Floats:
    """Return for each pair of leaves how many subscribers have both in time.

    Only those whose id is a multiple of `step` are counted.
    """
    sample = rows.pick(rows.ids % step == 0)
    bits = subscribers.unpack(leaves.in_time(sample), len(leaves.down))
    return bits.T.astype(np.float64) @ bits


def _corners(
    rows: SubscriberRows, leaves: Leaves, masks: Words, above: Longs, lines: list[Floats]
) -> tuple[Longs, Longs, Longs]:
    """Return rows of (cluster, cell, change) for the subscriptions of each cluster.

    A subscriber belongs to the smallest cluster that has all its leaves in time. Its box adds 1 at
    its low corner on the grid and subtracts 1 where it ends, so sums along each dimension give the
    number of subscriptions at every cell.
    """
    home = find_homes(leaves.in_time(rows), masks, above)
    sizes = [len(axis) - 1 for axis in lines]
    # A box has the cells from `first` up to, not including, `last`, in each dimension.
    first = [np.searchsorted(axis, rows.low[:, k], "left") for k, axis in enumerate(lines)]
    last = [np.searchsorted(axis, rows.high[:, k], "right") - 1 for k, axis in enumerate(lines)]
    has_cells = np.all(np.array(first) < np.array(last), axis=0)
    n_cells = prod(sizes)
    keys, signs = [], []
    for upper in product((False, True), repeat=len(sizes)):
        cell, inside = home * 0, has_cells
        for k, size in enumerate(sizes):
            end = last[k] if upper[k] else first[k]
            cell, inside = cell * size + end, inside & (end < size)
        keys.append((home * n_cells + cell)[inside])
        signs.append(np.full(len(keys[-1]), (-1) ** sum(upper)))
    found, at = np.unique(np.concatenate(keys), return_inverse=True)
    changes = np.bincount(at, np.concatenate(signs), len(found)).astype(np.int64)
    return found // n_cells, found % n_cells, changes


def thin_out(lines: list[Floats], most_cells: int) -> list[Floats]:
    """Return lines for a grid of at most `most_cells` cells, thinning out the longest axes.

    Examples
    --------
    >>> [len(axis) for axis in thin_out([np.arange(5.0), np.arange(90.0)], 100)]
    [5, 26]
    """
    kept = list(lines)
    left = most_cells
    by_length = sorted(range(len(lines)), key=lambda k: len(lines[k]))
    for done, k in enumerate(by_length):
        most = max(1, int(left ** (1 / (len(lines) - done)) + 1e-9))
        if len(lines[k]) - 1 > most:
            kept[k] = lines[k][np.linspace(0, len(lines[k]) - 1, most + 1).round().astype(int)]
        left //= max(1, len(kept[k]) - 1)
    return kept


class Clusters:
    """The leaves, joined into larger and larger clusters."""

    def __init__(self, problem: ProblemSummary, together: Floats) -> None:
        """Join the leaves, given for each pair how many subscribers have both in time."""
        self._tree = problem.tree
        self._limits = problem.load_limits(problem.beta_max)
        # By cluster: its two parts. The leaves come first, each cluster after its parts.
        self._children = _join_leaves(together)
        n_leaves, n = len(together), len(self._children)
        self._leaves = np.eye(n, n_leaves, dtype=np.bool_)  # those of each cluster
        self.above = np.full(n, -1, np.int64)  # the cluster that each is a part of
        for cluster, below in enumerate(self._children):
            for child in below:
                self._leaves[cluster] |= self._leaves[child]
                self.above[child] = cluster
        self.masks = subscribers.pack(self._leaves)  # leaves of each cluster, as bits

    def needed(self, corners: Callable[[int], tuple[Longs, Longs]], shape: tuple[int, ...]) -> Ints:
        """Return the fewest brokers that each cell of the grid needs.

        `corners` gives the cells and changes of a cluster, as `_corners` describes them.
        """
        n_cells = prod(shape)
        found: dict[int, Ints] = {}  # by cluster: int32[2, n_cells], subscriptions and brokers
        for cluster in self._upwards():
            below = [found.pop(child) for child in self._children[cluster] if child in found]
            cell, change = corners(cluster)
            if not below and len(cell) == 0:
                continue
            total = below[0] if below else np.zeros((2, n_cells), np.int32)
            for other in below[1:]:
                total += other
            counts, needed = total
            if len(cell):
                own = np.zeros(n_cells, np.int32)
                np.add.at(own, cell, change.astype(np.int32))
                sum_corners(np.array(shape), own)
                counts += own
            np.maximum(needed, self._fewest(cluster, int(counts.max()))[counts], out=needed)
            found[cluster] = total
        return found[len(self._children) - 1][1] if found else np.zeros(n_cells, np.int32)

    def _upwards(self) -> list[int]:
        """Return all clusters, each after its parts, the largest part first.

        This order keeps few results in memory, even if the tree of clusters is lopsided.
        """
        size = self._leaves.sum(axis=1)
        order, todo = [], [len(size) - 1]
        while todo:
            order.append(todo.pop())
            # The order is reversed at the end, so the largest goes last.
            todo.extend(sorted(self._children[order[-1]], key=lambda child: -size[child]))
        return order[::-1]

    def _fewest(self, cluster: int, n_members: int) -> Ints:
        """Return the fewest brokers of a cluster for 0, 1, ... n_members of its subscribers.

        A broker belongs to the cluster if all leaves below it do; others cost nothing.
        """
        tree, own = self._tree, self._leaves[cluster]
        whole = np.zeros(tree.n_brokers, np.bool_)  # whether a broker belongs to the cluster
        whole[tree.leaves] = own
        # By broker: the most subscribers that 0, 1, ... brokers take.
        limits = zip(tree.leaves[own].tolist(), self._limits[own].tolist(), strict=True)
        room = {leaf: np.array([0, limit]) for leaf, limit in limits}
        for broker in tree.order[::-1].tolist():
            below = tree.children[broker]
            if len(below):
                whole[broker] = whole[below].all() and broker != tree.publisher
                parts = [room[child] for child in below.tolist() if child in room]
                if parts:
                    best = reduce(combine, parts)
                    room[broker] = np.insert(best, 0, 0) if whole[broker] else best
        most = room[tree.publisher]
        # Without room for all there is no feasible assignment: any number is a valid bound.
        numbers = np.minimum(np.searchsorted(most, np.arange(n_members + 1)), len(most) - 1)
        return numbers.astype(np.int32)


def _join_leaves(together: Floats) -> list[tuple[int, ...]]:
    """Return the parts of each cluster: leaves first, then pairs of earlier ones, up to all."""
    if len(together) == 1:
        return [()]
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    served = np.diag(together)
    apart = 1.0 - together / np.maximum(np.minimum.outer(served, served), 1.0)
    np.fill_diagonal(apart, 0.0)
    merges = linkage(squareform(apart, checks=False), "average")
    pairs = merges[:, :2].astype(int).tolist()
    return [()] * len(together) + [(one, other) for one, other in pairs]


def _cell_measures(density: Density | None, lines: list[Floats]) -> Floats:
    """Return the volume of each cell of a grid, or the share of events in it."""
    if density is None:
        return reduce(np.multiply.outer, map(np.diff, lines))
    below = density.table.below.reshape([len(axis) for axis in density.edges])
    for k, (axis, edges) in enumerate(zip(lines, density.edges, strict=True)):
        # The measure below a line is linear between the edges of the density.
        place = np.interp(axis, edges, np.arange(len(edges)))
        cell = np.minimum(place.astype(int), len(edges) - 2)
        share = (place - cell).reshape([-1 if i == k else 1 for i in range(below.ndim)])
        below = below.take(cell, axis=k) * (1 - share) + below.take(cell + 1, axis=k) * share
    for k in range(len(lines)):
        below = np.diff(below, axis=k)
    return np.maximum(below, 0.0)
