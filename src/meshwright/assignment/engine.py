"""Where to assign: in the driver's memory, or with the subscribers on Spark."""

from __future__ import annotations

from meshwright.assignment.outline import Outline
from meshwright.errors import InputError, unknown_choice
from meshwright.spark.session import machine_memory

ENGINES = ("auto", "driver", "spark")
ON_SPARK = ("slp", "slp-leaves")  # the others go from subscriber to subscriber
GIB = 1 << 30


def memory_needed(outline: Outline) -> int:
    """Return about how many bytes it takes to assign a problem in memory.

    Half a gigabyte for the program, and per subscriber three times its numbers (as they are, as
    those at a broker, and while they are sorted) and bits of leaves, and 100 bytes for its name and
    what is counted.
    """
    numbers = int(outline.tree.location.shape[1]) + 2 * outline.n_dimensions + 1
    words = -(-len(outline.tree.leaves) // 64)
    return GIB // 2 + outline.n_subscribers * (3 * 8 * (numbers + words) + 100)


def choose_engine(engine: str, method: str, outline: Outline) -> str:
    """Return driver or spark: with auto, Spark when more than half of the memory were needed."""
    if engine not in ENGINES:
        raise unknown_choice("engine", engine, ENGINES)
    if engine == "spark" and method not in ON_SPARK:
        raise InputError(
            f"{method} goes from subscriber to subscriber and runs in memory alone. "
            f"Choose --engine driver, or --method {' or '.join(ON_SPARK)}."
        )
    if engine != "auto":
        return engine
    needed, there = memory_needed(outline), machine_memory()
    if needed <= there // 2:
        return "driver"
    if method in ON_SPARK:
        return "spark"
    raise InputError(
        f"{outline.n_subscribers:,} subscribers take about {needed / GIB:.1f} GB with {method}, "
        f"more than half of the {there / GIB:.1f} GB here. Choose --method slp, which keeps them "
        "on Spark, or --engine driver to try it all the same."
    )
