"""A lower bound on the bandwidth of every feasible answer.

Take a point of the event space. Everyone who wants it needs a leaf, a leaf takes so many
subscribers at beta_max, and each leaf with one of them has the point in its filter, as have all
brokers above it. So the fewest brokers that have room for as many subscribers is a bound at the
point, and its integral over the event space a bound on the bandwidth.

Latency sharpens it. Leaves are gathered into clusters, clusters into larger ones. Subscribers whose
leaves in time are all in one cluster need brokers of that cluster, and those of two clusters that
share no leaf need different ones, so their numbers add up. Any clusters give a sound bound; ours
put leaves together that often serve the same subscribers.

Counts are taken over the grid of all coordinates. Where that has too many cells, lines are left
out and boxes shrunk to those that stay: fewer subscriptions per cell, so the bound stays sound.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from meshwright.assignment.bound_kernel import add_boxes, combine, find_homes, raise_to
from meshwright.kernels.threads import in_parts
from meshwright.problem import Density, Problem
from meshwright.problem.latency import marks_in_time

MOST_CELLS = 1 << 20  # of the grid: about a thousand lines in each of two dimensions
N_SAMPLED = 20_000  # subscribers that tell which leaves belong together

Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Bound:
    """The bound, and how it was counted."""

    value: float
    lines: tuple[int, ...]  # of the grid, per dimension
    is_exact: bool  # False where boxes were shrunk to the lines of a coarser grid


def lower_bound(problem: Problem, *, most_cells: int = MOST_CELLS) -> Bound:
    """Return a bandwidth that no feasible answer stays below.

    Cost: a pass over the subscribers, and one over the grid for each cluster that serves someone.

    Examples
    --------
    >>> from meshwright.problem import BrokerTree
    >>> tree = BrokerTree(parent=[-1, 0, 0], location=[[0.0], [1.0], [1.0]])
    >>> low, high = [[0.0], [0.0], [0.0]], [[4.0], [4.0], [6.0]]
    >>> lower_bound(Problem(tree, [[1.0]] * 3, low, high, 0.5, beta=1.4)).value
    10.0

    """
    lines = [
        np.unique(np.concatenate((problem.low[:, k], problem.high[:, k])))
        for k in range(problem.n_dimensions)
    ]
    kept = thin_out(lines, most_cells)
    is_exact = all(len(one) == len(other) for one, other in zip(lines, kept, strict=True))
    return bound_on(problem, kept, is_exact, _InMemory)


def bound_on(
    problem: Problem,
    lines: list[Floats],
    is_exact: bool,
    clusters: Callable[[Problem, list[Floats]], Clusters],
) -> Bound:
    """Return the bound on the grid of some lines."""
    told = tuple(len(axis) for axis in lines)
    if any(len(axis) < 2 for axis in lines):
        return Bound(0.0, told, is_exact)
    needed = clusters(problem, lines).needed()
    return Bound(float(needed @ _cell_measures(problem.density, lines).ravel()), told, is_exact)


def thin_out(lines: list[Floats], most_cells: int) -> list[Floats]:
    """Return lines for a grid of at most so many cells, those with most lines thinned out.

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


class Clusters(ABC):
    """The leaves gathered into ever larger clusters, and who can be served in each."""

    def __init__(self, problem: Problem, lines: list[Floats], sample: Words) -> None:
        """Gather the leaves by the bits of leaves of some subscribers."""
        self.shape = tuple(len(axis) - 1 for axis in lines)
        n_leaves = len(problem.tree.leaves)
        self._problem = problem
        self._children = _gather(sample, n_leaves)
        self.masks, self.above = _outline(self._children, n_leaves, sample.shape[1])
        self._limits = problem.load_limits(problem.beta_max)

    @abstractmethod
    def own(self, cluster: int) -> tuple[int, npt.NDArray[np.int32]]:
        """Return how many have all their leaves in a cluster but not below it, and by cell."""

    def needed(self) -> npt.NDArray[np.int32]:
        """Return how many brokers each cell needs at least."""
        n_cells = prod(self.shape)
        # By cluster: subscriptions and brokers of each cell, and how many subscribers in all.
        found: dict[int, tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], int]] = {}
        for cluster in _upwards(self._children):
            n_own, own = self.own(cluster)
            below = [found.pop(child) for child in self._children[cluster] if child in found]
            n_members = n_own + sum(n for _, _, n in below)
            if n_members == 0:
                continue
            counts, needed, _ = below[0] if below else (*np.zeros((2, n_cells), np.int32), 0)
            for other_counts, other_needed, _ in below[1:]:
                counts += other_counts
                needed += other_needed
            if n_own:
                counts += own
            raise_to(needed, counts, self._fewest(cluster, int(counts.max())))
            found[cluster] = counts, needed, n_members
        return found[len(self.masks) - 1][1] if found else np.zeros(n_cells, np.int32)

    def _fewest(self, cluster: int, n_members: int) -> npt.NDArray[np.int32]:
        """Return the fewest brokers of a cluster for each number of its subscribers, up to some.

        A broker is the cluster's when all leaves below it are; brokers above count for none.
        """
        tree = self._problem.tree
        mask = self.masks[cluster]
        room: dict[int, npt.NDArray[np.int64]] = {}
        whole: dict[int, bool] = {}
        index = {int(leaf): i for i, leaf in enumerate(tree.leaves)}
        for broker in tree.order[::-1].tolist():
            if broker in index:
                i = index[broker]
                whole[broker] = bool(mask[i >> 6] >> np.uint64(i & 63) & np.uint64(1))
                if whole[broker]:
                    room[broker] = np.array([0, self._limits[i]], np.int64)
                continue
            below = tree.children[broker].tolist()
            whole[broker] = all(whole[child] for child in below) and broker != tree.publisher
            best = np.zeros(1, np.int64)
            for child in below:
                if child in room:
                    best = combine(best, room[child])
            if len(best) > 1:
                room[broker] = np.insert(best, 0, 0) if whole[broker] else best
        most = room[tree.publisher]
        # Where there is no room for all, there is no feasible answer: any number is sound.
        numbers = np.minimum(np.searchsorted(most, np.arange(n_members + 1)), len(most) - 1)
        return numbers.astype(np.int32)


