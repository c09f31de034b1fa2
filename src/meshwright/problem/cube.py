"""The network of workload sets 2 and 3: places uniform in a cube, and a publisher far from it."""

from __future__ import annotations

import numpy as np

from meshwright.problem.draws import BROKERS, Floats, table_uniforms, uniforms

DIMENSIONS = 5
SIDE = 100.0  # milliseconds
LOCATIONS = 1000
DISTANCE = 200.0  # of the publisher from the cube's centre, along the first dimension


def locations(seed: int) -> Floats:
    """Return the places where subscribers can be."""
    u = table_uniforms(seed, 0, LOCATIONS * DIMENSIONS)
    return u.reshape(LOCATIONS, DIMENSIONS) * SIDE


def brokers(seed: int, n: int) -> Floats:
    """Return the places of n brokers."""
    return uniforms(seed, BROKERS, n, DIMENSIONS) * SIDE


def publisher() -> Floats:
    """Return the place of the publisher."""
    place = np.full(DIMENSIONS, SIDE / 2)
    place[0] -= DISTANCE
    return place
