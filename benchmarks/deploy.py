"""Planning, writing, proving and comparing configurations: 2,000 brokers and 10,000 topics.

Interests are drawn by Zipf's law; one node in a hundred also has a filter with ``--filters``.
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from benchmarks._instances import zipf_rows
from benchmarks._measure import timed
from meshwright.model.instance import Instance

AIM = 30.0  # seconds for planning
SECTIONS = 100  # first levels of the topic names
Result = TypeVar("Result")


def run(arguments: list[str]) -> None:
    """Time each step."""
    parser = argparse.ArgumentParser(prog="scripts/bench deploy", description=__doc__)
    parser.add_argument("--nodes", type=int, default=2_000)
    parser.add_argument("--topics", type=int, default=10_000)
    parser.add_argument("--subscriptions", type=int, default=100, help="of each node")
    parser.add_argument("--alpha", type=float, default=0.5)
    parser.add_argument("--filters", action="store_true", help="add loggers and section filters")
    parser.add_argument("--no-diff", action="store_true", help="leave out the order of restarts")
    options = parser.parse_args(arguments)
    from meshwright.deploy import Broker, compare_confs, plan, write_conf
    from meshwright.overlay import design
    from meshwright.patterns.expand import expand

    instance = drawn(options)
    if options.filters:
        instance = step("expand", lambda: expand(instance))
    overlay = step("design", lambda: design(instance, "gm"))
    print(f"{instance.n_subscriptions:,} subscriptions, {overlay.n_edges:,} links")
    brokers = [Broker(name, f"{name}.example", 1883) for name in instance.node_names]
    plan(overlay, brokers)  # compiles
    with tempfile.TemporaryDirectory(prefix="meshwright-bench-") as scratch:
        confs = {tree: Path(scratch) / tree for tree in ("shallow", "balanced")}
        for tree, out in confs.items():
            planned = timed(lambda tree=tree: plan(overlay, brokers, tree=tree))  # type: ignore[misc]
            made = planned.result
            written = timed(lambda made=made, out=out: write_conf(made, out))  # type: ignore[misc]
            show(f"{tree}: plan", planned.seconds, planned.cpu)
            show(f"{tree}: write, prove", written.seconds, written.cpu)
            found = made.summary()
            print(
                f"{tree}: {planned.seconds + written.seconds:.1f} s in all, "
                f"{planned.cpu + written.cpu:.1f} s of CPU (aim: {AIM:.0f}); busiest link "
                f"{found['busiest_link']['topics']:,}, busiest broker "
                f"{found['busiest_broker']['topics']:,}, deepest tree {found['deepest']['depth']}"
            )
        if not options.no_diff:
            change = step("diff", lambda: compare_confs(*confs.values()))
            stops = sum(each.action == "stop" for each in change.steps)
            print(f"diff: {len(change.restarted):,} brokers change, {stops} stops on the way")


def smoke() -> None:
    """Deploy 30 brokers; the first subscribes to everything."""
    run(["--nodes", "30", "--topics", "40", "--subscriptions", "5", "--filters"])


def step(name: str, work: Callable[[], Result]) -> Result:
    """Return the result of a step and print how long it took."""
    seconds, cpu, result = timed(work)
    show(name, seconds, cpu)
    return result


def show(name: str, seconds: float, cpu: float) -> None:
    """Print how long a step took."""
    print(f"{name:<20} {seconds:8.2f} s  {cpu:8.2f} s of CPU", flush=True)


def drawn(options: argparse.Namespace) -> Instance:
    """Return the instance of the options."""
    names = [f"section-{t % SECTIONS:02d}/topic-{t:05d}" for t in range(options.topics)]
    rows = zipf_rows(options.nodes, options.topics, options.subscriptions, options.alpha)
    pairs = [(f"broker-{v:04d}", names[t]) for v, row in enumerate(rows) for t in row.tolist()]
    if options.filters:
        for v in range(0, options.nodes, 100):
            section = f"section-{v // 100 % SECTIONS:02d}/+"
            pairs.append((f"broker-{v:04d}", "#" if v == 0 else section))
    return Instance.from_pairs(pairs)
