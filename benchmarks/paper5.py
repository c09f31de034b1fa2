"""Paper 5's Tables I and II, and what its Figures 6 and 9 plot, beside ours.

Yu, Agarwal, Yang, "Subscriber Assignment for Wide-Area Content-Based Publish/Subscribe" (ICDE
2011), section VI. The workloads are drawn by the laws of docs/content.md, since the paper's own
generator is not public, so ratios to the fractional solution are compared, not bandwidths. Finished
runs are kept in a file and not run again.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"
COLUMNS = (
    "workload", "method", "subscribers", "seed", "seconds", "bandwidth", "fractional", "boxes",
    "programs", "bound", "lbf", "beta_max", "delay_rms", "delay_max", "load_stdev", "feasible",
    "violations", "loads",
)  # fmt: skip
ONE_LEVEL = ("slp", "gr-star", "gr", "gr-no-latency", "closest", "closest-balanced", "balance")
WORKLOADS: Mapping[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "IS:L BI:L": ({"skew": "low", "broad": "low"}, ONE_LEVEL),
    "IS:H BI:L": ({"skew": "high", "broad": "low"}, ONE_LEVEL),
    "IS:L BI:H": ({"skew": "low", "broad": "high"}, ONE_LEVEL),
    "IS:H BI:H": ({"skew": "high", "broad": "high"}, ONE_LEVEL),
    "set 2": ({"set": 2}, ("slp", "gr-star", "gr", "gr-no-latency")),
    "set 3": ({"set": 3}, ("slp", "gr-star", "gr", "gr-no-latency")),
    "tight": (
        {"skew": "low", "broad": "high", "levels": "many", "latency": "tight"},
        ("slp", "gr-star"),
    ),
    "loose": (
        {"skew": "low", "broad": "high", "levels": "many", "latency": "loose"},
        ("slp", "gr-star"),
    ),
}
# Bandwidth over the fractional solution, from the paper's tables.
PAPER = {
    "IS:L BI:L": {"slp": 7.12 / 3.09, "gr-star": 6.53 / 3.09, "gr": 9.50 / 3.09},
    "IS:H BI:L": {"slp": 1.86 / 1.2, "gr-star": 1.53 / 1.2, "gr": 2.09 / 1.2},
    "IS:L BI:H": {"slp": 8.48 / 3.81, "gr-star": 7.79 / 3.81, "gr": 10.5 / 3.81},
    "IS:H BI:H": {"slp": 2.13 / 1.29, "gr-star": 2.39 / 1.29, "gr": 2.78 / 1.29},
    "set 2": {"slp": 1.37 / 1.01, "gr-star": 0.85 / 1.01, "gr-no-latency": 220 / 1.01e7},
    "set 3": {"slp": 5.4 / 2.48, "gr-star": 5.3 / 2.48, "gr-no-latency": 5.09 / 2.48},
}


def run(arguments: list[str]) -> None:
    """Run what is not in the file yet, then print the tables."""
    parser = argparse.ArgumentParser(prog="scripts/bench paper5", description=__doc__)
    parser.add_argument("--subscribers", type=int, default=100_000, help="of every workload")
    parser.add_argument("--seed", type=int, default=1, help="of workloads and methods")
    parser.add_argument("--only", help="workloads, by commas")
    parser.add_argument("--out", type=Path, default=RESULTS / "paper5.csv", help="the file of runs")
    options = parser.parse_args(arguments)
    wanted = options.only.split(",") if options.only else list(WORKLOADS)
    rows = read(options.out)
    for workload in wanted:
        for method in WORKLOADS[workload][1]:
            key = (workload, method, str(options.subscribers), str(options.seed))
            if key not in rows:
                rows[key] = measure(workload, method, options.subscribers, options.seed)
                write(options.out, rows)
                found = rows[key]
                print(
                    f"{workload:<10}{method:<17}{float(found['seconds']):>7.1f} s  "
                    f"{float(found['bandwidth']):.4g}  lbf {float(found['lbf']):.3f}  "
                    f"{found['violations'] or 'feasible'}",
                    flush=True,
                )
    mine = {(key[0], key[1]): row for key, row in rows.items() if key[2:] == key_of(options)}
    print_tables(mine)


def key_of(options: argparse.Namespace) -> tuple[str, str]:
    """Return what tells the runs of these options from others in the file."""
    return str(options.subscribers), str(options.seed)


def measure(workload: str, method: str, subscribers: int, seed: int) -> dict[str, str]:
    """Run a method on a workload and return its row."""
    from meshwright.assignment.methods import assign
    from meshwright.problem.arguments import content_arguments
    from meshwright.problem.sets import draw_problem

    arguments = WORKLOADS[workload][0]
    problem = draw_problem(content_arguments(subscribers=subscribers, seed=seed, **arguments))
    start = time.perf_counter()
    answer = assign(problem, method=method, seed=seed)
    seconds = time.perf_counter() - start
    loads = np.sort(answer.loads[problem.tree.leaves])[::-1]
    broken = answer.report.as_dict()
    found = {
        "workload": workload,
        "method": method,
        "subscribers": subscribers,
        "seed": seed,
        "seconds": round(seconds, 2),
        "bandwidth": answer.bandwidth,
        "fractional": "" if answer.fractional is None else answer.fractional,
        "boxes": answer.notes.get("n_candidate_boxes", ""),
        "programs": answer.notes.get("n_linear_programs", ""),
        "bound": answer.bound.value,
        "lbf": answer.lbf,
        "beta_max": problem.beta_max,
        "delay_rms": answer.measures.delay_rms,
        "delay_max": answer.measures.delay_max,
        "load_stdev": answer.measures.load_stdev,
        "feasible": answer.feasible,
        "violations": " ".join(f"{name}:{entry['count']}" for name, entry in broken.items()),
        "loads": " ".join(map(str, loads.tolist())),
    }
    return {name: str(value) for name, value in found.items()}


def print_tables(rows: Mapping[tuple[str, str], Mapping[str, str]]) -> None:
    """Print the ratios beside the paper's, and who keeps the limits."""
    print("\nbandwidth over the fractional solution: ours (the paper's)")
    methods = ("slp", "gr-star", "gr", "gr-no-latency")
    print(f"{'':<11}{'fractional':>11}{'boxes':>7}" + "".join(f"{name:>16}" for name in methods))
    for workload, paper in PAPER.items():
        if (workload, "slp") not in rows:
            continue
        fractional = float(rows[workload, "slp"]["fractional"])
        cells = []
        for method in methods:
            row = rows.get((workload, method))
            ours = f"{float(row['bandwidth']) / fractional:.2f}" if row else "-"
            theirs = f" ({paper[method]:.2g})" if method in paper else ""
            cells.append(f"{ours + theirs:>16}")
        boxes = rows[workload, "slp"]["boxes"]
        print(f"{workload:<11}{fractional:>11.4g}{boxes:>7}" + "".join(cells))
    print("\nlimits: load balance factor over its cap, and what is violated")
    for (workload, method), row in rows.items():
        over = float(row["lbf"]) / float(row["beta_max"])
        told = row["violations"] or "feasible"
        print(
            f"{workload:<11}{method:<17}{over:>6.2f}  rms {float(row['delay_rms']):.3f}  "
            f"stdev {float(row['load_stdev']):>7.1f}  {float(row['seconds']):>7.1f} s  {told}"
        )


def read(path: Path) -> dict[tuple[str, ...], dict[str, str]]:
    """Return the finished runs of a file, by workload, method, subscribers and seed."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {tuple(row[name] for name in COLUMNS[:4]): row for row in csv.DictReader(file)}


def write(path: Path, rows: Mapping[tuple[str, ...], Mapping[str, str]]) -> None:
    """Write the finished runs."""
    path.parent.mkdir(exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows.values())
