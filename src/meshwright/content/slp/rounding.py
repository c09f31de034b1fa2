"""From fractions to boxes: randomized rounding, then completion and pruning.

A box is taken with probability 1 - (1 - y)^(2 ln n), where n is the number of rows of the program
that must be covered (section IV-A.1). The paper repeats the rounding until all subscribers are
covered; here the uncovered ones get the box that covers most of them for its volume. That takes
more boxes than needed. So targets with room take further boxes until a sample can be placed, and
then boxes are dropped, the largest first, while all stay covered and the sample stays placed.
"""

import numpy as np

from meshwright.content.boxes import Boxes
from meshwright.content.slp.kernels.prune import Placed, drop_box, place_rest
from meshwright.content.slp.members import Members, TargetFilters, held
from meshwright.content.subscribers import pack, unpack
from meshwright.runtime.arrays import Bools, Floats, Longs


def round_up(share: Floats, n_rows: int, random: np.random.Generator) -> Bools:
    """Return which boxes each target takes, bool[n_targets, n_boxes].

    `share` is the fractional solution, of the same shape; `n_rows` are to be covered.
    """
    power = 2.0 * np.log(max(n_rows, 2))
    return np.asarray(random.random(share.shape) < 1.0 - (1.0 - share) ** power)


def filters_of(taken: Bools, boxes: Boxes, epsilon: float) -> TargetFilters:
    """Return the boxes that some target takes, longer by a share epsilon, and their targets."""
    used = np.flatnonzero(taken.any(axis=0))
    return TargetFilters(boxes.pick(used).expanded(epsilon), pack(taken[:, used].T))


def complete(taken: Bools, boxes: Boxes, volume: Floats, members: Members) -> Bools:
    """Return the boxes taken and more, so that all members are covered.

    Each step takes the box and target that cover most of the members left per volume.
    """
    taken = taken.copy()
    inside = held(members, boxes)
    in_time = unpack(members.targets, len(taken))
    covered = ((inside.astype(np.float32) @ taken.T.astype(np.float32) > 0) & in_time).any(axis=1)
    serves, holds = in_time[~covered].astype(np.float32), inside[~covered].astype(np.float32)
    counts, price = serves.T @ holds, _price(volume)
    left = np.arange(len(serves))
    while len(left):
        target, box = np.unravel_index(np.argmax(counts / price), counts.shape)
        taken[target, box] = True
        now = (serves[left, target] * holds[left, box]) > 0
        counts -= serves[left[now]].T @ holds[left[now]]
        left = left[~now]
    return taken


def _price(volume: Floats) -> Floats:
    """Return volumes, and a little more so that none is 0."""
    return volume + 1e-9 * (float(volume.max(initial=0.0)) or 1.0)


class PlacedSample:
    """A sample of members at targets; it stays placed while boxes are taken and dropped."""

    def __init__(self, members: Members, boxes: Boxes, taken: Bools, room: Longs) -> None:
        self.taken = taken.copy()
        self._held = held(members, boxes)
        self._in_time = unpack(members.targets, len(taken))
        counts = self._held.astype(np.float32) @ taken.T.astype(np.float32)
        self._placed = Placed(
            cover=counts.astype(np.int16) * self._in_time,
            at=np.full(members.size, -1, np.int32),
            load=np.zeros(len(taken), np.int64),
            room=room,
        )
        self._n_left = place_rest(self._placed)

    def relieve(self, volume: Floats) -> None:
        """Take boxes until all have a place, or no box could help.

        Members are stuck if they have no place, or could move only to targets without room. A box
        of a target that stuck members cannot reach, and that has room, helps them. Each step takes
        the box that helps most members per volume.
        """
        price, inside = _price(volume), self._held.astype(np.float32)
        cover, at, load, room = self._placed
        while self._n_left:
            # Targets that members without a place reach, and those that others can move on to.
            reached, stuck = np.zeros(len(load), np.bool_), at < 0
            while (now := (cover[stuck] > 0).any(axis=0)).sum() > reached.sum():
                reached, stuck = now, (at < 0) | now[at]
            spare = np.where(reached, 0, room - load)
            open_ = np.flatnonzero(spare > 0)
            if len(open_) == 0:
                return
            counts = self._in_time[np.ix_(stuck, open_)].T.astype(np.float32) @ inside[stuck]
            helped = np.minimum(np.minimum(counts, spare[open_, None]), self._n_left)
            row, box = np.unravel_index(np.argmax(helped / price), helped.shape)
            if helped[row, box] <= 0:
                return
            target = open_[row]
            self.taken[target, box] = True
            cover[:, target] += self._held[:, box] & self._in_time[:, target]
            self._n_left = place_rest(self._placed)

    def prune(self, volume: Floats, alpha: int) -> None:
        """Drop boxes while all that have a place keep one.

        Boxes of targets with more than alpha are tried first, then the larger ones.
        """
        target, box = np.nonzero(self.taken)
        has_many = self.taken.sum(axis=1) > alpha
        order = np.lexsort((box, target, -volume[box], ~has_many[target]))
        for i, k in zip(target[order].tolist(), box[order].tolist(), strict=True):
            if drop_box(self._placed, self._held[:, k] & self._in_time[:, i], i):
                self.taken[i, k] = False
