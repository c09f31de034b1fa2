"""Workload set 3: boxes around the cells of a grid with hot spots, wherever subscribers are.

Paper 5, section VI; the constants are those of docs/content.md and are not to be tuned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meshwright.problem.cube import brokers, locations, publisher
from meshwright.problem.draws import Drawn, Floats, pick, random_order, uniforms, zipf

CELLS = 10  # per side
CELL = 10.0  # side of a cell
WIDTHS = np.array([5.0, 10.0, 20.0, 40.0])  # the first drawn most often
EXPONENT = 0.5  # of cells and of widths
_ORDER = 1  # number of the table; the cube's own is 0


@dataclass(frozen=True)
class Set3:
    """The tables of one seed; `subscribers` draws from them."""

    seed: int
    cells: Floats  # cumulative shares of the ranks
    widths: Floats  # cumulative shares
    ranking: npt.NDArray[np.int64]  # the cell of each rank
    location: Floats

    @classmethod
    def of(cls, seed: int) -> Set3:
        """Return the tables of a seed."""
        n = CELLS * CELLS
        shares = zipf(n, EXPONENT), zipf(len(WIDTHS), EXPONENT)
        return cls(seed, *shares, random_order(seed, _ORDER, n), locations(seed))

    @property
    def publisher(self) -> Floats:
        """Where the publisher is."""
        return publisher()

    def brokers(self, n: int) -> Floats:
        """Return the places of n brokers."""
        return brokers(self.seed, n)

    def subscribers(self, first: int, count: int) -> Drawn:
        """Return some subscribers by id."""
        u = uniforms(self.seed, first, count, 4)
        cell = self.ranking[pick(self.cells, u[:, 0])]
        centre = (np.stack((cell // CELLS, cell % CELLS), axis=1) + 0.5) * CELL
        half = WIDTHS[pick(self.widths, u[:, 1:3])] / 2
        place = (u[:, 3] * len(self.location)).astype(np.int64)
        return Drawn(self.location[place], centre - half, centre + half)
