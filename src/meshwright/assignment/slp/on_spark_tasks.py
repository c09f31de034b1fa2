"""What tasks do with batches of subscribers: the same kernels as in memory, small results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from meshwright.assignment.filters import fit_boxes, outermost
from meshwright.assignment.flow import group_rows
from meshwright.assignment.hilbert import Frame, box_keys, frame_of
from meshwright.assignment.slp.audience import Audience, Choice, lowest
from meshwright.assignment.slp.audience_kernel import enclose, join_marks, number
from meshwright.assignment.slp.clusters import Cuts
from meshwright.assignment.slp.on_spark_kernel import find_groups, find_spots, find_targets
from meshwright.assignment.slp.on_spark_rows import (
    Task,
    Words,
    audience_of,
    binary,
    box_batch,
    drawn_batch,
    filled,
    floats_of,
    ints_of,
    joined,
)
from meshwright.problem.dataset import lists
from meshwright.problem.latency_kernel import mark_in_time
from meshwright.spark.ship import received

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_BOXES = 1 << 18  # of a target that its filter is fitted to as they are


class Leaves(NamedTuple):
    """The leaves as the test of latency needs them."""

    location: Floats
    down: Floats

    def in_time(self, location: Floats, max_delay: Floats) -> Words:
        """Return the leaves in time of each place, as bits."""
        marks = np.empty((len(location), -(-len(self.down) // 64)), np.uint64)
        mark_in_time(location, max_delay, self.location, self.down, 0, len(location), marks)
        return marks


class Shares(NamedTuple):
    """Who of each group goes to which target: the groups' bits, and where each share begins."""

    masks: Words
    starts: Ints  # the shares of group g are rows starts[g] to starts[g + 1]
    cell: Ints
    id: Ints
    target: npt.NDArray[np.int32]
    shift: int  # from keys to cells

    def target_of(self, choice: Choice, audience: Audience, key: Ints) -> npt.NDArray[np.int32]:
        """Return the target of each, -1 for none."""
        group, cell = groups_of(self.masks, self.shift, choice, audience, key)
        target = np.empty(audience.size, np.int32)
        find_targets(
            group, cell, audience.ids, self.starts, self.cell, self.id, self.target, target
        )
        return target


def groups_of(
    masks: Words, shift: int, choice: Choice, audience: Audience, key: Ints
) -> tuple[Ints, Ints]:
    """Return the group of each by the targets that cover it, and its cell."""
    group = np.empty(audience.size, np.int64)
    find_groups(masks, audience.covering(choice), group)
    return group, key >> shift


def frame_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the frame of a task's boxes."""
    frames = [frame_of(floats_of(b, "low"), floats_of(b, "high")) for b in filled(batches)]
    if frames:
        least = np.min([frame.least for frame in frames], axis=0)
        most = np.max([frame.most for frame in frames], axis=0)
        yield box_batch("cluster", np.zeros(1, np.int64), least[None], most[None])


