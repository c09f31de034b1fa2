"""Generation of a Zipf workload or a social graph: subscriptions per second and core.

The whole verb is timed with the session up: draw, digest, write. Zipf is 20 of 10,000 topics, and
its kernel is timed alone too. `--social` is friends, 18.87 of each user as in paper 1's Facebook.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks._cpu import cpu_seconds
from benchmarks._memory import peak_memory

N_TOPICS = 10_000
SIZE = 20
ALPHA = 0.5
AIM = 1_000_000
CORES = 2
FRIENDS = 18.87
SOCIAL_AIM = 600.0  # seconds for 3 million users


def run(arguments: list[str]) -> None:
    """Measure the pipeline and its kernel."""
    parser = argparse.ArgumentParser(prog="scripts/bench generate", description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--social", action="store_true", help="a social graph, not Zipf")
    parser.add_argument("--alpha", type=float, default=ALPHA)
    parser.add_argument("--memory", default="4g", help="memory of Spark's JVM")
    options = parser.parse_args(arguments)
    os.environ["MESHWRIGHT_MEMORY"] = options.memory
    if options.social:
        social(options.nodes)
        return
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


def social(nodes: int) -> None:
    """Measure the generator of social graphs, Spark's start included."""
    from meshwright.spark.session import spark_session
    from meshwright.workload.social import generate_social
    from meshwright.workload.social_model import SocialModel

    with tempfile.TemporaryDirectory(prefix="meshwright-bench-") as place, peak_memory() as peak:
        start, cpu = time.perf_counter(), cpu_seconds()
        spark = spark_session(f"local[{CORES}]")
        model = SocialModel(nodes=nodes, mean_degree=FRIENDS)
        manifest = generate_social(spark, Path(place) / "workload", model)
        seconds, cpu = time.perf_counter() - start, cpu_seconds() - cpu
    found = manifest["n_subscriptions"]
    print(f"meshwright  {found:,} subscriptions, mean degree {found / nodes:.3f} of {FRIENDS}")
    print(f"whole verb  {seconds:.0f} s on {CORES} cores (aim: {SOCIAL_AIM:.0f} at 3,000,000)")
    print(f"            {cpu:.0f} s of CPU, {found / cpu:,.0f} subscriptions per second of it")
    print(f"memory      {peak.megabytes:,.0f} MB at most, all processes")
    print(f"digest      {manifest['digest'][:16]}")


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
