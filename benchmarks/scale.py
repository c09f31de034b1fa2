"""Design on Spark at scale: seconds and memory against nodes, quality, gain of a second core.

The curve is `gm` on generated friends, 18.87 of each user, with reading, bounds, writing and
`check`; `links s` is the part of `design s` until the last link was found, and `bounds s` the wait
for the bounds after that: the trees of the one pass, and what is left of the counting. `--quality`
compares with the engine of the driver, where both can run; `--parallel` times a design on clusters
of one and of two executors, each of one core, one after the other.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks._instances import TINY, load, prepare, results, social
from benchmarks._measure import peak_memory, timed
from meshwright.runtime.progress import Progress

SIZES = "100000,1000000,3000000"
GROWTH_AIM, PARALLEL_AIM = 1.3, 1.5
BOUNDS_AIM = 1.0  # of the time of the links
COMPARED = "fb10k,ego-twitter,comm100k"
WARM_UP = 2_000  # users at most of the run that compiles
# Sizes of the tasks of that run, small enough for tasks on the executors.
SMALL_TASKS: dict[str, Any] = {"task_positions": 10_000, "local_positions": 1_000}
WIDTHS = (10, 14, 9, 8, 9, 8, 8, 11, 7, 8)
RATIO = 0.2  # of what minmax needs: the budget of gpa and gpm


def run(arguments: list[str]) -> None:
    """Measure the curve, or what an option selects."""
    parser = argparse.ArgumentParser(prog="scripts/bench scale", description=__doc__)
    parser.add_argument("--sizes", default=SIZES, help=f"numbers of users [{SIZES}]")
    parser.add_argument("--data", type=Path, help="the directory of the real graphs, for --quality")
    parser.add_argument("--quality", action="store_true", help="compare with the driver")
    parser.add_argument("--names", default=COMPARED, help=f"instances of --quality [{COMPARED}]")
    parser.add_argument(
        "--parallel", metavar="NAME", help="an instance, such as comm1m or comm100k"
    )
    parser.add_argument("--one", nargs=2, metavar=("NAME", "MASTER"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        time_one(*options.one)
    elif options.quality:
        quality(options.names.split(","), options.data)
    elif options.parallel:
        parallel(options.parallel)
    else:
        curve([int(size) for size in options.sizes.split(",")])


def smoke() -> None:
    """Measure a curve of one size, the quality and one design on the smallest instances."""
    run(["--sizes", "300"])
    run(["--quality", "--names", TINY])
    run(["--one", TINY, "local[2]"])


def curve(sizes: list[int]) -> None:
    """Print seconds and memory of design and check for each number of users."""
    from meshwright.overlay.check import check
    from meshwright.overlay.forecast import workload_forecast
    from meshwright.overlay.greedy.spark_design import design_on_spark
    from meshwright.runtime.session import spark_session

    spark = spark_session("local[2]")
    with tempfile.TemporaryDirectory(prefix="meshwright-bench-", dir=results()) as scratch:
        warm_up = social(min(WARM_UP, *sizes))
        design_on_spark(spark, warm_up, Path(scratch) / "warm", "gm", **SMALL_TASKS)
        head = ["users", "incidences", "design s", "links s", "bounds s", "ns each", "check s"]
        head += ["links", "most", "peak MB"]
        print(" ".join(f"{name:>{width}}" for name, width in zip(head, WIDTHS, strict=True)))
        rows: list[dict[str, float]] = []
        for size in sizes:
            workload, out = social(size), Path(scratch) / "overlay"
            incidences = workload_forecast(workload).incidences
            steps = StepTimes()
            designing = partial(design_on_spark, spark, workload, out, progress=steps)
            with peak_memory() as peak:
                seconds, _, manifest = timed(designing)
            checked, _, report = timed(partial(check, spark, out, workload=workload))
            if report.findings:
                raise SystemExit(f"error: {report.findings}")
            rows.append(
                {
                    "nodes": size,
                    "incidences": incidences,
                    "seconds": seconds,
                    "link_seconds": manifest["seconds"],
                    "bound_seconds": steps.seconds["computing the bounds"],
                    "check": checked,
                    "megabytes": peak.megabytes,
                    "links": manifest["n_edges"],
                }
            )
            cells = (
                f"{size:,}",
                f"{incidences:,}",
                f"{seconds:.1f}",
                f"{manifest['seconds']:.1f}",
                f"{rows[-1]['bound_seconds']:.1f}",
                f"{1e9 * seconds / incidences:.1f}",
                f"{checked:.1f}",
                f"{manifest['n_edges']:,}",
                f"{manifest['max_degree']:,}",
                f"{peak.megabytes:,.0f}",
            )
            line = " ".join(f"{cell:>{width}}" for cell, width in zip(cells, WIDTHS, strict=True))
            print(line, flush=True)
            (results() / "scale.json").write_text(json.dumps(rows, indent=1))
            shutil.rmtree(out)
    costs = [row["seconds"] / row["incidences"] for row in rows]
    growth = costs[-1] / costs[0]
    print(f"per incidence, largest over smallest: {growth:.2f} (aim: {GROWTH_AIM})")
    share = max(row["bound_seconds"] / row["link_seconds"] for row in rows)
    print(f"bounds over links, at most: {share:.2f} (aim: {BOUNDS_AIM})")


class StepTimes(Progress):
    """A progress that prints nothing and keeps the seconds of each step."""

    def __init__(self) -> None:
        super().__init__(1_000_000, quiet_seconds=7 * 86_400)
        self.seconds: dict[str, float] = {}

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Time a step."""
        started = time.perf_counter()
        with super().step(what):
            yield
        self.seconds[what] = time.perf_counter() - started


