"""The greedy methods level by level, from the largest gain down.

A level is a gain. No pair gains more than the level, so every pair that gains as much is a best
one, and all of them can be found at once: the rows that may hold one are scanned together, wherever
that is (`Scan`), and the pairs they bring are looked at again, in the order of their degrees, as
edges change what they gain. What is added is a legal run of the greedy method: each edge has the
largest gain of its time. Among equal gains the order is another than that of `engine`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from meshwright.errors import InputError
from meshwright.kernels.components import new_components
from meshwright.kernels.threads import Spares, in_parts
from meshwright.overlay.engine import Edges, Rule, by_size, in_order
from meshwright.overlay.levels.last_kernel import join_topics
from meshwright.overlay.levels.level_kernel import look_again, new_laid, new_queues, run_level
from meshwright.overlay.levels.notes_kernel import (
    UNKNOWN,
    due_rows,
    find_level,
    new_notes,
    raise_cap,
    rows_above,
    take_notes,
)
from meshwright.overlay.levels.scan_kernel import (
    LOWEST,
    NO_CAP,
    Found,
    Interests,
    Ints,
    Linked,
    rooms,
)
from meshwright.values import Instance

ROOM = 16  # partners noted of a row at least
EDGES_AT_ONCE = 500_000  # between two looks at the clock
SILENCE = 0.2  # seconds between two reports
MANY = 10_000  # rows, whose scan may take long and is always reported
SCANS = 1.5  # of every row, as far as experience tells; for the time expected


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a run is: what its progress says."""

    share: float
    level: int
    n_rows: int  # to be scanned for the level
    n_open: int  # topics that are not connected

    def __str__(self) -> str:
        """Say it in words."""
        level = f"gain {self.level}, " if self.level < UNKNOWN else ""
        rows = f"{self.n_rows:,} rows to scan, " if self.n_rows else ""
        return f"{level}{rows}{self.n_open:,} topics open"


Tell = Callable[[Standing], None]
# Scan these rows under a degree limit; yield parts of the rows with what was found there.
Scan = Callable[[Ints, Linked, int], Iterator[tuple[Ints, Found]]]
# Take a copy of the interests: rows of the components are shortened as topics close.
OpenScan = Callable[[Interests, int], Scan]


def level_edges(
    instance: Instance,
    rule: Rule,
    open_scan: OpenScan,
    tell: Tell | None = None,
    *,
    room: int = ROOM,
) -> Edges:
    """Return the edges (in the order added) and their gains under a rule.

    Cost: time in the order of the incidences, for the scans; besides them a few microseconds per
    edge. Memory without that of the scans: about 50 bytes per subscription, and 8 bytes for each
    partner noted: `room` per node or more, at most two per subscription.
    """
    if rule.threshold is not None:
        raise InputError("low compares two queues edge by edge; level by level it cannot be run.")
    if instance.n_subscriptions > np.iinfo(np.int32).max:
        raise InputError(
            f"{instance.n_subscriptions:,} subscriptions are more than 2^31 - 1, as many as can be "
            "indexed. Sample the workload."
        )
    return _Run(instance, rule, open_scan, tell or (lambda _: None), room).edges()