class _InMemory(Clusters):
    """Clusters of a problem in memory."""

    def __init__(self, problem: Problem, lines: list[Floats]) -> None:
        marks = marks_in_time(problem)
        super().__init__(problem, lines, marks[:: max(1, -(-len(marks) // N_SAMPLED))])
        # A box has the cells from `first` up to, not including, `last`, in each dimension.
        self._first, self._last = cells_of(problem.low, problem.high, lines)
        homes = np.empty(len(marks), np.int64)
        in_parts(
            lambda first, last: find_homes(
                marks[first:last], self.masks, self.above, homes[first:last]
            ),
            len(marks),
        )
        homes[(self._first >= self._last).any(axis=0)] = -1  # boxes without a cell
        order = np.argsort(homes, kind="stable")
        places = np.searchsorted(homes[order], np.arange(len(self.masks) + 1))
        self._members = [order[places[c] : places[c + 1]] for c in range(len(self.masks))]

    def own(self, cluster: int) -> tuple[int, npt.NDArray[np.int32]]:
        members = self._members[cluster]
        counts = np.zeros(prod(self.shape) if len(members) else 0, np.int32)
        if len(members):
            add_boxes(self._first, self._last, members, np.array(self.shape), counts)
        return len(members), counts


def cells_of(low: Floats, high: Floats, lines: list[Floats]) -> npt.NDArray[np.int32]:
    """Return the first cell of each box, and the one after its last, by dimension."""
    cells = np.empty((2, len(lines), len(low)), np.int32)
    for k, axis in enumerate(lines):
        cells[0, k] = np.searchsorted(axis, low[:, k], "left")
        cells[1, k] = np.searchsorted(axis, high[:, k], "right") - 1
    return cells


def _gather(sample: Words, n_leaves: int) -> list[tuple[int, ...]]:
    """Return the children of each cluster: leaves first, then pairs of those before, up to all."""
    children: list[tuple[int, ...]] = [()] * n_leaves
    if n_leaves == 1:
        return children
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    bits = np.unpackbits(np.ascontiguousarray(sample).view(np.uint8), axis=1, bitorder="little")[
        :, :n_leaves
    ]
    both = bits.T.astype(np.float64) @ bits
    served = np.maximum(np.minimum.outer(np.diag(both), np.diag(both)), 1.0)
    apart = 1.0 - both / served
    np.fill_diagonal(apart, 0.0)
    merges = linkage(squareform(apart, checks=False), "average")
    return children + [(int(one), int(other)) for one, other in merges[:, :2]]


def _upwards(children: list[tuple[int, ...]]) -> list[int]:
    """Return all clusters, each after its children, the largest subtree first.

    So few clusters wait for their neighbour at a time, however lopsided the whole.
    """
    size = [1] * len(children)
    for cluster, below in enumerate(children):
        size[cluster] += sum(size[child] for child in below)
    order, todo = [], [len(children) - 1]
    while todo:
        order.append(todo.pop())
        # The last taken up comes first when the order is turned round.
        todo.extend(sorted(children[order[-1]], key=lambda child: -size[child]))
    return order[::-1]


def _outline(
    children: list[tuple[int, ...]], n_leaves: int, n_words: int
) -> tuple[Words, npt.NDArray[np.int64]]:
    """Return the leaves of each cluster as bits, and the cluster around each."""
    masks = np.zeros((len(children), n_words), np.uint64)
    above = np.full(len(children), -1, np.int64)
    for cluster, below in enumerate(children):
        if cluster < n_leaves:
            masks[cluster, cluster >> 6] = np.uint64(1) << np.uint64(cluster & 63)
        for child in below:
            masks[cluster] |= masks[child]
            above[child] = cluster
    return masks, above


def _cell_measures(density: Density | None, lines: list[Floats]) -> Floats:
    """Return the volume of each cell of a grid, or the share of events in it."""
    if density is None:
        measures = np.ones(())
        for axis in lines:
            measures = np.multiply.outer(measures, np.diff(axis))
        return measures
    below = density.table.below.reshape([len(axis) for axis in density.edges])
    for k, (axis, edges) in enumerate(zip(lines, density.edges, strict=True)):
        # What lies below a line is linear between the density's edges.
        place = np.interp(axis, edges, np.arange(len(edges)))
        cell = np.minimum(place.astype(int), len(edges) - 2)
        share = (place - cell).reshape([-1 if i == k else 1 for i in range(below.ndim)])
        below = below.take(cell, axis=k) * (1 - share) + below.take(cell + 1, axis=k) * share
    for k in range(len(lines)):
        below = np.diff(below, axis=k)
    return np.maximum(below, 0.0)
