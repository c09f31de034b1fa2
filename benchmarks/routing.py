"""Small worlds and routing: design, deliveries per second, Spark, churn.

Parts, chosen by --parts:
design  GSwicoSL on FB10K as a multiple of SciPy's A @ A.T, as in `scripts/bench overlay`.
kernel  deliveries per second of one core, by each protocol on FB10K.
spark   a million publications on FB10K by pie: time against a tenth of them, and peak memory.
churn   how support and overhead drift until the next redesign, on FB1K.

The tables of paper 4 are experiments: `./meshwright reproduce debs18-table3`.
"""

import argparse
import resource
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks._drift import drift
from benchmarks._instances import TINY, load
from benchmarks._measure import matrix_product, peak_memory, shortest, timed
from meshwright.model.instance import Instance
from meshwright.storage.manifest import Manifest

AIM_FLOORS = 10.0
AIM_RATE = 500_000
AIM_MEMORY = 4_000  # megabytes
AIM_GROWTH = 1.2
PAPER_SECONDS = 14.8 * 60  # of the paper's Alg. 1 on its FB10K
SEED = 1
KERNEL_PUBLICATIONS, WARM_UP = 10_000, 20_000
REPORTS, DRIFT_PUBLICATIONS = 8, 5_000  # of the churn part


def run(arguments: list[str]) -> None:
    """Measure the given parts."""
    parser = argparse.ArgumentParser(prog="scripts/bench routing", description=__doc__)
    parser.add_argument("--data", type=Path, help="the directory of the real graphs")
    parser.add_argument("--parts", default=",".join(PARTS), help="separated by commas")
    parser.add_argument("--publications", type=int, default=1_000_000, help="of the spark part")
    parser.add_argument("--master", default="local[2]", help="of the spark part")
    parser.add_argument("--memory", default="1g", help="memory of Spark's JVM")
    parser.add_argument("--events", type=int, default=200, help="of the churn part")
    parser.add_argument("--instance", default="fb10k", help="of all parts but churn")
    parser.add_argument("--churn-instance", default="fb1k", help="of the churn part")
    options = parser.parse_args(arguments)
    for part in options.parts.split(","):
        if part not in PARTS:
            raise SystemExit(f"error: unknown part {part!r}; choose from: {', '.join(PARTS)}")
        print(f"\n{part}", flush=True)
        PARTS[part](options)


def smoke() -> None:
    """Measure every part on the smallest instance."""
    few = ["--publications", "1000", "--events", "5"]
    run(["--instance", TINY, "--churn-instance", TINY, *few])


def design_part(options: argparse.Namespace) -> None:
    """Print the time of GSwicoSL, against the product timed in the same process."""
    from meshwright.overlay import design

    instance = load(options.instance, options.data)
    warm_up = Instance.from_pairs((f"n{i % 5}", f"t{i % 3}") for i in range(12))
    design(warm_up, "sl", certify=False)  # compiles
    floor, _ = shortest(lambda: matrix_product(instance))
    world = design(instance, "sl", certify=False)
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(
        f"sl on {options.instance}  {world.seconds:.1f} s, {world.seconds / floor:.1f} x the "
        f"product's {floor:.2f} s (aim: {AIM_FLOORS:.0f}), {megabytes:.0f} MB; the paper took "
        f"{PAPER_SECONDS:.0f} s\nsupport {world.support:.4f}, {world.n_edges:,} links"
    )


def kernel_part(options: argparse.Namespace) -> None:
    """Print the deliveries per second of one core, without threads."""
    from meshwright.overlay import design
    from meshwright.smallworld.routing.kernels.publications import DELIVERIES
    from meshwright.smallworld.routing.protocols import ROUTINGS, router
    from meshwright.smallworld.routing.simulate import new_draws, simulate_range

    world = design(load(options.instance, options.data), "sl", certify=False)
    draws = new_draws(world.instance)
    publications = min(KERNEL_PUBLICATIONS, options.publications)
    for routing in ROUTINGS:
        ready = router(world, routing)
        simulate_range(ready, draws, 0, 1, SEED)  # compiles
        _, seconds, part = timed(partial(simulate_range, ready, draws, 0, publications, SEED))
        deliveries = part.tally.counts[:, DELIVERIES].sum()
        aim = f" (aim: {AIM_RATE:,})" if routing == "pie" else ""
        print(
            f"{routing:8} {deliveries / seconds:>12,.0f} deliveries, "
            f"{part.tally.sent.sum() / seconds:>12,.0f} messages per second and core{aim}"
        )


def spark_part(options: argparse.Namespace) -> None:
    """Print time and memory of the whole command in a running session."""
    from meshwright.overlay import design
    from meshwright.runtime.session import spark_session
    from meshwright.smallworld.routing.spark_simulation import simulate_on_spark

    world = design(load(options.instance, options.data), "sl", certify=False)
    spark = spark_session(options.master, settings={"spark.driver.memory": options.memory})
    times = []
    with tempfile.TemporaryDirectory(prefix="meshwright-bench-") as scratch, peak_memory() as peak:

        def simulate(count: int, name: str) -> Manifest:
            return simulate_on_spark(spark, world, Path(scratch) / name, publications=count)

        simulate(min(WARM_UP, options.publications), "warm")
        for count in (options.publications // 10, options.publications):
            seconds, cpu, manifest = timed(partial(simulate, count, str(count)), children=True)
            times.append((seconds, cpu))
            print(
                f"{count:>10,} publications, {manifest['totals']['deliveries']:>12,} deliveries  "
                f"{seconds:6.1f} s  {cpu:6.1f} s of CPU",
                flush=True,
            )
    clock, cpu = (large / small / 10 for small, large in zip(*times, strict=True))
    print(
        f"time per publication, all over a tenth: {clock:.2f}, in CPU {cpu:.2f} (aim: {AIM_GROWTH})"
    )
    print(f"peak memory {peak.megabytes:,.0f} MB, driver, JVM and workers (aim: {AIM_MEMORY:,})")


def churn_part(options: argparse.Namespace) -> None:
    """Print how a small world drifts away from a redesign."""
    instance = load(options.churn_instance, options.data)
    drift(instance, options.events, REPORTS, DRIFT_PUBLICATIONS, SEED)


PARTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "design": design_part,
    "kernel": kernel_part,
    "spark": spark_part,
    "churn": churn_part,
}
