"""Design on Spark at size: seconds and memory against nodes, quality, and what a second core gives.

The curve is `gm` on generated friends, 18.87 of each user, with reading, bounds, writing and
`check`. `--quality` compares with the driver's engine, where both can run; `--parallel` times a
design on clusters of one and of two executors, each of one core, one after the other.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._instances import RESULTS, load, prepare
from benchmarks._memory import peak_memory

SIZES = "100000,1000000,3000000"
FRIENDS = 18.87
GROWTH_AIM, PARALLEL_AIM = 1.3, 1.5
COMPARED = ("fb10k", "ego-twitter", "comm100k")
WIDTHS = (10, 14, 9, 8, 8, 11, 7, 8)
RATIO = 0.2  # of what minmax needs: the budget of gpa and gpm


def run(arguments: list[str]) -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(prog="scripts/bench scale", description=__doc__)
    parser.add_argument("--sizes", default=SIZES, help=f"numbers of users [{SIZES}]")
    parser.add_argument("--data", type=Path, help="the directory of the graphs, for --quality")
    parser.add_argument("--quality", action="store_true", help="compare with the driver's engine")
    parser.add_argument(
        "--parallel", metavar="NAME", help="an instance, such as comm1m or comm100k"
    )
    parser.add_argument("--one", nargs=2, metavar=("NAME", "MASTER"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        time_one(*options.one)
    elif options.quality:
        quality(options.data)
    elif options.parallel:
        parallel(options.parallel)
    else:
        curve([int(size) for size in options.sizes.split(",")])


def curve(sizes: list[int]) -> None:
    """Print seconds and memory of design and check against the users."""
    from meshwright.evaluation.check import check
    from meshwright.overlay.forecast import workload_forecast
    from meshwright.overlay.levels.design import design_on_spark
    from meshwright.spark.session import spark_session

    spark = spark_session("local[2]")
    with tempfile.TemporaryDirectory(prefix="meshwright-bench-", dir=RESULTS) as scratch:
        warm = social(spark, 2_000)
        design_on_spark(spark, warm, Path(scratch) / "warm", "gm", part=10_000, little=1_000)
        head = ("users", "incidences", "design s", "ns each", "check s", "links", "most", "peak MB")
        print(" ".join(f"{name:>{width}}" for name, width in zip(head, WIDTHS, strict=True)))
        rows: list[dict[str, float]] = []
        for size in sizes:
            place, out = social(spark, size), Path(scratch) / "overlay"
            incidences = workload_forecast(place).incidences
            with peak_memory() as peak:
                seconds, manifest = timed(design_on_spark, spark, place, out)
            checked, found = timed(check, spark, out, workload=place)
            if found.findings:
                raise SystemExit(f"error: {found.findings}")
            rows.append(
                {
                    "nodes": size,
                    "incidences": incidences,
                    "seconds": seconds,
                    "check": checked,
                    "megabytes": peak.megabytes,
                    "links": manifest["n_edges"],
                }
            )
            cells = (
                f"{size:,}",
                f"{incidences:,}",
                f"{seconds:.1f}",
                f"{1e9 * seconds / incidences:.1f}",
                f"{checked:.1f}",
                f"{manifest['n_edges']:,}",
                f"{manifest['max_degree']:,}",
                f"{peak.megabytes:,.0f}",
            )
            line = " ".join(f"{cell:>{width}}" for cell, width in zip(cells, WIDTHS, strict=True))
            print(line, flush=True)
            (RESULTS / "scale.json").write_text(json.dumps(rows, indent=1))
            shutil.rmtree(out)
    each = [row["seconds"] / row["incidences"] for row in rows]
    print(f"per incidence, largest over smallest: {each[-1] / each[0]:.2f} (aim: {GROWTH_AIM})")


def social(spark: Any, users: int) -> Path:
    """Return the workload of so many users, made on first use."""
    from meshwright.workload.social import generate_social
    from meshwright.workload.social_model import SocialModel

    names = {100_000: "social100k", 1_000_000: "social1m", 3_000_000: "social3m"}
    place = RESULTS / "instances" / names.get(users, f"social{users}")
    if not place.exists():
        generate_social(spark, place, SocialModel(nodes=users, mean_degree=FRIENDS))
    return place


def quality(data: Path | None) -> None:
    """Print what the levels give beside what the driver's engine gives."""
    from meshwright.overlay import design
    from meshwright.overlay.engine import Edges, Rule, Tell
    from meshwright.overlay.levels.here import scan_here
    from meshwright.overlay.levels.run import level_edges
    from meshwright.values import Instance, Overlay

    def by_levels(instance: Instance, rule: Rule, tell: Tell | None = None) -> Edges:
        del tell
        return level_edges(instance, rule, scan_here)  # tasks find the same: tests/spark

    def of(instance: Instance, method: str, **asked: Any) -> tuple[Overlay, Overlay]:
        here = design(instance, method, certify=False, **asked)
        return here, design(instance, method, certify=False, engine=by_levels, **asked)

    print(f"{'':<12} {'':<7} {'driver':>12} {'levels':>12}")
    for name in COMPARED:
        instance = load(prepare(name, data))
        here, there = of(instance, "gm")
        ratio = there.n_edges / here.n_edges
        told(name, "gm", here.n_edges, there.n_edges, f"{ratio:.4f} of the links (aim: 1.02)")
        here, there = of(instance, "minmax")
        ratio = there.max_degree / here.max_degree
        told(name, "minmax", here.max_degree, there.max_degree, f"{ratio:.3f} (aim: 1.1)")
        m, d = int(RATIO * here.n_edges), max(1, int(RATIO * here.max_degree))
        for method, budget in (("gpa", {"max_edges": m}), ("gpm", {"max_degree": d})):
            here, there = of(instance, method, **budget)
            points = 100 * (here.support - there.support)
            told(name, method, here.support, there.support, f"{points:.2f} points less (aim: 1)")


