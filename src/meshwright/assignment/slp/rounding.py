"""From fractions to boxes: randomized rounding, completed and pruned.

A box is taken with probability 1 - (1 - y)^(2 ln n), n the rows of the program that must be
covered (section IV-A.1). Instead of rounding anew until everyone is covered, those who are not get
the box that covers most of them for its volume. That takes more boxes than needed, so boxes are
then given up, the largest first, while everyone stays covered and, on a sample, every target
within its load; before that, targets with room take more boxes until the sample has a place.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meshwright.assignment.slp.audience import Audience, Choice, inside, pack, unpack
from meshwright.assignment.slp.candidates import Boxes
from meshwright.assignment.slp.prune_kernel import give_up, reach, settle

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def round_up(share: Floats, n_rows: int, random: np.random.Generator) -> Bools:
    """Return which boxes each target takes: a row per target."""
    power = 2.0 * np.log(max(n_rows, 2))
    return np.asarray(random.random(share.shape) < 1.0 - (1.0 - share) ** power)


def choice_of(taken: Bools, boxes: Boxes) -> Choice:
    """Return the boxes that some target takes, with the targets of each."""
    used = np.flatnonzero(taken.any(axis=0))
    return Choice(Boxes(boxes.low[used], boxes.high[used]), pack(taken[:, used].T))


def complete(taken: Bools, boxes: Boxes, volume: Floats, audience: Audience) -> Bools:
    """Return the boxes taken and more, so that all of the audience are covered.

    Always the box and target that cover most of those left per volume.
    """
    taken = taken.copy()
    held = inside(audience, boxes)
    in_time = unpack(audience.marks, len(taken))
    covered = ((held.astype(np.float32) @ taken.T.astype(np.float32) > 0) & in_time).any(axis=1)
    price = volume + 1e-9 * (float(volume.max(initial=0.0)) or 1.0)
    left = np.flatnonzero(~covered)
    serves, holds = in_time[left].astype(np.float32), held[left].astype(np.float32)
    counts = serves.T @ holds
    left = np.arange(len(left))
    while len(left):
        target, box = np.unravel_index(np.argmax(counts / price), counts.shape)
        taken[target, box] = True
        now = (serves[left, target] * holds[left, box]) > 0
        counts -= serves[left[now]].T @ holds[left[now]]
        left = left[~now]
    return taken


class Sample:
    """A sample of subscribers placed on targets, kept so while boxes are taken and given up."""

    def __init__(
        self, audience: Audience, boxes: Boxes, taken: Bools, room: npt.NDArray[np.int64]
    ) -> None:
        self.taken = taken.copy()
        self._held = inside(audience, boxes)
        self._in_time = unpack(audience.marks, len(taken))
        self._room = room
        # How many boxes of each target hold each subscription that it serves in time.
        held, took = self._held.astype(np.float32), taken.T.astype(np.float32)
        self._cover = (held @ took).astype(np.int16) * self._in_time
        self._at = np.full(audience.size, -1, np.int32)
        self._load = np.zeros(len(taken), np.int64)
        self.n_left = settle(self._cover, self._at, self._load, room)

    def relieve(self, volume: Floats) -> None:
        """Take boxes until everyone has a place, or no box could help.

        Whoever could move so that one more finds a place is stuck; a box at a target that the
        stuck do not get at, and that has room, helps. The one that helps most per volume is taken.
        """
        price = volume + 1e-9 * (float(volume.max(initial=0.0)) or 1.0)
        held = self._held.astype(np.float32)
        while self.n_left:
            reached = reach(self._cover, self._at)
            stuck = np.flatnonzero((self._at < 0) | reached[self._at])
            spare = np.where(reached, 0, self._room - self._load)
            open_ = np.flatnonzero(spare > 0)
            if len(open_) == 0:
                return
            counts = self._in_time[np.ix_(stuck, open_)].T.astype(np.float32) @ held[stuck]
            helped = np.minimum(np.minimum(counts, spare[open_, None]), self.n_left)
            row, box = np.unravel_index(np.argmax(helped / price), helped.shape)
            if helped[row, box] <= 0:
                return
            target = open_[row]
            self.taken[target, box] = True
            self._cover[:, target] += self._held[:, box] & self._in_time[:, target]
            self.n_left = settle(self._cover, self._at, self._load, self._room)

    def prune(self, volume: Floats, alpha: int) -> None:
        """Give up the boxes that can be spared: targets with more than alpha first, then by size.

        A box can be spared when all who have a place keep one.
        """
        target, box = np.nonzero(self.taken)
        crowded = self.taken.sum(axis=1) > alpha
        order = np.lexsort((box, target, -volume[box], ~crowded[target]))
        for i, k in zip(target[order].tolist(), box[order].tolist(), strict=True):
            serves = self._held[:, k] & self._in_time[:, i]
            if give_up(self._cover, serves, i, self._at, self._load, self._room):
                self.taken[i, k] = False
