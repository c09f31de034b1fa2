"""The linear program of complete overlays, for small instances: the best prices there are.

Minimise the sum of x over all pairs such that for every topic and every partition of its members
into k parts, the pairs between parts sum to at least k - 1. There are too many partitions to write
down, so the program starts with single nodes and adds partitions that its solution violates
(Grötschel, Monma, Stoer, "Computational Results with a Cutting Plane Algorithm for Designing
Communication Networks with Low-Connectivity Constraints", Operations Research, 1992). The bound is
not the solver's: its dual values become shares of prices, and the trees under these are added up
in whole numbers.
"""

from __future__ import annotations

import time
from typing import Any

import highspy
import numpy as np

from meshwright.model.instance import Instance
from meshwright.overlay.bounds.kernels import partitions as kernel
from meshwright.overlay.bounds.kernels.price_trees import UNIT
from meshwright.overlay.bounds.prices import Effort, PriceBound, PriceTrees, make_table
from meshwright.runtime.arrays import Floats, Ints, Longs

VIOLATED = 1e-4  # by how much a solution must violate a partition for the partition to count


class CutProgram:
    """The program with the partitions found so far."""

    def __init__(
        self,
        instance: Instance,
        *,
        max_degree: Ints | None = None,
        allowed: Ints | None = None,
    ) -> None:
        """Begin; `max_degree` int32[n] limits links, `allowed` are the pairs to choose from."""
        table = make_table(instance)
        self.topics = distinct_topics(table.topic_ptr, table.nodes)  # members of each
        self.pairs = pairs_in_topics(self.topics) if allowed is None else allowed
        n = instance.n_nodes
        self._column = np.full((n, n), -1, np.int32)  # of each pair
        self._column[self.pairs[:, 0], self.pairs[:, 1]] = np.arange(len(self.pairs))
        self._column = np.maximum(self._column, self._column.T)
        self.rows: list[tuple[int, Ints]] = []  # topic, and the part of each member
        self._solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        for name, value in (("output_flag", False), ("threads", 1), ("random_seed", 1)):
            self._solver.setOptionValue(name, value)
        self._add_columns()
        self._n_degree_rows = 0
        if max_degree is not None:
            self._add_degrees(max_degree)
        for topic, members in enumerate(self.topics):
            self.add_row(topic, np.arange(len(members), dtype=np.int32))
            for k in range(len(members) if len(members) > 2 else 0):
                self.add_row(topic, (np.arange(len(members)) == k).astype(np.int32))

    def _add_columns(self) -> None:
        n = len(self.pairs)
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = n, 0
        model.col_cost_ = np.ones(n)
        model.col_lower_, model.col_upper_ = np.zeros(n), np.ones(n)
        self._solver.passModel(model)

    def make_whole(self) -> None:
        """Let links be 0 or 1, and nothing between."""
        n = len(self.pairs)
        kinds = np.full(n, int(highspy.HighsVarType.kInteger), np.uint8)
        self._solver.changeColsIntegrality(n, np.arange(n, dtype=np.int32), kinds)

    def _add_degrees(self, max_degree: Ints) -> None:
        for node in range(len(self._column)):
            columns = self._column[node][self._column[node] >= 0]
            if len(columns) > max_degree[node]:
                self._add(-highspy.kHighsInf, float(max_degree[node]), columns)
                self._n_degree_rows += 1

    def add_row(self, topic: int, part: Ints) -> None:
        """Add that the pairs between the parts of a topic's members join the parts."""
        members = self.topics[topic]
        crosses = np.triu(part[:, None] != part[None, :], 1)
        i, j = np.nonzero(crosses)
        columns = self._column[members[i], members[j]]
        n_parts = len(np.unique(part))
        self._add(n_parts - 1.0, highspy.kHighsInf, columns[columns >= 0])
        self.rows.append((topic, part))

    def _add(self, low: float, high: float, columns: Ints) -> None:
        self._solver.addRow(
            low, high, len(columns), columns.astype(np.int32), np.ones(len(columns))
        )

    def solve(self, seconds: float | None = None) -> tuple[Floats, bool]:
        """Return the solution and whether it is optimal; raise if there is none."""
        if seconds is not None:
            spent = self._solver.getRunTime()  # the limit counts all runs of this solver
            self._solver.setOptionValue("time_limit", spent + max(seconds, 0.01))
        self._solver.run()
        status = self._solver.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:
            raise InfeasibleProgramError
        solution: Floats = np.array(self._solver.getSolution().col_value)
        return solution, status == highspy.HighsModelStatus.kOptimal

    def lower_bound(self) -> float:
        """Return what the solver has proved of the objective, for whole links."""
        return float(self._solver.getInfo().mip_dual_bound)

    def duals(self) -> Floats:
        """Return the dual values of the partitions."""
        values: Floats = np.array(self._solver.getSolution().row_dual)
        return np.maximum(values[self._n_degree_rows :], 0.0)

    def add_violated(self, solution: Floats) -> int:
        """Add the partitions that a solution violates; return how many."""
        found: list[tuple[int, Ints]] = []
        for topic, members in enumerate(self.topics):
            if len(members) < 3:
                continue
            columns = self._column[np.ix_(members, members)]
            use = np.where(columns >= 0, solution[columns], 0.0)
            parts = kernel.violated_partitions(use, VIOLATED)
            found += [(topic, part) for part in parts]
        for topic, part in found:
            self.add_row(topic, part)
        return len(found)


