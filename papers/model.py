"""Experiments: each has a grid of cells, a figure, and the claims that its cells decide.

A cell is one measurement, named by the function that makes it and its parameters, and depends on
nothing else: any task may run it, in any order. Experiments that need the same cell share it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Row = Mapping[str, Any]
Rows = Sequence[Row]
FULL_SEEDS = 5  # of experiments with random draws
REVISION = 2  # raise it when a measure changes its meaning: older cells are then measured again


@dataclass(frozen=True, slots=True)
class Paper:
    """One of the papers."""

    key: str
    number: int
    title: str
    cite: str
    notes: tuple[str, ...] = ()  # what a reader of its rows has to know


PAPERS = (
    Paper(
        "icdcs16",
        1,
        "Overlays under node degree constraints",
        "Chen, Tock, Jacobsen: Overlay Design for Topic-based Publish/Subscribe under Node Degree "
        "Constraints. ICDCS 2016",
    ),
    Paper(
        "ton11",
        2,
        "Minimum maximum degree",
        "Onus, Richa: Minimum Maximum-Degree Publish-Subscribe Overlay Network Design. "
        "IEEE/ACM Transactions on Networking, 2011",
        (
            "The paper's CD formulas count a node as its own neighbour; ours do not, because only "
            "then its examples have the edges it states. On the workloads of Figs. 17 to 19 that "
            "changes the gain of CD-ODA-II over CD-ODA-I by at most 0.24 points, over CD-ODA by at "
            "most 0.08 (separate runs).",
        ),
    ),
    Paper(
        "disc12",
        3,
        "A generalized algorithm, fast",
        "Chen, Vitenberg, Jacobsen: A Generalized Algorithm for Publish/Subscribe Overlay Design "
        "and its Fast Implementation. DISC 2012",
        (
            "The paper states no k for Low-ODA, and no degrees; ours is 2.",
            "In Figs. 2 and 3 our engine is compared with a naive method of ours that keeps "
            "components up to date. The experiments named growth and -literal compare the paper's "
            "EdgeContrib index with MinMax-ODA to the letter, which computes every weight anew for "
            "every pair.",
        ),
    ),
    Paper(
        "debs18",
        4,
        "BeaConvey",
        "Chen, Tock, Girdzijauskas: BeaConvey: Co-Design of Overlay and Routing for Topic-based "
        "Publish/Subscribe on Small-World Networks. DEBS 2018",
    ),
    Paper(
        "icde11",
        5,
        "Subscriber assignment",
        "Yu, Agarwal, Yang: Subscriber Assignment for Wide-Area Content-Based Publish/Subscribe. "
        "ICDE 2011",
    ),
)


@dataclass(frozen=True, slots=True)
class Cell:
    """One measurement: `measure` is MODULE:FUNCTION below this package, called with `given`.

    Parameters
    ----------
    given
        The parameters, JSON values only.
    group
        Cells of one group share costly steps, so one task runs them together.
    cost
        A guess at its seconds, for the order of tasks and the time left.
    graph
        The sample of a graph that `given` names by its key, or None.
    """

    measure: str
    given: Mapping[str, Any]
    group: str = ""
    cost: float = 1.0
    graph: Sample | None = None

    @property
    def point(self) -> str:
        """The measurement without its seeds; cells of one point are averaged."""
        given = {**self.given, "workload": {**self.given.get("workload", {}), "sample": None}}
        return json.dumps([self.measure, _without_seeds(given)], sort_keys=True)

    def key(self, digest: str = "") -> str:
        """Return the name of its file; `digest` is that of the graph it is measured on."""
        identity = [REVISION, self.measure, dict(self.given), digest]
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class Sample:
    """A breadth-first sample of a graph; all of the graph if `nodes` is None."""

    graph: str
    nodes: int | None
    seed: int = 1

    @property
    def name(self) -> str:
        """The name of its directory."""
        return self.graph if self.nodes is None else f"{self.graph}-{self.nodes}-{self.seed}"


class Kind(StrEnum):
    """What a claim compares, and so what it would mean if it failed.

    An ordering or trend compares measures of ours with one another (larger, rising, alike), or
    states a property of a method (its diameters, the limits it keeps). A number or a limit compares
    a measure with a constant of the paper.
    """

    ORDERING = "ordering or trend"
    SYNTHETIC = "number on a synthetic workload"
    PRIVATE = "number on a graph or generator that is not public"
    HARDWARE = "time on the paper's hardware"
    IMPROVEMENT = "improvement of ours"


JUDGED = (Kind.ORDERING, Kind.SYNTHETIC, Kind.PRIVATE)  # the others are counted apart


@dataclass(frozen=True, slots=True)
class Number:
    """A measure and the paper's number.

    `base` is the least that a distance is divided by: 10 for percentages and points, 0.1 for
    shares of 1, so that 1% and 1.2% do not differ.
    """

    ours: float
    paper: float
    base: float = 0.0


@dataclass(frozen=True, slots=True)
class Limit:
    """A measure and a constant: `larger` should be at least `smaller`; one of them is ours."""

    larger: float
    smaller: float
    base: float = 0.0


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of the cells for a claim: a number, a limit, or an ordering.

    Parameters
    ----------
    ours
        Our result, as the ledger words it.
    number, limit
        What the claim compares with a constant of the paper.
    pairs
        For an ordering: the side that should be larger and the other, per point.
    """

    ours: str
    number: Number | None = None
    limit: Limit | None = None
    pairs: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        if (self.number is not None) + (self.limit is not None) + bool(self.pairs) != 1:
            raise ValueError(f"a finding is a number, a limit or an ordering, one of them: {self}")


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of a paper in numbers or orderings, and the function that decides it.

    Parameters
    ----------
    find
        Rows of the experiment -> `Finding`, or None if its cells were not run.
    why
        The reason, if ours differs; of an improvement, why it is one.
    at_default
        Whether the default size is the paper's, for this claim.
    repeated
        Whether it is counted apart, because another row decides the claim as the paper has it or
        the paper states no such claim.
    below
        Whether it is decided below the paper's size with `--full`, too.
    """

    text: str
    paper: str
    find: Callable[[Rows], Finding | None]
    why: str = ""
    at_default: bool = False
    kind: Kind = field(kw_only=True)
    repeated: bool = field(default=False, kw_only=True)
    below: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Experiment:
    """A table or a figure of a paper.

    Parameters
    ----------
    cells
        Whether full -> the grid.
    figure
        Rows and the title -> SVG.
    size, full_size
        The default size and that of `--full`, in words.
    alone
        Run one cell at a time, because it measures time.
    other
        What it changes, if it repeats the claims of a figure in another reading or on another
        graph, or states what the paper does not: its rows are counted apart.
    below
        Whether it is below the paper's size with `--full`, too.
    """

    id: str
    what: str
    cells: Callable[[bool], Sequence[Cell]]
    figure: Callable[[Rows, str], str]
    size: str
    full_size: str
    claims: Sequence[Claim] = field(default_factory=tuple)
    alone: bool = False
    other: str = ""
    below: bool = False

    @property
    def paper(self) -> Paper:
        """The paper it is from."""
        return next(paper for paper in PAPERS if self.id.startswith(f"{paper.key}-"))

    def graphs(self, full: bool) -> set[str]:
        """Return the graphs that the grid needs."""
        return {cell.graph.graph for cell in self.cells(full) if cell.graph is not None}

    def seeds(self, full: bool) -> int:
        """Return the least number of seeds of a point; a complete graph needs none."""
        found: dict[str, set[Any]] = {}
        for cell in self.cells(full):
            if cell.graph is None or cell.graph.nodes is not None:
                found.setdefault(cell.point, set()).add(cell.given.get("seed"))
        return min(map(len, found.values()), default=0)


def _without_seeds(given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _without_seeds(value) if isinstance(value, Mapping) else value
        for name, value in given.items()
        if name != "seed"
    }