class _Run:
    """One run: the state that its levels and phases share."""

    def __init__(
        self, instance: Instance, rule: Rule, open_scan: OpenScan, tell: Tell, room: int
    ) -> None:
        self._rule = rule
        self._tell = tell
        self._ids = by_size(instance)
        self._c = new_components(*in_order(instance, self._ids), instance.n_topics)
        c = self._c
        interests = Interests(c.indptr, c.topics, c.position_at, c.topic_ptr, c.nodes)
        self._scan = open_scan(interests, room)
        self._order = np.argsort(np.diff(self._c.topic_ptr), kind="stable").astype(np.int32)
        everyone = np.arange(instance.n_nodes, dtype=np.int32)
        self._notes = new_notes(rooms(interests, everyone, room))
        self._degree = np.zeros(instance.n_nodes, dtype=np.int32)
        wanted = int(np.count_nonzero(self._c.open_count))
        self._mu = instance.n_subscriptions - wanted  # each edge joins at least one pair
        self._stop = self._mu if rule.max_edges is None else min(self._mu, rule.max_edges)
        self._edges = np.empty((self._stop, 2), dtype=np.int32)
        self._gains = np.empty(self._stop, dtype=np.int32)
        self._n_edges = 0
        self._laid = Spares(lambda: new_laid(instance.n_topics))
        self._queues = new_queues(instance.n_nodes)
        self._n_scanned = 0
        self._told = 0.0

    def edges(self) -> Edges:
        """Run to the end."""
        if self._rule.phases:
            self._run_phases()
        else:
            self._run_levels(NO_CAP)
        links = self._ids[self._edges[: self._n_edges]]
        links.sort(axis=1)
        return links, self._gains[: self._n_edges].copy()

    def _run_phases(self) -> None:
        """Raise the degree limit by one whenever no edge fits under it."""
        last = NO_CAP if self._rule.max_degree is None else self._rule.max_degree
        cap, before = 1, -1
        while cap <= last and before < self._n_edges < self._stop:
            before = self._n_edges
            raise_cap(self._notes, self._degree, cap)
            self._run_levels(cap)
            cap += 1

    def _run_levels(self, cap: int) -> None:
        """Add the best edges under a degree limit, down to those that gain one."""
        floor = UNKNOWN
        while floor > LOWEST and self._n_edges < self._stop:
            # High levels are many and concern few rows: those below half of a level wait.
            everyone = np.arange(len(self._degree), dtype=np.int32)
            highest = max(find_level(self._notes, self._degree, cap, everyone))
            floor = max(LOWEST, highest // 2)
            rows = rows_above(self._notes, self._degree, cap, floor)
            self._run_rows(rows, floor, cap)
        self._order = self._order[self._c.open_count[self._order] > 1]
        self._add(lambda *rest: join_topics(self._c, self._order, *rest), (), 1, cap)

    def _run_rows(self, rows: Ints, floor: int, cap: int) -> None:
        """Add the best edges of some rows, down to those that gain `floor`."""
        notes, degree = self._notes, self._degree
        before = UNKNOWN  # the level
        while self._n_edges < self._stop:
            noted, other = find_level(notes, degree, cap, rows)
            level = max(noted, other)
            if level < floor:
                return
            if noted == level:  # what is known first: it may make a scan needless
                if level < before:  # else all pairs of the level come from scans just made
                    self._look_again(rows, level, cap)
                self._add_noted(rows, level, cap)
            before = level
            if self._n_edges < self._stop:
                self._scan_for(level, cap, due_rows(notes, degree, cap, level, rows))

    def _look_again(self, rows: Ints, level: int, cap: int) -> None:
        """Note what the pairs of a level gain now, on all processors: most have lost some."""

        def work(first: int, last: int) -> None:
            with self._laid.one() as laid:
                look_again(self._c, self._notes, laid, self._degree, cap, level, rows[first:last])

        in_parts(work, len(rows))

    def _add_noted(self, rows: Ints, level: int, cap: int) -> None:
        """Add the pairs noted that gain as much as the level."""
        c, notes, queues = self._c, self._notes, self._queues
        with self._laid.one() as laid:
            self._add(
                lambda *rest: run_level(c, notes, rows, queues, laid, *rest), (level,), level, cap
            )

    def _add(self, kernel: Callable[..., int], gain: tuple[int, ...], level: int, cap: int) -> None:
        """Add edges by a kernel, and look at the clock from time to time."""
        before = -1
        while before < self._n_edges < self._stop:
            before = self._n_edges
            stop = min(self._stop, before + EDGES_AT_ONCE)
            self._n_edges = kernel(
                self._degree, self._rule.by_degree, cap, *gain,
                self._edges, self._gains, before, stop,
            )  # fmt: skip
            self._report(level, 0)
            if self._n_edges < stop:
                return

    def _scan_for(self, level: int, cap: int, rows: Ints) -> None:
        """Scan rows that may hold more pairs of the level."""
        if len(rows) == 0:
            return
        self._report(level, len(rows))
        linked = Linked(self._c.label, self._c.open_count > 1, self._degree)
        for part, found in self._scan(rows, linked, cap):
            take_notes(self._notes, found, part, self._degree, cap)
        self._n_scanned += len(rows)

    def _report(self, level: int, n_rows: int) -> None:
        now = time.monotonic()
        if now < self._told + SILENCE and not n_rows > MANY:
            return
        self._told = now
        n_open = int(np.count_nonzero(self._c.open_count > 1))
        scanned = min(1.0, self._n_scanned / max(1.0, SCANS * len(self._degree)))
        added = min(1.0, self._n_edges / max(1, self._stop))
        self._tell(Standing(0.7 * scanned + 0.3 * added, level, n_rows, n_open))