def prepare_task(leaves: Leaves, target_of_leaf: Ints, frame: Frame) -> Task:
    """Return the task that adds to rows the targets in time, and the place on the curve."""
    n_words = -(-(int(target_of_leaf.max()) + 1) // 64)

    def prepare(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in filled(batches):
            delay = np.array(batch.column("max_delay").to_numpy())
            in_time = leaves.in_time(floats_of(batch, "location"), delay)
            marks = np.zeros((batch.num_rows, n_words), np.uint64)
            join_marks(in_time, target_of_leaf, marks)
            key = box_keys(floats_of(batch, "low"), floats_of(batch, "high"), frame)
            columns = [*batch.columns, binary(marks), pa.array(key)]
            yield pa.RecordBatch.from_arrays(columns, [*batch.schema.names, "marks", "key"])

    return prepare


def draw_task(count: int, seed: int, choice: Choice | None = None) -> Task:
    """Return the task that yields its `count` rows of the lowest random numbers.

    With a choice, only those that it does not cover are drawn from, and they are counted.
    """

    def draw(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        kept: list[Audience] = []
        found = 0
        for batch in filled(batches):
            audience = audience_of(batch)
            if choice is not None:
                covered = np.asarray(audience.covering(choice).any(axis=1))
                audience = audience.pick(np.flatnonzero(~covered))
            found += audience.size
            both = joined([*kept, audience])
            kept = [both.pick(lowest(both.ids, count, seed))]
        if found:
            numbers = np.empty(kept[0].size, np.uint64)
            number(seed, kept[0].ids, numbers)
            yield drawn_batch(numbers, found, kept[0])

    return draw


def enclose_task(cuts: Cuts) -> Task:
    """Return the task that yields the box around its members of each cluster."""

    def enclose_all(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        low: Floats | None = None
        for batch in filled(batches):
            some = audience_of(batch)
            if low is None:
                low = np.full((cuts.n_clusters, some.low.shape[1]), np.inf)
                high = -low
            enclose(some.location, some.low, some.high, *cuts, low, high)
        if low is not None:
            used = np.flatnonzero((low <= high).all(axis=1))
            yield box_batch("cluster", used, low[used], high[used])

    return enclose_all


def cells_task(choice: Choice, shift: int) -> Task:
    """Return the task that counts its members by the targets that cover them, and by cell."""

    def count_cells(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in filled(batches):
            cover = audience_of(batch).covering(choice)
            cell = ints_of(batch, "key") >> shift
            rows, _, counts = group_rows(np.column_stack((cover, cell.view(np.uint64))))
            yield pa.RecordBatch.from_arrays(
                [
                    binary(np.ascontiguousarray(rows[:, :-1])),
                    pa.array(rows[:, -1].copy().view(np.int64)),
                    pa.array(counts.astype(np.int64)),
                ],
                ["marks", "cell", "count"],
            )

    return count_cells


def spots_task(plan: Path) -> Task:
    """Return the task that yields the members of the cells in which a share begins."""

    def list_spots(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        choice, masks, shift, spot_group, spot_cell = received(plan)
        for batch in filled(batches):
            audience = audience_of(batch)
            group, cell = groups_of(masks, shift, choice, audience, ints_of(batch, "key"))
            spot = np.empty(audience.size, np.int32)
            find_spots(group, cell, spot_group, spot_cell, spot)
            here = np.flatnonzero(spot >= 0)
            yield pa.RecordBatch.from_arrays(
                [pa.array(spot[here]), pa.array(audience.ids[here].astype(np.int32))],
                ["spot", "subscriber"],
            )

    return list_spots


def boxes_task(plan: Path, many: npt.NDArray[np.bool_]) -> Task:
    """Return the task that yields the boxes of its members with their targets.

    Of the targets that have many only the outermost of a batch, which is as good a filter's base.
    """

    def list_boxes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        choice, shares = received(plan)
        for batch in filled(batches):
            audience = audience_of(batch)
            target = shares.target_of(choice, audience, ints_of(batch, "key"))
            few = np.flatnonzero((target >= 0) & ~many[target])
            yield box_batch("target", target[few], audience.low[few], audience.high[few])
            for at in np.flatnonzero(many).tolist():
                rows = np.flatnonzero(target == at)
                boxes = np.stack((audience.low[rows], audience.high[rows]), axis=1)
                kept = outermost(boxes)
                yield box_batch("target", np.full(len(kept), at), kept[:, 0], kept[:, 1])

    return list_boxes


def fit_task(alpha: int, density: tuple[npt.NDArray[np.generic], ...]) -> Callable[..., pa.Table]:
    """Return the function that fits a filter to all boxes of a target."""

    def fit(rows: pa.Table) -> pa.Table:
        batch = rows.combine_chunks().to_batches()[0]
        boxes = np.stack((floats_of(batch, "low"), floats_of(batch, "high")), axis=1)
        found = fit_boxes(coarser(boxes), alpha, density)
        n = len(found)
        target = np.full(n, batch.column("target")[0].as_py(), np.int32)
        return pa.table(
            {
                "target": pa.array(target),
                "low": lists(found[:, 0]),
                "high": lists(found[:, 1]),
                "place": pa.array(np.arange(n, dtype=np.int32)),
            }
        )

    return fit


def coarser(boxes: Floats) -> Floats:
    """Return the boxes, or where they are too many, boxes around runs of them on a Hilbert curve.

    What holds the box around a run holds all of it, so a filter fitted to these serves everyone.
    """
    if len(boxes) <= MOST_BOXES:
        return boxes
    order = np.argsort(box_keys(boxes[:, 0], boxes[:, 1]), kind="stable")
    starts = np.linspace(0, len(boxes), MOST_BOXES, endpoint=False).astype(np.intp)
    low = np.minimum.reduceat(boxes[order, 0], starts)
    high = np.maximum.reduceat(boxes[order, 1], starts)
    return np.stack((low, high), axis=1)


def settle_task(plan: Path, children: list[int]) -> Task:
    """Return the task that yields the rows with the child that each goes to, -1 for none."""
    child_of = np.array([*children, -1], np.int32)

    def settle(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        choice, shares = received(plan)
        for batch in filled(batches):
            target = shares.target_of(choice, audience_of(batch), ints_of(batch, "key"))
            rows = batch.select([*batch.schema.names[:-2]])  # all but marks and key
            columns = [*rows.columns, pa.array(child_of[target])]
            yield pa.RecordBatch.from_arrays(columns, [*rows.schema.names, "at"])

    return settle
