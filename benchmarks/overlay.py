"""Overlay design: seconds, multiples of SciPy's A @ A.T, memory and edges of each method.

No exact method can avoid knowing how many topics two nodes share, so the product of the
node-by-topic matrix with its transpose (one thread, in blocks of rows whose results are dropped)
is timed in the same process, and every method is given as a multiple of it. Each cell runs in a
process of its own, so that its peak memory is its own; kernels are compiled beforehand.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._instances import RESULTS, load, prepare
from meshwright.values import Instance

METHODS = ("gm", "minmax", "low", "cd", "cd1", "cd2")
FLOOR_ROWS = 1_000


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
    print(f"{'instance':12} {'method':8} {'seconds':>8} {'floor':>7} {'x':>6} {'MB':>6} "
          f"{'edges':>9} {'avg':>6} {'max':>6}")  # fmt: skip
    for name in options.instances.split(","):
        workload = prepare(name, options.data)
        for method in options.methods.split(","):
            cell = [sys.executable, "-m", "benchmarks", "overlay", "--cell", str(workload), method]
            row = json.loads(subprocess.run(cell, check=True, capture_output=True).stdout)
            rows.append({"instance": name, "method": method, **row})
            print(
                f"{name:12} {method:8} {row['seconds']:8.2f} {row['floor']:7.2f} "
                f"{row['seconds'] / row['floor']:6.1f} {row['megabytes']:6.0f} "
                f"{row['edges']:9,} {row['average']:6.2f} {row['maximum']:6,}",
                flush=True,
            )
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(f"written {options.out}; compare two such files with scripts/bench compare A B")


def measure(workload: Path, method: str) -> dict[str, Any]:
    """Return what one design takes, and the floor measured in the same process."""
    from meshwright.overlay import design

    warm_up = Instance.from_pairs((f"n{i % 5}", f"t{i % 3}") for i in range(12))
    design(warm_up, method, certify=False)
    instance = Instance.load(workload)
    floor = best_of_two(lambda: matrix_product(instance))
    start = time.perf_counter()
    overlay = design(instance, method, certify=False)
    return {
        "seconds": time.perf_counter() - start,
        "floor": floor,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,
        "edges": overlay.n_edges,
        "average": overlay.average_degree,
        "maximum": overlay.max_degree,
    }


def best_of_two(work: Callable[[], None]) -> float:
    """Return the shorter of two timings: the first also pays for cold memory."""
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def matrix_product(instance: Instance) -> None:
    """Multiply the node-by-topic matrix with its transpose, a block of rows at a time."""
    from scipy import sparse

    ones = np.ones(instance.n_subscriptions, dtype=np.int32)
    shape = (instance.n_nodes, instance.n_topics)
    wants = sparse.csr_matrix((ones, instance.topics, instance.indptr), shape=shape)
    wanted_by = wants.T.tocsr()
    for start in range(0, instance.n_nodes, FLOOR_ROWS):
        wants[start : start + FLOOR_ROWS] @ wanted_by
