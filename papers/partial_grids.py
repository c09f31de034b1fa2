"""The grids and figures of paper 1: partial overlays by budget, size, topics, subscriptions."""

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from papers.chart import Panel, Series, beside_paper, draw
from papers.findings import mean, values, where
from papers.model import FULL_SEEDS, Cell, Rows, Sample
from papers.workloads import family

MEASURE = "measure_overlay:overlay"
LABELS = {
    "gpa": "GPA",
    "gpm": "GPM",
    "spidercast": "SpiderCastM",
    "random-max": "RandomM",
    "random-average": "RandomA",
}
RANKED = ("gpa", "gpm", "spidercast", "random-max")
PRINTED = ("gpm-printed", "spidercast-printed")  # as in the paper: they use up their budget
FAMILIES = ("expo", "zipf", "unif")
TITLES = {"expo": "Expo", "zipf": "Zipf", "unif": "Unif"}
ALPHA = 2.0
MANY = (20, 600)  # subscriptions of a node, least and most
RATIOS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
NODES = (tuple(range(1000, 10_001, 1000)), (1000, 2000, 4000))  # full, default
TOPICS = tuple(range(1000, 10_001, 1000))
Grid = Callable[[bool], Sequence[Cell]]  # whether full -> the cells
LEAST = tuple(range(10, 101, 10))  # of Fig. 8: least subscriptions, most 80 more


def seeds(full: bool, default: int = 1) -> range:
    """Return the seeds to run."""
    return range(1, (FULL_SEEDS if full else default) + 1)


def drawn(
    name: str, nodes: int, topics: int, sizes: tuple[int, int], seed: int, size_law: str
) -> dict[str, Any]:
    """Return the workload of a family, as paper 1 draws them."""
    alpha = ALPHA if name == "zipf" else None
    return family(name, nodes, topics, sizes, seed, alpha=alpha, size_law=size_law)


def sampled(graph: str, nodes: int, seed: int) -> tuple[dict[str, Any], Sample]:
    """Return the workload of a sample, and the sample."""
    sample = Sample(graph, nodes, seed)
    return {"sample": sample.name, "graph": graph, "nodes": nodes}, sample


def cell(
    workload: dict[str, Any],
    method: str,
    seed: int,
    *,
    graph: Sample | None = None,
    cost: float = 0.3,
    measure: str = MEASURE,
    **more: Any,
) -> Cell:
    """Return a cell; those of one workload run in one task."""
    given = {"workload": workload, "method": method, "seed": seed, **more}
    return Cell(measure, given, json.dumps(workload, sort_keys=True), cost, graph)


def by_ratio_on_graphs(*graphs: str) -> Callable[[bool], Sequence[Cell]]:
    """Return the grid of Figs. 4 and 5: budgets by ratio on 1,000 nodes, edges equal or not."""

    def cells(full: bool) -> list[Cell]:
        found = []
        for seed, graph in product(seeds(full, 2), graphs):
            workload, sample = sampled(graph, 1000, seed)
            for ratio in RATIOS:
                for method in LABELS:
                    equals = (False,) if method in ("gpa", "random-average") else (False, True)
                    found += [
                        cell(workload, method, seed, graph=sample, ratio=ratio, equal=equal)
                        for equal in equals
                    ]
                found += [
                    cell(workload, method, seed, graph=sample, ratio=ratio, equal=False)
                    for method in PRINTED
                ]
        return found

    return cells


def table_on_graphs(full: bool) -> list[Cell]:
    """Return the grid of Table I: ratio 0.2 on both graphs in both sizes."""
    found = []
    for seed in seeds(full):
        for graph in ("fb", "tw"):
            for nodes in (1000, 10_000):
                workload, sample = sampled(graph, nodes, seed)
                cost = 12.0 if nodes > 1000 else 0.3
                found += [
                    cell(workload, m, seed, graph=sample, cost=cost, ratio=0.2, equal=False)
                    for m in RANKED
                ]
    return found


def spreads(graphs: Sequence[str]) -> Callable[[bool], Sequence[Cell]]:
    """Return the grid of the CCDF figures: whole graphs and samples of 10,000."""

    def cells(full: bool) -> list[Cell]:
        found = []
        for graph in graphs:
            whole = {"sample": graph, "graph": graph, "nodes": 0}
            kind = "measure_overlay:spread"
            found.append(cell(whole, "whole", 1, graph=Sample(graph, None), measure=kind))
            for seed in seeds(full):
                workload, sample = sampled(graph, 10_000, seed)
                found.append(cell(workload, "10K", seed, graph=sample, measure=kind))
        return found

    return cells


def by_ratio(size_law: str) -> Grid:
    """Return the grid of Fig. 9."""
    return lambda full: [
        cell(drawn(name, 1000, 1000, MANY, seed, size_law), method, seed, ratio=ratio, equal=equal)
        for seed in seeds(full, 2)
        for name in FAMILIES
        for ratio in RATIOS
        for method in RANKED
        for equal in ((False,) if method == "gpa" else (False, True))
    ]


