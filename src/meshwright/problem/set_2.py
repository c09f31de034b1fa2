"""Workload set 2: a few interests, each at ten places, like the readers of news feeds.

Paper 5, section VI; the constants are those of docs/content.md and are not to be tuned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meshwright.problem.cube import brokers, locations, publisher
from meshwright.problem.draws import (
    Drawn,
    Floats,
    pick,
    random_order,
    table_uniforms,
    uniforms,
    zipf,
)

INTERESTS = 50
EXPONENT = 0.5
PLACES = 10  # per interest
SIDE = 100.0  # of the event space; each interest is a square of side 1
_CORNERS, _ORDERS = 1, 2  # numbers of the tables; the cube's own is 0


@dataclass(frozen=True)
class Set2:
    """The tables of one seed; `subscribers` draws from them."""

    seed: int
    interests: Floats  # cumulative shares
    corner: Floats  # the low corner of each interest's square
    location: Floats
    places: npt.NDArray[np.int64]  # of each interest: which locations

    @classmethod
    def of(cls, seed: int) -> Set2:
        """Return the tables of a seed."""
        location = locations(seed)
        corner = table_uniforms(seed, _CORNERS, 2 * INTERESTS).reshape(INTERESTS, 2)
        orders = [random_order(seed, _ORDERS + i, len(location)) for i in range(INTERESTS)]
        places = np.stack([order[:PLACES] for order in orders])
        return cls(seed, zipf(INTERESTS, EXPONENT), corner * (SIDE - 1.0), location, places)

    @property
    def publisher(self) -> Floats:
        """Where the publisher is."""
        return publisher()

    def brokers(self, n: int) -> Floats:
        """Return the places of n brokers."""
        return brokers(self.seed, n)

    def subscribers(self, first: int, count: int) -> Drawn:
        """Return some subscribers by id."""
        u = uniforms(self.seed, first, count, 2)
        interest = pick(self.interests, u[:, 0])
        place = (u[:, 1] * PLACES).astype(np.int64)
        low = self.corner[interest]
        return Drawn(self.location[self.places[interest, place]], low, low + 1.0)
