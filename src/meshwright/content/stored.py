"""Problems and assignments whose subscribers stay on disk, and the engine to assign with."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from meshwright.content.assignment import Assignment, Filters
from meshwright.content.bound import Bound
from meshwright.content.check import Report
from meshwright.content.measures import Measures
from meshwright.content.methods.registry import METHODS
from meshwright.content.obstacle import Obstacle
from meshwright.content.problem.dataset import LIMITS, read_tree
from meshwright.content.problem.density_file import density_of
from meshwright.model.broker_tree import BrokerTree
from meshwright.model.density import Density
from meshwright.model.problem import ProblemSummary
from meshwright.runtime import engines
from meshwright.storage import open_dataset
from meshwright.storage.versions import Pin

ON_SPARK = tuple(name for name, method in METHODS.items() if method.on_spark)
GIB = 1 << 30


@dataclass(frozen=True, slots=True, eq=False)
class StoredProblem(ProblemSummary):
    """The brokers, limits and counts of a problem dataset; its table has the subscribers."""

    subscribers_table: Path
    pin: Pin | None  # keeps it there as long as this object lives
    tree: BrokerTree
    n_subscribers: int
    n_dimensions: int
    delay_range: tuple[float, float]  # the smallest and the largest of a subscriber
    max_delay: float | None  # that all subscribers allow, None if each has its own
    alpha: int
    beta: float
    beta_max: float
    last_hop: bool
    density: Density | None
    read_digest: str = ""  # of the dataset, if it is complete

    def __post_init__(self) -> None:
        self.check_limits(self.max_delay or 0.0)


def open_problem(path: str | Path, overrides: Mapping[str, Any] | None = None) -> StoredProblem:
    """Return the problem of a dataset without reading its subscribers.

    `overrides` replace limits of the dataset, as in `Problem.with_limits`.
    """
    manifest = open_dataset(Path(path), "problem")
    limits: dict[str, Any] = {limit: manifest[limit] for limit in LIMITS}
    limits |= {"density": density_of(manifest.get("density")), **(overrides or {})}
    least, most = manifest["max_delay"]
    delay = limits.pop("max_delay", None)
    return StoredProblem(
        subscribers_table=manifest.table("subscribers"),
        pin=manifest.pin,
        read_digest=manifest["digest"],
        tree=read_tree(manifest),
        n_subscribers=manifest["n_subscribers"],
        n_dimensions=manifest["n_dimensions"],
        delay_range=(least, most) if delay is None else (delay, delay),
        max_delay=delay,
        **limits,
    )


@dataclass(frozen=True, slots=True, eq=False)
class StoredAssignment:
    """An assignment whose table stays on disk; the fields are those of `Assignment`."""

    problem: StoredProblem
    method: str
    filters: Filters
    parameters: Mapping[str, Any]
    fractional: float | None
    notes: Mapping[str, Any]
    seconds: float
    measures: Measures
    report: Report
    bound: Bound
    obstacle: Obstacle | None

    @property
    def feasible(self) -> bool:
        """Whether the checker finds no violated constraint."""
        return self.report.feasible


AnyAssignment = Assignment | StoredAssignment


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
