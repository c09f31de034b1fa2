"""Overlay design: seconds, multiples of SciPy's A @ A.T, memory and edges of each method.

No exact method can avoid knowing how many topics two nodes share, so the product of the
node-by-topic matrix with its transpose (one thread, in blocks of rows whose results are dropped)
is timed in the same process, and every method is given as a multiple of it. Both are repeated
while that is short, and the shortest counts. `x` compares seconds; `cpu x` compares the time of all
processors, which says more when others use the machine too. Each cell runs in a process of its own,
so that its peak memory is its own; `own MB` is what the first run adds to the loaded instance.
Kernels are compiled beforehand. `edge-contrib:gm` and `naive:gm` are the methods of the papers as
they describe them, for small instances; `edge-contrib-summed:gm` moves a pair once per edge.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._instances import RESULTS, SEED, load, prepare
from meshwright.values import Instance, Overlay

METHODS = ("gm", "minmax", "low", "gpa", "gpm", "cd", "cd1", "cd2")
# With the method after a colon, as in edge-contrib:minmax.
REFERENCES: dict[str, tuple[str, dict[str, Any]]] = {
    "edge-contrib": ("edge_contrib", {}),
    "edge-contrib-summed": ("edge_contrib", {"summed": True}),
    "naive": ("naive", {}),
}
BUDGETS: dict[str, dict[str, Any]] = {"gpa": {"average_degree": 4}, "gpm": {"max_degree": 8}}
FLOOR_ROWS = 1_000
REPEAT_FOR = 3.0  # seconds


def run(arguments: list[str]) -> None:
    """Measure the methods asked for on the instances asked for."""
    parser = argparse.ArgumentParser(prog="scripts/bench overlay", description=__doc__)
    parser.add_argument("--data", type=Path, help="the directory of the real graphs")
    parser.add_argument("--instances", default="fb1k,fb10k,tw10k,zipf10k")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--out", type=Path, default=RESULTS / "overlay.json")
    parser.add_argument("--cell", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.cell:
        print(json.dumps(measure(Path(options.cell[0]), options.cell[1])))
        return
    rows: list[dict[str, Any]] = []
    print(f"{'instance':12} {'method':22} {'seconds':>8} {'floor':>7} {'x':>6} {'cpu x':>6} "
          f"{'MB':>6} {'own MB':>6} {'edges':>9} {'avg':>6} {'max':>6} {'bounds':>7}")  # fmt: skip
    for name in options.instances.split(","):
        workload = prepare(name, options.data)
        for method in options.methods.split(","):
            cell = [sys.executable, "-m", "benchmarks", "overlay", "--cell", str(workload), method]
            row = json.loads(subprocess.run(cell, check=True, capture_output=True).stdout)
            rows.append({"instance": name, "method": method, **row})
            print(
                f"{name:12} {method:22} {row['seconds']:8.3f} {row['floor']:7.3f} "
                f"{row['seconds'] / row['floor']:6.2f} {row['cpu'] / row['floor_cpu']:6.2f} "
                f"{row['megabytes']:6.0f} "
                f"{row['own_megabytes']:6.0f} {row['edges']:9,} {row['average']:6.2f} "
                f"{row['maximum']:6,} {row['bounds']:7.2f}",
                flush=True,
            )
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(f"written {options.out}; compare two such files with scripts/bench compare A B")


def measure(place: Path, method: str) -> dict[str, Any]:
    """Return what one design and its bounds take, and the floor measured in the same process."""
    from meshwright.overlay.bounds import find_bounds

    for warm_up in warm_ups(reference=":" in method):
        find_bounds(warm_up, run_method(warm_up, method).edges)
    instance = load(place)
    loaded = forget_peak()
    first = timed(lambda: run_method(instance, method))
    used, overlay = peak_megabytes(), first[2]
    seconds, cpu = shortest(lambda: run_method(instance, method), first)
    floor, floor_cpu = shortest(lambda: matrix_product(instance))
    bounds, _ = shortest(lambda: find_bounds(instance, overlay.edges))
    return {
        "seconds": seconds,
        "cpu": cpu,
        "floor": floor,
        "floor_cpu": floor_cpu,
        "megabytes": used,
        "own_megabytes": used - loaded,
        "edges": overlay.n_edges,
        "average": overlay.average_degree,
        "maximum": overlay.max_degree,
        "bounds": bounds,
    }


def warm_ups(*, reference: bool) -> list[Instance]:
    """Return instances that make a method compile all it needs: table, rows, threads."""
    dense = Instance.from_pairs((f"n{i % 5}", f"t{i % 3}") for i in range(12))
    sparse = Instance.from_pairs((f"n{i}", f"t{i % 90}") for i in range(300))
    if reference:
        return [dense, sparse]
    rng = np.random.default_rng(SEED)
    pairs = zip(rng.integers(0, 3_000, 30_000), rng.integers(0, 200, 30_000), strict=True)
    return [dense, sparse, Instance.from_pairs((f"n{u}", f"t{t}") for u, t in pairs)]


def run_method(instance: Instance, method: str) -> Overlay:
    """Return the overlay of a method of ours or of a reference."""
    from meshwright.overlay import design

    reference, _, known = method.partition(":")
    if reference not in REFERENCES:
        budget: dict[str, Any] = BUDGETS.get(method, {})
        return design(instance, method, certify=False, **budget)
    name, options = REFERENCES[reference]
    module = import_module(f"benchmarks.baselines.{name}")
    edges, gains = module.edges(instance, known or "gm", **options)
    return Overlay(instance, edges, gains, method)


def peak_megabytes() -> float:
    """Return the most memory that this process has had since `forget_peak`."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def forget_peak() -> float:
    """Make the memory of now the peak of this process (Linux), and return it."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak_megabytes()


Times = tuple[float, float]  # seconds, and those of all processors


def timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return the seconds that something takes, those of all processors, and what it returns."""
    start, cpu = time.perf_counter(), time.process_time()
    result = work()
    return time.perf_counter() - start, time.process_time() - cpu, result


def shortest(work: Callable[[], Any], *known: tuple[float, float, Any]) -> Times:
    """Return the shortest of some timings: the first also pays for cold memory."""
    found = [run[:2] for run in known] or [timed(work)[:2]]
    while sum(seconds for seconds, _ in found) < REPEAT_FOR:
        found.append(timed(work)[:2])
    return min(seconds for seconds, _ in found), min(cpu for _, cpu in found)


def matrix_product(instance: Instance) -> None:
    """Multiply the node-by-topic matrix with its transpose, a block of rows at a time."""
    from scipy import sparse

    ones = np.ones(instance.n_subscriptions, dtype=np.int32)
    shape = (instance.n_nodes, instance.n_topics)
    wants = sparse.csr_matrix((ones, instance.topics, instance.indptr), shape=shape)
    wanted_by = wants.T.tocsr()
    for start in range(0, instance.n_nodes, FLOOR_ROWS):
        wants[start : start + FLOOR_ROWS] @ wanted_by
