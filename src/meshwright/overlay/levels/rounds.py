"""Rounds of scans on disk: what is asked of the tasks of a round, and what they found.

A round is a directory. The driver writes what has changed since the round before (labels that are
new) with the rows to scan; each task scans a part of the rows and leaves what it found, renamed
when whole. A run that is started again after a kill asks the same questions in the same order, and
takes the answers that are there already.

A task keeps the labels of all positions between rounds and applies the changes; the interests it
maps. So a process holds 4 bytes per subscription of its own, and all processes of a machine share
the pages of the interests.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from meshwright.overlay.levels.change_kernel import take_over
from meshwright.overlay.levels.scan_kernel import (
    Found,
    Interests,
    Ints,
    Linked,
    new_counts,
    new_found,
    scan_rows,
)
from meshwright.spark.ship import mapped, ship

KEY = "design.json"
INTERESTS = "interests"
ASKED = "asked"


class Asked(NamedTuple):
    """A round: what is new, the rows to scan, and where each part of them begins."""

    position: Ints  # that have a new label
    label: Ints
    is_open: npt.NDArray[np.bool_]
    degree: Ints
    cap: int
    rows: Ints
    cuts: npt.NDArray[np.int64]  # part k has the rows from cuts[k] to cuts[k + 1]


def open_work(directory: Path, key: Mapping[str, Any]) -> str:
    """Make the directory of a design's rounds ready; what belongs to another one is removed.

    Return a name for the design: processes that outlive it tell it by that from the next one.
    """
    told = json.dumps(dict(key), sort_keys=True)
    kept = directory / KEY
    if not (kept.is_file() and kept.read_text() == told):
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        kept.write_text(told)
    return hashlib.sha256(told.encode()).hexdigest()[:12]


def round_at(directory: Path, number: int) -> Path:
    """Return the directory of a round; the first has number 1."""
    return directory / f"round-{number:04d}"


def is_done(directory: Path, number: int) -> bool:
    """Tell whether every part of a round has been scanned."""
    place = round_at(directory, number)
    if not (place / ASKED).is_file():
        return False
    n_parts = len(mapped(place / ASKED).cuts) - 1
    return all(found_at(place, part).is_file() for part in range(n_parts))


def found_at(place: Path, part: int) -> Path:
    """Return where what a part found is."""
    return place / f"found-{part:05d}"


def ask(directory: Path, number: int, asked: Asked) -> Path:
    """Write a round, unless an earlier run has; return its directory."""
    place = round_at(directory, number)
    if (place / ASKED).is_file() and same_question(mapped(place / ASKED), asked):
        return place
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    write(place / ASKED, asked)
    return place


def same_question(one: Asked, other: Asked) -> bool:
    """Tell whether two rounds ask the same."""
    pairs = zip(one, other, strict=True)
    return all(np.array_equal(np.asarray(a), np.asarray(b)) for a, b in pairs)


def write(path: Path, value: object) -> None:
    """Write a value so that a file under this name is whole."""
    draft = path.with_name(f".{path.name}-{os.getpid()}")
    ship(draft, value)
    draft.replace(path)


class Follower:
    """What a process of a task knows of the run: the interests, and the labels of a round."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.interests: Interests = mapped(directory / INTERESTS)
        self.counts = new_counts(self.interests)
        self._label = np.arange(len(self.interests.nodes), dtype=np.int32)
        self._number = 0
        self._slot_label = np.empty(0, np.int32)
        self._slot_number = 0

    def labels_at(self, number: int) -> Ints:
        """Return the labels as a round knows them."""
        if number < self._number:  # a task of an earlier round, run again
            self._label = np.arange(len(self._label), dtype=np.int32)
            self._number = 0
        while self._number < number:
            self._number += 1
            asked = self.asked(self._number)
            take_over(self._label, asked.position, asked.label)
        return self._label

    def slot_labels_at(self, number: int) -> Ints:
        """Return the same labels by slot."""
        if number != self._slot_number:
            self._slot_label = self.labels_at(number)[self.interests.position_at]
            self._slot_number = number
        return self._slot_label

    def asked(self, number: int) -> Asked:
        """Return what a round asks."""
        asked: Asked = mapped(round_at(self.directory, number) / ASKED)
        return asked


_following: list[Follower] = []  # one at most: a process works on one run at a time


def follower(directory: Path) -> Follower:
    """Return what this process knows of a run."""
    if not _following or _following[0].directory != directory:
        _following[:] = [Follower(directory)]
    return _following[0]


def scan_part(directory: Path, number: int, part: int, room: int) -> int:
    """Scan a part of a round's rows, unless that is done; return how many rows were scanned."""
    out = found_at(round_at(directory, number), part)
    if out.is_file():
        return 0
    known = follower(directory)
    asked, label = known.asked(number), known.labels_at(number)
    rows = asked.rows[asked.cuts[part] : asked.cuts[part + 1]]
    found: Found = new_found(known.interests, rows, room)
    linked = Linked(label, asked.is_open, asked.degree)
    scan_rows(known.interests, linked, asked.cap, rows, 0, len(rows), known.counts, found)
    write(out, found)
    return len(rows)