def quality(names: list[str], data: Path | None) -> None:
    """Print the overlays by levels, as on Spark, next to those of the driver's engine."""
    from meshwright.model.instance import Instance
    from meshwright.model.overlay import Overlay
    from meshwright.overlay import design
    from meshwright.overlay.greedy.level_order import level_edges, open_local_scan
    from meshwright.overlay.greedy.rule import Edges, Rule
    from meshwright.runtime.progress import ProgressCallback

    def by_levels(
        instance: Instance, rule: Rule, on_progress: ProgressCallback | None = None
    ) -> Edges:
        del on_progress
        return level_edges(instance, rule, open_local_scan)  # as the tasks of Spark: tests/spark

    def both(method: str, **budget: Any) -> tuple[Overlay, Overlay]:
        driver = design(instance, method, certify=False, **budget)
        return driver, design(instance, method, certify=False, engine=by_levels, **budget)

    print(f"{'':<12} {'':<7} {'driver':>12} {'levels':>12}")
    for name in names:
        instance = load(name, data)
        driver, levels = both("gm")
        ratio = f"{levels.n_edges / driver.n_edges:.4f} of the links (aim: 1.02)"
        show(name, "gm", f"{driver.n_edges:,}", f"{levels.n_edges:,}", ratio)
        driver, levels = both("minmax")
        ratio = f"{levels.max_degree / driver.max_degree:.3f} (aim: 1.1)"
        show(name, "minmax", f"{driver.max_degree:,}", f"{levels.max_degree:,}", ratio)
        m, d = int(RATIO * driver.n_edges), max(1, int(RATIO * driver.max_degree))
        for method, budget in (("gpa", {"max_edges": m}), ("gpm", {"max_degree": d})):
            driver, levels = both(method, **budget)
            points = f"{100 * (driver.support - levels.support):.2f} points less (aim: 1)"
            show(name, method, f"{driver.support:.4%}", f"{levels.support:.4%}", points)


def show(name: str, method: str, driver: str, levels: str, verdict: str) -> None:
    """Print one comparison."""
    print(f"{name:<12} {method:<7} {driver:>12} {levels:>12}  {verdict}", flush=True)


def parallel(name: str) -> None:
    """Time the links of `gm` and their certificate on one and on two executors of one core."""
    prepare(name, None)  # or an error, before a cluster is started
    seconds = {}
    for n in (1, 2):
        command = [sys.executable, "-m", "benchmarks", "scale", "--one", name]
        done = subprocess.run(
            [*command, f"local-cluster[{n},1,2048]"], capture_output=True, text=True, check=True
        )
        found = json.loads(done.stdout.splitlines()[-1])
        seconds[n] = found["seconds"]
        print(f"{n} executors  {found['seconds']:8.1f} s  {found['n_edges']:,} links", flush=True)
    print(f"two over one: {seconds[1] / seconds[2]:.2f}x (aim: {PARALLEL_AIM})")


def time_one(name: str, master: str) -> None:
    """Time a design on a cluster that has compiled the kernels."""
    from meshwright.model.instance import Instance
    from meshwright.overlay.greedy.spark_scans import ScanRounds
    from meshwright.runtime.session import spark_session

    spark = spark_session(master)
    instance = load(name, None)
    indptr = instance.indptr[: WARM_UP + 1]
    small = Instance.from_arrays(indptr, instance.topics[: indptr[-1]])
    with tempfile.TemporaryDirectory(prefix="meshwright-bench-") as scratch:
        for step, workload, sizes in (("warm", small, SMALL_TASKS), ("timed", instance, {})):
            directory = Path(scratch) / step
            directory.mkdir()
            rounds = ScanRounds(spark, directory, **sizes)
            seconds, _, n_edges = timed(partial(links_and_bounds, workload, rounds))
    print(json.dumps({"seconds": seconds, "n_edges": n_edges}))


def links_and_bounds(instance: Any, rounds: Any) -> int:
    """Return the links of `gm`; the bounds are counted at the same time, as `design` does."""
    from meshwright.overlay.greedy.level_order import level_edges
    from meshwright.overlay.greedy.rule import Rule

    profiles: list[Any] = []

    def open_scan(interests: Any, room: int) -> Any:
        scan = rounds.open_scan(interests, room)
        profiles.append(rounds.profile_in_background())
        return scan

    edges, _ = level_edges(instance, Rule(), open_scan)
    profiles[0].result()
    return len(edges)
