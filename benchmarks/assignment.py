"""Assignment on set 1: seconds, peak memory, bandwidth, load and delay of every method.

Each method runs in a process of its own, with its kernels compiled, so that peak memory is its own;
it includes the interpreter, NumPy and the compiler, about 220 MB. The bound is not timed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from benchmarks._measure import timed

if TYPE_CHECKING:
    from meshwright.content.problem.synthetic import ContentArguments

SIZES = (100_000, 1_000_000)
METHODS = (
    "gr",
    "gr-star",
    "gr-no-latency",
    "gr-evict-now",
    "gr-evict-later",
    "closest",
    "closest-balanced",
    "balance",
    "slp",
)
WARM_UP = 2_000  # subscribers at most of the run that compiles
AIMS = {  # seconds, of set 1 with one level
    ("gr", 100_000): 5.0,
    ("gr-star", 100_000): 5.0,
    ("gr-star", 1_000_000): 30.0,
    ("slp", 100_000): 300.0,
    ("slp", 1_000_000): 600.0,
}


@dataclass(frozen=True)
class Row:
    """The result of one run."""

    method: str
    seconds: float
    megabytes: float
    bandwidth: float
    lbf: float
    delay_rms: float
    delay_max: float
    feasible: bool
    violations: str


def run(arguments: list[str]) -> None:
    """Measure the given methods at the given sizes."""
    parser = argparse.ArgumentParser(prog="scripts/bench assignment", description=__doc__)
    parser.add_argument(
        "--sizes", default=",".join(map(str, SIZES)), help="subscribers, separated by commas"
    )
    parser.add_argument("--methods", default=",".join(METHODS), help="separated by commas")
    parser.add_argument("--set", type=int, default=1, help="workload set")
    parser.add_argument("--skew", choices=["low", "high"], help="of interests, in set 1")
    parser.add_argument("--broad", choices=["low", "high"], help="share of broad interests, set 1")
    parser.add_argument("--levels", choices=["one", "many"], default="one", help="of brokers")
    parser.add_argument("--latency", choices=["tight", "loose"], help="with many levels")
    parser.add_argument("--brokers", type=int, help="100 with one level, 200 with many")
    parser.add_argument("--alpha", type=int, default=3, help="boxes per filter")
    parser.add_argument("--seed", type=int, default=1, help="of the problem and the methods")
    options = parser.parse_args(arguments)
    from meshwright.content.problem.synthetic import content_arguments

    for size in map(int, options.sizes.split(",")):
        content = content_arguments(
            set=options.set,
            subscribers=size,
            brokers=options.brokers,
            skew=options.skew,
            broad=options.broad,
            levels=options.levels,
            latency=options.latency,
            alpha=options.alpha,
            seed=options.seed,
        )
        print(
            f"\n{size:,} subscribers, {content.brokers} brokers, set {content.set}, max_delay "
            f"{content.max_delay}, beta {content.beta}, beta_max {content.beta_max}"
        )
        print(
            f"{'':<17}{'s':>7}{'MB':>7}{'bandwidth':>11}{'lbf':>7}"
            f"{'delay rms':>11}{'max':>7}  feasible"
        )
        for method in options.methods.split(","):
            # A child per run: memory that another method used must not count.
            spawn = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(1, mp_context=spawn) as pool:
                row = pool.submit(measure_method, method, content).result()
            aimed = options.set == 1 and options.levels == "one"
            print(line(row, AIMS.get((method, size)) if aimed else None), flush=True)


def smoke() -> None:
    """Run two methods on a small problem."""
    run(["--sizes", "200", "--brokers", "5", "--methods", "gr-star,slp"])


def line(row: Row, aim: float | None) -> str:
    """Return a run as a line of the table."""
    verdict = "yes" if row.feasible else f"no: {row.violations}"
    aimed = f" (aim: {aim:.0f} s)" if aim else ""
    return (
        f"{row.method:<17}{row.seconds:>7.2f}{row.megabytes:>7.0f}{row.bandwidth:>11.4g}"
        f"{row.lbf:>7.3f}{row.delay_rms:>11.3f}{row.delay_max:>7.3f}  {verdict}{aimed}"
    )


def measure_method(method: str, content: ContentArguments) -> Row:
    """Run one method on a problem, with its kernels compiled, and check the assignment."""
    from meshwright.content.check import check
    from meshwright.content.measures import measure
    from meshwright.content.methods.registry import METHODS as ALL
    from meshwright.content.problem.synthetic import draw_problem

    assign = ALL[method].load()
    assign(
        draw_problem(replace(content, subscribers=min(WARM_UP, content.subscribers))),
        seed=content.seed,
    )
    problem = draw_problem(content)
    run = timed(lambda: assign(problem, seed=content.seed))
    assignment = run.result
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    found = measure(problem, assignment.broker, assignment.filters)
    report = check(assignment)
    return Row(
        method,
        run.seconds,
        megabytes,
        found.bandwidth,
        found.lbf,
        found.delay_rms,
        found.delay_max,
        report.feasible,
        ", ".join(f"{v.count:,} {v.constraint}" for v in report.violations),
    )
