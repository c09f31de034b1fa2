"""SLP for one level: divide members among targets at little bandwidth (section IV).

1. Preliminary filters: solve the linear program on a sample and round it; add members that the
   rounded filters do not cover to the program, until nearly all are covered (Algorithm 1; see
   `docs/methods/slp.md` for the differences and the reasons).
2. Every member goes to a target that covers it, by maximum flow, at the lowest load factor.
3. Filters are fitted to the members of each target (section IV-C). The fitted boxes are pruned and
   all members placed again while that saves bandwidth.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from meshwright.content.boxes import Boxes, box_volumes
from meshwright.content.kernels.volume import union_volume
from meshwright.content.methods.flow import place
from meshwright.content.slp import members
from meshwright.content.slp.candidates import candidate_boxes, grow_splits
from meshwright.content.slp.members import Members, MemberTable, Partition, TargetFilters
from meshwright.content.slp.program import Fraction, Program
from meshwright.content.slp.rounding import PlacedSample, complete, filters_of, round_up
from meshwright.errors import InputError
from meshwright.model.problem import ProblemSummary
from meshwright.runtime.arrays import Bools, Floats, Ints, Longs
from meshwright.runtime.progress import ProgressCallback

LOAD_STEP = 1.02  # growth of the load factor while some members find no place
LEAST_BOXES = 100  # candidates that a division among few targets may choose from
MOST_ROUNDS = 12  # of the linear program; members uncovered then are covered by more boxes
MOST_UNCOVERED = 20_000  # members that are covered together when boxes are added for them


@dataclass(frozen=True, slots=True)
class Settings:
    """The parameters of SLP; load_sample, clusters and epsilon have the paper's values."""

    load_sample: int = 10  # subscribers per target whose load the linear program counts
    clusters: int = 5  # super-subscriptions per target, at most
    boxes: int = 3  # candidates per target, at most; fewer super-subscriptions are made to keep it
    sample: int = 100  # subscribers per target that clusters and pruned boxes are made for
    epsilon: float = 0.1  # share by which boxes are made longer before coverage is tested
    rest: float = 0.001  # share of uncovered subscribers that needs no further linear program
    cover_rows: int = 3  # uncovered subscribers per target that are added to it, at most
    roundings: int = 6  # of the fractional solution
    finalists: int = 2  # best roundings that are tightened
    tightenings: int = 8  # times that filters are fitted and pruned again, at most
    threshold: float = 0.0  # share of a child's leaves in time that makes the child so; 0: one leaf

    def __post_init__(self) -> None:
        if not 0.0 <= self.threshold <= 1.0:
            raise InputError(
                f"--threshold is {self.threshold}; give a share of leaves, from 0 to 1."
            )


class Relaxed(NamedTuple):
    """The linear program when nearly all members are covered."""

    boxes: Boxes
    volume: Floats  # float64[n_boxes]
    program: Program
    fraction: Fraction
    reference: Members  # the sample that boxes are made for
    n_rows: int  # members that the program has rows of


class Solved(NamedTuple):
    """The linear programs of one division."""

    value: float  # of the last one
    overload: float  # subscribers of its load sample that no target has room for
    n_programs: int
    n_cover_rows: int
    n_boxes: int  # candidates of the last one


class Division(NamedTuple):
    """A division of all members among targets, and the boxes that fit it."""

    partition: Partition
    factor: float  # the load factor that it keeps
    boxes: Boxes  # at most alpha per target, sorted by target
    owner: Ints  # the target of each box
    rank: tuple[int, float]  # smaller is better: members without a place, then bandwidth


