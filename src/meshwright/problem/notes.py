"""What the tasks that write subscribers report: the digests of their blocks, and counts.

A task leaves a note beside the table, on the storage that tables are written to anyway; a task
that is run again replaces its note by an equal one.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from meshwright.datasets.digest import combine, name_blocks
from meshwright.problem.dataset import subscriber_batch
from meshwright.problem.digest import Floats, subscriber_blocks

if TYPE_CHECKING:
    from meshwright.datasets import Staging

Blocks = list[tuple[int, bytes]]


def notes_of(stage: Staging) -> Path:
    """Return the directory for the notes, made."""
    place = stage.scratch("notes")
    place.mkdir()
    return place


@dataclass
class SubscriberNotes:
    """Take the subscribers of one task block by block, and write down what was seen."""

    directory: Path
    leaf_location: Floats
    leaf_down: Floats
    rows: Blocks = field(default_factory=list)
    names: Blocks = field(default_factory=list)
    in_time: npt.NDArray[np.int64] | None = None
    max_delay: tuple[float, float] = (np.inf, -np.inf)  # the least and the most

    def take(
        self,
        first: int,
        names: pa.Array,
        location: Floats,
        low: Floats,
        high: Floats,
        max_delay: Floats,
    ) -> pa.RecordBatch:
        """Return whole blocks of subscribers, by id from `first` on, as rows of the table."""
        from meshwright.problem.count_kernel import count_in_time

        counts = count_in_time(location, max_delay, self.leaf_location, self.leaf_down)
        self.in_time = counts if self.in_time is None else self.in_time + counts
        self.max_delay = widen(self.max_delay, max_delay)
        self.rows += subscriber_blocks(first, location, low, high, max_delay)
        self.names += name_blocks(np.arange(first, first + len(names), dtype=np.int32), names)
        return subscriber_batch(first, names, location, low, high, max_delay)

    def finish(self) -> None:
        """Write the note of this task, if it had any subscriber."""
        if self.in_time is None:
            return
        note = {
            "rows": [(block, digest.hex()) for block, digest in self.rows],
            "names": [(block, digest.hex()) for block, digest in self.names],
            "in_time": self.in_time.tolist(),
            "max_delay": self.max_delay,
        }
        part = self.rows[0][0]
        draft = self.directory / f".{part}-{os.getpid()}"
        draft.write_text(json.dumps(note))
        draft.replace(self.directory / f"{part}.json")


@dataclass(frozen=True)
class Seen:
    """The notes of all tasks, summed up."""

    rows: str
    names: str
    in_time: npt.NDArray[np.int64]
    max_delay: tuple[float, float]


def read_notes(directory: Path) -> Seen:
    """Return what all tasks saw."""
    notes = [json.loads(path.read_text()) for path in directory.glob("*.json")]
    digests = [
        combine([(block, bytes.fromhex(digest)) for note in notes for block, digest in note[kind]])
        for kind in ("rows", "names")
    ]
    in_time = np.array([note["in_time"] for note in notes], np.int64).sum(axis=0)
    delays = [delay for note in notes for delay in note["max_delay"]]
    return Seen(digests[0], digests[1], in_time, (min(delays), max(delays)))


def widen(ends: tuple[float, float], values: Floats) -> tuple[float, float]:
    """Return the ends of a range made to hold the values too."""
    return min(ends[0], float(values.min())), max(ends[1], float(values.max()))
