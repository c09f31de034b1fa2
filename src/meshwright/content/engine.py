"""The engine that assigns a problem: this process, or Spark with the subscribers in tables."""

from __future__ import annotations

from meshwright.content.methods.registry import METHODS
from meshwright.model.problem_summary import ProblemSummary
from meshwright.runtime import engines

ON_SPARK = tuple(name for name, method in METHODS.items() if method.on_spark)
GIB = 1 << 30


def memory_needed(problem: ProblemSummary) -> int:
    """Return about how many bytes it takes to assign a problem in memory.

    Half a gigabyte for the program. Per subscriber, three copies of its numbers and of the bits of
    its leaves (the problem, the members of a division, and while they are sorted), and 100 bytes
    for its name and for counts.
    """
    numbers = int(problem.tree.location.shape[1]) + 2 * problem.n_dimensions + 1
    words = -(-len(problem.tree.leaves) // 64)
    return GIB // 2 + problem.n_subscribers * (3 * 8 * (numbers + words) + 100)


def choose_engine(engine: str, method: str, problem: ProblemSummary) -> str:
    """Return the engine that assigns a problem: "driver", this process, or "spark".

    With "auto" the problem alone decides, and a problem that does not fit this machine is refused;
    with "driver" it is tried.
    """
    needed = memory_needed(problem)
    chosen = engines.choose_engine(engine, method, ON_SPARK, memory=needed)
    if engine == "auto" and chosen == "driver":
        other = "--engine spark" if method in ON_SPARK else f"--method {ON_SPARK[0]} --engine spark"
        engines.check_fits(needed, f"Choose {other}, or --engine driver to try it here.")
    return chosen
