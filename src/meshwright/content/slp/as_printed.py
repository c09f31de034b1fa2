"""SLP for one level as the paper prints it: Algorithm 1, for small problems in memory.

Yu, Agarwal, Yang (ICDE 2011), section IV. Each round draws a sample by weight and a new load
sample, makes new candidates and solves a new linear program, with (C3) as a hard limit. Subscribers
that the rounded filters leave uncovered get twice the weight. The size g, from which that of the
sample follows, doubles when its rounds are used up. `one_level` needs far fewer programs.

Three points are not in the paper. Clusters are those of `candidates`, because the paper leaves its
own to a report. An interval over the whole axis is among the candidates, as without it no box holds
subscriptions longer than half of the axis. And we end with an error after `MOST_PROGRAMS`.
"""

import math
from typing import NamedTuple

import numpy as np

from meshwright.content.boxes import Boxes, box_volumes
from meshwright.content.slp.candidates import candidate_boxes, grow_splits
from meshwright.content.slp.members import Members, Partition, super_subscriptions
from meshwright.content.slp.one_level import OneLevel, Solved
from meshwright.content.slp.program import Fraction, HardProgram
from meshwright.content.slp.rounding import filters_of, round_up
from meshwright.content.subscribers import InMemory
from meshwright.errors import SolverError
from meshwright.runtime.arrays import Bools, Longs

FIRST_SIZE = 4  # g at first
SAMPLE_FACTOR = 10  # a sample has 10 g ln g subscribers
ROUND_FACTOR = 4  # and 4 g ln(|S| / g) rounds
INFEASIBLE = ("Infeasible", "Primal infeasible or unbounded")  # how the solver says so
MOST_PROGRAMS = 2000  # ours: 100 subscribers and 5 brokers take 1 to 60


class Rounded(NamedTuple):
    """A linear program and the boxes that its rounding takes; they cover the program's sample."""

    boxes: Boxes
    fraction: Fraction
    taken: Bools  # bool[n_targets, n_boxes]


class Draws:
    """The random numbers of one run, and how many programs it has solved."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng([seed, 3])
        self.n_programs = 0


class AsPrinted(OneLevel):
    """Divides members among targets as the paper prints it."""

    __slots__ = ()

    def divide(self) -> tuple[Partition, Solved]:
        """Return a division of all members; those that find no place have no target."""
        draws = Draws(self.seed)
        found = self.filter_assign(draws)
        wide = filters_of(found.taken, found.boxes, self.settings.epsilon)
        division = self.place(wide)
        value = found.fraction.value
        return division.partition, Solved(value, 0.0, draws.n_programs, 0, found.boxes.size)

    def filter_assign(self, draws: Draws) -> Rounded:
        """FilterAssign of Algorithm 1: filters whose expansion covers all members."""
        members, epsilon = self._members, self.settings.epsilon
        n, size = members.size, FIRST_SIZE
        while size <= max(n, FIRST_SIZE):
            weight = np.ones(n)
            for _ in range(max(1, int(ROUND_FACTOR * size * math.log(max(n / size, 2.0))))):
                while True:
                    count = min(int(SAMPLE_FACTOR * size * math.log(size)), n)
                    shares = weight / weight.sum()
                    sample = draws.random.choice(n, count, replace=False, p=shares)
                    found = self.assign_to_sample(sample, draws)
                    if not self._violated(found, epsilon).any():
                        return found
                    left = self._violated(found, 0.0)
                    if weight[left].sum() <= epsilon * weight.sum():
                        break
                weight[left] *= 2.0
            size *= 2
        raise SolverError(
            "Algorithm 1 found no filters that cover all subscribers, with samples of up to all of "
            "them. Try another --seed, or --method slp.",
            "no filters",
        )

    def assign_to_sample(self, sample: Longs, draws: Draws) -> Rounded:
        """FilterAssignHelper: solve and round a program of a sample, with new load samples."""
        members = self._members
        n, count = members.size, self.settings.load_sample * len(self.fair)
        for _ in range(int(math.log(n)) + 1):
            load = draws.random.choice(n, min(count, n), replace=False)
            both = members.pick(np.union1d(load, sample))
            boxes = self._boxes_for(both)
            fraction = self._solve(boxes, members.pick(np.sort(load)), both, draws)
            if fraction is not None:
                return self._round(boxes, fraction, both, draws)
        raise SolverError(
            f"Algorithm 1 drew {int(math.log(n)) + 1} load samples, and the linear program of each "
            "is infeasible: beta leaves too little room. Raise --beta, or use --method slp.",
            "infeasible",
        )

    @property
    def _members(self) -> Members:
        """All members; they are in memory."""
        return self.table.rows  # type: ignore[union-attr]

    def _boxes_for(self, sample: Members) -> Boxes:
        """FilterGen: the candidates of a sample."""
        count = self.settings.clusters * len(self.fair)
        splits = grow_splits(sample.location, sample.low, sample.high, count)
        return candidate_boxes(super_subscriptions(InMemory(sample), splits))

    def _solve(self, boxes: Boxes, load: Members, both: Members, draws: Draws) -> Fraction | None:
        """LPRelax, its linear program; None if it is infeasible."""
        if draws.n_programs == MOST_PROGRAMS:
            raise SolverError(
                f"Algorithm 1 solved {MOST_PROGRAMS:,} linear programs without an end. "
                "Use --method slp, which needs a few.",
                "too many programs",
            )
        draws.n_programs += 1
        room = self.problem.beta * self.fair * (load.size / self.table.size)
        volumes = box_volumes(boxes, self.problem.density_table)
        program = HardProgram(boxes, volumes, load, both, room, self.problem.alpha)
        # A row over y alone stands for the x of a subscriber whose load does not count.
        program.add_cover(both)
        try:
            return program.solve()
        except SolverError as error:
            if error.status in INFEASIBLE:
                return None
            raise

    def _round(self, boxes: Boxes, fraction: Fraction, both: Members, draws: Draws) -> Rounded:
        """LPRelax, its rounding: repeated until it covers the sample."""
        while True:
            taken = round_up(fraction.share, both.size, draws.random)
            if filters_of(taken, boxes, 0.0).covering(both).any(axis=1).all():
                return Rounded(boxes, fraction, taken)

    def _violated(self, found: Rounded, epsilon: float) -> Bools:
        """Violate: the members that no target covers, with boxes longer by a share epsilon."""
        filters = filters_of(found.taken, found.boxes, epsilon)
        return np.asarray(~filters.covering(self._members).any(axis=1))
