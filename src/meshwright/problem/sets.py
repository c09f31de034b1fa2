"""The workload sets by number, and whole problems of them in memory (docs/content.md)."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from meshwright.names import NumberedNames
from meshwright.problem.arguments import ContentArguments
from meshwright.problem.draws import Drawn, Floats
from meshwright.problem.levels import hang
from meshwright.problem.problem import Problem
from meshwright.problem.set_1 import Set1
from meshwright.problem.set_2 import Set2
from meshwright.problem.set_3 import Set3
from meshwright.problem.tree import BrokerTree


class WorkloadSet(Protocol):
    """What a set gives: places and boxes, each subscriber's by its id alone."""

    @property
    def publisher(self) -> Floats:
        """Where the publisher is."""

    def brokers(self, n: int) -> Floats:
        """Return the places of n brokers."""

    def subscribers(self, first: int, count: int) -> Drawn:
        """Return some subscribers by id."""


def draw_problem(arguments: ContentArguments) -> Problem:
    """Return a synthetic problem in memory: the one that `generate` writes, without a JVM."""
    drawn = workload_set(arguments)
    rows = drawn.subscribers(0, arguments.subscribers)
    delay = np.array(arguments.max_delay)
    return Problem(broker_tree(drawn, arguments), *rows, delay, **arguments.limits)


def workload_set(arguments: ContentArguments) -> WorkloadSet:
    """Return the tables of the set asked for."""
    if arguments.set == 1:
        skew, broad = str(arguments.skew), str(arguments.broad)
        return Set1.of(arguments.seed, skew=skew, broad=broad)
    return Set2.of(arguments.seed) if arguments.set == 2 else Set3.of(arguments.seed)


def broker_tree(drawn: WorkloadSet, arguments: ContentArguments) -> BrokerTree:
    """Return the brokers of a set; the publisher is the last row."""
    n = arguments.brokers
    places = drawn.brokers(n)
    if arguments.max_out_degree is None:
        parent = np.full(n, n)
    else:
        parent = hang(places, arguments.max_out_degree)
        parent = np.where(parent < 0, n, parent)
    names = [*NumberedNames("broker", n), "publisher"]
    return BrokerTree(np.append(parent, -1), np.vstack((places, drawn.publisher)), names=names)
