"""SLP for one level: divide everyone among targets so that little need flow to them (section IV).

1. Preliminary filters: the linear program on a sample, rounded; whoever the rounded filters do not
   cover is added to it, until nearly everyone is covered (Algorithm 1, see `docs/methods/slp.md`
   for where this departs from it and why).
2. Everyone goes to a target that covers them, by maximum flow, at the lowest load factor.

3. Filters are fitted to what each target got (section IV-C); the fitted boxes are pruned and
   everyone placed again while that saves bandwidth.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from meshwright.assignment.flow import Placement, place
from meshwright.assignment.slp.audience import Audience, Choice
from meshwright.assignment.slp.candidates import Boxes, candidate_boxes
from meshwright.assignment.slp.clusters import Cuts, grow_cuts
from meshwright.assignment.slp.program import Fraction, Program
from meshwright.assignment.slp.rounding import Sample, choice_of, complete, round_up
from meshwright.assignment.volume_kernel import box_volume, union_volume
from meshwright.problem.density import DensityTable

Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]

LOAD_STEP = 1.02  # how the load factor grows when not everyone finds a place
LEAST_BOXES = 100  # that a division of few targets may choose from
MOST_ROUNDS = 12  # of the linear program; what is uncovered then is covered by more boxes
MOST_UNCOVERED = 20_000  # that are looked at together when boxes are added for them


@dataclass(frozen=True, slots=True)
class Settings:
    """The sizes SLP works with; per target where it says so.

    The paper's are load_sample, clusters and epsilon.

    Parameters
    ----------
    load_sample
        Subscribers per target whose load the linear program counts.
    clusters
        Super-subscriptions per target, at most.
    boxes
        Candidate boxes per target, at most: fewer super-subscriptions are made until it holds.
    sample
        Subscribers per target that clusters are made of, and that boxes are pruned against.
    epsilon
        How much longer boxes become, along each axis, before it is asked who is covered.
    rest
        The share of uncovered subscribers that needs no further linear program.
    cover_rows
        Uncovered subscribers per target that are added to the linear program, at most.
    roundings
        How often the fractions are rounded.
    finalists
        Of the roundings, the best so many are tightened.
    tightenings
        How often filters are fitted and pruned again, at most.

    """

    load_sample: int = 10
    clusters: int = 5
    boxes: int = 3
    sample: int = 100
    epsilon: float = 0.1
    rest: float = 0.001
    cover_rows: int = 3
    roundings: int = 6
    finalists: int = 2
    tightenings: int = 8


class Everyone(Protocol):
    """All subscribers to be divided, in memory or on Spark."""

    @property
    def size(self) -> int:
        """How many there are."""

    def draw(self, count: int, seed: int) -> Audience:
        """Return a random sample."""

    def super_subscriptions(self, cuts: Cuts) -> Boxes:
        """Return the boxes around the clusters."""

    def uncovered(self, choice: Choice, most: int, seed: int) -> tuple[int, Audience]:
        """Return how many no target covers, and a random sample of them."""

    def groups(self, choice: Choice) -> tuple[Words, npt.NDArray[np.int64]]:
        """Return the distinct sets of targets that cover someone, and how many have each."""

    def fit(
        self, choice: Choice, placement: Placement, alpha: int, density: DensityTable
    ) -> tuple[Boxes, npt.NDArray[np.int32]]:
        """Return at most alpha boxes for each target around what it got, and whose each is."""


class Limits(NamedTuple):
    """What an answer must keep: `fair` is how many subscribers each target has at load factor 1."""

    fair: Floats
    alpha: int
    beta: float
    beta_max: float

    def room(self, factor: float, share: float = 1.0) -> npt.NDArray[np.int64]:
        """Return how many a target may have of everyone, or of a sample that is a share of them."""
        return np.floor(factor * share * self.fair * (1 + 1e-12)).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Division:
    """How everyone is divided: who covers whom, how many of each group go where, what fits them."""

    choice: Choice
    placement: Placement
    factor: float
    boxes: Boxes  # at most alpha per target, sorted by target
    owner: npt.NDArray[np.int32]
    bandwidth: float
    relaxed: Relaxed | None = None

    @property
    def rank(self) -> tuple[int, float]:
        """What a better division has less of: people without a place, then bandwidth."""
        return int(self.placement.left.sum()), self.bandwidth


def divide(
    everyone: Everyone,
    limits: Limits,
    density: DensityTable,
    settings: Settings,
    seed: int,
    tell: Callable[[float], None],
) -> Division:
    """Divide everyone among the targets; whoever finds no place is left out of the placement."""
    relaxed = relax(everyone, limits, density, settings, seed, tell)
    found = []
    for number, taken in enumerate(_roundings(everyone, relaxed, limits, settings, seed)):
        choice = choice_of(taken, relaxed.boxes).expanded(settings.epsilon)
        found.append(place_all(everyone, choice, limits, density))
        tell(0.6 + 0.2 * (number + 1) / settings.roundings)
    found.sort(key=lambda division: division.rank)
    best = found[0]
    for number, division in enumerate(found[: settings.finalists]):
        tight = tighten(everyone, division, relaxed.reference, limits, density, settings)
        best = min(best, tight, key=lambda division: division.rank)
        tell(0.8 + 0.2 * (number + 1) / settings.finalists)
    return replace(best, relaxed=relaxed)


class Relaxed(NamedTuple):
    """The linear program when nearly everyone is covered."""

    boxes: Boxes
    volume: Floats
    program: Program
    fraction: Fraction
    reference: Audience
    n_rows: int


def relax(
    everyone: Everyone,
    limits: Limits,
    density: DensityTable,
    settings: Settings,
    seed: int,
    tell: Callable[[float], None],
) -> Relaxed:
    """Solve the linear program, with more rows each time, until rounding it covers nearly all."""
    n = len(limits.fair)
    reference = everyone.draw(settings.sample * n, seed)
    boxes = _candidates(everyone, reference, settings, n)
    volumes = volumes_of(boxes, density)
    load_sample = everyone.draw(settings.load_sample * n, seed + 1)
    room = limits.beta * limits.fair * (load_sample.size / everyone.size)
    program = Program(boxes, volumes, load_sample, reference, room, limits.alpha)
    random = np.random.default_rng([seed, 1])
    n_rows = load_sample.size
    for round_ in range(MOST_ROUNDS):
        fraction = program.solve()
        tell(0.6 * (1 - 0.5 ** (round_ + 1)))
        choice = choice_of(round_up(fraction.share, n_rows, random), boxes)
        most = settings.cover_rows * n
        count, some = everyone.uncovered(choice.expanded(settings.epsilon), most, seed + 2 + round_)
        if count <= settings.rest * everyone.size:
            break
        program.add_cover(some)
        n_rows += some.size
    return Relaxed(boxes, volumes, program, fraction, reference, n_rows)


def _candidates(
    everyone: Everyone, reference: Audience, settings: Settings, n_targets: int
) -> Boxes:
    """Return the candidates of as many super-subscriptions as keep them within their number."""
    count = settings.clusters * n_targets
    most = max(settings.boxes * n_targets, LEAST_BOXES)
    while True:
        cuts = grow_cuts(reference.location, reference.low, reference.high, count)
        boxes = candidate_boxes(everyone.super_subscriptions(cuts))
        if len(boxes.low) <= most or cuts.n_clusters == 1:
            return boxes
        # Boxes grow a little faster than clusters; each try is a second beside minutes.
        count = max(1, int(cuts.n_clusters * min(0.9, most / len(boxes.low))))


def _roundings(
    everyone: Everyone, relaxed: Relaxed, limits: Limits, settings: Settings, seed: int
) -> Iterator[npt.NDArray[np.bool_]]:
    """Yield choices of boxes that cover everyone, each from a rounding of its own."""
    boxes, volume, sample = relaxed.boxes, relaxed.volume, relaxed.reference
    room = limits.room(limits.beta, sample.size / everyone.size)
    for number in range(settings.roundings):
        random = np.random.default_rng([seed, 2, number])
        taken = round_up(relaxed.fraction.share, relaxed.n_rows, random)
        taken = complete(taken, boxes, volume, sample)
        taken = cover_all(everyone, taken, boxes, volume, settings.epsilon)
        placed = Sample(sample, boxes, taken, room)
        placed.relieve(volume)
        placed.prune(volume, limits.alpha)
        yield cover_all(everyone, placed.taken, boxes, volume, settings.epsilon)


def cover_all(
    everyone: Everyone,
    taken: npt.NDArray[np.bool_],
    boxes: Boxes,
    volume: Floats,
    epsilon: float,
) -> npt.NDArray[np.bool_]:
    """Return the boxes taken and what else it takes so that everyone is covered."""
    while True:
        choice = choice_of(taken, boxes).expanded(epsilon)
        count, some = everyone.uncovered(choice, MOST_UNCOVERED, 0)
        if count == 0:
            return taken
        taken = complete(taken, boxes, volume, some)


def place_all(
    everyone: Everyone, choice: Choice, limits: Limits, density: DensityTable
) -> Division:
    """Place everyone by maximum flow, at a load factor that grows from beta to beta_max."""
    masks, counts = everyone.groups(choice)
    placement = None
    for factor in factors(limits.beta, limits.beta_max):
        placement = place(masks, counts, limits.room(factor), placement)
        if placement.complete:
            break
    assert placement is not None
    boxes, owner = everyone.fit(choice, placement, limits.alpha, density)
    return Division(choice, placement, factor, boxes, owner, _bandwidth(boxes, owner, density))


def tighten(
    everyone: Everyone,
    division: Division,
    sample: Audience,
    limits: Limits,
    density: DensityTable,
    settings: Settings,
) -> Division:
    """Return a division no worse: filters as they are now fitted, those given up that can be.

    The boxes fitted to what targets got are smaller than the candidates and hold more than they
    were made for, so that some can be spared and their subscribers go elsewhere; again, until
    nothing is gained.
    """
    n = len(limits.fair)
    room = limits.room(division.factor, sample.size / everyone.size)
    if division.placement.left.any():
        return division  # its boxes do not hold everyone
    for _ in range(settings.tightenings):
        boxes, owner = division.boxes, division.owner
        taken = np.zeros((n, len(owner)), np.bool_)
        taken[owner, np.arange(len(owner))] = True
        placed = Sample(sample, boxes, taken, room)
        volume = volumes_of(boxes, density)
        placed.prune(volume, limits.alpha)
        kept = cover_all(everyone, placed.taken, boxes, volume, 0.0)
        if (kept == taken).all():
            return division
        other = place_all(everyone, choice_of(kept, boxes), limits, density)
        if other.rank >= division.rank:
            return division
        division = other
    return division


def factors(beta: float, beta_max: float) -> Iterator[float]:
    """Yield the load factors that are tried: beta, 2% more each, and beta_max."""
    factor = beta
    while factor < beta_max:
        yield factor
        factor *= LOAD_STEP
    yield beta_max


def volumes_of(boxes: Boxes, density: DensityTable) -> Floats:
    """Return the volume of each box, or its share of events."""
    corners = zip(*boxes, strict=True)
    return np.array([box_volume(low, high, *density) for low, high in corners], np.float64)


def _bandwidth(boxes: Boxes, owner: npt.NDArray[np.int32], density: DensityTable) -> float:
    """Return the volume of the owners' filters, each a union of boxes; rows are sorted by owner."""
    starts = np.unique(owner, return_index=True)[1].tolist()
    return sum(
        float(union_volume(boxes.low[first:last], boxes.high[first:last], *density))
        for first, last in itertools.pairwise([*starts, len(owner)])
    )
