"""Overlay design: seconds, multiples of SciPy's A @ A.T, memory and edges of each method.

No exact method can avoid knowing how many topics two nodes share, so the product of the
node-by-topic matrix with its transpose (one thread, in blocks of rows whose results are dropped)
is timed in the same process, and every method is given as a multiple of it. Short runs of both are
repeated, and the shortest counts. `x` compares seconds; `cpu x` compares the time of all
processors, the better measure on a shared machine. Each cell runs in a process of its own, so that
its peak memory is its own; `own MB` is the memory that the first run adds to the loaded instance.
Kernels are compiled beforehand. `edge-contrib:gm` and `naive:gm` are the methods of the papers as
they describe them, for small instances; `edge-contrib-summed:gm` moves a pair once per edge.
"""

import argparse
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._instances import SEED, TINY, load_file, prepare, results
from benchmarks._measure import matrix_product, shortest, timed
from meshwright.model.instance import Instance
from meshwright.model.overlay import Overlay

METHODS = ("gm", "minmax", "low", "gpa", "gpm", "cd", "cd1", "cd2")
EDGE_CONTRIB = "papers.edge_contrib"
# With the method after a colon, as in edge-contrib:minmax.
REFERENCES: dict[str, tuple[str, dict[str, Any]]] = {
    "edge-contrib": (EDGE_CONTRIB, {}),
    "edge-contrib-summed": (EDGE_CONTRIB, {"summed": True}),
    "naive": ("papers.naive_greedy", {}),
}
BUDGETS: dict[str, dict[str, Any]] = {"gpa": {"average_degree": 4}, "gpm": {"max_degree": 8}}


def run(arguments: list[str]) -> None:
    """Measure the given methods on the given instances."""
    parser = argparse.ArgumentParser(prog="scripts/bench overlay", description=__doc__)
    parser.add_argument("--data", type=Path, help="the directory of the real graphs")
    parser.add_argument("--instances", default="fb1k,fb10k,tw10k,zipf10k")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--out", type=Path, help="default: overlay.json of the results")
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
    out = options.out or results() / "overlay.json"
    out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {out}; compare two such files with scripts/bench compare A B")


def smoke() -> None:
    """Measure one method of ours on the smallest instance and the methods of the papers."""
    print(json.dumps(measure(prepare(TINY, None), "gm")))
    for method in REFERENCES:
        run_method(warm_ups(reference=True)[0], f"{method}:gm")


def measure(workload: Path, method: str) -> dict[str, Any]:
    """Return the cost of a design and of its bounds, and of the product in the same process."""
    from meshwright.overlay.bounds import find_bounds

    for warm_up in warm_ups(reference=":" in method):
        find_bounds(warm_up, run_method(warm_up, method).edges)
    instance = load_file(workload)
    loaded = reset_peak()
    first = timed(lambda: run_method(instance, method))
    used, overlay = peak_megabytes(), first.result
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
    """Return instances that make a method compile all its kernels: table, rows, threads."""
    dense = Instance.from_pairs((f"n{i % 5}", f"t{i % 3}") for i in range(12))
    sparse = Instance.from_pairs((f"n{i}", f"t{i % 90}") for i in range(300))
    if reference:
        return [dense, sparse]
    rng = np.random.default_rng(SEED)
    pairs = zip(rng.integers(0, 3_000, 30_000), rng.integers(0, 200, 30_000), strict=True)
    return [dense, sparse, Instance.from_pairs((f"n{u}", f"t{t}") for u, t in pairs)]


def run_method(instance: Instance, method: str) -> Overlay:
    """Return the overlay of one of our methods or of a reference."""
    from meshwright.overlay import design

    reference, _, known = method.partition(":")
    if reference not in REFERENCES:
        budget: dict[str, Any] = BUDGETS.get(method, {})
        return design(instance, method, certify=False, **budget)
    name, options = REFERENCES[reference]
    module = import_module(name)
    edges, gains = module.edges(instance, known or "gm", **options)
    return Overlay(instance, edges, gains, method)


def peak_megabytes() -> float:
    """Return the largest memory of this process since `reset_peak` (Linux).

    Not `ru_maxrss`: there a child process begins with the peak of its parent.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1000


def reset_peak() -> float:
    """Make the present memory the peak of this process (Linux), and return it."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak_megabytes()
