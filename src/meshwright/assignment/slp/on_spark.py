"""Everyone to be assigned, on Spark: the subscribers stay in a table, every question is a pass.

Each pass maps batches of Arrow through the kernels that work in memory too, and gathers what is
small: a sample, the boxes of clusters, how many subscribers the same targets cover. Samples are the
lowest random numbers keyed by seed and id, so that answers are those in memory, exactly, for any
partitioning.

Who of a group goes to which target is the one question that needs an order of all. It is answered
by counts: members of a group stand in the order of cells of a Hilbert curve, and targets take them
cell by cell. Only in the cells where one target's share ends and another's begins ids are looked
at.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame, Observation, SparkSession, Window
from pyspark.sql import functions as F

from meshwright.assignment import flow
from meshwright.assignment.flow import Placement, group_rows, order_shares
from meshwright.assignment.slp import on_spark_tasks as tasks
from meshwright.assignment.slp.audience import Audience, Choice
from meshwright.assignment.slp.candidates import Boxes, distinct
from meshwright.assignment.slp.clusters import Cuts
from meshwright.assignment.slp.on_spark_rows import (
    CELLS,
    CLUSTERS,
    DRAWN,
    FITTED,
    PLACED,
    SPOTS,
    TARGET_BOXES,
    Words,
    audience_of,
    floats_of,
    ints_of,
    one_batch,
    words_of,
)
from meshwright.problem.density import DensityTable
from meshwright.spark.ship import ship

Ints = npt.NDArray[np.int64]
_ASKED = ("subscriber", "low", "high", "marks", "key")  # by whom it is asked who is covered


class Members:
    """Those at a broker: a table with the columns of MEMBERS, written and never gathered."""

    def __init__(
        self,
        spark: SparkSession,
        frame: DataFrame,
        size: int,
        shape: tuple[int, int, int],
        scratch: Callable[[str], Path],
    ) -> None:
        """Take the table.

        Parameters
        ----------
        shape
            The dimensions of network and event space, and the words of bits.
        scratch
            Gives places for files that tasks can read.

        """
        self.frame = frame
        self._spark = spark
        self._size = size
        self._shape = shape
        self._scratch = scratch
        self._cells: tuple[Choice, int, _Cells] | None = None  # the last ones counted

    @property
    def size(self) -> int:
        """How many there are."""
        return self._size

    def draw(self, count: int, seed: int) -> Audience:
        """Return a random sample, the same as in memory."""
        columns = self.frame.select("subscriber", "location", "low", "high", "marks")
        rows = columns.mapInArrow(tasks.draw_task(count, seed), DRAWN)
        return self._sample(rows, count)

    def uncovered(self, choice: Choice, most: int, seed: int) -> tuple[int, Audience]:
        """Return how many no target covers, and a random sample of them."""
        columns = self.frame.select("subscriber", "location", "low", "high", "marks")
        rows = columns.mapInArrow(tasks.draw_task(most, seed, choice), DRAWN)
        seen = Observation()
        some = self._sample(rows.observe(seen, F.sum("uncovered").alias("count")), most)
        return seen.get["count"] or 0, some

    def _sample(self, rows: DataFrame, count: int) -> Audience:
        found = rows.orderBy("number", "subscriber").limit(count).toArrow()
        if found.num_rows == 0:
            network, events, words = self._shape
            nothing = np.zeros((0, events))
            marks = np.zeros((0, words), np.uint64)
            return Audience(np.zeros(0, np.int64), np.zeros((0, network)), nothing, nothing, marks)
        return audience_of(one_batch(found.sort_by([("number", "ascending")])))

    def super_subscriptions(self, cuts: Cuts) -> Boxes:
        """Return the boxes around the clusters."""
        columns = self.frame.select("location", "low", "high")
        rows = one_batch(columns.mapInArrow(tasks.enclose_task(cuts), CLUSTERS).toArrow())
        low = np.full((cuts.n_clusters, self._shape[1]), np.inf)
        high = -low
        cluster = ints_of(rows, "cluster")
        np.minimum.at(low, cluster, floats_of(rows, "low"))
        np.maximum.at(high, cluster, floats_of(rows, "high"))
        return distinct(Boxes(low, high))

    def groups(self, choice: Choice) -> tuple[Words, Ints]:
        """Return the distinct sets of targets that cover someone, and how many have each."""
        # Of few members the cells are counted too: they are asked for next.
        all_of_them = 0 if self._size <= flow.MOST_CELLS else 63
        cells = self._count(choice, all_of_them)
        return cells.masks, cells.members

    def _count(self, choice: Choice, shift: int) -> _Cells:
        if self._cells and self._cells[0] is choice and self._cells[1] == shift:
            return self._cells[2]
        rows = self.frame.select(*_ASKED).mapInArrow(tasks.cells_task(choice, shift), CELLS)
        summed = rows.groupBy("marks", "cell").agg(F.sum("count").alias("count"))
        cells = _Cells(one_batch(summed.toArrow()))
        self._cells = choice, shift, cells
        return cells

    def plan(self, choice: Choice, placement: Placement) -> Path:
        """Ship who of each group goes to which target; return where that is."""
        shift = flow.cell_shift(self._size, len(placement.left), self._shape[1])
        cells = self._count(choice, shift)
        n_targets = 64 * self._shape[2]
        order = order_shares(placement, cells.group, cells.cell, cells.count, n_targets)
        group, target, first = _with_rest(placement, order, len(cells.members))
        # Where in all members, by group and cell, each share begins; which row has that place.
        before = np.cumsum(cells.members) - cells.members
        begin = before[group] + first
        row = np.searchsorted(np.cumsum(cells.count), begin, side="right")
        inside = begin - (np.cumsum(cells.count) - cells.count)[row]
        id_ = np.full(len(group), -1, np.int64)
        cell = cells.cell[row]
        cut = np.flatnonzero(inside > 0)
        if len(cut):
            id_[cut] = self._ids_at(choice, cells, shift, row[cut], inside[cut])
        starts = np.searchsorted(group, np.arange(len(cells.members) + 1))
        shares = tasks.Shares(cells.masks, starts, cell, id_, target, shift)
        return self._ship((choice, shares))

    def _ids_at(
        self, choice: Choice, cells: _Cells, shift: int, row: npt.NDArray[np.intp], inside: Ints
    ) -> Ints:
        """Return the ids of the members with so many of the same group and cell before them."""
        spots, spot_of = np.unique(row, return_inverse=True)
        where = (choice, cells.masks, shift, cells.group[spots].astype(np.int64), cells.cell[spots])
        plan = self._ship(where)
        rows = self.frame.select(*_ASKED).mapInArrow(tasks.spots_task(plan), SPOTS)
        within = Window.partitionBy("spot").orderBy("subscriber")
        asked = pa.table(
            {
                "spot": pa.array(spot_of.astype(np.int32)),
                "place": pa.array((inside + 1).astype(np.int32)),
                "number": pa.array(np.arange(len(row), dtype=np.int32)),
            }
        )
        numbered = rows.withColumn("place", F.row_number().over(within))
        wanted = F.broadcast(self._spark.createDataFrame(asked))
        found = one_batch(
            numbered.join(wanted, ["spot", "place"]).select("number", "subscriber").toArrow()
        )
        plan.unlink()
        ids = np.empty(len(row), np.int64)
        ids[ints_of(found, "number")] = ints_of(found, "subscriber")
        return ids

    def fit(
        self, choice: Choice, placement: Placement, alpha: int, density: DensityTable
    ) -> tuple[Boxes, npt.NDArray[np.int32]]:
        """Return at most alpha boxes for each target around what it got, and whose each is."""
        plan = self.plan(choice, placement)
        many = placement.loads(64 * self._shape[2]) > tasks.MOST_BOXES
        rows = self.frame.select(*_ASKED).mapInArrow(tasks.boxes_task(plan, many), TARGET_BOXES)
        found = fit_on_spark(rows, alpha, density, self._shape[1])
        plan.unlink()
        return found

    def settled(self, choice: Choice, placement: Placement, children: list[int]) -> DataFrame:
        """Return the rows with the child that each goes to, -1 for none."""
        return self.frame.mapInArrow(
            tasks.settle_task(self.plan(choice, placement), children), PLACED
        )

    def _ship(self, value: object) -> Path:
        # Workers remember what they read by its path, and outlive runs: no path is used twice.
        path = self._scratch(f"plan-{uuid4().hex}")
        ship(path, value)
        return path


class _Cells:
    """How many members of each group are in each cell: rows sorted by group, then cell."""

    def __init__(self, rows: pa.RecordBatch) -> None:
        words, cell, count = words_of(rows), ints_of(rows, "cell"), ints_of(rows, "count")
        self.masks, group, _ = group_rows(words)
        order = np.lexsort((cell, group))
        self.group, self.cell, self.count = group[order], cell[order], count[order]
        self.members = np.zeros(len(self.masks), np.int64)
        np.add.at(self.members, self.group, self.count)


def _with_rest(
    placement: Placement, order: npt.NDArray[np.intp], n_groups: int
) -> tuple[Ints, npt.NDArray[np.int32], Ints]:
    """Return the shares in order, those without a place last in a group, and where each begins."""
    rest = np.flatnonzero(placement.left)
    group = np.concatenate((placement.group[order].astype(np.int64), rest))
    target = np.concatenate((placement.leaf[order], np.full(len(rest), -1, np.int32)))
    count = np.concatenate((placement.count[order], placement.left[rest]))
    by_group = np.argsort(group, kind="stable")
    group, target, count = group[by_group], target[by_group], count[by_group]
    begin = np.cumsum(count) - count
    firsts = np.searchsorted(group, np.arange(n_groups))
    return group, target, begin - begin[firsts][group]


def fit_on_spark(
    rows: DataFrame, alpha: int, density: DensityTable, n_dimensions: int
) -> tuple[Boxes, npt.NDArray[np.int32]]:
    """Return at most alpha boxes for each target around its rows of TARGET_BOXES."""
    fit = tasks.fit_task(alpha, tuple(density))
    found = rows.groupBy("target").applyInArrow(fit, FITTED).toArrow()
    if found.num_rows == 0:
        nothing = np.zeros((0, n_dimensions))
        return Boxes(nothing, nothing), np.zeros(0, np.int32)
    batch = one_batch(found.sort_by([("target", "ascending"), ("place", "ascending")]))
    boxes = Boxes(floats_of(batch, "low"), floats_of(batch, "high"))
    return boxes, ints_of(batch, "target").astype(np.int32)
