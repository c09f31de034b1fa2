"""A mesh that outgrows its planner: the log of 200,000 brokers, ingested, followed and designed.

The log is drawn: a line of what every broker wants (topics by rank^-0.5), changes of a fifth of the
brokers, counts of messages of a tenth. `ingest` reads all of it; `--follow` reads it and then one
file more, of 1,000 changes; `design --engine spark` plans links by `gm`, and `check` recomputes its
claims. No agent and no planner runs.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from benchmarks._instances import results
from benchmarks._measure import peak_memory, timed
from meshwright.mesh.core.frames import Took
from meshwright.mesh.core.values import Interests, Version
from meshwright.mesh.storage.mesh_log import FILE_BYTES, change_line, took_line, wants_line

BROKERS, TOPICS, FILTERS = 200_000, 50_000, 10
LATER = 1_000  # changes of the file that comes later
BEGUN = 1_760_000_000.0


def run(arguments: list[str]) -> None:
    """Draw a log and measure what is made of it."""
    parser = argparse.ArgumentParser(prog="scripts/bench mesh_log", description=__doc__)
    parser.add_argument("--brokers", type=int, default=BROKERS, help=f"brokers [{BROKERS:,}]")
    parser.add_argument("--topics", type=int, default=TOPICS, help=f"topics [{TOPICS:,}]")
    parser.add_argument("--filters", type=int, default=FILTERS, help=f"of a broker [{FILTERS}]")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="meshwright-bench-", dir=results()) as scratch:
        measure(Path(scratch), options.brokers, options.topics, options.filters)


def smoke() -> None:
    """Draw the log of 200 brokers."""
    run(["--brokers", "200", "--topics", "40", "--filters", "3"])


def measure(place: Path, n_brokers: int, n_topics: int, n_filters: int) -> None:
    """Print the seconds and the memory of each step."""
    from meshwright.overlay.check import check
    from meshwright.overlay.forecast import workload_forecast
    from meshwright.overlay.greedy.spark_design import design_on_spark
    from meshwright.runtime.progress import no_progress
    from meshwright.runtime.session import spark_session
    from meshwright.workload.following import Follower, check_request
    from meshwright.workload.ingest import ingest

    draw, log, workload = np.random.default_rng(25), place / "log", place / "w"
    log.mkdir()
    drawn = DrawnLog(draw, n_brokers, n_topics, n_filters)
    n_files = write_files(log, 1, drawn.lines())
    size = sum(path.stat().st_size for path in log.iterdir())
    print(f"log of {n_brokers:,} brokers: {size / 1e6:,.1f} MB in {n_files} files", flush=True)
    spark = spark_session("local[2]")
    manifest = step("ingest", lambda: ingest(spark, [str(log)], workload))
    print(f"  {manifest['n_subscriptions']:,} subscriptions, {manifest['n_publications']:,} rates")
    overlay = step("design on Spark", lambda: design_on_spark(spark, workload, place / "o", "gm"))
    incidences = workload_forecast(workload).incidences
    print(f"  {incidences:,} incidences: {overlay['n_edges']:,} links, at most")
    print(f"  {overlay['max_degree']:,} at a broker, support {overlay['support']:.4f}")
    report = step("check", lambda: check(spark, place / "o", workload=workload))
    if report.findings:
        raise SystemExit(f"error: {report.findings}")
    with Follower(check_request(log), place / "followed") as follower:
        first = step("follow, first version", lambda: follower.step(spark, no_progress()))
        write_files(log, n_files + 1, drawn.later(LATER))
        more = f"follow, {LATER:,} changes more"
        second = step(more, lambda: follower.step(spark, no_progress()))
    again = ingest(spark, [str(log)], place / "again")
    if not (same(first, manifest) and same(second, again)):
        raise SystemExit("error: a followed workload differs from a batch ingest")
    print("  the same digests as batch ingests")


def step(what: str, work: Callable[[], Any]) -> Any:
    """Run a step; print its seconds, those of the processors, and the memory at most."""
    with peak_memory() as peak:
        seconds, cpu, result = timed(work, children=True)
    figures = f"{seconds:8.1f} s  {cpu:8.1f} s of CPU  {peak.megabytes:6,.0f} MB"
    print(f"{what:<28}{figures}", flush=True)
    return result


def same(one: Any, other: Any) -> bool:
    """Return whether two manifests have the same digest."""
    return bool(one["digest"] == other["digest"])


class DrawnLog:
    """What a planner would have written."""

    def __init__(self, draw: Generator, n_brokers: int, n_topics: int, n_filters: int) -> None:
        weights = 1 / np.sqrt(np.arange(1, n_topics + 1))
        chances = np.cumsum(weights / weights.sum())
        picked = np.searchsorted(chances, draw.random((n_brokers, n_filters)))
        self._picked = np.minimum(picked, n_topics - 1).tolist()
        self._draw, self._n_topics = draw, n_topics
        self._number = 1

    def lines(self) -> Iterator[bytes]:
        """Yield a line for each broker, then changes and counts."""
        n_brokers = len(self._picked)
        for node in range(n_brokers):
            wants = set(map(_topic, self._picked[node]))
            yield wants_line(BEGUN, Version(1, 1), _name(node), wants, n_brokers - 1 - node)
        yield from self.later(n_brokers // 5)
        for node in self._draw.integers(0, n_brokers, n_brokers // 10).tolist():
            rows = tuple((_topic(t), 60, 6_000) for t in sorted(set(self._picked[node][:3])))
            took = Took(node, 60.0, rows, 0)
            yield took_line(BEGUN + 60, Version(1, self._number), _name(node), took)

    def later(self, n: int) -> Iterator[bytes]:
        """Yield changes: a broker wants another topic instead of one."""
        for node in self._draw.integers(0, len(self._picked), n).tolist():
            self._number += 1
            came = int(self._draw.integers(0, self._n_topics))
            change = Interests(node, (_topic(came),), (_topic(self._picked[node][0]),))
            version = Version(1, self._number)
            yield change_line(BEGUN + self._number, version, _name(node), change, 0)


def write_files(place: Path, number: int, lines: Iterator[bytes]) -> int:
    """Write lines to files as large as a planner's; return how many there are then."""
    some: list[bytes] = []
    size = 0
    for line in lines:
        some.append(line)
        size += len(line)
        if size >= FILE_BYTES:
            (place / f"{number:08d}.meshlog").write_bytes(b"".join(some))
            number, some, size = number + 1, [], 0
    (place / f"{number:08d}.meshlog").write_bytes(b"".join(some))
    return number


def _name(node: int) -> str:
    return f"edge-{node:06d}"


def _topic(number: int) -> str:
    return f"site-{number % 500:03d}/device-{number:06d}/temperature"
