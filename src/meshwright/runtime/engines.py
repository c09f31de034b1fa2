"""Which engine runs a job: this process ("driver") or Spark.

With "auto" the job alone decides, by fixed limits and never by this machine: the two engines may
take equally good links in different orders, so a choice by the memory at hand would give different
overlays on different machines. A machine that is too small for the chosen engine is refused.
"""

from collections.abc import Collection

from meshwright.errors import InfeasibleError, InputError, check_choice
from meshwright.runtime.machine import machine_memory

ENGINES = ("auto", "driver", "spark")
DRIVER_LIMIT = 8 << 30  # bytes; with "auto", a job that needs more runs on Spark
FIT = 0.8  # of the machine's memory: the rest is for everything else


def choose_engine(
    engine: str, method: str, on_spark: Collection[str], *, memory: int, too_slow: bool = False
) -> str:
    """Return "driver" or "spark", for one of `ENGINES`.

    "auto" is Spark when the driver would need more than `DRIVER_LIMIT` (`memory`, in bytes) or be
    too slow, if the method is one of those that run on Spark.
    """
    check_choice("engine", engine, ENGINES)
    if engine == "spark" and method not in on_spark:
        raise InputError(
            f"{method} does not run on Spark; {', '.join(on_spark)} do. "
            f"Choose --method {' or '.join(on_spark)}, or leave out --engine spark."
        )
    if engine != "auto":
        return engine
    too_large = memory > DRIVER_LIMIT
    return "spark" if (too_large or too_slow) and method in on_spark else "driver"


def check_fits(memory: int, advice: str) -> None:
    """Raise InfeasibleError, with advice, if a job needs more memory than this machine can give."""
    here = machine_memory()
    if memory > FIT * here:
        raise InfeasibleError(
            f"this needs about {memory / 1e9:,.1f} GB and this machine has {here / 1e9:,.1f} GB. "
            f"{advice}"
        )
