"""Workload set 1: regions, and interests in a hierarchy of groups, like Google Groups.

Paper 5, section VI; the constants are those of docs/content.md and are not to be tuned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meshwright.problem.draws import (
    BELL,
    BROKERS,
    Drawn,
    Floats,
    bells,
    pick,
    random_order,
    uniforms,
    zipf,
)

REGIONS = ("Asia", "North America", "Europe")
SHARES = (4, 1, 4)
CENTRES = np.array([(-50, 140, 0, 0, 0), (0, 0, 0, 0, 0), (90, 0, 0, 0, 0)], np.float64)
SPREAD = 8.0  # milliseconds per dimension
N_PLACE = BELL * CENTRES.shape[1]  # uniform numbers that make a place

SIDE = 1000.0  # of the event space
CELLS = (4, 12, 36)  # per side: categories, subcategories, groups
GROUPS = CELLS[-1] ** 2
SKEW = {"low": 0.5, "high": 1.0}  # Zipf exponent of the groups
# Shares of interests in a group, a subcategory, a category.
BREADTH = {"low": (0.95, 0.04, 0.01), "high": (0.75, 0.20, 0.05)}
SHARED = 0.5  # how many choose from the ranking that all regions share
NARROWEST = 0.4  # least side of a box, of its cell


@dataclass(frozen=True)
class Set1:
    """The tables of one seed; `subscribers` draws from them."""

    seed: int
    groups: Floats  # cumulative shares of the ranks
    breadth: Floats  # cumulative shares of the levels, groups first
    rankings: npt.NDArray[np.int64]  # row 0 shared, then one per region: the group of each rank

    @classmethod
    def of(cls, seed: int, *, skew: str, broad: str) -> Set1:
        """Return the tables of a seed."""
        rankings = [random_order(seed, table, GROUPS) for table in range(1 + len(REGIONS))]
        breadth = np.cumsum(BREADTH[broad])
        breadth[-1] = 1.0
        return cls(seed, zipf(GROUPS, SKEW[skew]), breadth, np.stack(rankings))

    @property
    def publisher(self) -> Floats:
        """Where the publisher is: amid the regions."""
        return np.asarray(CENTRES.mean(axis=0))

    def brokers(self, n: int) -> Floats:
        """Return the places of n brokers, by quota of the regions."""
        region = np.repeat(np.arange(len(REGIONS)), quotas(n))
        u = uniforms(self.seed, BROKERS, n, N_PLACE)
        return np.asarray(CENTRES[region] + bells(u, SPREAD))

    def subscribers(self, first: int, count: int) -> Drawn:
        """Return some subscribers by id."""
        u = uniforms(self.seed, first, count, N_PLACE + 8)
        place, u = u[:, :N_PLACE], u[:, N_PLACE:]
        region = pick(np.cumsum(SHARES) / sum(SHARES), u[:, 0])
        location = CENTRES[region] + bells(place, SPREAD)
        ranking = np.where(u[:, 1] < SHARED, 0, 1 + region)
        group = self.rankings[ranking, pick(self.groups, u[:, 2])]
        level = len(CELLS) - 1 - pick(self.breadth, u[:, 3])
        cells = np.array(CELLS)[level]
        cell_side = (SIDE / cells)[:, None]
        # The cell of the group, or the one around it at the level drawn.
        at = np.stack((group // CELLS[-1], group % CELLS[-1]), axis=1)
        at = at * cells[:, None] // CELLS[-1]
        side = cell_side * (NARROWEST + (1.0 - NARROWEST) * u[:, 4:6])
        low = at * cell_side + (cell_side - side) * u[:, 6:8]
        return Drawn(location, low, low + side)


def quotas(n: int) -> list[int]:
    """Return how many of n brokers each region gets: the largest remainders are rounded up.

    Examples
    --------
    >>> quotas(100), quotas(200), quotas(1)
    ([45, 11, 44], [89, 22, 89], [1, 0, 0])

    """
    total = sum(SHARES)
    whole = [n * share // total for share in SHARES]
    by_rest = sorted(range(len(SHARES)), key=lambda i: (-(n * SHARES[i] % total), i))
    for i in by_rest[: n - sum(whole)]:
        whole[i] += 1
    return whole
