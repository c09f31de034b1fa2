"""Planning, writing, proving and comparing configurations: 2,000 brokers and 10,000 topics.

Interests are drawn by Zipf's law; one node in a hundred also has a filter with ``--filters``.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from meshwright.values import Instance

AIM = 30.0  # seconds for planning
SEED = 1
SECTIONS = 100  # topics are spread over as many first levels
Answer = TypeVar("Answer")


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
    from meshwright.deployment import compare_confs, expand, plan, write_conf
    from meshwright.deployment.figures import figures
    from meshwright.deployment.inventory import Broker
    from meshwright.overlay import design

    instance = drawn(options)
    if options.filters:
        instance = timed("expand", lambda: expand(instance))
    overlay = timed("design", lambda: design(instance, "gm"))
    print(f"{instance.n_subscriptions:,} subscriptions, {overlay.n_edges:,} links")
    brokers = [Broker(name, f"{name}.example", 1883) for name in instance.node_names]
    plan(overlay, brokers)  # compiles
    with tempfile.TemporaryDirectory(prefix="meshwright-bench-") as place:
        for tree in ("shallow", "balanced"):
            out = Path(place) / tree
            start, cpu = time.perf_counter(), time.process_time()
            made = timed(f"{tree}: plan", lambda tree=tree: plan(overlay, brokers, tree=tree))  # type: ignore[misc]
            timed(f"{tree}: write, prove", lambda made=made, out=out: write_conf(made, out))  # type: ignore[misc]
            seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
            told = figures(made)
            print(
                f"{tree}: {seconds:.1f} s in all, {cpu:.1f} s of CPU (aim: {AIM:.0f}); busiest "
                f"link {told['busiest_link']['topics']:,}, busiest broker "
                f"{told['busiest_broker']['topics']:,}, deepest tree {told['deepest']['depth']}"
            )
        if not options.no_diff:
            change = timed(
                "diff", lambda: compare_confs(Path(place) / "shallow", Path(place) / "balanced")
            )
            stops = sum(step.action == "stop" for step in change.steps)
            print(f"diff: {len(change.bridges):,} brokers change, {stops} stops on the way")


def timed(what: str, work: Callable[[], Answer]) -> Answer:
    """Return an answer and print how long it took."""
    start, cpu = time.perf_counter(), time.process_time()
    answer = work()
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    print(f"{what:<20} {seconds:8.2f} s  {cpu:8.2f} s of CPU", flush=True)
    return answer


def drawn(options: argparse.Namespace) -> Instance:
    """Return the instance of the options."""
    rng = np.random.default_rng(SEED)
    law = np.arange(1, options.topics + 1) ** -options.alpha
    names = [f"section-{t % SECTIONS:02d}/topic-{t:05d}" for t in range(options.topics)]
    pairs = []
    for v in range(options.nodes):
        chosen = rng.choice(options.topics, options.subscriptions, replace=False, p=law / law.sum())
        pairs += [(f"broker-{v:04d}", names[t]) for t in chosen.tolist()]
        if options.filters and v % 100 == 0:
            section = f"section-{v // 100 % SECTIONS:02d}/+"
            pairs.append((f"broker-{v:04d}", "#" if v == 0 else section))
    return Instance.from_pairs(pairs)