def by_nodes(size_law: str) -> Grid:
    """Return the grid of Fig. 6: degree 4 and as many edges as that allows."""
    cost = 1.0 if size_law == "uniform" else 0.1
    return lambda full: [
        cell(
            drawn(name, nodes, 1000, MANY, seed, size_law),
            method,
            seed,
            cost=cost * (nodes / 1600) ** 2,
            degree=4,
            edges=2 * nodes,
        )
        for seed in seeds(full)
        for name in FAMILIES
        for nodes in NODES[not full]
        for method in RANKED
    ]


def by_topics(size_law: str) -> Grid:
    """Return the grid of Fig. 7."""
    return lambda full: [
        cell(
            drawn(name, 2000, topics, MANY, seed, size_law),
            method,
            seed,
            cost=1.5,
            degree=3,
            edges=3000,
        )
        for seed in seeds(full)
        for name in FAMILIES
        for topics in TOPICS
        for method in RANKED
    ]


def by_size(size_law: str) -> Grid:
    """Return the grid of Fig. 8; `middle` is the middle subscription size."""
    return lambda full: [
        cell(
            drawn(name, 2000, 1000, (least, least + 80), seed, size_law),
            method,
            seed,
            degree=4,
            edges=4000,
            middle=least + 40,
        )
        for seed in seeds(full)
        for name in FAMILIES
        for least in LEAST
        for method in RANKED
    ]


def curves(
    rows: Rows, over: str, methods: Sequence[str] = RANKED, column: str = "support"
) -> list[Series]:
    """Return a series per method: means over seeds."""
    found = []
    for method in methods:
        mine = where(rows, method=method)
        points = [(float(x), mean(mine, column, **{over: x})) for x in values(mine, over)]
        found.append(Series(LABELS.get(method, method), points))
    return found


def draw_graph(graph: str) -> Callable[[Rows, str], str]:
    """Return Figs. 4 and 5: support and edges against the budget ratio, on one graph."""
    return lambda rows, title: _draw_ratios(where(rows, workload_graph=graph), title)


def _draw_ratios(rows: Rows, title: str) -> str:
    methods = tuple(LABELS)
    free, equal = where(rows, equal=False), where(rows, equal=True)
    equal = [*equal, *where(free, method="gpa"), *where(free, method="random-average")]
    panels = [
        Panel(
            "budgets as in Eq. 36", "budget ratio β", "TCO support", curves(free, "ratio", methods)
        ),
        Panel(
            "stopped at equal edges",
            "budget ratio β",
            "TCO support",
            curves(equal, "ratio", methods),
        ),
        Panel("edges used", "budget ratio β", "edges", curves(free, "ratio", methods, "edges")),
    ]
    return draw(title, "means over the seeds", panels)


def draw_families(over: str, x: str) -> Callable[[Rows, str], str]:
    """Return the figure of a panel per family: support against a column."""

    def figure(rows: Rows, title: str) -> str:
        kept = [row for row in rows if not row.get("equal")]
        panels = [
            Panel(TITLES[name], x, "TCO support", curves(where(kept, workload_family=name), over))
            for name in FAMILIES
        ]
        return draw(title, "means over the seeds", panels)

    return figure


def draw_spreads(rows: Rows, title: str) -> str:
    """Return the CCDFs of followees and followers: whole graphs and samples."""
    names = {"fb": "Cornell5", "tw": "ego-Twitter"}
    panels = []
    for method, heading in (("whole", "whole graphs"), ("10K", "samples of 10,000")):
        series = []
        for row in where(rows, method=method, seed=1):
            for kind in ("followees", "followers"):
                points = list(zip(row[kind], row[f"{kind}_share"], strict=True))
                series.append(Series(f"{names[row['workload_graph']]} {kind}", points))
        panels.append(Panel(heading, "count", "CCDF", series, log_x=True, log_y=True))
    return draw(title, "share of users with at least as many", panels)


def draw_table(paper: Mapping[str, Sequence[float]]) -> Callable[[Rows, str], str]:
    """Return Table I as bars, a panel per graph; `paper` has a row per method."""
    columns = [("fb", 1000), ("fb", 10_000), ("tw", 1000), ("tw", 10_000)]

    def figure(rows: Rows, title: str) -> str:
        panels = []
        for i, (graph, nodes) in enumerate(columns):
            at = {"workload_graph": graph, "workload_nodes": nodes}
            ours = {LABELS[m]: mean(rows, "support", method=m, **at) for m in paper}
            theirs = {LABELS[method]: row[i] for method, row in paper.items()}
            heading = f"{graph.upper()}{nodes // 1000}K"
            panels.append(beside_paper(heading, "TCO support", ours, theirs))
        return draw(title, "means over the seeds", panels)

    return figure
