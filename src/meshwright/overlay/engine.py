"""The driver of the greedy engine: state, paths, phases, progress. Loops are in the kernels.

Paper 3 sees that the greedy overlay algorithms differ in one line, which edge comes next. Here
that line is a `Rule`: how ties are settled, and which degrees may be reached when.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt

from meshwright.errors import InputError
from meshwright.kernels.bits import new_words, set_bits
from meshwright.kernels.components import copy_rows, drop_all_connected, new_components
from meshwright.kernels.threads import SMALLEST, Spares, in_parts
from meshwright.overlay import engine_kernel as kernel
from meshwright.overlay.last_level_kernel import new_last_level, run_last_level
from meshwright.overlay.pair_kernel import NO_DEGREE
from meshwright.overlay.row_kernel import CACHE, Scratch, new_rows, new_scratch, scan_rows
from meshwright.overlay.row_queue_kernel import (
    DUE,
    drop_due,
    list_due,
    order_heap,
    scan_due,
)
from meshwright.overlay.sweep_kernel import BLOCK, new_sweep, note_blocks
from meshwright.overlay.table_kernel import fill, new_table, table_bytes
from meshwright.values import Instance
from meshwright.workload.forecast import DENSE_BYTES

FEW = 1_000_000  # incidences: fewer are counted before threads have begun
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


class Engine(Protocol):
    """What finds the edges under a rule: `greedy_edges`, or the levels on Spark."""

    def __call__(self, instance: Instance, rule: Rule, tell: Tell | None = None) -> Edges:
        """Return the edges in the order added, and their gains."""


@dataclass(frozen=True, slots=True)
class Path:
    """How the engine works: settings that change its time and memory, never its edges."""

    table: bool | None = None  # keep the gains of all pairs; by default by `is_dense`
    cache: int = CACHE  # partners kept of a row at least, when there is no table
    block: int = BLOCK  # pairs in a block of the table
    threads: int | None = None  # by default one for each processor
    wide: bool = False  # gains in 32 bits even where 16 would do
    words: bool = True  # topics as bits, by table, where nodes want many of all topics


def greedy_edges(
    instance: Instance, rule: Rule, tell: Tell | None = None, path: Path | None = None
) -> Edges:
    """Return the edges (in the order added) and their gains under a rule.

    Cost: time in the order of the incidences, the sum over topics of |V(t)|^2 / 2, a few times;
    memory about 80 bytes per subscription, by table up to 80 more, and 0.7 kB per node, for `low`
    1.3 kB.
    """
    if instance.n_subscriptions > np.iinfo(np.int32).max:
        raise InputError(
            f"{instance.n_subscriptions:,} subscriptions are more than the driver's engine can "
            "index. Sample the workload."
        )
    return _Run(instance, rule, tell or (lambda _: None), path or Path()).edges()


def is_dense(instance: Instance) -> bool:
    """Tell whether the gains of all pairs fit a table in the order of the subscriptions."""
    largest = int(np.diff(instance.indptr).max(initial=0))
    return table_bytes(instance.n_nodes, largest) <= DENSE_BYTES * instance.n_subscriptions


class _Run:
    """One greedy run: the state that the phases share."""

    def __init__(self, instance: Instance, rule: Rule, tell: Tell, path: Path) -> None:
        self._rule = rule
        self._path = path
        self._tell = tell
        table = is_dense(instance) if path.table is None else path.table
        self._ids = np.arange(instance.n_nodes, dtype=np.int32) if table else by_size(instance)
        indptr, topics = in_order(instance, self._ids)
        self._n_topics = instance.n_topics
        self._largest = int(np.diff(indptr).max(initial=0))
        components = new_components(indptr, topics, instance.n_topics)
        counts = components.open_count.astype(np.int64)
        self._few = path.threads is None and int((counts * (counts - 1) // 2).sum()) < FEW
        wanted = int(np.count_nonzero(counts))
        self._mu = instance.n_subscriptions - wanted  # each edge added joins at least one pair
        most = min(self._mu, rule.max_edges if rule.max_edges is not None else self._mu)
        self._stop = most
        self._edges = np.empty((most, 2), dtype=np.int32)
        self._gains = np.empty(most, dtype=np.int32)
        self._n_edges = self._reported = self._joined = 0
        room = instance.n_subscriptions if table and path.words else 0
        wants = new_words(instance.n_nodes, instance.n_topics, room)
        set_bits(wants, indptr, topics)
        self._state = kernel.State(
            components=components,
            table=new_table(
                instance.n_nodes if table else 0,
                self._largest,
                instance.n_topics,
                len(wants),
                wide=path.wide,
            ),
            rank=np.argsort(self._ids).astype(np.int32),
            degree=np.zeros(instance.n_nodes, dtype=np.int32),
            scratch=self._new_scratch(),
        )
        n_table = len(self._state.table.lost)
        self._in_parts(lambda *part: fill(components, self._state.table, wants, *part), n_table)
        self._in_parts(lambda *part: drop_all_connected(components, *part), instance.n_nodes)
        self._queue = self._new_queue()

    def edges(self) -> Edges:
        """Run to the end."""
        if self._rule.threshold is not None:
            self._run_low(self._rule.threshold)
        elif self._rule.phases:
            self._run_phases()
        else:
            kernel.set_cap(self._state, self._queue, NO_LIMIT)
            self._queue.rows.meta[4] = NO_LIMIT
            self._run(NO_LIMIT)
        return self._edges[: self._n_edges].copy(), self._gains[: self._n_edges].copy()

    def _new_queue(self, *, lowest: int = 2) -> kernel.Queue:
        """Return a queue of the pairs that gain at least `lowest`."""
        components, table, degree = self._state.components, self._state.table, self._state.degree
        by_degree, n_table = self._rule.by_degree, len(table.lost)
        sweep = new_sweep(n_table, self._largest, by_degree=by_degree, block=self._path.block)
        indptr = np.zeros(1, dtype=np.int64) if n_table else components.indptr
        rows = new_rows(
            indptr,
            self._ids,
            self._state.rank,
            by_degree=by_degree,
            lowest=lowest,
            cache=self._path.cache,
        )
        self._in_parts(lambda *part: note_blocks(table, sweep, degree, *part), len(sweep.row))
        rows.meta[5] = NO_LIMIT if self._few else SMALLEST
        self._scan_in_parts(
            lambda scratch, *part: scan_rows(components, rows, degree, scratch, *part),
            len(rows.used),
        )
        return kernel.Queue(sweep, rows)

    def _scan_due(self) -> None:
        """Scan together the rows that wait for a scan."""
        components, rows, degree = self._state.components, self._queue.rows, self._state.degree
        n_due = list_due(rows, degree)
        # A scan asks other rows for their topics, so no row may change meanwhile.
        self._in_parts(lambda *part: drop_due(components, rows, *part), n_due)
        self._scan_in_parts(
            lambda scratch, *part: scan_due(components, rows, degree, scratch, *part), n_due
        )
        order_heap(rows)

    def _scan_in_parts(self, scan: Callable[..., None], size: int) -> None:
        """Scan rows on all threads, each with a scratch of its own."""
        scratches = Spares(self._new_scratch)

        def work(first: int, last: int) -> None:
            with scratches.one() as scratch:
                scan(scratch, first, last)

        self._in_parts(work, size)

    def _new_scratch(self) -> Scratch:
        n_nodes, n_topics = len(self._ids), self._n_topics
        return new_scratch(n_nodes, n_topics, max(self._largest, self._path.cache))

    def _in_parts(self, work: Callable[[int, int], None], size: int) -> None:
        if self._few:
            work(0, size)
        else:
            in_parts(work, size, threads=self._path.threads)

    def _run_phases(self) -> None:
        """Raise the degree limit by one whenever no edge fits under it."""
        limit = 1
        last = self._rule.max_degree if self._rule.max_degree is not None else NO_LIMIT
        while limit <= last and self._n_edges < self._stop:
            before = self._n_edges
            kernel.set_cap(self._state, self._queue, limit)
            self._queue.rows.meta[4] = NO_LIMIT
            self._run(limit)
            if self._n_edges == before:
                return
            limit += 1

    def _run(self, limit: int) -> None:
        left = kernel.MORE
        while left < 0 and self._n_edges < self._stop:
            self._n_edges, left = kernel.run(
                self._state, self._queue, self._edges, self._gains, self._n_edges, self._next()
            )
            self._report()
            if left == DUE:
                self._scan_due()
        if left >= 0 and self._is_by_rows():
            self._run_last_level(limit)

    def _run_low(self, threshold: Fraction) -> None:
        # Gains are compared, and the second queue is asked for those of 1 too.
        capped, cap, left = self._new_queue(lowest=1), 0, kernel.MORE
        kernel.set_cap(self._state, self._queue, NO_LIMIT)
        while left < 0 and self._n_edges < self._stop:
            self._n_edges, cap, left = kernel.run_low(
                self._state,
                self._queue,
                capped,
                cap,
                self._edges,
                self._gains,
                self._n_edges,
                self._next(),
                threshold.numerator,
                threshold.denominator,
            )
            self._report()
        if left >= 0 and self._is_by_rows():
            # gm and minmax agree on the best of all pairs when all gain the same.
            self._run_last_level(NO_LIMIT)

    def _run_last_level(self, limit: int) -> None:
        """Add the edges of gain 1 whose nodes stay within a degree limit."""
        components, rank, degree = self._state.components, self._state.rank, self._state.degree
        level = new_last_level(components, rank, by_degree=self._rule.by_degree)
        first = self._n_edges
        while self._n_edges < self._stop:
            before, stop = self._n_edges, self._next()
            self._n_edges = run_last_level(
                components,
                level,
                degree,
                self._ids,
                rank,
                limit - 1,
                self._edges,
                self._gains,
                before,
                stop,
            )
            self._report()
            if self._n_edges < stop:
                break
        self._state.scratch.clock[0] += self._n_edges - first

    def _is_by_rows(self) -> bool:
        return len(self._state.table.lost) == 0

    def _next(self) -> int:
        """Return the number of edges at which to look at the clock again."""
        return min(self._stop, self._n_edges + EDGES_AT_ONCE)

    def _report(self) -> None:
        self._joined += int(self._gains[self._reported : self._n_edges].sum(dtype=np.int64))
        self._reported = self._n_edges
        self._tell(self._joined / self._mu if self._mu else 1.0)


def by_size(instance: Instance) -> npt.NDArray[np.int32]:
    """Return the nodes by falling number of subscriptions."""
    return np.argsort(-np.diff(instance.indptr), kind="stable").astype(np.int32)


def in_order(
    instance: Instance, ids: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Return the node-major arrays with the nodes in another order."""
    sizes = np.diff(instance.indptr)
    indptr = np.concatenate(([0], np.cumsum(sizes[ids]))).astype(np.int64)
    topics = np.empty_like(instance.topics)
    copy_rows(instance.indptr, instance.topics, ids, topics)
    return indptr, topics
