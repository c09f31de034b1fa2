"""`design` on Spark: the same methods, level by level, for networks past one machine.

The rounds are kept beside the overlay, in a directory of its name and ``.rounds``, until it is
written: a design that was killed goes on from there when the same command is given again.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pyspark.sql import SparkSession

from meshwright.datasets import Manifest, read_manifest
from meshwright.errors import InputError
from meshwright.kernels.components import count_subscribers, join_all, new_components
from meshwright.overlay import METHODS, check_asked, design
from meshwright.overlay.bounds import bounds_of
from meshwright.overlay.dataset import write_overlay
from meshwright.overlay.engine import Edges, Rule, Tell, by_size, in_order
from meshwright.overlay.forecast import ON_SPARK, refuse_what_cannot_fit_on_spark
from meshwright.overlay.levels import rounds
from meshwright.overlay.levels.on_spark import LITTLE, PART, Beside, Rounds
from meshwright.overlay.levels.run import ROOM, Scan, Standing, level_edges
from meshwright.overlay.levels.scan_kernel import Interests, Linked
from meshwright.spark.progress import Progress, no_progress
from meshwright.spark.session import machine_memory
from meshwright.values import Bounds, Instance

N_STEPS = 4


def design_on_spark(
    spark: SparkSession,
    workload: str | Path,
    out: str | Path,
    method: str = "gm",
    *,
    part: int = PART,
    little: int = LITTLE,
    force: bool = False,
    progress: Progress | None = None,
    **asked: Any,
) -> Manifest:
    """Write the overlay that a method designs, with its rows scanned by Spark's tasks.

    Parameters
    ----------
    part
        What a task walks over, in subscribers of topics; `little` is what is not worth a task.
    asked
        Budgets and parameters as `design` takes them.

    """
    if method not in ON_SPARK:
        raise InputError(f"{method} does not run on Spark; {', '.join(ON_SPARK)} do.")
    check_asked(method, **asked)
    progress = progress or no_progress()
    with progress.step("reading the workload"):
        refuse_what_cannot_fit_on_spark(read_manifest(Path(workload), "workload"), machine_memory())
        instance = Instance.load(workload)
    settings = {"method": method, "room": ROOM, "part": part, "little": little, **asked}
    work = rounds_of(Path(out))
    name = rounds.open_work(work, {"workload": instance.digest, **settings})
    is_complete = METHODS[method].budget is None
    beside = is_complete and asked.get("certify", True)
    run = _OnSpark(spark, work / name, progress, {"part": part, "little": little}, beside=beside)
    overlay = design(instance, method, engine=run.edges, bounds=run.bounds, **asked)
    parameters = {**overlay.parameters, "engine": "spark"}
    overlay = replace(overlay, parameters=parameters, _components=run.components(instance))
    with progress.step("writing the overlay"):
        manifest = write_overlay(overlay, out, workload, force=force)
    shutil.rmtree(work, ignore_errors=True)
    return manifest


def rounds_of(out: Path) -> Path:
    """Return where the rounds of a design are kept until it is done."""
    target = out.resolve()
    return target.with_name(f"{target.name}.rounds")


class _OnSpark:
    """The engine and the bounds of one design; with a budget ratio the engine runs twice."""

    def __init__(
        self,
        spark: SparkSession,
        work: Path,
        progress: Progress,
        sizes: Mapping[str, int],
        *,
        beside: bool,
    ) -> None:
        self._spark = spark
        self._work = work
        self._progress = progress
        self._sizes = sizes
        # The bounds of a complete overlay do not depend on its edges, and need not wait for them.
        self._count_beside = beside
        self._beside: Beside | None = None
        self._rounds: list[Rounds] = []
        self._joined = 0  # by the edges of the last run

    def edges(self, instance: Instance, rule: Rule, tell: Tell | None = None) -> Edges:
        """Return the edges under a rule."""
        del tell  # it takes a share; what is known here is more
        place = self._work / f"run-{len(self._rounds)}"
        place.mkdir(parents=True, exist_ok=True)
        self._rounds.append(Rounds(self._spark, place, **self._sizes))

        def report(standing: Standing) -> None:
            self._progress.tell(standing.share, str(standing))

        with self._progress.step("designing"):
            try:
                found = level_edges(instance, rule, self._open_scan, report)
            except BaseException:
                if self._beside:
                    self._beside.stop()
                raise
        self._joined = int(found[1].sum(dtype=np.int64))
        return found

    def _open_scan(self, interests: Interests, room: int) -> Scan:
        scan = self._rounds[-1].open_scan(interests, room)
        if self._count_beside:
            self._beside = self._rounds[-1].profile_beside()
        return scan

    def bounds(self, instance: Instance, edges: npt.NDArray[np.int32]) -> Bounds:
        """Return the bounds, the gains of all pairs counted by tasks."""
        with self._progress.step("working out the bounds"):
            subscribers = count_subscribers(instance.topics, instance.n_topics)
            mu_full = int(np.maximum(subscribers - 1, 0).sum())
            if self._beside:
                return bounds_of(self._beside.result(), None, self._joined, mu_full, len(edges))
            max_degree = int(np.bincount(edges.ravel(), minlength=1).max(initial=0))
            before = self._rounds[-1].profile(None, max_degree)
            after = None
            if 0 < self._joined < mu_full:
                after = self._rounds[-1].profile(_linked(instance, edges), max_degree)
            return bounds_of(before, after, self._joined, mu_full, len(edges))

    def components(self, instance: Instance) -> list[npt.NDArray[np.int32]]:
        """Return the components of each topic and the nodes in the largest, if that is known.

        It is when the run has joined all there is; else nothing is returned.
        """
        subscribers = count_subscribers(instance.topics, instance.n_topics)
        if self._joined < int(np.maximum(subscribers - 1, 0).sum()):
            return []
        return [np.minimum(subscribers, 1), subscribers]


def _linked(instance: Instance, edges: npt.NDArray[np.int32]) -> Linked:
    """Return the nodes as the edges link them, numbered as in the rounds."""
    ids = by_size(instance)
    c = new_components(*in_order(instance, ids), instance.n_topics)
    rank = np.argsort(ids).astype(np.int32)
    join_all(c, rank[edges])
    return Linked(c.label, c.open_count > 1, np.zeros(len(ids), np.int32))
