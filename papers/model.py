"""Experiments: each has a grid of cells, a figure, and the claims that its cells decide.

A cell is one measurement, named by the function that makes it and its parameters, and depends on
nothing else: any task may run it, in any order. Experiments that need the same cell share it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]
Rows = Sequence[Row]
FULL_SEEDS = 5  # of experiments with random draws
REVISION = 1  # raise it when a measure changes its meaning: older cells are then measured again


@dataclass(frozen=True, slots=True)
class Paper:
    """One of the papers."""

    key: str
    number: int
    title: str
    cite: str


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
    ),
    Paper(
        "disc12",
        3,
        "A generalized algorithm, fast",
        "Chen, Vitenberg, Jacobsen: A Generalized Algorithm for Publish/Subscribe Overlay Design "
        "and its Fast Implementation. DISC 2012",
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


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of the cells for a claim.

    Parameters
    ----------
    ours
        Our result, as the ledger words it.
    numbers
        Ours and the paper's, if the claim is about numbers.
    pairs
        For an ordering or a limit: the side that should be larger and the other, per point.
    """

    ours: str
    numbers: tuple[tuple[float, float], ...] = ()
    pairs: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of a paper in numbers or orderings, and the function that decides it.

    Parameters
    ----------
    find
        Rows of the experiment -> `Finding`, or None if its cells were not run.
    why
        The reason, if ours differs.
    at_default
        Whether the default size is the paper's, for this claim.
    """

    text: str
    paper: str
    find: Callable[[Rows], Finding | None]
    why: str = ""
    at_default: bool = False


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
    """

    id: str
    what: str
    cells: Callable[[bool], Sequence[Cell]]
    figure: Callable[[Rows, str], str]
    size: str
    full_size: str
    claims: Sequence[Claim] = field(default_factory=tuple)
    alone: bool = False

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
