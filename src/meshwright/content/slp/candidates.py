"""Candidate boxes for filters: a few hundred that hold every subscription somewhere (IV-A.3).

Subscribers are clustered in the joint space of network and events; the box around a cluster is a
super-subscription. For each axis of the event space, a short list of intervals holds the intervals
of all super-subscriptions with little to spare. Candidates are the products of these intervals,
shrunk to the super-subscriptions that they hold.

Clusters come from a tree of splits, each across one axis. It is grown on a sample: always the split
that saves most, where a cluster costs its members times the size of the box around them. The paper
leaves the clustering to its report; k-means in the same space made boxes several times as large,
because five axes of network outweigh two of events.
"""

import heapq
from typing import NamedTuple

import numpy as np

from meshwright.content.boxes import Boxes
from meshwright.runtime.arrays import Floats, Ints, Longs

SMALLEST = 1 / 4096  # the shortest interval, as a share of the axis
OVERLAP = 0.5  # eta: two intervals of a length overlap by at most this share of it
THIN = 1e-6  # weight of the side lengths in the size of a box, so that flat boxes count too


class SplitTree(NamedTuple):
    """A binary tree: points at or below the threshold go left; child ~c (below 0) is cluster c.

    Axes count the network dimensions first, then the low and the high corners of subscriptions.
    """

    axis: Ints
    threshold: Floats
    left: Ints
    right: Ints

    @property
    def n_clusters(self) -> int:
        """The number of clusters, one more than there are splits."""
        return len(self.axis) + 1


def grow_splits(location: Floats, low: Floats, high: Floats, count: int) -> SplitTree:
    """Return the tree that splits the given subscribers into at most `count` clusters."""
    points = np.hstack((location, low, high))
    extent = high.max(axis=0) - low.min(axis=0)
    scale = 1.0 / np.where(extent > 0, extent, 1.0)
    low, high = low * scale, high * scale
    ends = [0]  # where links lead to, as in `SplitTree`: the first to the root, two from each split
    splits: list[tuple[int, float]] = []
    # Clusters: what their best split costs more than now, link, members and the split.
    heap: list[tuple[float, int, Longs, int, float]] = []
    alike: list[int] = []  # links to clusters that cannot be split

    def add(members: Longs, link: int) -> None:
        cost, axis, threshold = _best_split(points, low, high, members)
        if axis < 0:
            alike.append(link)
            return
        now = len(members) * _size(low[members].min(axis=0), high[members].max(axis=0))
        heapq.heappush(heap, (cost - float(now), link, members, axis, threshold))

    add(np.arange(len(points)), 0)
    while heap and len(splits) + 1 < count:
        _, link, members, axis, threshold = heapq.heappop(heap)
        ends[link] = number = len(splits)
        splits.append((axis, threshold))
        is_left = points[members, axis] <= threshold
        ends += [0, 0]
        add(members[is_left], 2 * number + 1)
        add(members[~is_left], 2 * number + 2)
    for cluster, link in enumerate(alike + [entry[1] for entry in heap]):
        ends[link] = ~cluster
    return SplitTree(
        np.array([axis for axis, _ in splits], np.int32),
        np.array([threshold for _, threshold in splits], np.float64),
        np.array(ends[1::2], np.int32),
        np.array(ends[2::2], np.int32),
    )


def _best_split(
    points: Floats, low: Floats, high: Floats, members: Longs
) -> tuple[float, int, float]:
    """Return the least cost of two clusters, the axis and the threshold; axis -1 if none."""
    best = (np.inf, -1, 0.0)
    counts = np.arange(1, len(members))
    for axis in range(points.shape[1]):
        order = members[np.argsort(points[members, axis], kind="stable")]
        value = points[order, axis]
        if len(members) < 2 or value[0] == value[-1]:
            continue
        before = _sizes_up_to(low[order], high[order])
        after = _sizes_up_to(low[order[::-1]], high[order[::-1]])[::-1]
        cost = before[:-1] * counts + after[1:] * counts[::-1]
        cost[value[:-1] == value[1:]] = np.inf
        at = int(np.argmin(cost))
        if cost[at] < best[0]:
            best = (float(cost[at]), axis, float(value[at]))
    return best


def _sizes_up_to(low: Floats, high: Floats) -> Floats:
    """Return the sizes of the boxes around the first box, the first two, and so on."""
    return _size(np.minimum.accumulate(low), np.maximum.accumulate(high))


def _size(low: Floats, high: Floats) -> Floats:
    """Return the volume of boxes, and a little for their sides so that flat ones count too."""
    sides = high - low
    return np.asarray(sides.prod(axis=-1) + THIN * sides.sum(axis=-1))


def distinct(boxes: Boxes) -> Boxes:
    """Return the boxes sorted, equal ones once."""
    return Boxes(*np.hsplit(np.unique(np.hstack(boxes), axis=0), 2))


def intervals(low: Floats, high: Floats) -> Floats:
    """Return intervals such that each given one lies in one at most four times as long.

    Lengths double from the shortest to the whole axis. For each length, the intervals at most half
    as long are visited by their left ends: one of the full length begins at the first, and holds
    all that begin in its first half.

    Examples
    --------
    >>> intervals(np.array([0.0, 1.0, 7.0]), np.array([1.0, 2.0, 8.0])).tolist()
    [[0.0, 2.0], [0.0, 8.0], [7.0, 8.0]]
    """
    whole = high.max() - low.min()
    lengths = high - low
    found = {(low.min(), high.max())}
    length = max(lengths.min(), whole * SMALLEST)
    while 0.0 < 2 * length <= whole:
        length *= 2
        short = lengths <= length / 2
        left, right = low[short], high[short]
        begin = np.sort(left)
        at = 0
        while at < len(begin):
            first = begin[at]
            held = (left >= first) & (right <= first + length)
            found.add((left[held].min(), right[held].max()))
            at = int(np.searchsorted(begin, first + (1 - OVERLAP) * length, side="right"))
    return np.array(sorted(found))


def candidate_boxes(supers: Boxes) -> Boxes:
    """Return the products of the axes' intervals, shrunk to the super-subscriptions they hold."""
    n_supers, n_axes = supers.low.shape
    held = np.ones((1, n_supers), np.bool_)
    for axis in range(n_axes):
        low, high = supers.low[:, axis], supers.high[:, axis]
        lists = intervals(low, high)
        inside = (low >= lists[:, :1]) & (high <= lists[:, 1:])
        both = (held[:, None, :] & inside[None, :, :]).reshape(-1, n_supers)
        held = np.unique(both[both.any(axis=1)], axis=0)
    low = np.array([supers.low[row].min(axis=0) for row in held])
    high = np.array([supers.high[row].max(axis=0) for row in held])
    return distinct(Boxes(low, high))