def told(name: str, method: str, here: float, there: float, what: str) -> None:
    """Print one comparison."""
    show: Callable[[float], str] = lambda x: f"{x:,}" if isinstance(x, int) else f"{x:.4%}"  # noqa: E731
    print(f"{name:<12} {method:<7} {show(here):>12} {show(there):>12}  {what}", flush=True)


def parallel(name: str) -> None:
    """Time the links of `gm` and their certificate on one and on two executors of one core."""
    prepare(name, None)  # refused, or made, before a cluster is started
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
    """Time a design on a cluster, its processes started and the kernels compiled before."""
    from meshwright.overlay.levels.on_spark import Rounds
    from meshwright.spark.session import spark_session
    from meshwright.values import Instance

    spark = spark_session(master)
    instance = load(prepare(name, None))
    first = np.arange(2_001, dtype=np.int64)
    small = Instance.from_arrays(instance.indptr[first], instance.topics[: instance.indptr[2_000]])
    with tempfile.TemporaryDirectory(prefix="meshwright-bench-") as scratch:
        for what in (small, instance):
            place = Path(scratch) / str(what.n_nodes)
            place.mkdir()
            sizes = {"part": 100, "little": 10} if what is small else {}
            rounds = Rounds(spark, place, **sizes)
            seconds, n_edges = timed(links_and_bounds, what, rounds)
    print(json.dumps({"seconds": seconds, "n_edges": n_edges}))


def links_and_bounds(instance: Any, rounds: Any) -> int:
    """Find the links of `gm` while the bounds are counted beside, as `design` does."""
    from meshwright.overlay.engine import Rule
    from meshwright.overlay.levels.run import level_edges

    beside: list[Any] = []

    def open_scan(interests: Any, room: int) -> Any:
        scan = rounds.open_scan(interests, room)
        beside.append(rounds.profile_beside())
        return scan

    edges, _ = level_edges(instance, Rule(), open_scan)
    beside[0].result()
    return len(edges)


def timed(work: Callable[..., Any], *arguments: Any, **options: Any) -> tuple[float, Any]:
    """Return how long a call took, and what it gave."""
    started = time.perf_counter()
    found = work(*arguments, **options)
    return time.perf_counter() - started, found
