"""The linear program of section IV-A.1: which boxes belong to which target's filter.

Columns: y (target i has box k), x (subscriber j of the load sample is at target i), and s (by how
much target i exceeds its load). Rows, with the paper's names:

- (C1) a target has at most alpha boxes;
- (C2) each subscriber of the load sample is at a target in time;
- (C3) the load of a target, less s, is within beta: soft, because a random sample can be infeasible
  by itself; a unit of s costs as much as the largest box;
- (C4) a subscriber at a target is inside one of its boxes.

A subscriber outside the load sample needs no x: it is equivalent to demand, in one row over the y
alone, that some target in time has a box that holds it. Such rows are added to the solved program,
and the dual simplex method continues from the last solution. Of a target's boxes that serve the
same subscribers, only the smallest gets a column, as the others are never better. The box that
holds everything always has one, so that every row can be met.
"""

from typing import Any, NamedTuple

import highspy
import numpy as np
import numpy.typing as npt
from scipy import sparse

from meshwright.content.boxes import Boxes
from meshwright.content.slp.members import Members, held
from meshwright.content.subscribers import unpack
from meshwright.errors import SolverError
from meshwright.runtime.arrays import Bools, Floats, Ints


class Fraction(NamedTuple):
    """An optimal fractional solution: how much of each box each target has."""

    value: float  # in units of volume, penalties left out
    overload: float  # subscribers of the load sample that no target has room for
    share: Floats  # float64[n_targets, n_boxes]


