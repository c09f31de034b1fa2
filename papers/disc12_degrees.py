"""The degrees of Low-ODA, which paper 3 speeds up and paper [25] of its list introduces.

Paper 3 says that k trades off average and maximum degree, and states neither a k nor a degree. Ours
is 2 unless k varies. GM breaks ties by id, as in paper 2's figures; the GM edge of Low-ODA has ties
by degree, as everywhere in ours.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

from papers.chart import Panel, Series, draw
from papers.disc12 import TEN, V, drawn
from papers.findings import mean, ordered, trend, values, where
from papers.model import Cell, Claim, Experiment, Finding, Kind, Rows
from papers.partial_grids import FAMILIES, TITLES, cell, seeds
from papers.reasons import NOTHING_TO_TRADE, TIES_OF_LOW

NODES = tuple(range(100, 1001, 100))
WEIGHTS = (1, 2, 3, 4, 6, 10)  # k
MIDDLE = 500  # nodes where k varies
LABELS = {"gm-id": "GM (ties by id)", "low": "Low-ODA (k = 2)", "minmax": "MinMax-ODA"}
COLUMNS = {"average_degree": "average degree", "max_degree": "maximum degree"}


def cells(full: bool) -> list[Cell]:
    """Return the grid: all three methods against nodes, and Low-ODA against k."""
    found = []
    for seed in seeds(full):
        for name in FAMILIES:
            for nodes in NODES:
                workload = drawn(name, nodes, 100, TEN, seed)
                found += [cell(workload, method, seed) for method in LABELS]
            middle = drawn(name, MIDDLE, 100, TEN, seed)
            found += [cell(middle, "low", seed, k=k) for k in WEIGHTS]
    return found


def between(column: str, methods: Sequence[str]) -> Callable[[Rows], Finding | None]:
    """Return whether methods have ever more of a column, at every family and number of nodes."""

    def find(rows: Rows) -> Finding | None:
        rows = [row for row in rows if row.get("k") is None]
        return ordered(
            (
                (more, less)
                for name in FAMILIES
                for nodes in values(rows, V)
                for less, more in pairwise(
                    mean(rows, column, workload_family=name, method=method, **{V: nodes})
                    for method in methods
                )
            ),
            "comparisons",
        )

    return find


def with_k(column: str, *, rising: bool) -> Callable[[Rows], Finding | None]:
    """Return whether a column of Low-ODA rises, or falls, from each k to the next, by family."""
    return lambda rows: ordered(
        (
            pair
            for name in FAMILIES
            for pair in trend(rows, column, "k", rising=rising, workload_family=name)
        ),
        "comparisons",
    )


def figure(rows: Rows, title: str) -> str:
    """Return both degrees against nodes under Zipf."""
    mine = [row for row in where(rows, workload_family="zipf") if row.get("k") is None]
    panels = []
    for column, y in COLUMNS.items():
        series = [
            Series(label, [(float(at), mean(mine, column, method=method, **{V: at}))
                           for at in values(mine, V)])
            for method, label in LABELS.items()
        ]  # fmt: skip
        panels.append(Panel(TITLES["zipf"], "nodes", y, series))
    return draw(title, "means over the seeds", panels)


SIZE = f"100 to 1,000 nodes, k = 2 and 1 to 10 at {MIDDLE}, 100 topics, 10 subscriptions"
EXPERIMENTS = (
    Experiment(
        "disc12-degrees",
        "degrees of Low-ODA between those of GM and MinMax-ODA (the paper states no k; ours is 2)",
        cells,
        figure,
        SIZE,
        SIZE,
        [
            Claim(
                "Average degree: GM, then Low-ODA, then MinMax-ODA",
                "k trades off both degrees",
                between("average_degree", ("gm-id", "low", "minmax")),
                TIES_OF_LOW,
                at_default=True,
                kind=Kind.ORDERING,
            ),
            Claim(
                "Maximum degree: MinMax-ODA, then Low-ODA, then GM",
                "k trades off both degrees",
                between("max_degree", ("minmax", "low", "gm-id")),
                NOTHING_TO_TRADE,
                at_default=True,
                kind=Kind.ORDERING,
            ),
            Claim(
                "The average degree of Low-ODA rises with k, from each to the next",
                "k trades off both degrees",
                with_k("average_degree", rising=True),
                TIES_OF_LOW,
                at_default=True,
                kind=Kind.ORDERING,
            ),
            Claim(
                "The maximum degree of Low-ODA falls with k, from each to the next",
                "k trades off both degrees",
                with_k("max_degree", rising=False),
                NOTHING_TO_TRADE,
                at_default=True,
                kind=Kind.ORDERING,
            ),
        ],
        other="the paper states no degrees",
    ),
)
