"""Rounds of scans on disk: the request of each round, and the results of its tasks.

A round is a directory. The driver writes the request: the rows to scan, and the labels that have
changed since the round before. Each task scans a part of the rows and writes its results, renamed
when complete. A run that starts again makes the same requests and uses the results that are there.

A task process keeps the labels of all positions between rounds, 4 bytes per subscription, and
applies the changes; the interests are mapped, so all processes of a machine share their pages.
"""

import hashlib
import json
import shutil
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from meshwright.model.kernels.components import Components
from meshwright.overlay.greedy.kernels import candidates as kernel
from meshwright.overlay.greedy.kernels.counts import new_row_counters
from meshwright.runtime.arrays import Ints, Longs
from meshwright.runtime.tasks import mapped, ship

SETTINGS = "design.json"
INTERESTS = "interests"
REQUEST = "request"


class Round(NamedTuple):
    """The request of a round."""

    position: Ints  # int32[n_changed], the positions with a new label
    label: Ints  # int32[n_changed], these labels
    open_count: Ints  # int32[n_topics], the components of each topic
    degree: Ints  # int32[n_nodes]
    cap: int
    rows: Ints  # int32[n_rows], the rows to scan
    cuts: Longs  # int64[n_parts + 1], part k has the rows cuts[k] .. cuts[k + 1]


def open_work(directory: Path, settings: Mapping[str, Any]) -> str:
    """Prepare the directory of a design's rounds; remove the rounds of another design.

    Return a name for the design, by which task processes that outlive it tell it from the next.
    """
    text = json.dumps(dict(settings), sort_keys=True)
    file = directory / SETTINGS
    if not (file.is_file() and file.read_text() == text):
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        file.write_text(text)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def round_path(directory: Path, number: int) -> Path:
    """Return the directory of a round; the first has number 1."""
    return directory / f"round-{number:04d}"


def result_path(directory: Path, number: int, part: int) -> Path:
    """Return the path of the results of a part of a round."""
    return round_path(directory, number) / f"found-{part:05d}"


def write_request(directory: Path, number: int, request: Round) -> None:
    """Write the request of a round, unless an earlier run has written the same one."""
    place = round_path(directory, number)
    file = place / REQUEST
    if file.is_file():
        pairs = zip(mapped(file), request, strict=True)
        if all(np.array_equal(np.asarray(a), np.asarray(b)) for a, b in pairs):
            return
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    ship(file, request)


def write_interests(directory: Path, c: Components) -> None:
    """Write the interests of a run before its first edge, unless an earlier run has."""
    if not (directory / INTERESTS).is_file():
        names = ("slot_at", "slot_label", "label", "follower", "size", "open_count")
        unread: dict[str, Any] = dict.fromkeys(names, np.empty(0, np.int32))
        ship(directory / INTERESTS, c._replace(**unread))


class Follower:
    """What a task process keeps of a run: the interests, and the labels of its latest round."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._interests: Components = mapped(directory / INTERESTS)
        self.counters = new_row_counters(self._interests)
        self._label = np.arange(len(self._interests.nodes), dtype=np.int32)
        self._number = 0

    def components_at(self, number: int) -> Components:
        """Return the components as of a round, as far as scans and profiles read them.

        Before the first round there are no labels: every component has one node.
        """
        if number == 0:
            return self._interests
        if number < self._number:  # a task of an earlier round, run again
            self._label = np.arange(len(self._label), dtype=np.int32)
            self._number = 0
        while self._number < number:
            self._number += 1
            request = self.request(self._number)
            self._label[request.position] = request.label
        open_count = self.request(number).open_count
        return self._interests._replace(label=self._label, open_count=open_count)

    def request(self, number: int) -> Round:
        """Return the request of a round."""
        return mapped(round_path(self.directory, number) / REQUEST)


@lru_cache(maxsize=1)  # a process works on one run at a time
def follower(directory: Path) -> Follower:
    """Return what this process keeps of a run."""
    return Follower(directory)


def scan_part(directory: Path, number: int, part: int, min_candidates: int) -> None:
    """Scan a part of a round's rows, unless that is done."""
    out = result_path(directory, number, part)
    if out.is_file():
        return
    known = follower(directory)
    c, request = known.components_at(number), known.request(number)
    rows = request.rows[request.cuts[part] : request.cuts[part + 1]]
    found = kernel.new_candidates(kernel.candidate_room(c, rows, min_candidates))
    scan = kernel.ScanRequest(rows, request.degree, request.cap)
    kernel.scan_candidates(c, scan, known.counters, found, 0, len(rows))
    ship(out, found)
