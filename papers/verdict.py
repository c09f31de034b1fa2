"""The rule of the verdicts.

A number holds within 5% of the paper's and is close within 20%. A limit holds if it is kept and is
close if it is missed by at most 20%.

An ordering is a set of points, each with a larger and a smaller side. A point is kept if the larger
side is at least the smaller, and tied if it is short by at most twice the standard error of the
difference over the seeds. An ordering that is reversed on average, or at most points (ties
included), differs, however short the distance. Otherwise it holds if every point is kept or tied
and more than half are kept, and it is close if four points in five are kept or tied and no other
is short by more than 20%.

Below the paper's size, or on fewer than five seeds, nothing holds: it is close at best.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from papers.model import FULL_SEEDS, Claim, Finding, Limit, Number, Rows

HOLDS, CLOSE, DIFFERS, NOT_RUN = "holds", "close", "differs", "not run"
VERDICTS = (HOLDS, CLOSE, DIFFERS, NOT_RUN)
WITHIN_HOLDS, WITHIN_CLOSE = 0.05, 0.20
MOST = 0.8  # of the points of an ordering that is close
STANDARD_ERRORS = 2  # by which the means of a tie may be reversed
DIGITS = 6  # kept of each number; means of equal numbers may differ in the last digit
ROUNDING = 1e-5  # of a distance between numbers with so many digits


class Point(NamedTuple):
    """A point of an ordering: the side that should be larger, the other, and their noise."""

    larger: float
    smaller: float
    noise: float = 0.0  # standard error of the difference, over the seeds

    @property
    def kept(self) -> bool:
        """Whether the larger side is at least the smaller."""
        return self.larger >= self.smaller

    @property
    def tied(self) -> bool:
        """Whether the sides are reversed by no more than the noise of the seeds."""
        return not self.kept and self.smaller - self.larger <= STANDARD_ERRORS * self.noise

    @property
    def excess(self) -> float:
        """The difference as a share of the side that is larger in size; negative if reversed."""
        size = max(abs(self.larger), abs(self.smaller))
        return (self.larger - self.smaller) / size if size else 0.0


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a verdict is decided by: a number, a limit or the points of an ordering."""

    number: Number | None = None
    limit: Limit | None = None
    points: tuple[Point, ...] = ()


def weigh(claim: Claim, rows: Rows, by_seed: Sequence[Rows]) -> tuple[Finding, Evidence] | None:
    """Return the finding of a claim with the noise of its points, or None if it was not run.

    Parameters
    ----------
    by_seed
        The rows of each seed, for the noise.
    """
    finding = claim.find(rows)
    if finding is None:
        return None
    number, limit = finding.number, finding.limit
    if number is not None:
        number = Number(_rounded(number.ours), number.paper, number.base)
    if limit is not None:
        limit = Limit(_rounded(limit.larger), _rounded(limit.smaller), limit.base)
    noise = _noise(claim, len(finding.pairs), by_seed)
    points = tuple(
        Point(*map(_rounded, (*pair, one))) for pair, one in zip(finding.pairs, noise, strict=True)
    )
    return finding, Evidence(number, limit, points)


def _noise(claim: Claim, n_points: int, by_seed: Sequence[Rows]) -> list[float]:
    """Return the standard error of each point's difference; 0 where it cannot be known."""
    findings = [claim.find(rows) for rows in by_seed] if n_points else []
    pairs = [() if found is None else found.pairs for found in findings]
    if len(pairs) < FULL_SEEDS or any(len(one) != n_points for one in pairs):
        return [0.0] * n_points
    return [
        statistics.stdev(large - small for large, small in seeds) / math.sqrt(len(seeds))
        for seeds in zip(*pairs, strict=True)
    ]


def _rounded(x: float) -> float:
    return float(f"{x:.{DIGITS}g}")


def verdict(evidence: Evidence | None, *, at_paper_size: bool, enough_seeds: bool = True) -> str:
    """Return the verdict on a claim.

    Examples
    --------
    >>> verdict(Evidence(Number(0.97, 1.0)), at_paper_size=True)
    'holds'
    >>> verdict(Evidence(Number(0.97, 1.0)), at_paper_size=False)
    'close'
    >>> verdict(Evidence(points=(Point(0.99, 1.0), Point(0.99, 1.0))), at_paper_size=True)
    'differs'
    """
    if evidence is None:
        return NOT_RUN
    if evidence.number is not None:
        off = _off(evidence.number)
        found = _by_distance(off, holds=off <= WITHIN_HOLDS + ROUNDING)
    elif evidence.limit is not None:
        lack = _lack(evidence.limit)
        found = _by_distance(lack, holds=lack == 0.0)
    else:
        found = _by_points(evidence.points)
    return CLOSE if found == HOLDS and not (at_paper_size and enough_seeds) else found


def _by_distance(distance: float, *, holds: bool) -> str:
    if holds:
        return HOLDS
    return CLOSE if distance <= WITHIN_CLOSE + ROUNDING else DIFFERS


def _by_points(points: Sequence[Point]) -> str:
    kept = sum(point.kept for point in points)
    tied = sum(point.tied for point in points)
    on_average = math.fsum(point.excess for point in points)
    if on_average < 0 or 2 * kept < len(points) or kept + tied < MOST * len(points):
        return DIFFERS
    if kept + tied == len(points) and 2 * kept > len(points):
        return HOLDS
    short = max(0.0 if point.tied else -point.excess for point in points)
    return CLOSE if short <= WITHIN_CLOSE + ROUNDING else DIFFERS


def _off(number: Number) -> float:
    """Return the distance from the paper's number, as a share of it or of the base."""
    return abs(number.ours - number.paper) / max(abs(number.paper), number.base)


def _lack(limit: Limit) -> float:
    """Return by how much a limit is missed, as a share of its smaller side or of the base."""
    if limit.larger >= limit.smaller:
        return 0.0
    size = max(abs(limit.smaller), limit.base)
    return (limit.smaller - limit.larger) / size if size else 1.0