class InfeasibleProgramError(Exception):
    """No links satisfy the program."""


def bound_by_program(instance: Instance, effort: Effort, target: int) -> PriceBound:
    """Return the fewest links of complete overlays by the program's dual values.

    Each round adds violated partitions; the bound rises until none is violated.
    """
    program, least, rounds = CutProgram(instance), 0, 0
    trees = PriceTrees(make_table(instance))
    while not effort.is_over(rounds):
        left = None if effort.deadline is None else effort.deadline - time.monotonic()
        solution, is_optimal = program.solve(left)
        if not is_optimal:
            break
        rounds += 1
        least = max(least, bound_by_duals(instance, program, trees))
        if least >= target or program.add_violated(solution) == 0:
            break
    return PriceBound(least, np.iinfo(np.int64).max, rounds)


def bound_by_duals(instance: Instance, program: CutProgram, trees: PriceTrees) -> int:
    """Return the fewest links by the trees under the program's dual values."""
    table = trees.table
    table.share[:] = 0
    first_of: dict[bytes, int] = {}  # equal topics count once: one of them has all the shares
    for topic in range(instance.n_topics):
        members = table.nodes[table.topic_ptr[topic] : table.topic_ptr[topic + 1]]
        first_of.setdefault(members.tobytes(), topic)
    sums = {topic: np.zeros((len(m),) * 2) for topic, m in enumerate(program.topics)}
    for (topic, part), dual in zip(program.rows, program.duals(), strict=True):
        if dual > 0:
            sums[topic] += dual * (part[:, None] != part[None, :])
    for topic, members in enumerate(program.topics):
        real = first_of[members.tobytes()]
        low = np.tril_indices(len(members), -1)  # row j, columns i < j: as in the table
        shares = np.floor(np.minimum(sums[topic][low], 1.0) * UNIT).astype(np.int32)
        table.share[table.first[real] : table.first[real + 1]] = shares
    _repair_shares(trees)
    total = trees.grow(np.ones(trees.n_nodes, np.int64))
    return -(-total // (2 * UNIT))


def _repair_shares(trees: PriceTrees) -> None:
    """Lower the shares of pairs whose sum exceeds a whole price by an error of the solver."""
    kernel.lower_excess(
        trees.table, np.empty(int(np.diff(trees.table.indptr).max(initial=0)), np.int64)
    )


def distinct_topics(topic_ptr: Longs, nodes: Ints) -> list[Ints]:
    """Return the members of each topic with at least two, equal sets once."""
    found: dict[bytes, Ints] = {}
    for topic in range(len(topic_ptr) - 1):
        members = nodes[topic_ptr[topic] : topic_ptr[topic + 1]]
        if len(members) > 1:
            found.setdefault(members.tobytes(), members)
    return list(found.values())


def pairs_in_topics(topics: list[Ints]) -> Ints:
    """Return the pairs u < v with a common topic, int32[n, 2], rising."""
    pairs = [np.column_stack((m[i], m[j])) for m in topics for i, j in [np.triu_indices(len(m), 1)]]
    if not pairs:
        return np.empty((0, 2), np.int32)
    found: Ints = np.unique(np.concatenate(pairs), axis=0).astype(np.int32)
    return found
