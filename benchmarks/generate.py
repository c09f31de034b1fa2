"""Generation of a Zipf workload or a social graph: subscriptions per second and core.

The whole command is timed with a running session: draw, digest, write. Zipf draws 20 of 10,000
topics, and its kernel is timed alone too. `--social` draws friends, 18.87 of each user as in paper
1's Facebook.
"""

import argparse
import tempfile
from pathlib import Path

from benchmarks._instances import FRIENDS
from benchmarks._measure import peak_memory, timed
from meshwright.storage.manifest import Manifest

N_TOPICS = 10_000
SIZE = 20
ALPHA = 0.5
AIM = 1_000_000
CORES = 2
SOCIAL_AIM = 600.0  # seconds for 3 million users


def run(arguments: list[str]) -> None:
    """Measure the pipeline and its kernel."""
    parser = argparse.ArgumentParser(prog="scripts/bench generate", description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--social", action="store_true", help="a social graph instead of Zipf")
    parser.add_argument("--alpha", type=float, default=ALPHA)
    parser.add_argument("--memory", default="4g", help="memory of Spark's JVM")
    options = parser.parse_args(arguments)
    if options.social:
        social(options.nodes, options.memory)
    else:
        zipf(options.nodes, options.alpha, options.memory)


def smoke() -> None:
    """Generate 500 nodes of each kind."""
    run(["--nodes", "500"])
    run(["--nodes", "500", "--social"])


def zipf(nodes: int, alpha: float, memory: str) -> None:
    """Measure the generator of Zipf workloads and its kernel."""
    from meshwright.runtime.session import spark_session
    from meshwright.workload.generate import TopicModel, generate

    kernel_rate = kernel(nodes // 10, alpha)
    spark = spark_session(f"local[{CORES}]", settings={"spark.driver.memory": memory})
    with tempfile.TemporaryDirectory(prefix="meshwright-bench-") as scratch:

        def draw(count: int) -> None:
            out, sizes = Path(scratch) / str(count), (SIZE, SIZE)
            model = TopicModel(
                family="zipf", nodes=count, topics=N_TOPICS, subscriptions=sizes, alpha=alpha
            )
            generate(spark, out, model)

        draw(nodes // 10)  # compiles and warms up
        seconds, cpu, _ = timed(lambda: draw(nodes), children=True)
    drawn = nodes * SIZE
    rate = drawn / seconds / CORES
    print(f"meshwright     {drawn:,} subscriptions  {seconds:.1f} s on {CORES}")
    print(f"whole command  {rate:>12,.0f} subscriptions per second and core (aim: {AIM:,})")
    print(f"               {drawn / cpu:>12,.0f} subscriptions per second of CPU")
    print(f"kernel         {kernel_rate:>12,.0f} subscriptions per second and core")


def social(nodes: int, memory: str) -> None:
    """Measure the generator of social graphs, including the start of Spark."""
    from meshwright.runtime.session import spark_session
    from meshwright.workload.generate import generate_social
    from meshwright.workload.social_law import SocialModel

    def draw(out: Path) -> Manifest:
        spark = spark_session(f"local[{CORES}]", settings={"spark.driver.memory": memory})
        return generate_social(spark, out, SocialModel(nodes=nodes, mean_degree=FRIENDS))

    with tempfile.TemporaryDirectory(prefix="meshwright-bench-") as scratch, peak_memory() as peak:
        seconds, cpu, manifest = timed(lambda: draw(Path(scratch) / "workload"), children=True)
    drawn = manifest["n_subscriptions"]
    print(f"meshwright     {drawn:,} subscriptions, mean degree {drawn / nodes:.3f} of {FRIENDS}")
    print(f"whole command  {seconds:.0f} s on {CORES} cores (aim: {SOCIAL_AIM:.0f} at 3,000,000)")
    print(f"               {cpu:.0f} s of CPU, {drawn / cpu:,.0f} subscriptions per second of it")
    print(f"memory         {peak.megabytes:,.0f} MB at most, all processes")
    print(f"digest         {manifest['digest'][:16]}")


def kernel(nodes: int, alpha: float) -> float:
    """Return the subscriptions that one core draws per second."""
    from meshwright.workload.generate import TopicModel
    from meshwright.workload.kernels import draws as draw_kernel

    model = TopicModel(
        family="zipf", nodes=nodes, topics=N_TOPICS, subscriptions=(SIZE, SIZE), alpha=alpha
    )
    tables = draw_kernel.new_popularity(model.weights)
    sizes = draw_kernel.Sizes(1, SIZE, SIZE)

    def draw(count: int) -> int:
        _, topics = draw_kernel.draw_successive(sizes, tables, 0, count)
        return len(topics)

    draw(1)  # compiles
    seconds, _, drawn = timed(lambda: draw(nodes))
    return drawn / seconds
