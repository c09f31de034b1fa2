"""Generation of a Zipf workload: subscriptions per second and core, 20 of 10,000 topics.

The whole verb is timed with the session up: draw, digest, write. The kernel alone is timed too.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks._cpu import cpu_seconds

N_TOPICS = 10_000
SIZE = 20
ALPHA = 0.5
AIM = 1_000_000
CORES = 2


def run(arguments: list[str]) -> None:
    """Measure the pipeline and its kernel."""
    parser = argparse.ArgumentParser(prog="scripts/bench generate", description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--alpha", type=float, default=ALPHA)
    parser.add_argument("--memory", default="4g", help="memory of Spark's JVM")
    options = parser.parse_args(arguments)
    os.environ["MESHWRIGHT_MEMORY"] = options.memory
    from meshwright.spark.session import spark_session
    from meshwright.workload.generate import generate

    kernel_rate = kernel(options.nodes // 10, options.alpha)
    spark = spark_session(f"local[{CORES}]")
    with tempfile.TemporaryDirectory(prefix="meshwright-bench-") as place:
        seconds = []
        for nodes in (options.nodes // 10, options.nodes):  # the first compiles and warms up
            start, cpu = time.perf_counter(), cpu_seconds()
            generate(
                spark,
                "zipf",
                Path(place) / "workload",
                nodes=nodes,
                topics=N_TOPICS,
                subscriptions=(SIZE, SIZE),
                alpha=options.alpha,
                force=True,
            )
            seconds.append(time.perf_counter() - start)
            cpu = cpu_seconds() - cpu
    rate = options.nodes * SIZE / seconds[-1] / CORES
    print(f"meshwright  {options.nodes * SIZE:,} subscriptions  {seconds[-1]:.1f} s on {CORES}")
    print(f"whole verb  {rate:>12,.0f} subscriptions per second and core (aim: {AIM:,})")
    print(f"             {options.nodes * SIZE / cpu:>11,.0f} subscriptions per second of CPU")
    print(f"kernel      {kernel_rate:>12,.0f} subscriptions per second and core")


def kernel(nodes: int, alpha: float) -> float:
    """Return the subscriptions that one core draws a second."""
    from meshwright.workload import draw_kernel
    from meshwright.workload.generate import popularity

    weights = popularity("zipf", N_TOPICS, alpha=alpha)
    cumulative = np.cumsum(weights / weights.sum())
    guide = draw_kernel.guide_table(cumulative)
    for count in (1, nodes):  # the first compiles
        start = time.perf_counter()
        _, topics = draw_kernel.draw_successive(1, 0, count, SIZE, SIZE, weights, cumulative, guide)
        seconds = time.perf_counter() - start
    return len(topics) / seconds
