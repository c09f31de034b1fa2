"""What an answer costs and how well it serves: bandwidth, load, delay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from meshwright.assignment.volume_kernel import union_volume
from meshwright.kernels.threads import in_parts
from meshwright.problem import Problem
from meshwright.problem.latency_kernel import delays

if TYPE_CHECKING:
    from meshwright.assignment.answer import Filters

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Measures:
    """The measures of an answer.

    Parameters
    ----------
    bandwidths
        The volume of the union of each broker's boxes, by id: what flows into it.
    loads
        Subscribers of each broker, by id.
    lbf
        The load balance factor: the largest load over its share of the subscribers.
    delay_rms, delay_max
        Root mean square and largest of the delays; a delay is the latency over the least, less 1.
    load_stdev
        The standard deviation of the loads of the leaves.

    """

    bandwidths: Floats
    loads: Ints
    lbf: float
    delay_rms: float
    delay_max: float
    load_stdev: float

    @property
    def bandwidth(self) -> float:
        """The bandwidth of all brokers, inner ones included; the publisher has none."""
        return float(self.bandwidths.sum())


def measure(problem: Problem, broker: npt.NDArray[np.int32], filters: Filters) -> Measures:
    """Return the measures of an assignment and its filters; who has no leaf counts for none."""
    tree = problem.tree
    index = np.full(tree.n_brokers + 1, -1, np.int64)  # the last for brokers that are none
    index[tree.leaves] = np.arange(len(tree.leaves))
    known = (broker >= 0) & (broker < tree.n_brokers)
    leaf_of = index[np.where(known, broker, tree.n_brokers)]
    served = leaf_of >= 0
    of_leaves = np.bincount(leaf_of[served], minlength=len(tree.leaves))
    loads = np.zeros(tree.n_brokers, np.int64)
    loads[tree.leaves] = of_leaves
    delay = _delays(problem, leaf_of, served)
    return Measures(
        bandwidths=_bandwidths(problem, filters),
        loads=loads,
        lbf=load_balance_factor(problem, of_leaves),
        delay_rms=float(np.sqrt(np.mean(delay**2))) if len(delay) else 0.0,
        delay_max=float(delay.max(initial=0.0)),
        load_stdev=float(of_leaves.std()),
    )


def load_balance_factor(problem: Problem, loads: Ints) -> float:
    """Return the largest load over its fair share, given the loads of the leaves in their order."""
    used = loads > 0
    share = problem.leaf_capacity[used] * problem.n_subscribers
    if (share == 0).any():
        return float("inf")  # a leaf of no capacity has someone
    return float((loads[used] / share).max(initial=0.0))


def _bandwidths(problem: Problem, filters: Filters) -> Floats:
    tree = problem.tree
    bandwidths = np.zeros(tree.n_brokers)
    for broker in tree.order[1:].tolist():
        low, high = filters.of(broker)
        if len(low):
            bandwidths[broker] = union_volume(low, high, *problem.density_table)
    return bandwidths


def _delays(problem: Problem, leaf_of: Ints, served: npt.NDArray[np.bool_]) -> Floats:
    found = np.zeros(len(leaf_of))
    known = np.where(served, leaf_of, 0)
    places, down = problem.leaf_location, problem.leaf_down

    def work(first: int, last: int) -> None:
        rows = slice(first, last)
        delays(problem.location[rows], places, down, known[rows], found[rows])

    in_parts(work, len(leaf_of))
    return found[served]
