"""The greedy engine in level order, from the largest gain down: the order that Spark can run.

A level is a gain. No pair gains more than the level, so every pair that gains as much is a best
one, and all of them can be found together: the rows that may hold one are scanned, in this process
or elsewhere (`Scan`), and their candidates are evaluated in the order of their degrees, as edges
change what they gain. The result is a legal run of the greedy method: each edge has the largest
gain of its time. Among equal gains the order differs from key order.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.model.kernels.components import Components, new_topic_labels
from meshwright.overlay.greedy.kernels import candidates as kernel
from meshwright.overlay.greedy.kernels import tuning
from meshwright.overlay.greedy.kernels.candidates import Candidates, Level, ScanRequest
from meshwright.overlay.greedy.kernels.counts import new_row_counters
from meshwright.overlay.greedy.kernels.last_level import join_topics
from meshwright.overlay.greedy.kernels.levels import evaluate_level, new_queues, run_level
from meshwright.overlay.greedy.kernels.run import LOWEST_GAIN, NO_LIMIT
from meshwright.overlay.greedy.rule import Edges, GreedyRun, Rule, rank_nodes
from meshwright.runtime.arrays import Ints
from meshwright.runtime.threads import ScratchPool, in_parts

# Scan rows, here or on Spark; yield some of the rows, int32[n_rows], and the candidates of each.
Scan = Callable[[Components, ScanRequest], Iterator[tuple[Ints, Candidates]]]
# Open a scan before the first edge, given the least number of candidates to keep of a row.
OpenScan = Callable[[Components, int], Scan]
LevelProgress = Callable[[float, str], None]  # takes the share done, and details


def level_edges(
    instance: Instance,
    rule: Rule,
    open_scan: OpenScan,
    on_progress: LevelProgress | None = None,
    *,
    min_candidates: int = tuning.MIN_CANDIDATES,
) -> Edges:
    """Return the edges of a rule in the order added, and their gains.

    Cost: time in the order of the incidences, for the scans; besides them a few microseconds per
    edge. Memory without that of the scans: about 50 bytes per subscription, and 8 bytes for each
    candidate: `min_candidates` per node or more, at most two per subscription.
    """
    if rule.threshold is not None:
        raise InputError("low compares two queues edge by edge; it cannot run level by level.")
    run = _LevelOrderRun(instance, rule, open_scan, on_progress, min_candidates)
    run.add_all()
    return run.edges()


def open_local_scan(components: Components, min_candidates: int) -> Scan:
    """Return the scan of rows in this process, on all processors."""
    pool = ScratchPool(lambda: new_row_counters(components))
    all_rows = np.arange(len(components.row_end), dtype=np.int32)
    room = kernel.candidate_room(components, all_rows, min_candidates)

    def scan(c: Components, request: ScanRequest) -> Iterator[tuple[Ints, Candidates]]:
        found = kernel.new_candidates(room[request.rows])

        def work(first: int, last: int) -> None:
            with pool.borrow() as counters:
                kernel.scan_candidates(c, request, counters, found, first, last)

        in_parts(work, len(request.rows))
        yield request.rows, found

    return scan


def describe(gain: int, n_rows: int, n_open: int) -> str:
    """Return the details of a progress report: the level, the rows to scan, the open topics."""
    level = f"gain {gain}, " if gain < NO_LIMIT else ""
    rows = f"{n_rows:,} rows to scan, " if n_rows else ""
    return f"{level}{rows}{n_open:,} topics open"


class _LevelOrderRun(GreedyRun):
    """One run in level order."""

    def __init__(
        self,
        instance: Instance,
        rule: Rule,
        open_scan: OpenScan,
        on_progress: LevelProgress | None,
        min_candidates: int,
    ) -> None:
        super().__init__(instance, rank_nodes(instance), rule)
        self._on_level_progress = on_progress
        components = self.run.components
        self._scan = open_scan(components, min_candidates)
        self._all_rows = np.arange(instance.n_nodes, dtype=np.int32)
        room = kernel.candidate_room(components, self._all_rows, min_candidates)
        self._candidates = kernel.new_candidates(room)
        self._queues = new_queues(instance.n_nodes)
        self._labels = ScratchPool(lambda: new_topic_labels(instance.n_topics))
        self._gain = NO_LIMIT  # of the current level
        self._n_scanned = 0
        self._last_report = 0.0

    def add_all(self) -> None:
        """Add all edges of the rule, cap by cap and level by level."""
        c, degree, candidates = self.run.components, self.run.degree, self._candidates
        topics = np.argsort(np.diff(c.topic_ptr), kind="stable").astype(np.int32)
        for cap in self.caps():
            kernel.raise_cap(candidates, degree, cap)
            floor = NO_LIMIT
            while floor > LOWEST_GAIN and not self.is_complete:
                # High levels are many and concern few rows: rows below half of a level wait.
                highest = max(kernel.largest_gains(candidates, degree, cap, self._all_rows))
                floor = max(LOWEST_GAIN, highest // 2)
                # Gains only fall: under this cap no other row will have a pair that gains `floor`.
                may_gain = np.maximum(candidates.top, candidates.bound) >= floor
                rows = np.flatnonzero(may_gain & (degree < cap)).astype(np.int32)
                self._run_rows(rows, floor, cap)
            topics = topics[c.open_count[topics] > 1]
            self._gain = 1
            self.add_edges(partial(join_topics, self.run, topics, cap), tuning.LEVEL_EDGES_PER_CALL)

    def _run_rows(self, rows: Ints, floor: int, cap: int) -> None:
        """Add the best edges of some rows, down to those that gain `floor`."""
        candidates, before = self._candidates, NO_LIMIT
        while not self.is_complete:
            top, bound = kernel.largest_gains(candidates, self.run.degree, cap, rows)
            level = Level(max(top, bound), cap, rows)
            if level.gain < floor:
                return
            self._gain = level.gain
            if top == level.gain:  # candidates first: their edges may make a scan unnecessary
                if level.gain < before:  # otherwise all of them come from scans just made
                    self._evaluate(level)
                with self._labels.borrow() as labels:
                    add = partial(run_level, self.run, candidates, self._queues, labels, level)
                    self.add_edges(add, tuning.LEVEL_EDGES_PER_CALL)
            before = level.gain
            if not self.is_complete:
                self._scan_for(level)

    def _evaluate(self, level: Level) -> None:
        """Compute what the candidates of a level gain now, on all processors."""

        def work(first: int, last: int) -> None:
            with self._labels.borrow() as labels:
                evaluate_level(self.run, self._candidates, labels, level, first, last)

        in_parts(work, len(level.rows))

    def _scan_for(self, level: Level) -> None:
        """Scan the rows with a pair that is not a candidate and may gain as much as the level."""
        bound, degree = self._candidates.bound[level.rows], self.run.degree[level.rows]
        rows = level.rows[(bound >= level.gain) & (degree < level.cap)]
        if len(rows) == 0:
            return
        self.report(len(rows))
        request = ScanRequest(rows, self.run.degree, level.cap)
        for part, found in self._scan(self.run.components, request):
            kernel.take_found(self._candidates, found, part)
        self._n_scanned += len(rows)

    def report(self, n_rows: int = 0) -> None:
        """Report the progress, and how many rows are to be scanned; not too often."""
        now = time.monotonic()
        is_due = now >= self._last_report + tuning.REPORT_SECONDS or n_rows > tuning.LONG_SCAN_ROWS
        if self._on_level_progress is None or not is_due:
            return
        self._last_report = now
        n_open = int(np.count_nonzero(self.run.components.open_count > 1))
        scanned = min(1.0, self._n_scanned / max(1.0, tuning.EXPECTED_SCANS * len(self._all_rows)))
        added = min(1.0, self.n_edges / max(1, self.max_edges))
        self._on_level_progress(0.7 * scanned + 0.3 * added, describe(self._gain, n_rows, n_open))
