"""Event densities: piecewise constant over a grid of the event space."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from meshwright.errors import InputError
from meshwright.runtime.arrays import Floats, Longs


class DensityTable(NamedTuple):
    """A density in the form that kernels read; where events are uniform, the arrays are unused."""

    is_uniform: bool  # whether a box is measured by its volume
    edges: Floats  # float64[all edges], one dimension after another
    first: Longs  # int64[d + 1], where each dimension's edges begin, and the end
    below: Floats  # float64[corners], the measure below each grid corner


def no_density(n_dimensions: int) -> DensityTable:
    """Return the table of uniform events."""
    return DensityTable(True, np.zeros(0), np.zeros(n_dimensions + 1, np.int64), np.zeros(0))


@dataclass(frozen=True, eq=False)
class Density:
    """Events per unit volume in each cell of a grid; no events fall outside the grid.

    Examples
    --------
    >>> density = Density(edges=[[0, 1, 3]], values=[2.0, 0.5])
    >>> density.table.below.tolist()
    [0.0, 2.0, 3.0]
    """

    edges: Sequence[Floats]  # per dimension, rising
    values: Floats  # one axis per dimension

    def __post_init__(self) -> None:
        edges = tuple(np.array(axis, np.float64) for axis in self.edges)
        values = np.array(self.values, np.float64)
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "values", values)
        for axis in edges:
            if axis.ndim != 1 or len(axis) < 2 or not (np.diff(axis) > 0).all():
                raise InputError("the edges of a density must rise, at least two per dimension.")
        if values.shape != tuple(len(axis) - 1 for axis in edges):
            raise InputError(
                f"a density over {' x '.join(str(len(axis) - 1) for axis in edges)} cells "
                f"has values of shape {values.shape}."
            )
        if not np.isfinite(values).all() or (values < 0).any():
            raise InputError("a density has a value that is not a number of 0 or more.")

    @cached_property
    def table(self) -> DensityTable:
        """The measure below each corner of the grid, so that a box costs 2^d lookups."""
        below = self.values
        for axis, edges in enumerate(self.edges):
            shape = [1] * below.ndim
            shape[axis] = -1
            below = np.cumsum(below * np.diff(edges).reshape(shape), axis=axis)
            below = np.insert(below, 0, 0.0, axis=axis)
        first = np.concatenate(([0], np.cumsum([len(axis) for axis in self.edges])))
        edges = np.concatenate(self.edges)
        return DensityTable(False, edges, first.astype(np.int64), below.ravel())
