"""Everyone to be assigned, in memory: what the linear program asks of all subscribers."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from meshwright.assignment.filters import fit_boxes
from meshwright.assignment.flow import Placement, group_rows, spread
from meshwright.assignment.slp.audience_kernel import enclose, mark_covering, number
from meshwright.assignment.slp.candidates import Boxes, distinct
from meshwright.assignment.slp.clusters import Cuts
from meshwright.kernels.threads import in_parts
from meshwright.problem.density import DensityTable

Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]


class Choice(NamedTuple):
    """Boxes, and for each the targets that have it in their filter, as bits."""

    boxes: Boxes
    marks: Words

    def expanded(self, share: float) -> Choice:
        """Return the choice with its boxes longer by a share along each axis."""
        return Choice(self.boxes.expanded(share), self.marks)


@dataclass(frozen=True, slots=True, eq=False)
class Audience:
    """Some or all subscribers: where they are, what they want, and which targets are in time.

    A target is what they are being divided among: the leaves, or the children of a broker.
    """

    ids: npt.NDArray[np.int64]
    location: Floats
    low: Floats
    high: Floats
    marks: Words  # a bit per target

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.ids)

    def pick(self, rows: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> Audience:
        """Return some of them."""
        return Audience(
            self.ids[rows], self.location[rows], self.low[rows], self.high[rows], self.marks[rows]
        )

    def draw(self, count: int, seed: int) -> Audience:
        """Return a random sample that depends on the seed and the ids, not on their order."""
        return self.pick(lowest(self.ids, count, seed))

    def super_subscriptions(self, cuts: Cuts) -> Boxes:
        """Return the boxes around the clusters."""
        low = np.full((cuts.n_clusters, self.low.shape[1]), np.inf)
        high = -low
        enclose(self.location, self.low, self.high, *cuts, low, high)
        return distinct(Boxes(low, high))

    def covering(self, choice: Choice) -> Words:
        """Return the targets that cover each: in time, with a box that holds the subscription."""
        found = np.empty_like(self.marks)

        def part(first: int, last: int) -> None:
            mark_covering(
                self.low, self.high, self.marks, *choice.boxes, choice.marks, first, last, found
            )

        in_parts(part, self.size)
        return found

    def groups(self, choice: Choice) -> tuple[Words, npt.NDArray[np.int64]]:
        """Return the distinct sets of targets that cover someone, and how many have each."""
        masks, _, counts = group_rows(self.covering(choice))
        return masks, counts

    def settle(self, choice: Choice, placement: Placement) -> npt.NDArray[np.int32]:
        """Return the target of each (-1 for none), by how many of each group go where."""
        _, group_of, _ = group_rows(self.covering(choice))
        return spread(placement, group_of, self.low, self.high, 64 * self.marks.shape[1])

    def fit(
        self, choice: Choice, placement: Placement, alpha: int, density: DensityTable
    ) -> tuple[Boxes, npt.NDArray[np.int32]]:
        """Return at most alpha boxes for each target around what it got, and whose each is."""
        target = self.settle(choice, placement)
        order = np.argsort(target, kind="stable")
        ends = np.searchsorted(target[order], np.arange(64 * self.marks.shape[1] + 1))

        def of(at: int) -> npt.NDArray[np.float64]:
            rows = order[ends[at] : ends[at + 1]]
            boxes = np.stack((self.low[rows], self.high[rows]), axis=1)
            return fit_boxes(boxes, alpha, tuple(density))

        owners = np.flatnonzero(np.diff(ends))
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            fitted = list(pool.map(of, owners.tolist()))
        whose = np.repeat(owners, [len(boxes) for boxes in fitted]).astype(np.int32)
        corners = np.concatenate([np.zeros((0, 2, self.low.shape[1])), *fitted])
        return Boxes(corners[:, 0].copy(), corners[:, 1].copy()), whose

    def uncovered(self, choice: Choice, most: int, seed: int) -> tuple[int, Audience]:
        """Return how many no target covers, and a random sample of them."""
        rows = np.flatnonzero(~self.covering(choice).any(axis=1))
        some = rows[lowest(self.ids[rows], most, seed)]
        return len(rows), self.pick(some)


def lowest(ids: npt.NDArray[np.int64], count: int, seed: int) -> npt.NDArray[np.int64]:
    """Return where the ids with the lowest random numbers are, in the order of these numbers."""
    numbers = np.empty(len(ids), np.uint64)
    number(seed, ids, numbers)
    rows = np.argpartition(numbers, count)[:count] if count < len(ids) else np.arange(len(ids))
    return rows[np.lexsort((ids[rows], numbers[rows]))]


def unpack(marks: Words, n_targets: int) -> npt.NDArray[np.bool_]:
    """Return rows of bits as rows of booleans."""
    bits = np.unpackbits(np.ascontiguousarray(marks).view(np.uint8), axis=1, bitorder="little")
    return bits[:, :n_targets].astype(np.bool_)


def pack(rows: npt.NDArray[np.bool_]) -> Words:
    """Return rows of booleans as rows of bits."""
    n_words = -(-rows.shape[1] // 64)
    wide = np.zeros((len(rows), n_words * 64), np.bool_)
    wide[:, : rows.shape[1]] = rows
    return np.packbits(wide, axis=1, bitorder="little").view(np.uint64)


def inside(audience: Audience, boxes: Boxes) -> npt.NDArray[np.bool_]:
    """Return a row per subscriber: which boxes hold its subscription."""
    held = np.ones((audience.size, len(boxes.low)), np.bool_)
    for axis in range(boxes.low.shape[1]):
        held &= audience.low[:, axis, None] >= boxes.low[None, :, axis]
        held &= audience.high[:, axis, None] <= boxes.high[None, :, axis]
    return held
