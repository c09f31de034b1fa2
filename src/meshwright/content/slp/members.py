"""Members: subscribers that are to be divided among targets, and what is counted of them.

Targets are the children of a broker, or all leaves. Each count is a function of a batch and a way
to combine results, so it is the same in memory and on Spark.

Which members of a group go to which target is decided by counts. The members of a group are ordered
by cell of a Hilbert curve, then by id, and each target takes a run of them, its share. Only in
cells where a share ends are single ids looked up.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from meshwright.content.boxes import Boxes, Frame, box_keys, frame_of
from meshwright.content.methods import flow
from meshwright.content.methods.flow import Placement, cell_shift, group_rows, order_shares
from meshwright.content.slp.candidates import SplitTree, distinct
from meshwright.content.slp.kernels.members import cover, enclose, find_last, join_leaves
from meshwright.content.subscribers import Leaves, RowTable, SubscriberRows
from meshwright.runtime.arrays import Bools, Ints, Longs, Words
from meshwright.runtime.kernels.random import streams
from meshwright.runtime.threads import in_parts


@dataclass(frozen=True, slots=True, eq=False)
class Members(SubscriberRows):
    """Subscribers that are to be divided among targets."""

    targets: Words  # uint64[n, words], bit i: target i is in time
    key: Longs  # int64[n], place on a Hilbert curve through the boxes of all members


MemberTable: TypeAlias = "RowTable[Members]"
WordsOf = Callable[[Members], Words]
Corners = TypeVar("Corners", Boxes, Frame)


def members_of(
    rows: SubscriberRows, leaves: Leaves, target_of_leaf: Longs, threshold: float, frame: Frame
) -> Members:
    """Return subscribers as members; a target is in time if enough of its leaves are.

    A share `threshold` of them is enough, but at least one. `join_leaves` says what happens to
    members for whom no target has enough.
    """
    n_leaves = np.bincount(target_of_leaf[target_of_leaf >= 0])
    least = np.maximum(1, np.ceil(threshold * n_leaves - 1e-9)).astype(np.int64)
    targets = np.zeros((rows.size, -(-len(n_leaves) // 64)), np.uint64)
    join_leaves(leaves.in_time(rows), target_of_leaf, least, targets)
    columns = *rows.columns, targets, box_keys(rows.low, rows.high, frame)
    return Members(*columns)


def frame_of_rows(rows: SubscriberRows) -> Frame:
    """Return the frame of the boxes of a batch."""
    return frame_of(rows.low, rows.high)


def around_both(one: Corners, other: Corners) -> Corners:
    """Return the frame of two batches, or the boxes around pairs of boxes."""
    return type(one)(np.minimum(one[0], other[0]), np.maximum(one[1], other[1]))


class TargetFilters(NamedTuple):
    """Boxes, and the targets that have each of them in their filter."""

    boxes: Boxes
    owners: Words  # uint64[n_boxes, words], bit i: target i has the box

    def covering(self, members: Members) -> Words:
        """Return the targets that cover each member: in time, and with a box that holds it."""
        found = np.empty_like(members.targets)
        wanted = members.low, members.high, members.targets

        def part(first: int, last: int) -> None:
            cover(wanted, self, (first, last), found)

        in_parts(part, members.size)
        return found


def held(members: Members, boxes: Boxes) -> Bools:
    """Return a row per member: which boxes hold its subscription."""
    found = np.ones((members.size, boxes.size), np.bool_)
    for axis in range(boxes.low.shape[1]):
        found &= members.low[:, axis, None] >= boxes.low[None, :, axis]
        found &= members.high[:, axis, None] <= boxes.high[None, :, axis]
    return found


class Sample(NamedTuple):
    """A random sample of rows: those of the lowest random numbers, which depend on seed and id."""

    n_rows: int  # that it was drawn from
    members: Members


def draw(table: MemberTable, count: int, seed: int) -> Members:
    """Return a random sample of members."""
    return _draw(table, _sample, count, seed).members


def uncovered(table: MemberTable, filters: TargetFilters, most: int, seed: int) -> Sample:
    """Return the number of members that no target covers, and a random sample of them."""
    return _draw(table, partial(_sample_uncovered, filters=filters), most, seed)


def _draw(table: MemberTable, sample: Callable[..., Sample], count: int, seed: int) -> Sample:
    join = partial(_join_samples, count=count, seed=seed)
    return table.reduce(partial(sample, count=count, seed=seed), join)


def _sample(members: Members, count: int, seed: int) -> Sample:
    ids = members.ids
    numbers = np.empty(len(ids), np.uint64)
    streams(seed, ids, numbers)
    rows = np.argpartition(numbers, count)[:count] if count < len(ids) else np.arange(len(ids))
    return Sample(members.size, members.pick(rows[np.lexsort((ids[rows], numbers[rows]))]))


def _sample_uncovered(members: Members, filters: TargetFilters, count: int, seed: int) -> Sample:
    rows = np.flatnonzero(~filters.covering(members).any(axis=1))
    return _sample(members.pick(rows), count, seed)


def _join_samples(one: Sample, other: Sample, count: int, seed: int) -> Sample:
    both = _sample(one.members.joined(other.members), count, seed)
    return Sample(one.n_rows + other.n_rows, both.members)


def super_subscriptions(table: MemberTable, splits: SplitTree) -> Boxes:
    """Return the boxes around the clusters of all members."""
    return distinct(table.reduce(partial(_enclose, splits=splits), around_both))


def _enclose(members: Members, splits: SplitTree) -> Boxes:
    low = np.full((splits.n_clusters, members.low.shape[1]), np.inf)
    boxes = Boxes(low, -low)
    enclose((members.location, members.low, members.high), splits, boxes)
    return boxes


class Cells(NamedTuple):
    """The number of members of each group in each cell of the Hilbert curve."""

    words_of: WordsOf  # the words of a member's group, then its cell
    rows: Words  # uint64[n, words + 1], the words of a group and a cell, sorted
    counts: Longs  # int64[n], members of each
    group: Ints  # int32[n], the number of the group
    masks: Words  # uint64[n_groups, words], the words of each group, sorted
    members: Longs  # int64[n_groups], members of each


def count_cells(table: MemberTable, words_of: WordsOf, n_dimensions: int) -> Cells:
    """Return groups of members with equal words, by cells that are fine enough to stay few."""
    n_groups = len(table.count(words_of)[0]) if table.size > flow.MOST_CELLS else 0
    shift = cell_shift(table.size, n_groups, n_dimensions)
    with_cell = partial(_with_cell, words_of=words_of, shift=shift)
    rows, counts = table.count(with_cell)
    masks, group, _ = group_rows(np.ascontiguousarray(rows[:, :-1]))
    members = np.bincount(group, weights=counts).astype(np.int64)
    return Cells(with_cell, rows, counts, group, masks, members)


def _with_cell(members: Members, words_of: WordsOf, shift: int) -> Words:
    return np.column_stack((words_of(members), (members.key >> shift).view(np.uint64)))


class Partition(NamedTuple):
    """The division of the members of all groups among targets.

    A share is a run of members of a group, ordered by cell and id, that go to one target.
    """

    words_of: WordsOf  # the words of a member's group, then its cell
    shares: Words  # uint64[n_shares, words + 2], where each begins: words, cell and id; sorted
    target: Ints  # int32[n_shares], -1 for none
    loads: Longs  # int64[n_targets], members of each target
    n_left: int  # members without a target

    def target_of(self, members: Members) -> Ints:
        """Return the target of each member, -1 for none."""
        words = np.column_stack((self.words_of(members), members.ids.view(np.uint64)))
        return self.target[find_last(self.shares, words)]


def partition_by(
    table: MemberTable, cells: Cells, placement: Placement, n_targets: int
) -> Partition:
    """Return the partition of a placement; boxes that are near each other go to one target."""
    cell = cells.rows[:, -1].view(np.int64)
    order = order_shares(placement, cells.group, cell, cells.counts, n_targets)
    left = np.flatnonzero(placement.left)
    group = np.concatenate((placement.group[order], left))
    target = np.concatenate((placement.leaf[order], np.full(len(left), -1)))
    count = np.concatenate((placement.count[order], placement.left[left]))
    return from_shares(table, cells, (group, target, count), n_targets)


def from_shares(
    table: MemberTable,
    cells: Cells,
    shares: tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]],
    n_targets: int,
) -> Partition:
    """Return the partition of given shares.

    `shares` are (group, target, count); those of a group add up to its members and are in the order
    in which these are given out.
    """
    order = np.argsort(shares[0], kind="stable")
    _, target, count = (column[order[shares[2][order] > 0]] for column in shares)
    ends, begin = np.cumsum(cells.counts), np.cumsum(count) - count
    row = np.searchsorted(ends, begin, side="right")  # of `cells`, where each share begins
    place = begin - (ends - cells.counts)[row]  # members of that row that go to the share before
    first_id = np.zeros(len(row), np.int64)
    inside = np.flatnonzero(place > 0)
    if len(inside):
        rows, spot = np.unique(row[inside], return_inverse=True)
        spot_of = partial(_spot_of, words_of=cells.words_of, spots=cells.rows[rows])
        first_id[inside] = table.ids_at(spot_of, spot, place[inside])
    starts = np.column_stack((cells.rows[row], first_id.view(np.uint64)))
    loads = np.bincount(target + 1, count, n_targets + 1).astype(np.int64)  # first of target -1
    return Partition(
        cells.words_of, starts, target.astype(np.int32), loads=loads[1:], n_left=int(loads[0])
    )


def _spot_of(members: Members, words_of: WordsOf, spots: Words) -> Ints:
    """Return the place of each member's words among the rows of `spots`, -1 if it has none."""
    words = words_of(members)
    found = find_last(spots, words)
    return np.where((spots[found] == words).all(axis=1), found, -1).astype(np.int32)
