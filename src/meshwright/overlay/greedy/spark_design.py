"""`design` on Spark: the same methods in level order, for networks beyond one machine.

The rounds are kept next to the overlay, in a directory of its name and ``.rounds``, until it is
written: a design that was killed continues from there when the same command is given again.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import SparkSession

from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.model.kernels.components import (
    Components,
    count_subscribers,
    join_all,
    new_components,
)
from meshwright.model.overlay import Bounds
from meshwright.overlay import check_request, design
from meshwright.overlay.bounds import Certify, by_prices
from meshwright.overlay.bounds.counting import bounds_of
from meshwright.overlay.dataset import write_overlay
from meshwright.overlay.forecast import check_fits_on_spark
from meshwright.overlay.greedy.checkpoints import open_work
from meshwright.overlay.greedy.kernels.tuning import LOCAL_POSITIONS, MIN_CANDIDATES, TASK_POSITIONS
from meshwright.overlay.greedy.level_order import Scan, level_edges
from meshwright.overlay.greedy.rule import Edges, Rule, rank_nodes, reorder_nodes
from meshwright.overlay.greedy.spark_scans import BackgroundProfile, ScanRounds
from meshwright.overlay.greedy.spark_trees import histogram_on_spark
from meshwright.overlay.methods import METHODS, ON_SPARK
from meshwright.runtime.arrays import Ints
from meshwright.runtime.progress import OnProgress, Progress, no_progress
from meshwright.storage import Manifest, open_dataset

N_STEPS = 4


def design_on_spark(
    spark: SparkSession,
    workload: str | Path,
    out: str | Path,
    method: str = "gm",
    *,
    task_positions: int = TASK_POSITIONS,
    local_positions: int = LOCAL_POSITIONS,
    force: bool = False,
    progress: Progress | None = None,
    **asked: Any,
) -> Manifest:
    """Write the overlay that a method designs, with its rows scanned by Spark's tasks.

    A task reads about `task_positions` positions (subscribers of topics); a scan of at most
    `local_positions` is done in the driver. `asked` are budgets and parameters as in `design`.
    """
    if method not in ON_SPARK:
        raise InputError(f"{method} does not run on Spark; {', '.join(ON_SPARK)} do.")
    check_request(method, **asked)
    progress = progress or no_progress()
    with progress.step("reading the workload"):
        source = open_dataset(Path(workload), "workload")
        check_fits_on_spark(source)
        instance = Instance.read(source)
    sizes = {"task_positions": task_positions, "local_positions": local_positions}
    settings = {"method": method, "min_candidates": MIN_CANDIDATES, **sizes, **asked}
    work = rounds_path(Path(out))
    name = open_work(work, {"workload": instance.digest, **settings})
    # The bounds of a complete overlay do not depend on its edges, and need not wait for them.
    early_bounds = METHODS[method].budget is None and asked.get("certify", True)
    seconds = asked.pop("certify_seconds", None)
    effort = None if seconds is None else Certify.within(seconds)
    run = _SparkEngine(spark, work / name, progress, sizes, early_bounds, effort)
    overlay = design(instance, method, engine=run.edges, bounds=run.bounds, **asked)
    parameters = {**overlay.parameters, "engine": "spark"}
    overlay = replace(overlay, parameters=parameters, _components=run.components())
    with progress.step("writing the overlay"):
        manifest = write_overlay(overlay, out, workload, force=force)
    shutil.rmtree(work, ignore_errors=True)
    return manifest


def rounds_path(out: Path) -> Path:
    """Return the directory that keeps the rounds of a design until it is done."""
    target = out.resolve()
    return target.with_name(f"{target.name}.rounds")


@dataclass
class _SparkEngine:
    """The engine and the bounds of one design; with a budget ratio the engine runs twice."""

    spark: SparkSession
    work: Path
    progress: Progress
    sizes: Mapping[str, int]
    early_bounds: bool
    effort: Certify | None = None  # how far to improve the bounds, if not by default
    _background: BackgroundProfile | None = None
    _rounds: list[ScanRounds] = field(default_factory=list)
    _subscribers: Ints = field(init=False)  # int32[n_topics]
    _full: int = 0  # joins of a complete overlay
    _joined: int = 0  # by the edges of the last run

    def edges(self, instance: Instance, rule: Rule, _: OnProgress) -> Edges:
        """Return the edges of a rule; `progress` takes details too."""
        place = self.work / f"run-{len(self._rounds)}"
        place.mkdir(parents=True, exist_ok=True)
        self._rounds.append(ScanRounds(self.spark, place, **self.sizes))
        with self.progress.step("designing"):
            try:
                found = level_edges(instance, rule, self._open_scan, self.progress.update)
            except BaseException:
                if self._background:
                    self._background.stop()
                raise
        self._subscribers = count_subscribers(instance.topics, instance.n_topics)
        self._full = int(np.maximum(self._subscribers - 1, 0).sum())
        self._joined = int(found[1].sum(dtype=np.int64))
        return found

    def _open_scan(self, components: Components, min_candidates: int) -> Scan:
        scan = self._rounds[-1].open_scan(components, min_candidates)
        if self.early_bounds:
            self._background = self._rounds[-1].profile_in_background()
        return scan

    def bounds(self, instance: Instance, edges: Ints) -> Bounds:
        """Return the bounds: counting and one pass by tasks, an ascent in this process."""
        with self.progress.step("computing the bounds"):
            counted = self._counted(instance, edges)
            effort = self.effort or Certify.by_default(instance)
            trees = partial(histogram_on_spark, self._rounds[-1])
            return by_prices(instance, edges, counted, effort, histogram_of=trees)

    def _counted(self, instance: Instance, edges: Ints) -> Bounds:
        """Return the bounds by counting; tasks count the gains of all pairs."""
        joins = (self._joined, self._full)
        if self._background:
            return bounds_of(self._background.result(), None, *joins, len(edges))
        max_degree = int(np.bincount(edges.ravel(), minlength=1).max(initial=0))
        before, after = self._rounds[-1].profile(None, max_degree), None
        if 0 < self._joined < self._full:
            ids = rank_nodes(instance)  # as in the rounds
            c = new_components(*reorder_nodes(instance, ids), instance.n_topics)
            join_all(c, np.argsort(ids).astype(np.int32)[edges])
            after = self._rounds[-1].profile(c, max_degree)
        return bounds_of(before, after, *joins, len(edges))

    def components(self) -> list[Ints]:
        """Return each topic's components and the size of the largest if all are joined, or []."""
        if self._joined < self._full:
            return []
        return [np.minimum(self._subscribers, 1), self._subscribers]
