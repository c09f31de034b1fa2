"""What all workload sets draw with: streams, bells, Zipf tables and random orders.

Nothing but sums, products and square roots is taken of the random numbers, and tables are made
once: the same problem comes out on every machine (docs/content.md).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# Where the streams of each kind begin; subscribers have the numbers of their ids.
BROKERS = 1 << 32
TABLES = 1 << 33
BELL = 4  # uniform numbers that make one bell


class Drawn(NamedTuple):
    """Some subscribers: where they are and the boxes they want."""

    location: Floats
    low: Floats
    high: Floats


def uniforms(seed: int, first: int, count: int, n: int) -> Floats:
    """Return the first n numbers in [0, 1) of each of the streams first..first+count-1."""
    from meshwright.problem import draw_kernel

    drawn: Floats = draw_kernel.uniforms(seed, first, count, n)
    return drawn


def table_uniforms(seed: int, table: int, n: int) -> Floats:
    """Return n numbers for a table of a set; `table` tells the tables apart."""
    return uniforms(seed, TABLES + table, 1, n).reshape(n)


def bells(u: Floats, spread: float) -> Floats:
    """Return one bell-shaped number of mean 0 for each four columns of uniform ones."""
    total = u[:, 0::BELL] + u[:, 1::BELL] + u[:, 2::BELL] + u[:, 3::BELL]
    return np.asarray((total - 2.0) * (np.sqrt(3.0) * spread))


def zipf(n: int, exponent: float) -> Floats:
    """Return the cumulative shares of the ranks 1..n, the last exactly 1.

    Examples
    --------
    >>> zipf(2, 1.0).round(3).tolist()
    [0.667, 1.0]

    """
    shares = np.cumsum(np.arange(1, n + 1, dtype=np.float64) ** -exponent)
    return np.asarray(shares / shares[-1])


def pick(cumulative: Floats, u: Floats) -> npt.NDArray[np.int64]:
    """Return which share each uniform number falls into."""
    return np.searchsorted(cumulative, u, side="right").astype(np.int64)


def random_order(seed: int, table: int, n: int) -> npt.NDArray[np.int64]:
    """Return 0..n-1 in a random order of the seed."""
    return np.argsort(table_uniforms(seed, table, n), kind="stable")
