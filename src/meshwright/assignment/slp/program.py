"""The linear program of section IV-A.1, kept and grown: which boxes for which target's filter.

Columns: y (target i has box k), x (subscriber j of the load sample is at target i), and s (how far
target i is over its load). Rows, with the paper's names:

- (C1) at most alpha boxes per target;
- (C2) everyone of the load sample is somewhere in time;
- (C3) the load of a target, less s, within beta: soft, since a random sample can be infeasible by
  itself; a unit of s costs as much as the largest box;
- (C4) whoever is at a target is inside one of its boxes.

A subscriber outside the load sample needs no x: that some target in time has a box that holds it
is one row over the y alone, and equivalent. Such rows are added to the solved program, which the
dual simplex method then takes up from where it was. Of a target's boxes that serve the same
subscribers, only the smallest gets a column: the others are never better. The box that holds
everything always has one, so that every row can be met.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from meshwright.assignment.slp.audience import Audience, inside, unpack
from meshwright.assignment.slp.candidates import Boxes
from meshwright.errors import SolverError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


class Fraction(NamedTuple):
    """An optimal fractional solution: how much of each box each target has."""

    value: float  # in units of volume, penalties left out
    overload: float  # subscribers of the load sample that no target has room for
    share: Floats  # a row per target, a column per box


class Program:
    """A linear program that grows by rows; `solve` takes it up where it was."""

    def __init__(
        self,
        boxes: Boxes,
        volume: Floats,
        load_sample: Audience,
        reference: Audience,
        room: Floats,
        alpha: int,
    ) -> None:
        """Lay out the program.

        Parameters
        ----------
        boxes, volume
            The candidates and what each costs.
        load_sample
            The subscribers whose load counts; each needs a target.
        reference
            A larger sample: boxes that serve the same of it at a target are one column.
        room
            How many of the load sample each target may have.
        alpha
            Boxes per target, at most.

        """
        self._boxes = boxes
        self._n_targets = len(room)
        self._scale = float(volume.max(initial=0.0)) or 1.0
        self._volume = volume / self._scale
        self.target, self.box = distinct_columns(boxes, volume, load_sample, reference, len(room))
        self._solver = _new_solver()
        self.n_solved = 0
        self.n_cover_rows = 0
        self._pass_model(load_sample, room, alpha)

    @property
    def n_columns(self) -> int:
        """How many pairs of a target and a box there are to choose from."""
        return len(self.target)

    def _pass_model(self, load_sample: Audience, room: Floats, alpha: int) -> None:
        import highspy
        from scipy import sparse

        n, n_y = self._n_targets, self.n_columns
        in_time = unpack(load_sample.marks, n)
        who, where = np.nonzero(in_time)
        n_x, n_who = len(who), load_sample.size
        served = self._served(load_sample)
        # C4: a row per x; its boxes are the columns of that target that hold the subscription.
        by_target = [np.flatnonzero(self.target == i) for i in range(n)]
        rows, columns = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for pair, (j, i) in enumerate(zip(who.tolist(), where.tolist(), strict=True)):
            mine = by_target[i][served[j, by_target[i]]]
            columns.append(mine)
            rows.append(np.full(len(mine), pair))
        at = (np.concatenate(rows), np.concatenate(columns))
        nesting = sparse.csr_array((-np.ones(len(at[0])), at), shape=(n_x, n_y))
        ones = np.ones(n_x)
        number_x = np.arange(n_x)
        matrix = sparse.block_array(
            [
                [self._rows_of_targets(), None, None],
                [None, sparse.csr_array((ones, (who, number_x)), shape=(n_who, n_x)), None],
                [None, sparse.csr_array((ones, (where, number_x)), shape=(n, n_x)), -sparse.eye(n)],
                [nesting, sparse.eye(n_x), None],
            ],
            format="csr",
        )
        infinite = highspy.kHighsInf
        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = matrix.shape
        model.col_cost_ = np.concatenate((self._volume[self.box], np.zeros(n_x), np.ones(n)))
        model.col_lower_ = np.zeros(matrix.shape[1])
        model.col_upper_ = np.concatenate((np.ones(n_y + n_x), np.full(n, infinite)))
        low, no_limit = np.full(n, -infinite), np.full(n_who, infinite)
        model.row_lower_ = np.concatenate((low, np.ones(n_who), low, np.full(n_x, -infinite)))
        model.row_upper_ = np.concatenate((np.full(n, float(alpha)), no_limit, room, np.zeros(n_x)))
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = matrix.indptr
        model.a_matrix_.index_ = matrix.indices
        model.a_matrix_.value_ = matrix.data
        self._solver.passModel(model)

    def _rows_of_targets(self) -> Any:
        from scipy import sparse

        n_y = self.n_columns
        return sparse.csr_array(
            (np.ones(n_y), (self.target, np.arange(n_y))), shape=(self._n_targets, n_y)
        )

    def _served(self, audience: Audience) -> npt.NDArray[np.bool_]:
        """Return a row per subscriber: the columns whose box holds its subscription."""
        return inside(audience, self._boxes)[:, self.box]

    def add_cover(self, audience: Audience) -> None:
        """Demand that some target covers each of these."""
        import highspy

        covers = self._served(audience) & unpack(audience.marks, self._n_targets)[:, self.target]
        covers = np.unique(covers, axis=0)
        if len(covers) == 0:
            return
        rows, columns = np.nonzero(covers)
        starts = np.searchsorted(rows, np.arange(len(covers))).astype(np.int32)
        self._solver.addRows(
            len(covers),
            np.ones(len(covers)),
            np.full(len(covers), highspy.kHighsInf),
            len(columns),
            starts,
            columns.astype(np.int32),
            np.ones(len(columns)),
        )
        self.n_cover_rows += len(covers)

    def solve(self) -> Fraction:
        """Return an optimal fractional solution."""
        import highspy

        # The first solution by an interior point and a crossover to a basis, in half the time of
        # the simplex method; what comes after starts from that basis.
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
        y = np.clip(values[: self.n_columns], 0.0, 1.0)
        share = np.zeros((self._n_targets, len(self._volume)))
        share[self.target, self.box] = y
        value = float((self._volume[self.box] * y).sum()) * self._scale
        return Fraction(value, float(values[len(values) - self._n_targets :].sum()), share)


def distinct_columns(
    boxes: Boxes, volume: Floats, load_sample: Audience, reference: Audience, n_targets: int
) -> tuple[Ints, Ints]:
    """Return the pairs (target, box) worth a column: the smallest box of each set served."""
    order = np.lexsort((np.arange(len(volume)), volume))
    held = np.vstack((inside(load_sample, boxes), inside(reference, boxes)))[:, order]
    in_time = np.vstack((unpack(load_sample.marks, n_targets), unpack(reference.marks, n_targets)))
    targets, found = [], []
    for target in range(n_targets):
        served = np.packbits(held[in_time[:, target]], axis=0)
        seen: set[bytes] = {bytes(len(served))}  # a box that serves nobody is no column
        for position in range(len(order)):
            key = served[:, position].tobytes()
            if key not in seen or (position == len(order) - 1 and len(served)):
                seen.add(key)
                targets.append(target)
                found.append(order[position])
    return np.array(targets, np.int32), np.array(found, np.int32)


def _new_solver() -> Any:
    import highspy

    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    for name, value in {
        "output_flag": False,
        "threads": 1,  # one order of pivots on every machine
        "random_seed": 1,
    }.items():
        solver.setOptionValue(name, value)
    return solver
