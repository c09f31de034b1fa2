"""Paper 5's Tables I and II, and the data of its Figures 6 and 9, next to ours.

Yu, Agarwal, Yang, "Subscriber Assignment for Wide-Area Content-Based Publish/Subscribe" (ICDE
2011), section VI. The paper's generator is not public; the workloads are drawn as docs/content.md
describes, so ratios to the fractional solution are compared, not bandwidths. Finished runs are kept
in a file and not run again.
"""

import argparse
import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from papers.assignment_claims import TABLE_1, TABLE_2

from benchmarks._instances import results
from benchmarks._measure import timed

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


def run(arguments: list[str]) -> None:
    """Make the runs that are not in the file yet, then print the tables."""
    parser = argparse.ArgumentParser(prog="scripts/bench paper5", description=__doc__)
    parser.add_argument("--subscribers", type=int, default=100_000, help="of every workload")
    parser.add_argument("--seed", type=int, default=1, help="of workloads and methods")
    parser.add_argument("--only", help="workloads, separated by commas")
    parser.add_argument(
        "--out", type=Path, help="the file of runs; default: paper5.csv of the results"
    )
    options = parser.parse_args(arguments)
    out = options.out or results() / "paper5.csv"
    wanted = options.only.split(",") if options.only else list(WORKLOADS)
    rows = read(out)
    for workload in wanted:
        for method in WORKLOADS[workload][1]:
            key = (workload, method, str(options.subscribers), str(options.seed))
            if key not in rows:
                rows[key] = measure(workload, method, options.subscribers, options.seed)
                write(out, rows)
                found = rows[key]
                print(
                    f"{workload:<10}{method:<17}{float(found['seconds']):>7.1f} s  "
                    f"{float(found['bandwidth']):.4g}  lbf {float(found['lbf']):.3f}  "
                    f"{found['violations'] or 'feasible'}",
                    flush=True,
                )
    these = (str(options.subscribers), str(options.seed))
    print_tables({(key[0], key[1]): row for key, row in rows.items() if key[2:] == these})


def smoke() -> None:
    """Run one workload of 300 subscribers."""
    run(["--subscribers", "300", "--only", "loose"])


def measure(workload: str, method: str, subscribers: int, seed: int) -> dict[str, str]:
    """Run a method on a workload and return its row."""
    from meshwright.content.methods.registry import assign
    from meshwright.content.problem.synthetic import content_arguments, draw_problem

    arguments = WORKLOADS[workload][0]
    problem = draw_problem(content_arguments(subscribers=subscribers, seed=seed, **arguments))
    seconds, _, assignment = timed(lambda: assign(problem, method=method, seed=seed))
    loads = np.sort(assignment.loads[problem.tree.leaves])[::-1]
    broken = assignment.report.as_dict()
    found = {
        "workload": workload,
        "method": method,
        "subscribers": subscribers,
        "seed": seed,
        "seconds": round(seconds, 2),
        "bandwidth": assignment.bandwidth,
        "fractional": "" if assignment.fractional is None else assignment.fractional,
        "boxes": assignment.notes.get("n_candidate_boxes", ""),
        "programs": assignment.notes.get("n_linear_programs", ""),
        "bound": assignment.bound.value,
        "lbf": assignment.lbf,
        "beta_max": problem.beta_max,
        "delay_rms": assignment.measures.delay_rms,
        "delay_max": assignment.measures.delay_max,
        "load_stdev": assignment.measures.load_stdev,
        "feasible": assignment.feasible,
        "violations": " ".join(f"{name}:{entry['count']}" for name, entry in broken.items()),
        "loads": " ".join(map(str, loads.tolist())),
    }
    return {name: str(value) for name, value in found.items()}


def print_tables(rows: Mapping[tuple[str, str], Mapping[str, str]]) -> None:
    """Print our ratios next to the paper's, and which methods keep the limits."""
    print("\nbandwidth over the fractional solution: ours (the paper's)")
    methods = ("slp", "gr-star", "gr", "gr-no-latency")
    print(f"{'':<11}{'fractional':>11}{'boxes':>7}" + "".join(f"{name:>16}" for name in methods))
    for workload, paper in {**TABLE_1, **TABLE_2}.items():
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
    print("\nlimits: load balance factor over its cap, and the limits that are violated")
    for (workload, method), row in rows.items():
        over = float(row["lbf"]) / float(row["beta_max"])
        verdict = row["violations"] or "feasible"
        print(
            f"{workload:<11}{method:<17}{over:>6.2f}  rms {float(row['delay_rms']):.3f}  "
            f"stdev {float(row['load_stdev']):>7.1f}  {float(row['seconds']):>7.1f} s  {verdict}"
        )


def read(path: Path) -> dict[tuple[str, ...], dict[str, str]]:
    """Return the finished runs of a file, by workload, method, subscribers and seed."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {tuple(row[name] for name in COLUMNS[:4]): row for row in csv.DictReader(file)}


def write(path: Path, rows: Mapping[tuple[str, ...], Mapping[str, str]]) -> None:
    """Write the finished runs."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows.values())
