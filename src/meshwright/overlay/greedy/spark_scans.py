"""Scans and bounds on Spark: each task takes a part of the rows; files carry requests and results.

Rows are cut into parts by their cost alone, so the parts are the same on every cluster.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial, reduce
from pathlib import Path
from threading import Event

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from meshwright.model.kernels.components import Components
from meshwright.overlay.bounds.counting import NOTHING, Profile, profile
from meshwright.overlay.greedy import checkpoints
from meshwright.overlay.greedy.checkpoints import Round
from meshwright.overlay.greedy.kernels import candidates as kernel
from meshwright.overlay.greedy.kernels.candidates import Candidates, ScanRequest
from meshwright.overlay.greedy.kernels.counts import new_row_counters
from meshwright.overlay.greedy.kernels.run import NO_LIMIT
from meshwright.overlay.greedy.kernels.tuning import LOCAL_POSITIONS, TASK_POSITIONS
from meshwright.overlay.greedy.level_order import Scan, open_local_scan
from meshwright.runtime.arrays import Ints, Longs
from meshwright.runtime.session import parallelism
from meshwright.runtime.tasks import Batches, mapped, numbers_in
from meshwright.runtime.threads import cut

PARTS = StructType([StructField("id", LongType())])
PROFILES = StructType([StructField("profile", BinaryType())])  # pickled

Task = Callable[[Batches], Batches]

NO_ROWS = ScanRequest(np.empty(0, np.int32), np.empty(0, np.int32), 0)


@dataclass
class ScanRounds:
    """The rounds of one run, in a directory that the driver and the tasks share."""

    spark: SparkSession
    directory: Path
    task_positions: int = TASK_POSITIONS  # that a task reads, about
    local_positions: int = LOCAL_POSITIONS  # up to which a scan is done in the driver
    _number: int = field(default=0, init=False)  # of the latest round
    _label: Ints = field(init=False)  # labels by position, as of that round

    def open_scan(self, components: Components, min_candidates: int) -> Scan:
        """Ship the interests; return the scan of rows by tasks."""
        checkpoints.write_interests(self.directory, components)
        self._number = 0
        self._label = np.arange(len(components.nodes), dtype=np.int32)
        here = open_local_scan(components, min_candidates)
        # Compile the scan, by scanning no rows, before several workers would compile it.
        counters, found = new_row_counters(components), kernel.new_candidates(np.empty(0, np.int64))
        kernel.scan_candidates(components, NO_ROWS, counters, found, 0, 0)

        def scan(c: Components, request: ScanRequest) -> Iterator[tuple[Ints, Candidates]]:
            costs = kernel.scan_costs(c, request.rows)
            if int(costs.sum()) <= self.local_positions:
                yield from here(c, request)
                return
            cuts = cut(costs, self.task_positions)
            number, n_parts = self._write_request(c, request, cuts), len(cuts) - 1
            results = [checkpoints.result_path(self.directory, number, k) for k in range(n_parts)]
            if not all(path.is_file() for path in results):
                self._run(partial(_scan_parts, self.directory, number, min_candidates), n_parts)
            for part in range(n_parts):
                yield request.rows[cuts[part] : cuts[part + 1]], mapped(results[part])

        return scan

    def _write_request(self, c: Components, request: ScanRequest, cuts: Longs) -> int:
        """Write the request of the next round; return its number."""
        self._number += 1
        position = np.flatnonzero(self._label != c.label).astype(np.int32)
        label = c.label[position]
        self._label[position] = label
        rows, degree, cap = request
        asked = Round(position, label, c.open_count, degree, cap, rows, cuts)
        checkpoints.write_request(self.directory, self._number, asked)
        return self._number

    def _run(self, task: Task, n_parts: int) -> None:
        self.spark.range(0, n_parts, 1, n_parts).mapInArrow(task, PARTS).collect()

    def profile(self, c: Components | None, max_degree: int) -> Profile:
        """Return the gains of all pairs before the first edge, or with the given components."""
        number = 0
        if c is not None:
            number = self._write_request(c, NO_ROWS, np.zeros(1, np.int64))
        return reduce(Profile.plus, self._profile(number, max_degree, lambda: None), NOTHING)

    def profile_in_background(self) -> BackgroundProfile:
        """Start to count the gains of all pairs before the first edge, on half of the cores.

        Once the result is awaited, use all cores.
        """
        half = max(1, parallelism(self.spark) // 4)
        return BackgroundProfile(
            lambda is_awaited: self._profile(0, NO_LIMIT, lambda: None if is_awaited() else half)
        )

    def _profile(
        self, number: int, max_degree: int, width: Callable[[], int | None]
    ) -> Iterator[Profile]:
        """Yield the profile of each part, `width()` parts at once; None for all that are left."""
        interests: Components = mapped(self.directory / checkpoints.INTERESTS)
        cuts = cut(kernel.profile_costs(interests), self.task_positions)
        task = partial(_profile_parts, self.directory, number, cuts.tolist(), max_degree)
        first, n_parts = 0, len(cuts) - 1
        while first < n_parts:
            last = min(first + (width() or n_parts), n_parts)
            parts = self.spark.range(first, last, 1, last - first)
            for row in parts.mapInArrow(task, PROFILES).collect():
                yield pickle.loads(row[0])
            first = last


class BackgroundProfile:
    """The sum of profiles that a thread computes part by part, until it is stopped.

    `parts` gets a function that returns whether the sum is awaited.
    """

    def __init__(self, parts: Callable[[Callable[[], bool]], Iterator[Profile]]) -> None:
        self._stopped, self._awaited = Event(), Event()
        pool = ThreadPoolExecutor(1)
        self._sum = pool.submit(self._run, parts(self._awaited.is_set))
        pool.shutdown(wait=False)

    def _run(self, parts: Iterator[Profile]) -> Profile:
        total = NOTHING
        for part in parts:
            if self._stopped.is_set():
                break
            total = total.plus(part)
        return total

    def stop(self) -> None:
        """Start no further part."""
        self._stopped.set()

    def result(self) -> Profile:
        """Wait for the last part; return the sum."""
        self._awaited.set()
        return self._sum.result()


def _scan_parts(directory: Path, number: int, min_candidates: int, batches: Batches) -> Batches:
    for part in numbers_in(batches):
        checkpoints.scan_part(directory, number, part, min_candidates)
    yield from ()


def _profile_parts(
    directory: Path, number: int, cuts: list[int], max_degree: int, batches: Batches
) -> Batches:
    for part in numbers_in(batches):
        c = checkpoints.follower(directory).components_at(number)
        found = profile(c, max_degree, cuts[part], cuts[part + 1], needs=number == 0)
        yield pa.RecordBatch.from_pydict({"profile": [pickle.dumps(found)]})
