"""The cost and the quality of an assignment: bandwidth, load, delay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from meshwright.content.kernels.latency import delays
from meshwright.content.kernels.volume import union_volume
from meshwright.content.problem import Problem
from meshwright.content.subscribers import Leaves, SubscriberRows, leaves_of, subscribers_of
from meshwright.model.problem import ProblemSummary
from meshwright.runtime.arrays import Floats, Ints, Longs
from meshwright.runtime.threads import in_parts

if TYPE_CHECKING:
    from meshwright.content.assignment import Filters


@dataclass(frozen=True, slots=True, eq=False)
class Measures:
    """The measures of an assignment; a delay is the latency over the least possible, less 1."""

    bandwidths: Floats  # float64[n_brokers], the volume of each filter: the events it receives
    loads: Longs  # int64[n_brokers], subscribers at each
    lbf: float  # load balance factor: the largest load over its share of the subscribers
    delay_rms: float  # root mean square
    delay_max: float
    load_stdev: float  # of the loads of the leaves

    @property
    def bandwidth(self) -> float:
        """The bandwidth of all brokers, inner ones included; the publisher has none."""
        return float(self.bandwidths.sum())


class Service(NamedTuple):
    """How some subscribers are served."""

    loads: Longs  # int64[n_leaves], subscribers at each leaf
    square_sum: float  # of their delays
    largest: float

    def joined(self, other: Service) -> Service:
        """Return how both are served."""
        loads, square_sum = self.loads + other.loads, self.square_sum + other.square_sum
        return Service(loads, square_sum, max(self.largest, other.largest))


def delays_of_served(rows: SubscriberRows, leaves: Leaves) -> Floats:
    """Return the delays of the subscribers that are at a leaf."""
    leaf = leaves.of(rows.broker)
    delay = np.zeros(rows.size)
    some_leaf = np.maximum(leaf, 0).astype(np.int64)

    def work(first: int, last: int) -> None:
        part = slice(first, last)
        delays(rows.location[part], leaves.location, leaves.down, some_leaf[part], delay[part])

    in_parts(work, rows.size)
    return delay[leaf >= 0]


def serve(rows: SubscriberRows, leaves: Leaves) -> Service:
    """Return how a batch of subscribers is served; those without a leaf are not counted."""
    leaf, delay = leaves.of(rows.broker), delays_of_served(rows, leaves)
    loads = np.bincount(leaf[leaf >= 0], minlength=len(leaves.down))
    return Service(loads, float((delay**2).sum()), float(delay.max(initial=0.0)))


def measure(problem: Problem, broker: Ints, filters: Filters) -> Measures:
    """Return the measures of an assignment and its filters."""
    service = serve(subscribers_of(problem, broker), leaves_of(problem))
    return measures_of(problem, service, filters)


def measures_of(problem: ProblemSummary, service: Service, filters: Filters) -> Measures:
    """Return the measures, given how all subscribers are served."""
    tree = problem.tree
    loads = np.zeros(tree.n_brokers, np.int64)
    loads[tree.leaves] = service.loads
    bandwidths = np.zeros(tree.n_brokers)
    for broker in tree.order[1:].tolist():
        boxes = np.stack(filters.of(broker), axis=1)
        bandwidths[broker] = union_volume(boxes, problem.density_table)
    used = service.loads > 0
    fair = problem.leaf_capacity[used] * problem.n_subscribers
    with np.errstate(divide="ignore"):  # infinite if a leaf without capacity has a subscriber
        lbf = float((service.loads[used] / fair).max(initial=0.0))
    return Measures(
        bandwidths=bandwidths,
        loads=loads,
        lbf=lbf,
        delay_rms=float(np.sqrt(service.square_sum / max(service.loads.sum(), 1))),
        delay_max=service.largest,
        load_stdev=float(service.loads.std()),
    )
