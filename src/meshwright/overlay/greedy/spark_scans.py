"""Scans and bounds on Spark: each task takes a part of the rows; files carry requests and results.

Rows are cut into parts by their cost alone, so the parts are the same on every cluster.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from pathlib import Path
from threading import Event

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from meshwright.model.kernels.components import Components, Ints, Longs
from meshwright.overlay.bounds import NOTHING, Profile, profile
from meshwright.overlay.greedy import checkpoints
from meshwright.overlay.greedy.checkpoints import Round
from meshwright.overlay.greedy.kernels import candidates as kernel
from meshwright.overlay.greedy.kernels.candidates import Candidates, ScanRequest
from meshwright.overlay.greedy.kernels.counts import new_row_counters
from meshwright.overlay.greedy.kernels.run import NO_LIMIT
from meshwright.overlay.greedy.kernels.tuning import LOCAL_POSITIONS, TASK_POSITIONS
from meshwright.overlay.greedy.level_order import Scan, open_local_scan
from meshwright.runtime.session import parallelism
from meshwright.runtime.ship import mapped
from meshwright.runtime.threads import cut

PARTS = StructType([StructField("id", LongType())])
PROFILES = StructType([StructField("profile", BinaryType())])  # pickled

Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


class ScanRounds:
    """The rounds of one run, in a directory that the driver and the tasks share.

    A task reads about `task_positions` positions; a scan of at most `local_positions` is done in
    the driver.
    """

    def __init__(
        self,
        spark: SparkSession,
        directory: Path,
        *,
        task_positions: int = TASK_POSITIONS,
        local_positions: int = LOCAL_POSITIONS,
    ) -> None:
        self._spark = spark
        self._directory = directory
        self._task_positions = task_positions
        self._local_positions = local_positions
        self._number = 0  # of the latest round
        self._label = np.empty(0, np.int32)  # labels by position, as of that round

    def open_scan(self, components: Components, min_candidates: int) -> Scan:
        """Ship the interests; return the scan of rows by tasks."""
        checkpoints.write_interests(self._directory, components)
        self._number = 0
        self._label = np.arange(len(components.nodes), dtype=np.int32)
        here = open_local_scan(components, min_candidates)
        _compile_scan(components)

        def scan(c: Components, request: ScanRequest) -> Iterator[tuple[Ints, Candidates]]:
            costs = kernel.scan_costs(c, request.rows)
            if int(costs.sum()) <= self._local_positions:
                yield from here(c, request)
                return
            cuts = cut(costs, self._task_positions)
            number = self._write_request(c, request, cuts)
            n_parts = len(cuts) - 1
            if not checkpoints.is_done(self._directory, number, n_parts):
                self._run(_scan_task(self._directory, number, min_candidates), n_parts)
            for part in range(n_parts):
                found = mapped(checkpoints.result_path(self._directory, number, part))
                yield request.rows[cuts[part] : cuts[part + 1]], found

        return scan

    def _write_request(self, c: Components, request: ScanRequest, cuts: Longs) -> int:
        """Write the request of the next round; return its number."""
        self._number += 1
        position = np.flatnonzero(self._label != c.label).astype(np.int32)
        label = c.label[position]
        self._label[position] = label
        checkpoints.write_request(
            self._directory,
            self._number,
            Round(position, label, c.open_count, request.degree, request.cap, request.rows, cuts),
        )
        return self._number

    def _run(self, task: Task, n_parts: int) -> None:
        self._spark.range(0, n_parts, 1, n_parts).mapInArrow(task, PARTS).collect()

    def profile(self, c: Components | None, max_degree: int) -> Profile:
        """Return the gains of all pairs before the first edge, or with the given components."""
        number = 0
        if c is not None:
            no_rows = np.empty(0, np.int32)
            number = self._write_request(c, ScanRequest(no_rows, no_rows, 0), np.zeros(1, np.int64))
        return reduce(Profile.plus, self._profile(number, max_degree, lambda: None), NOTHING)

    def profile_in_background(self) -> BackgroundProfile:
        """Start to count the gains of all pairs before the first edge, on half of the cores.

        Once the result is awaited, use all cores.
        """
        half = max(1, parallelism(self._spark) // 4)
        return BackgroundProfile(
            lambda is_awaited: self._profile(0, NO_LIMIT, lambda: None if is_awaited() else half)
        )

    def _profile(
        self, number: int, max_degree: int, width: Callable[[], int | None]
    ) -> Iterator[Profile]:
        """Yield the profile of each part, `width()` parts at once; None for all that are left."""
        interests: Components = mapped(self._directory / checkpoints.INTERESTS)
        cuts = cut(kernel.profile_costs(interests), self._task_positions)
        task = _profile_task(self._directory, number, cuts.tolist(), max_degree)
        first, n_parts = 0, len(cuts) - 1
        while first < n_parts:
            last = min(first + (width() or n_parts), n_parts)
            parts = self._spark.range(first, last, 1, last - first)
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


def _compile_scan(c: Components) -> None:
    """Compile the scan of rows by scanning none, before several workers would compile it."""
    no_rows = np.empty(0, np.int32)
    found = kernel.new_candidates(np.empty(0, np.int64))
    request = ScanRequest(no_rows, no_rows, 0)
    kernel.scan_candidates(c, request, new_row_counters(c), found, 0, 0)


def _scan_task(directory: Path, number: int, min_candidates: int) -> Task:
    def scan(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for part in batch.column(0).to_pylist():
                checkpoints.scan_part(directory, number, part, min_candidates)
            yield batch

    return scan


def _profile_task(directory: Path, number: int, cuts: list[int], max_degree: int) -> Task:
    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for part in batch.column(0).to_pylist():
                c = checkpoints.follower(directory).profile_components_at(number)
                found = profile(c, max_degree, cuts[part], cuts[part + 1], needs=number == 0)
                yield pa.RecordBatch.from_pydict({"profile": [pickle.dumps(found)]})

    return count