@dataclass(frozen=True, slots=True)
class OneLevel:
    """Divides a table of members among targets, within the limits of a problem."""

    problem: ProblemSummary
    table: MemberTable
    fair: Floats  # float64[n_targets], the load of each target at load factor 1
    settings: Settings
    seed: int
    on_progress: ProgressCallback

    def divide(self) -> tuple[Partition, Solved]:
        """Return the best division found; members that find no place have no target."""
        relaxed = self.relax()
        found = []
        for number, taken in enumerate(self._roundings(relaxed)):
            found.append(self.place(filters_of(taken, relaxed.boxes, self.settings.epsilon)))
            self.on_progress(0.6 + 0.2 * (number + 1) / self.settings.roundings)
        found.sort(key=attrgetter("rank"))
        best = found[0]
        for number, division in enumerate(found[: self.settings.finalists]):
            tight = self._tighten(division, relaxed.reference)
            best = min(best, tight, key=attrgetter("rank"))
            self.on_progress(0.8 + 0.2 * (number + 1) / self.settings.finalists)
        program, fraction = relaxed.program, relaxed.fraction
        counts = program.n_solved, program.n_cover_rows, relaxed.boxes.size
        return best.partition, Solved(fraction.value, fraction.overload, *counts)

    def relax(self) -> Relaxed:
        """Solve the linear program, with more rows each time, until rounding covers nearly all."""
        settings, seed, n = self.settings, self.seed, len(self.fair)
        reference = members.draw(self.table, settings.sample * n, seed)
        boxes = self._candidates(reference)
        volumes = box_volumes(boxes, self.problem.density_table)
        load_sample = members.draw(self.table, settings.load_sample * n, seed + 1)
        room = self.problem.beta * self.fair * (load_sample.size / self.table.size)
        program = Program(boxes, volumes, load_sample, reference, room, self.problem.alpha)
        random = np.random.default_rng([seed, 1])
        n_rows = load_sample.size
        for round_ in range(MOST_ROUNDS):
            fraction = program.solve()
            self.on_progress(0.6 * (1 - 0.5 ** (round_ + 1)))
            taken = round_up(fraction.share, n_rows, random)
            filters, most = filters_of(taken, boxes, settings.epsilon), settings.cover_rows * n
            count, some = members.uncovered(self.table, filters, most, seed + 2 + round_)
            if count <= settings.rest * self.table.size:
                break
            program.add_cover(some)
            n_rows += some.size
        return Relaxed(boxes, volumes, program, fraction, reference, n_rows)

    def _room(self, factor: float, share: float = 1.0) -> Longs:
        """Return the largest load of each target, of all members or of a sample of that share."""
        return np.floor(factor * share * self.fair * (1 + 1e-12)).astype(np.int64)

    def _candidates(self, reference: Members) -> Boxes:
        """Return candidate boxes, of fewer super-subscriptions if there would be too many boxes."""
        n_targets = len(self.fair)
        count = self.settings.clusters * n_targets
        most = max(self.settings.boxes * n_targets, LEAST_BOXES)
        while True:
            splits = grow_splits(reference.location, reference.low, reference.high, count)
            boxes = candidate_boxes(members.super_subscriptions(self.table, splits))
            if boxes.size <= most or splits.n_clusters == 1:
                return boxes
            # Boxes grow a little faster than clusters; a try takes about a second, a run minutes.
            count = max(1, int(splits.n_clusters * min(0.9, most / boxes.size)))

    def _roundings(self, relaxed: Relaxed) -> Iterator[Bools]:
        """Yield selections of boxes that cover all members, each from its own rounding.

        A selection says which boxes each target takes, bool[n_targets, n_boxes].
        """
        boxes, volume, sample = relaxed.boxes, relaxed.volume, relaxed.reference
        room = self._room(self.problem.beta, sample.size / self.table.size)
        for number in range(self.settings.roundings):
            random = np.random.default_rng([self.seed, 2, number])
            taken = round_up(relaxed.fraction.share, relaxed.n_rows, random)
            taken = complete(taken, boxes, volume, sample)
            taken = self._cover_all(taken, boxes, volume, self.settings.epsilon)
            placed = PlacedSample(sample, boxes, taken, room)
            placed.relieve(volume)
            placed.prune(volume, self.problem.alpha)
            yield self._cover_all(placed.taken, boxes, volume, self.settings.epsilon)

    def _cover_all(self, taken: Bools, boxes: Boxes, volume: Floats, epsilon: float) -> Bools:
        """Return the boxes taken, bool[n_targets, n_boxes], and those needed to cover all members.

        Each pass over the table covers some more; together the boxes cover everyone.
        """
        while True:
            filters = filters_of(taken, boxes, epsilon)
            count, some = members.uncovered(self.table, filters, MOST_UNCOVERED, seed=0)
            if count == 0:
                return taken
            taken = complete(taken, boxes, volume, some)

    def place(self, filters: TargetFilters) -> Division:
        """Place all members by maximum flow, at a load factor that grows from beta to beta_max."""
        problem, density = self.problem, self.problem.density_table
        cells = members.count_cells(self.table, filters.covering, filters.boxes.low.shape[1])
        factor, placement = problem.beta, None
        while True:
            placement = place(cells.masks, cells.members, self._room(factor), placement)
            if placement.complete or factor >= problem.beta_max:
                break
            factor = min(factor * LOAD_STEP, problem.beta_max)
        partition = members.partition_by(self.table, cells, placement, len(self.fair))
        loads, alpha = partition.loads, problem.alpha
        boxes, owner = self.table.fit(partition.target_of, loads, alpha, density)
        corners = boxes.corners
        volumes = [union_volume(corners[owner == target], density) for target in np.unique(owner)]
        return Division(partition, factor, boxes, owner, (partition.n_left, float(sum(volumes))))

    def _tighten(self, division: Division, sample: Members) -> Division:
        """Prune the fitted boxes and place all again while that makes a better division.

        Boxes fitted to the members of a target are smaller than the candidates, and hold more than
        these members, so some can be dropped and their members go elsewhere.
        """
        room = self._room(division.factor, sample.size / self.table.size)
        if division.partition.n_left:
            return division  # its boxes do not hold all members
        for _ in range(self.settings.tightenings):
            boxes, owner = division.boxes, division.owner
            taken = np.zeros((len(self.fair), len(owner)), np.bool_)
            taken[owner, np.arange(len(owner))] = True
            placed = PlacedSample(sample, boxes, taken, room)
            volume = box_volumes(boxes, self.problem.density_table)
            placed.prune(volume, self.problem.alpha)
            kept = self._cover_all(placed.taken, boxes, volume, 0.0)
            if (kept == taken).all():
                return division
            other = self.place(filters_of(kept, boxes, 0.0))
            if other.rank >= division.rank:
                return division
            division = other
        return division
