"""Small worlds and routing: design, deliveries per second, Spark, churn, the tables of paper 4.

Parts, chosen by --parts:
design  GSwicoSL on FB10K as a multiple of SciPy's A @ A.T, as `scripts/bench overlay` has it.
kernel  deliveries per second of one core, by each protocol on FB10K.
spark   a million publications on FB10K by pie: time against a tenth of them, and peak memory.
churn   how support and overhead drift until the next redesign, on FB1K.
tables  the twelve systems of Tables 3 and 4 and the three of Table 5, on FB1K and TW1K.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from pathlib import Path

from benchmarks._cpu import cpu_seconds
from benchmarks._instances import RESULTS, prepare
from benchmarks._memory import peak_memory
from benchmarks.overlay import matrix_product, shortest
from meshwright.values import Instance

PARTS = ("design", "kernel", "spark", "churn", "tables")
AIM_FLOORS = 10.0
AIM_RATE = 500_000
AIM_MEMORY = 4_000  # megabytes
AIM_GROWTH = 1.2
PAPER_SECONDS = 14.8 * 60  # of the paper's Alg. 1 on its FB10K
SEED = 1


def run(arguments: list[str]) -> None:
    """Measure the parts asked for."""
    parser = argparse.ArgumentParser(prog="scripts/bench routing", description=__doc__)
    parser.add_argument("--data", type=Path, help="the directory of the real graphs")
    parser.add_argument("--parts", default=",".join(PARTS), help="design,kernel,spark,churn,tables")
    parser.add_argument("--publications", type=int, default=1_000_000, help="of the spark part")
    parser.add_argument("--master", default="local[2]", help="of the spark part")
    parser.add_argument("--memory", default="1g", help="memory of Spark's JVM")
    parser.add_argument("--events", type=int, default=200, help="of the churn part")
    parser.add_argument(
        "--instances", default="fb1k,tw1k", help="of the tables: fb1k, tw1k, fb10k, tw10k"
    )
    parser.add_argument("--fingers", default="chord", help="of the tables: chord or random")
    options = parser.parse_args(arguments)
    os.environ["MESHWRIGHT_MEMORY"] = options.memory
    for part in options.parts.split(","):
        if part not in PARTS:
            raise SystemExit(f"error: no part {part!r}; choose from: {', '.join(PARTS)}")
        print(f"\n{part}", flush=True)
        {
            "design": lambda: design_part(options.data),
            "kernel": lambda: kernel_part(options.data),
            "spark": lambda: spark_part(options.data, options.publications, options.master),
            "churn": lambda: churn_part(options.data, options.events),
            "tables": lambda: tables_part(options.data, options.instances, options.fingers),
        }[part]()


def design_part(data: Path | None) -> None:
    """Print what GSwicoSL takes, against the product timed in the same process."""
    from meshwright.smallworld import design

    instance = Instance.load(prepare("fb10k", data))
    warm_up = Instance.from_pairs((f"n{i % 5}", f"t{i % 3}") for i in range(12))
    design(warm_up, "sl", certify=False)  # compiles
    floor, _ = shortest(lambda: matrix_product(instance))
    world = design(instance, "sl", certify=False)
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(
        f"sl on FB10K  {world.seconds:.1f} s, {world.seconds / floor:.1f} x the product's "
        f"{floor:.2f} s (aim: {AIM_FLOORS:.0f}), {megabytes:.0f} MB; the paper took "
        f"{PAPER_SECONDS:.0f} s\nsupport {world.support:.4f}, {world.n_edges:,} links"
    )


def kernel_part(data: Path | None, publications: int = 10_000) -> None:
    """Print how many deliveries a core makes a second; threads play no part in it."""
    from meshwright.routing import ROUTINGS
    from meshwright.routing.protocols import router
    from meshwright.routing.simulate import new_draws, simulate_range, sums_of
    from meshwright.smallworld import design

    world = design(Instance.load(prepare("fb10k", data)), "sl", certify=False)
    draws = new_draws(world.instance)
    for routing in ROUTINGS:
        ready = router(world, routing)
        simulate_range(ready, draws, 0, 1, SEED)  # compiles
        started = time.process_time()
        part = simulate_range(ready, draws, 0, publications, SEED)
        seconds = time.process_time() - started
        sums = sums_of(part.tally.counts)
        aim = f" (aim: {AIM_RATE:,})" if routing == "pie" else ""
        print(
            f"{routing:8} {sums.deliveries / seconds:>12,.0f} deliveries, "
            f"{part.tally.sent.sum() / seconds:>12,.0f} messages per second and core{aim}"
        )


def spark_part(data: Path | None, publications: int, master: str) -> None:
    """Print time and memory of the whole verb with the session up."""
    from meshwright.routing.on_spark import simulate_on_spark
    from meshwright.smallworld import design
    from meshwright.spark.session import spark_session

    world = design(Instance.load(prepare("fb10k", data)), "sl", certify=False)
    spark = spark_session(master)
    times = []
    with tempfile.TemporaryDirectory(prefix="meshwright-bench-") as place, peak_memory() as peak:
        simulate_on_spark(spark, world, Path(place) / "warm", publications=20_000)
        for count in (publications // 10, publications):
            started, cpu = time.perf_counter(), cpu_seconds()
            out = Path(place) / str(count)
            totals = simulate_on_spark(spark, world, out, publications=count)["totals"]
            seconds, cpu = time.perf_counter() - started, cpu_seconds() - cpu
            times.append((seconds, cpu))
            print(
                f"{count:>10,} publications, {totals['deliveries']:>12,} deliveries  "
                f"{seconds:6.1f} s  {cpu:6.1f} s of CPU",
                flush=True,
            )
    clock, cpu = (later / sooner / 10 for sooner, later in zip(*times, strict=True))
    print(f"time per publication over that of a tenth of them: {clock:.2f}, in CPU {cpu:.2f}")
    print(f"  (aim: at most {AIM_GROWTH})")
    print(f"peak memory {peak.megabytes:,.0f} MB, driver, JVM and workers (aim: {AIM_MEMORY:,})")


def churn_part(data: Path | None, events: int) -> None:
    """Print the drift on FB1K."""
    from benchmarks._drift import drift

    drift(Instance.load(prepare("fb1k", data)), events, 8, 5_000, SEED)


def tables_part(data: Path | None, instances: str, fingers: str) -> None:
    """Print the systems of the paper."""
    from benchmarks._paper4 import compare

    for name in instances.split(","):
        place = twitter_sample(data) if name == "tw1k" else prepare(name, data)
        compare(name, Instance.load(place), 20_000, fingers, SEED)


def twitter_sample(data: Path | None) -> Path:
    """Return a sample of 1,000 users of Twitter, made on first use."""
    place = RESULTS / "instances" / "tw1k"
    if not place.exists():
        from meshwright.spark.session import spark_session
        from meshwright.workload.sample import sample

        sample(spark_session(), prepare("ego-twitter", data), place, nodes=1_000, seed=SEED)
    return place
