"""Scans and bounds on Spark: parts of the rows are tasks, files carry what is asked and found.

Parts are cut by what they cost, wherever they will run: the same parts for any cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from pathlib import Path
from threading import Event

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, IntegerType, LongType, StructField, StructType

from meshwright.kernels.components import Components
from meshwright.overlay.bounds import NOTHING, Profile, profile
from meshwright.overlay.levels import rounds
from meshwright.overlay.levels.change_kernel import changes, take_over
from meshwright.overlay.levels.here import scan_kept
from meshwright.overlay.levels.rounds import Asked
from meshwright.overlay.levels.run import Scan
from meshwright.overlay.levels.scan_kernel import (
    NO_CAP,
    Found,
    Interests,
    Ints,
    Linked,
    row_costs,
    walk_costs,
)
from meshwright.spark.parts import cut
from meshwright.spark.session import parallelism
from meshwright.spark.ship import mapped

PART = 50_000_000  # positions that a task walks over: about half a second
LITTLE = 20_000_000  # positions that are walked over here before tasks have begun

DONE = StructType([StructField("part", IntegerType()), StructField("n_rows", IntegerType())])
PROFILES = StructType(
    [
        StructField("histogram", ArrayType(LongType())),
        *[StructField(name, LongType()) for name in ("best_sum", "needed_sum", "needed_max")],
    ]
)

Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


class Rounds:
    """The rounds of one run, in a directory that driver and tasks share."""

    def __init__(
        self, spark: SparkSession, directory: Path, *, part: int = PART, little: int = LITTLE
    ) -> None:
        self._spark = spark
        self._directory = directory
        self._part = part
        self._little = little
        self._number = 0
        self._label = np.empty(0, np.int32)  # as the tasks know them

    def open_scan(self, interests: Interests, room: int) -> Scan:
        """Ship the interests, unless an earlier run has; return the scan of rows by tasks."""
        shipped = self._directory / rounds.INTERESTS
        if not shipped.is_file():
            rounds.write(shipped, interests)
        interests = mapped(shipped)  # the driver shares the pages with tasks on its machine
        self._number = 0
        self._label = np.arange(len(interests.nodes), dtype=np.int32)
        here = scan_kept(interests, room)
        nobody = Linked(self._label, np.zeros(0, np.bool_), np.zeros(0, np.int32))
        nothing = np.empty(0, np.int32)
        list(here(nothing, nobody, 0))  # workers find the kernels compiled
        take_over(self._label, nothing, nothing)

        def scan(rows: Ints, linked: Linked, cap: int) -> Iterator[tuple[Ints, Found]]:
            costs = row_costs(interests, linked, rows)
            if int(costs.sum()) <= self._little:
                yield from here(rows, linked, cap)
                return
            asked = self._ask(rows, linked, cap, cut(costs, self._part))
            place = rounds.round_at(self._directory, self._number)
            if not rounds.is_done(self._directory, self._number):
                self._run(_scan_task(self._directory, self._number, room), len(asked.cuts) - 1)
            for part, (first, last) in enumerate(zip(asked.cuts, asked.cuts[1:], strict=False)):
                yield rows[first:last], mapped(rounds.found_at(place, part))

        return scan

    def _ask(self, rows: Ints, linked: Linked, cap: int, cuts: npt.NDArray[np.int64]) -> Asked:
        """Write the next round."""
        self._number += 1
        position, label = changes(self._label, linked.label)
        asked = Asked(position, label, linked.is_open, linked.degree.copy(), cap, rows, cuts)
        rounds.ask(self._directory, self._number, asked)
        return asked

    def _run(self, task: Task, n_parts: int) -> None:
        self._spark.range(0, n_parts, 1, n_parts).mapInArrow(task, DONE).collect()

    def profile(self, linked: Linked | None, max_degree: int) -> Profile:
        """Return the gains of all pairs before the first edge, or as the nodes are linked now."""
        number = 0
        if linked is not None:
            nobody = np.empty(0, np.int32)
            self._ask(nobody, linked, 0, np.zeros(1, np.int64))
            number = self._number
        return reduce(Profile.plus, self._profile(number, max_degree, lambda: None), NOTHING)

    def profile_beside(self) -> Beside:
        """Begin to count the gains of all pairs before the first edge, on half of the cores.

        Once they are waited for, on all.
        """
        half = max(1, parallelism(self._spark) // 4)
        return Beside(lambda awaited: self._profile(0, NO_CAP, lambda: None if awaited() else half))

    def _profile(
        self, number: int, max_degree: int, width: Callable[[], int | None]
    ) -> Iterator[Profile]:
        """Yield the profile of part after part, so many at once; all that are left where None."""
        interests: Interests = mapped(self._directory / rounds.INTERESTS)
        cuts = cut(walk_costs(interests), self._part)
        task = _profile_task(self._directory, number, cuts, max_degree)
        first, n_parts = 0, len(cuts) - 1
        while first < n_parts:
            last = min(first + (width() or n_parts), n_parts)
            parts = self._spark.range(first, last, 1, last - first)
            for row in parts.mapInArrow(task, PROFILES).collect():
                yield Profile(np.array(row[0], np.int64), row[1], row[2], row[3])
            first = last


class Beside:
    """What a thread of its own sums up, part after part, until it is stopped.

    `parts` is told by a call whether the sum is waited for.
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
        """Do not begin another part."""
        self._stopped.set()

    def result(self) -> Profile:
        """Wait for the last part; return the sum."""
        self._awaited.set()
        return self._sum.result()


def _scan_task(directory: Path, number: int, room: int) -> Task:
    def scan(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            parts = batch.column(0).to_pylist()
            sizes = [rounds.scan_part(directory, number, part, room) for part in parts]
            columns = [pa.array(parts, pa.int32()), pa.array(sizes, pa.int32())]
            yield pa.RecordBatch.from_arrays(columns, DONE.names)

    return scan


def _profile_task(
    directory: Path, number: int, cuts: npt.NDArray[np.int64], max_degree: int
) -> Task:
    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for part in batch.column(0).to_pylist():
                c = components_at(directory, number)
                first, last = int(cuts[part]), int(cuts[part + 1])
                found = profile(c, max_degree, first, last, needs=number == 0)
                numbers = (found.best_sum, found.needed_sum, found.needed_max)
                columns = [pa.array([found.histogram.tolist()], pa.list_(pa.int64()))]
                columns += [pa.array([value], pa.int64()) for value in numbers]
                yield pa.RecordBatch.from_arrays(columns, PROFILES.names)

    return count


def components_at(directory: Path, number: int) -> Components:
    """Return the components as a round knows them; what joins them is left empty.

    Before the first round each has one node, and there is no need of labels either.
    """
    known, nothing = rounds.follower(directory), np.empty(0, np.int32)
    i, label = known.interests, known.labels_at(number) if number else nothing
    return Components(
        indptr=i.indptr,
        row_end=i.indptr[1:],
        topics=i.topics,
        topic_ptr=i.topic_ptr,
        nodes=i.nodes,
        slot_at=nothing,
        position_at=i.position_at,
        slot_label=known.slot_labels_at(number) if number else nothing,
        label=label,
        follower=nothing,
        size=nothing,
        open_count=nothing,
    )
