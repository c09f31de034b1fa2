"""Cluster subscribers in the joint space of network and events, by cuts across one axis each.

The tree of cuts is grown on a sample: always the cut that saves most, where a cluster costs its
members times the size of the box around their subscriptions. Everyone then goes down the tree, so
clusters of a million subscribers cost a few comparisons each, and boxes hold all their members.
The paper leaves the clustering to its report; k-means in the same space made boxes several times as
large, since five axes of network outweigh two of events.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

THIN = 1e-6  # of the whole box: how much the length of sides counts beside the volume


class Cuts(NamedTuple):
    """A binary tree: points at or below the cut go left; a child below 0 is the cluster ~child."""

    axis: npt.NDArray[np.int32]
    cut: Floats
    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]

    @property
    def n_clusters(self) -> int:
        """One more than there are cuts."""
        return len(self.axis) + 1


def grow_cuts(location: Floats, low: Floats, high: Floats, count: int) -> Cuts:
    """Return the tree that cuts the given subscribers into at most `count` clusters."""
    points = np.hstack((location, low, high))
    extent = high.max(axis=0) - low.min(axis=0)
    scale = 1.0 / np.where(extent > 0, extent, 1.0)
    grower = _Grower(points, low * scale, high * scale)
    return grower.grow(count)


class _Grower:
    """Clusters in a heap by what the best cut of each would save."""

    def __init__(self, points: Floats, low: Floats, high: Floats) -> None:
        self._points = points
        self._low = low
        self._high = high
        self._heap: list[tuple[float, int, npt.NDArray[np.int64], int, float, int]] = []
        self._links: list[tuple[int, float, int, int]] = []
        self._ended: list[int] = []  # links to clusters that no cut divides

    def grow(self, count: int) -> Cuts:
        self._push(np.arange(len(self._points)), 0)
        while self._heap and len(self._links) + 1 < count:
            _, _, members, axis, cut, link = heapq.heappop(self._heap)
            node = len(self._links)
            self._links.append((axis, cut, 0, 0))
            self._hang(link, node)
            below = self._points[members, axis] <= cut
            self._push(members[below], 2 * node + 2)
            self._push(members[~below], 2 * node + 3)
        ends = self._ended + [entry[-1] for entry in self._heap]
        for cluster, link in enumerate(sorted(ends)):
            self._hang(link, ~cluster)
        axis_, cut_, left, right = zip(*self._links, strict=True) if self._links else ((),) * 4
        return Cuts(
            np.array(axis_, np.int32),
            np.array(cut_, np.float64),
            np.array(left, np.int32),
            np.array(right, np.int32),
        )

    def _hang(self, link: int, child: int) -> None:
        """Set the child at a link: 2n + 2 is left of cut n, 2n + 3 right, 0 the root."""
        if link >= 2:
            axis, cut, left, right = self._links[link // 2 - 1]
            pair = (child, right) if link % 2 == 0 else (left, child)
            self._links[link // 2 - 1] = (axis, cut, *pair)

    def _push(self, members: npt.NDArray[np.int64], link: int) -> None:
        best, axis, cut = self._best_cut(members)
        if axis < 0:
            self._ended.append(link)
            return
        whole = len(members) * _size(
            self._low[members].min(axis=0), self._high[members].max(axis=0)
        )
        heapq.heappush(self._heap, (best - float(whole), link, members, axis, cut, link))

    def _best_cut(self, members: npt.NDArray[np.int64]) -> tuple[float, int, float]:
        """Return the least cost of two clusters, the axis and the cut; axis -1 if all are alike."""
        best = (np.inf, -1, 0.0)
        n = len(members)
        counts = np.arange(1, n)
        for axis in range(self._points.shape[1]):
            order = members[np.argsort(self._points[members, axis], kind="stable")]
            value = self._points[order, axis]
            if n < 2 or value[0] == value[-1]:
                continue
            low, high = self._low[order], self._high[order]
            before = _size(np.minimum.accumulate(low), np.maximum.accumulate(high))[:-1]
            after = _size(
                np.minimum.accumulate(low[::-1])[::-1], np.maximum.accumulate(high[::-1])[::-1]
            )[1:]
            cost = before * counts + after * counts[::-1]
            cost[value[:-1] == value[1:]] = np.inf
            at = int(np.argmin(cost))
            if cost[at] < best[0]:
                best = (float(cost[at]), axis, float(value[at]))
        return best


def _size(low: Floats, high: Floats) -> Floats:
    """Return the volume of boxes, and a little for their sides so that thin ones count too."""
    sides = high - low
    return np.asarray(sides.prod(axis=-1) + THIN * sides.sum(axis=-1))