class Program:
    """A linear program that grows by rows; `solve` continues from the last solution."""

    most_over = highspy.kHighsInf  # of s: by how much a target may exceed its load

    def __init__(
        self,
        boxes: Boxes,
        volume: Floats,
        load_sample: Members,
        reference: Members,
        room: Floats,
        alpha: int,
    ) -> None:
        """Build the program.

        `volume` is the cost of each box, `room` the number of subscribers of the load sample that
        each target may have. Boxes of a target that serve the same part of `reference`, a larger
        sample, share one column.
        """
        self._boxes = boxes
        self._n_targets = len(room)
        self._scale = float(volume.max(initial=0.0)) or 1.0
        self._volume = volume / self._scale
        sample = load_sample.joined(reference)
        self.target, self.box = distinct_columns(boxes, volume, sample, len(room))
        self._solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        # One thread and one seed: one order of pivots on every machine.
        for name, value in {"output_flag": False, "threads": 1, "random_seed": 1}.items():
            self._solver.setOptionValue(name, value)
        self.n_solved = 0
        self.n_cover_rows = 0
        self._pass_model(load_sample, room, alpha)

    def _pass_model(self, load_sample: Members, room: Floats, alpha: int) -> None:
        """Give the solver the program with the rows of C1 to C4. Writes `self._solver` only."""
        n, n_y, n_load = self._n_targets, len(self.target), load_sample.size
        # Column x is a subscriber of the sample and a target in time for it: int64[n_x] each.
        x_subscriber, x_target = np.nonzero(unpack(load_sample.targets, n))
        n_x = len(x_subscriber)
        served = self._served(load_sample)  # bool[n_load, n_y]
        # (C4) has a row per x, with the columns of its target whose box holds the subscription.
        by_target = [np.flatnonzero(self.target == i) for i in range(n)]
        rows, columns = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for x, (j, i) in enumerate(zip(x_subscriber.tolist(), x_target.tolist(), strict=True)):
            columns.append(by_target[i][served[j, by_target[i]]])
            rows.append(np.full(len(columns[-1]), x))
        c4 = (np.concatenate(rows), np.concatenate(columns))

        def incidence(row: npt.NDArray[np.integer], n_rows: int) -> Any:
            starts = np.arange(len(row) + 1)
            return sparse.csc_array((np.ones(len(row)), row, starts), (n_rows, len(row)))

        # The columns: y [n_y], x [n_x], s [n].
        matrix = sparse.block_array(
            [
                [incidence(self.target, n), None, None],  # C1
                [None, incidence(x_subscriber, n_load), None],  # C2
                [None, incidence(x_target, n), -sparse.eye(n)],  # C3
                [sparse.csr_array((-np.ones(len(c4[0])), c4), (n_x, n_y)), sparse.eye(n_x), None],
            ],
            format="csr",
        )
        infinite = highspy.kHighsInf
        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = matrix.shape
        model.col_cost_ = np.concatenate((self._volume[self.box], np.zeros(n_x), np.ones(n)))
        model.col_lower_ = np.zeros(matrix.shape[1])
        model.col_upper_ = np.concatenate((np.ones(n_y + n_x), np.full(n, self.most_over)))
        low, no_limit = np.full(n, -infinite), np.full(n_load, infinite)
        model.row_lower_ = np.concatenate((low, np.ones(n_load), low, np.full(n_x, -infinite)))
        model.row_upper_ = np.concatenate((np.full(n, float(alpha)), no_limit, room, np.zeros(n_x)))
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = matrix.indptr
        model.a_matrix_.index_ = matrix.indices
        model.a_matrix_.value_ = matrix.data
        self._solver.passModel(model)

    def _served(self, members: Members) -> Bools:
        """Return a row per subscriber: the columns whose box holds its subscription."""
        return held(members, self._boxes)[:, self.box]

    def add_cover(self, members: Members) -> None:
        """Add the rows that some target covers each of these subscribers."""
        covers = self._served(members) & unpack(members.targets, self._n_targets)[:, self.target]
        covers = np.unique(covers, axis=0)
        if len(covers) == 0:
            return
        rows, columns = np.nonzero(covers)
        n, starts = len(covers), np.searchsorted(rows, np.arange(len(covers))).astype(np.int32)
        entries = len(columns), starts, columns.astype(np.int32), np.ones(len(columns))
        self._solver.addRows(n, np.ones(n), np.full(n, highspy.kHighsInf), *entries)
        self.n_cover_rows += n

    def solve(self) -> Fraction:
        """Return an optimal fractional solution."""
        # The first solution comes from an interior point method and a crossover to a basis, in half
        # the time of the simplex method; later ones start from that basis.
        self._solver.setOptionValue("solver", "simplex" if self.n_solved else "ipm")
        self._solver.run()
        self.n_solved += 1
        status = self._solver.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            name = self._solver.modelStatusToString(status)
            raise SolverError(
                f"the linear program ended as {name!r} instead of optimal. "
                "Try another --seed, or a greedy method (gr-star).",
                name,
            )
        values = np.array(self._solver.getSolution().col_value)
        y = np.clip(values[: len(self.target)], 0.0, 1.0)
        share = np.zeros((self._n_targets, len(self._volume)))
        share[self.target, self.box] = y
        value = float((self._volume[self.box] * y).sum()) * self._scale
        return Fraction(value, float(values[len(values) - self._n_targets :].sum()), share)


class HardProgram(Program):
    """The program with (C3) as printed: no target may exceed its load, so it can be infeasible."""

    most_over = 0.0


def distinct_columns(
    boxes: Boxes, volume: Floats, sample: Members, n_targets: int
) -> tuple[Ints, Ints]:
    """Return the pairs (target, box) that get a column: the smallest box of each set served."""
    order = np.argsort(volume, kind="stable")
    inside = held(sample, boxes)[:, order]
    in_time = unpack(sample.targets, n_targets)
    targets, found = [], []
    for target in range(n_targets):
        served = np.packbits(inside[in_time[:, target]], axis=0)
        seen: set[bytes] = {bytes(len(served))}  # a box that serves nobody gets none
        for position in range(len(order)):
            key = served[:, position].tobytes()
            if key not in seen or (position == len(order) - 1 and len(served)):
                seen.add(key)
                targets.append(target)
                found.append(order[position])
    return np.array(targets, np.int32), np.array(found, np.int32)
