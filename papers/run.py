"""Run experiments on Spark: a task per group of cells, each cell kept as soon as it is finished."""

from __future__ import annotations

import importlib
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from meshwright.runtime.session import ship_package
from papers.ledger import Entry, judge, merge
from papers.ledger_page import DOCS_FIGURE, README, write_headline, write_ledger
from papers.model import Cell, Experiment
from papers.samples import missing_files, prepare
from papers.store import finished, flat, read_cells, write_cell, write_rows, write_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from meshwright.runtime.progress import Progress

CELLS, WORKLOADS = "cells", "workloads"
POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of an experiment; `problem` says why it has no result."""

    experiment: Experiment
    seconds: float
    n_cells: int
    n_measured: int
    entries: tuple[Entry, ...] = ()
    problem: str = ""


def run_experiments(
    spark: SparkSession,
    experiments: Sequence[Experiment],
    out: Path,
    *,
    data: Path | None,
    full: bool,
    progress: Progress,
    docs: Path | None = None,
    each: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """Measure the missing cells, draw the figures and write the ledger.

    `each` is called after every experiment. An experiment with missing graphs or a failed cell
    gets a `problem`, and the others still run.
    """
    ship_package(spark, Path(__file__).parent)
    out = out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    ready = [one for one in experiments if not missing_files(one.graphs(full), data)]
    samples = {cell.graph for one in ready for cell in one.cells(full) if cell.graph is not None}
    digests = {}
    if samples and data is not None:
        digests = prepare(spark, samples, data, out / WORKLOADS, progress)
    outcomes = []
    for experiment in experiments:
        started = time.monotonic()
        if experiment not in ready:
            files = missing_files(experiment.graphs(full), data)
            problem = f"needs {', '.join(files)}; give their directory with --data DIR."
            outcome = Outcome(experiment, 0.0, len(experiment.cells(full)), 0, (), problem)
        else:
            cells = {
                cell.key(digests[cell.graph] if cell.graph else ""): cell
                for cell in experiment.cells(full)
            }
            with progress.step(f"{experiment.id}, {len(cells)} cells"):
                measured, problem = _measure(spark, cells, out, progress, alone=experiment.alone)
            entries: tuple[Entry, ...] = ()
            if not problem:
                rows = read_cells(out / CELLS, cells)
                entries = _conclude(experiment, rows, out, docs, full)
            seconds = time.monotonic() - started
            outcome = Outcome(experiment, seconds, len(cells), measured, entries, problem)
        outcomes.append(outcome)
        if each is not None:
            each(outcome)
    return outcomes


def _conclude(
    experiment: Experiment, rows: list[dict[str, Any]], out: Path, docs: Path | None, full: bool
) -> tuple[Entry, ...]:
    """Write the table, the figure and the ledger of an experiment from all its cells."""
    write_rows(out / experiment.id / "cells.parquet", rows)
    picture = experiment.figure(rows, f"{experiment.id}: {experiment.what}")
    entries = judge(experiment, rows, full=full)
    name = experiment.id
    _publish(name, entries, picture, out, "{id}/figure.svg")
    if docs is not None:
        # The documentation has its own ledger: other rows may come from other machines.
        everything = _publish(name, entries, picture, docs, DOCS_FIGURE, keep_firmer=True)
        write_headline(docs / README, everything)
    return entries


def _publish(
    name: str,
    entries: tuple[Entry, ...],
    picture: str,
    place: Path,
    figure: str,
    *,
    keep_firmer: bool = False,
) -> list[Entry]:
    """Add an experiment to a ledger; its figure too, unless rows with stronger evidence stay.

    Return all rows of the ledger.
    """
    everything = merge(place / "ledger.json", entries, keep_firmer=keep_firmer)
    mine = tuple(entry for entry in everything if entry.experiment == name)
    target = place / figure.format(id=name)
    if mine == entries or not target.is_file():
        write_text(target, picture)
    write_ledger(place / "ledger.md", everything, figure)
    return everything


def _measure(
    spark: SparkSession, cells: dict[str, Cell], out: Path, progress: Progress, *, alone: bool
) -> tuple[int, str]:
    """Run the missing cells; return their number and the first problem."""
    from pyspark.sql.types import StringType, StructField, StructType

    store = out / CELLS
    there = finished(store, cells)
    pending = {key: cell for key, cell in cells.items() if key not in there}
    if not pending:
        return 0, ""
    store.mkdir(parents=True, exist_ok=True)
    tasks = _tasks(pending, alone=alone)
    schema = StructType([StructField("problem", StringType())])
    run_task = _runner(tasks, store, out / WORKLOADS)
    with _watched(store, pending, progress):
        numbers = spark.range(0, len(tasks), 1, len(tasks))
        problems = [row["problem"] for row in numbers.mapInArrow(run_task, schema).collect()]
    if problems:
        return len(pending), f"{len(problems)} cells failed, the first: {problems[0]}"
    return len(pending), ""


def _tasks(pending: dict[str, Cell], *, alone: bool) -> list[list[tuple[str, Cell]]]:
    """Return the cells of each task: a group, the costliest first, or all cells if `alone`."""
    groups: dict[str, list[tuple[str, Cell]]] = {}
    for key, cell in pending.items():
        groups.setdefault("" if alone else cell.group or key, []).append((key, cell))
    return sorted(groups.values(), key=lambda group: -sum(cell.cost for _, cell in group))


def _runner(
    tasks: list[list[tuple[str, Cell]]], store: Path, workloads: Path
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        problems = []
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for key, cell in tasks[number]:
                    try:
                        write_cell(store, key, measure(cell, workloads))
                    except Exception as error:
                        last = traceback.extract_tb(error.__traceback__)[-1]
                        at = f"{Path(last.filename).name}:{last.lineno}"
                        reason = f"{type(error).__name__} at {at}: {error}"
                        problems.append(f"{cell.measure} {dict(cell.given)}: {reason}")
        yield pa.RecordBatch.from_pydict({"problem": pa.array(problems, pa.string())})

    return run_task


def measure(cell: Cell, workloads: Path) -> dict[str, Any]:
    """Return the row of a cell: its parameters and its measures. Needs no JVM."""
    module, _, function = cell.measure.partition(":")
    run = getattr(importlib.import_module(f"papers.{module}"), function)
    return {**flat(cell.given), **run(cell.given, workloads)}


@contextmanager
def _watched(store: Path, pending: dict[str, Cell], progress: Progress) -> Iterator[None]:
    """Report the share of the cost that is done, by the files that have appeared."""
    total = sum(cell.cost for cell in pending.values())
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(POLL_SECONDS):
            done = sum(pending[key].cost for key in finished(store, pending))
            progress.update(done / total)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        stop.set()
        watcher.join()
