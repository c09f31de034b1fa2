"""The driver of the greedy engine: state, phases, progress. The loops are in `engine_kernel.py`.

Paper 3 sees that the greedy overlay algorithms differ in one line, which edge comes next. Here
that line is a `Rule`: how ties are settled, and which degrees may be reached when.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from meshwright.errors import InputError
from meshwright.kernels.components import Components, new_components
from meshwright.overlay import engine_kernel as kernel
from meshwright.overlay.pair_kernel import NO_DEGREE
from meshwright.values import Instance

EDGES_AT_ONCE = 2_000  # between two looks at the clock: an interrupt waits no longer than that
NO_LIMIT = NO_DEGREE

Edges = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]
Tell = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Rule:
    """Which edge comes next, and when to stop.

    `by_degree` settles ties by the lower degree before the smaller ids. `phases` holds the
    maximum degree down as minmax does. With `threshold` k, the edge without phases is taken when
    its gain is at least k times that of the edge with phases.
    """

    by_degree: bool = True
    phases: bool = False
    threshold: Fraction | None = None
    max_edges: int | None = None
    max_degree: int | None = None


def greedy_edges(
    instance: Instance, rule: Rule, tell: Tell | None = None, *, cache: int = kernel.CACHE
) -> Edges:
    """Return the edges (in the order added) and their gains under a rule.

    Cost: time in the order of the incidences, the sum over topics of |V(t)|^2 / 2, a few times;
    memory about 80 bytes per subscription and 0.7 kB per node, for `low` 1.3 kB.
    """
    if instance.n_subscriptions > np.iinfo(np.int32).max:
        raise InputError(
            f"{instance.n_subscriptions:,} subscriptions are more than the driver's engine can "
            "index. Sample the workload."
        )
    return _Run(instance, rule, tell or (lambda _: None), cache).edges()


class _Run:
    """One greedy run: the state that the phases share."""

    def __init__(self, instance: Instance, rule: Rule, tell: Tell, cache: int) -> None:
        self._rule = rule
        self._cache = cache
        self._tell = tell
        self._ids, indptr, topics = ranked(instance)
        self._components: Components = new_components(indptr, topics, instance.n_topics)
        wanted = int(np.count_nonzero(self._components.open_count))
        self._mu = instance.n_subscriptions - wanted  # each edge added joins at least one pair
        most = min(self._mu, rule.max_edges if rule.max_edges is not None else self._mu)
        self._stop = most
        self._edges = np.empty((most, 2), dtype=np.int32)
        self._gains = np.empty(most, dtype=np.int32)
        self._degree = np.zeros(instance.n_nodes, dtype=np.int32)
        self._n_edges = 0
        self._queue = self._new_queue()

    def edges(self) -> Edges:
        """Run to the end."""
        if self._rule.threshold is not None:
            self._run_low(self._rule.threshold)
        elif self._rule.phases:
            self._run_phases()
        else:
            kernel.set_cap(self._queue, self._degree, NO_LIMIT)
            self._run(self._queue)
        return self._edges[: self._n_edges].copy(), self._gains[: self._n_edges].copy()

    def _new_queue(self) -> kernel.Queue:
        rule = self._rule
        indptr = self._components.indptr
        queue = kernel.new_queue(indptr, self._ids, by_degree=rule.by_degree, cache=self._cache)
        kernel.scan_all(self._components, queue, self._degree)
        return queue

    def _run_phases(self) -> None:
        """Raise the degree limit by one whenever no edge fits under it."""
        limit = 1
        last = self._rule.max_degree if self._rule.max_degree is not None else NO_LIMIT
        while limit <= last and self._n_edges < self._stop:
            before = self._n_edges
            kernel.set_cap(self._queue, self._degree, limit)
            self._run(self._queue)
            if self._n_edges == before:
                return
            limit += 1

    def _run(self, queue: kernel.Queue) -> None:
        while True:
            before = self._n_edges
            stop = min(self._stop, before + EDGES_AT_ONCE)
            self._n_edges = kernel.run(
                self._components, queue, self._degree, self._edges, self._gains, before, stop
            )
            self._report()
            if self._n_edges < stop or self._n_edges == self._stop:
                return

    def _run_low(self, threshold: Fraction) -> None:
        capped = self._new_queue()
        kernel.set_cap(self._queue, self._degree, NO_LIMIT)
        while True:
            stop = min(self._stop, self._n_edges + EDGES_AT_ONCE)
            self._n_edges = kernel.run_low(
                self._components,
                self._queue,
                capped,
                self._degree,
                self._edges,
                self._gains,
                self._n_edges,
                stop,
                threshold.numerator,
                threshold.denominator,
            )
            self._report()
            if self._n_edges < stop or self._n_edges == self._stop:
                return

    def _report(self) -> None:
        joined = int(self._gains[: self._n_edges].sum(dtype=np.int64))
        self._tell(joined / self._mu if self._mu else 1.0)


def ranked(
    instance: Instance,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Return the nodes by falling number of subscriptions, and the CSR in that order."""
    sizes = np.diff(instance.indptr)
    ids = np.argsort(-sizes, kind="stable").astype(np.int32)
    indptr = np.concatenate(([0], np.cumsum(sizes[ids]))).astype(np.int64)
    # Slot k of a row comes from slot k of the node's own row.
    source = np.arange(len(instance.topics)) + np.repeat(
        instance.indptr[:-1][ids] - indptr[:-1], sizes[ids]
    )
    return ids, indptr, instance.topics[source]
