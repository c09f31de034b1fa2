"""The claims of paper 1 on partial overlays, and how cells decide them."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable

from meshwright.experiments.findings import (
    at_most,
    ends,
    mean,
    number,
    ordered,
    ranking,
    values,
    where,
)
from meshwright.experiments.model import Claim, Finding, Rows
from meshwright.experiments.partial_grids import (
    FAMILIES,
    LABELS,
    RANKED,
    TITLES,
)
from meshwright.experiments.reasons import (
    DEGREE_BUDGET,
    EDGE_BUDGET,
    FEW_BOUND,
    FIFTH_OF_EDGES,
    MORE_EDGES,
    OTHER_GRAPHS,
    SPIDER_GAP,
    SPREAD_OF_SIZES,
)

POINTS = "{:.1f} points"


def by_budget(rows: Rows) -> Rows:
    """Return the rows whose budgets are those of Eq. 36 alone."""
    return where(rows, equal=False)


def by_equal_edges(rows: Rows) -> Rows:
    """Return the rows stopped at equal edges; the methods with a budget of edges always are."""
    return [*where(rows, equal=True), *where(rows, method="gpa")]


def ranked(pick: Callable[[Rows], Rows], *over: str) -> Callable[[Rows], Finding | None]:
    """Return the finding on the rank of the methods at every point of `over`."""
    return lambda rows: ranking(pick(rows), "support", RANKED, over)()


def percent(rows: Rows, method: str, **kind: object) -> float:
    """Return the support of a method in percent."""
    return 100 * mean(by_budget(rows), "support", method=method, **kind)


def _gap(rows: Rows, other: str, **kind: object) -> float:
    return 100 * (mean(rows, "support", method="gpm", **kind)
                  - mean(rows, "support", method=other, **kind))  # fmt: skip


def _edges_used(rows: Rows) -> Finding | None:
    """Return the ratio, furthest from 1, of edges used to those allowed, at ratio 0.2."""
    at = where(by_budget(rows), ratio=0.2)
    allowed = mean(at, "edges", method="gpa")
    used = {m: mean(at, "edges", method=m) / allowed for m in RANKED[1:]}
    if any(math.isnan(value) for value in used.values()):
        return None
    worst = max(used.values(), key=lambda value: abs(math.log(value)))
    told = ", ".join(f"{name} {value:.2f}" for name, value in used.items())
    return Finding(f"of GPA's edges: {told}", ((worst, 1.0),))


def _eighty(rows: Rows) -> Finding | None:
    at = where(by_budget(rows), ratio=0.2)
    found = {m: mean(at, "support", method=m) for m in ("gpa", "gpm")}
    if any(math.isnan(value) for value in found.values()):
        return None
    told = ", ".join(f"{name} {value:.1%}" for name, value in found.items())
    return Finding(f"{told} at ratio 0.2", pairs=tuple((value, 0.8) for value in found.values()))


def _random_alike(rows: Rows) -> Finding | None:
    one = mean(_equal_or_average(rows), "support", method="random-average")
    other = mean(where(rows, equal=True), "support", method="random-max")
    return number(one / other, 1.0, "{:.3f} times RandomM's support at equal edges")


def _equal_or_average(rows: Rows) -> Rows:
    return where(rows, method="random-average")


def graph_claims(name: str, spider: float | None) -> list[Claim]:
    """Return the claims of Figs. 4 and 5; `spider` is GPM minus SpiderCastM, in points."""
    claims = [
        Claim(
            f"{name}: GPA >= GPM >= SpiderCastM >= RandomM at every ratio",
            "at every ratio",
            ranked(by_budget, "ratio"),
            MORE_EDGES,
            at_default=True,
        ),
        Claim(
            f"{name}: the same, all stopped at equal edges",
            "at every ratio",
            ranked(by_equal_edges, "ratio"),
            MORE_EDGES,
            at_default=True,
        ),
        Claim(
            f"{name}: all methods use roughly the same number of edges (ratio 0.2)",
            "roughly the same",
            _edges_used,
            FEW_BOUND,
            at_default=True,
        ),
        Claim(
            f"{name}: 80% support by GPA and GPM with 20% of the budget",
            "over 80%",
            _eighty,
            EDGE_BUDGET,
            at_default=True,
        ),
        Claim(
            f"{name}: RandomA is about RandomM",
            "negligible difference",
            _random_alike,
            OTHER_GRAPHS,
            at_default=True,
        ),
    ]
    if spider is not None:
        claims.append(
            Claim(
                f"{name}: GPM minus SpiderCastM, on average",
                f"{spider} points",
                lambda rows: number(_gap(by_budget(rows), "spidercast"), spider, POINTS),
                SPIDER_GAP,
                at_default=True,
            )
        )
    return claims


def hub_claims(name: str) -> list[Claim]:
    """Return the claims on FB1K at single ratios."""
    return [
        Claim(
            f"{name}: GPM at ratio 0.15",
            "94.3%",
            lambda rows: number(percent(rows, "gpm", ratio=0.15), 94.3, "{:.1f}%"),
            DEGREE_BUDGET,
            at_default=True,
        ),
        Claim(
            f"{name}: maximum degree of a complete overlay by MinMax-ODA",
            "231",
            lambda rows: number(mean(by_budget(rows), "budget_degree", ratio=1.0), 231, "{:.0f}"),
            OTHER_GRAPHS,
            at_default=True,
        ),
        Claim(
            f"{name}: GPA complete at ratio 0.2",
            "100%",
            lambda rows: number(percent(rows, "gpa", ratio=0.2), 100, "{:.1f}%"),
            EDGE_BUDGET,
            at_default=True,
        ),
        Claim(
            f"{name}: average degree of GPA at ratio 0.2",
            "2.74",
            lambda rows: number(mean(rows, "average_degree", method="gpa", ratio=0.2), 2.74),
            FIFTH_OF_EDGES,
            at_default=True,
        ),
        Claim(
            f"{name}: maximum degree of GPA at ratio 0.2",
            "373",
            lambda rows: number(mean(rows, "max_degree", method="gpa", ratio=0.2), 373, "{:.0f}"),
            OTHER_GRAPHS,
            at_default=True,
        ),
    ]


TABLE = {
    "gpa": (1.0, 1.0, 1.0, 1.0),
    "gpm": (0.951, 0.974, 0.983, 0.998),
    "spidercast": (0.904, 0.915, 0.867, 0.986),
    "random-max": (0.367, 0.06, 0.425, 0.669),
}
COLUMNS = {
    "FB1K": ("fb", 1000),
    "FB10K": ("fb", 10_000),
    "TW1K": ("tw", 1000),
    "TW10K": ("tw", 10_000),
}


def table_claims() -> list[Claim]:
    """Return the claims of Table I."""
    claims = []
    for method, row in TABLE.items():
        for (column, (graph, nodes)), paper in zip(COLUMNS.items(), row, strict=True):
            kind = {"method": method, "workload_graph": graph, "workload_nodes": nodes}
            claims.append(
                Claim(
                    f"{column}: {LABELS[method]} at ratio 0.2",
                    f"{paper:g}",
                    lambda rows, kind=kind, paper=paper: number(  # type: ignore[misc]
                        mean(rows, "support", **kind), paper, "{:.3f}"
                    ),
                    EDGE_BUDGET if method == "gpa" else DEGREE_BUDGET,
                    at_default=True,
                )
            )
    for column, paper in (("FB1K", 58.5), ("FB10K", 91.4)):
        graph, nodes = COLUMNS[column]
        kind = {"workload_graph": graph, "workload_nodes": nodes}
        claims.append(
            Claim(
                f"{column}: GPM minus RandomM at ratio 0.2",
                f"{paper} points",
                lambda rows, kind=kind, paper=paper: number(  # type: ignore[misc]
                    _gap(rows, "random-max", **kind), paper, POINTS
                ),
                DEGREE_BUDGET,
                at_default=True,
            )
        )
    claims.append(
        Claim(
            "GPM is better on 10K than on 1K (FB, TW)",
            "95.1 to 97.4%, 98.3 to 99.8%",
            lambda rows: ordered(
                (
                    mean(rows, "support", method="gpm", workload_graph=g, workload_nodes=10_000),
                    mean(rows, "support", method="gpm", workload_graph=g, workload_nodes=1000),
                )
                for g in ("fb", "tw")
            ),
            OTHER_GRAPHS,
            at_default=True,
        )
    )
    return claims


def per_family(
    text: str,
    papers: tuple[float, float, float],
    find: Callable[[Rows], float],
    why: str = SPREAD_OF_SIZES,
    *,
    at: bool = False,
) -> list[Claim]:
    """Return a claim per family, on a number in points or percent."""
    return [
        Claim(
            f"{TITLES[name]}: {text}",
            f"{paper:g}",
            lambda rows, name=name, paper=paper: number(  # type: ignore[misc]
                find(where(rows, workload_family=name)), paper, "{:.1f}"
            ),
            why,
            at_default=at,
        )
        for name, paper in zip(FAMILIES, papers, strict=True)
    ]


def mean_gap(over: str) -> Callable[[Rows], float]:
    """Return GPM minus RandomM in points, mean over points."""

    def find(rows: Rows) -> float:
        gaps = [_gap(where(rows, **{over: x}), "random-max") for x in values(rows, over)]
        return sum(gaps) / len(gaps) if gaps else math.nan

    return find


def at_last(over: str, method: str) -> Callable[[Rows], float]:
    """Return the support of a method at the last point, in percent."""
    return lambda rows: 100 * ends(rows, "support", over, method=method)[1]


def of_family(rows: Rows, name: str) -> Rows:
    """Return the rows of a family of workloads."""
    return where(rows, workload_family=name)


def ends_rise(over: str, directions: dict[str, bool]) -> Callable[[Rows], Finding | None]:
    """Return the finding that support rises, or falls, from the first point to the last."""
    return lambda rows: ordered(
        (pair for name, rising in directions.items()
         for method in RANKED[:3]
         for pair in _end_pair(of_family(rows, name), over, method, rising)),
        "families and methods",
    )  # fmt: skip


def _end_pair(rows: Rows, over: str, method: str, rising: bool) -> list[tuple[float, float]]:
    first, last = ends(rows, "support", over, method=method)
    return [(last, first) if rising else (first, last)]


def gaps_shrink(rows: Rows) -> Finding | None:
    """Return whether GPA minus RandomM is smaller at the largest subscriptions than the least."""
    pairs = []
    for name in FAMILIES:
        mine = of_family(rows, name)
        best, worst = (ends(mine, "support", "middle", method=m) for m in ("gpa", "random-max"))
        pairs.append((best[0] - worst[0], best[1] - worst[1]))
    return ordered(pairs, "families")


def topics_fall(rows: Rows) -> Finding | None:
    """Return by how much GPM falls with topics; under Unif, where it falls most."""
    unif = of_family(rows, "unif")
    first, last = (100 * x for x in ends(unif, "support", "workload_topics", method="gpm"))
    if math.isnan(first):
        return None
    return Finding(f"{first:.1f}% to {last:.1f}% (Unif)", ((first - last, 65.3 - 24.4),))


def zipf_falls(rows: Rows) -> Finding | None:
    """Return by how much GPM falls with topics under Zipf."""
    first, last = ends(of_family(rows, "zipf"), "support", "workload_topics", method="gpm")
    return number(100 * (first - last), 0.39, "{:.2f} points")


def spread_claims() -> list[Claim]:
    """Return the claim of the CCDF figures for each graph and side."""
    return [
        Claim(
            f"{graph.upper()}10K: {kind} spread as in the whole graph "
            "(largest distance of the CCDFs at most 0.2)",
            "properties retained",
            lambda rows, graph=graph, kind=kind: at_most(  # type: ignore[misc]
                spread_distance(rows, graph, kind), 0.2, "{:.3f}"
            ),
            "The graph is little larger than its sample, which begins among the most connected.",
            at_default=True,
        )
        for graph in ("fb", "tw")
        for kind in ("followees", "followers")
    ]


def spread_distance(rows: Rows, graph: str, kind: str) -> float:
    """Return the largest distance between the CCDFs of a graph and of its samples, on average."""
    (whole,) = where(rows, workload_graph=graph, method="whole")
    found = []
    for sample in where(rows, workload_graph=graph, method="10K"):
        at = sorted({*whole[kind], *sample[kind]})
        shares = [_shares(row[kind], row[f"{kind}_share"], at) for row in (whole, sample)]
        found.append(max(abs(one - other) for one, other in zip(*shares, strict=True)))
    return sum(found) / len(found) if found else math.nan


def _shares(counts: list[int], shares: list[float], at: list[int]) -> list[float]:
    """Return the share with at least each count of `at`."""
    places = (bisect_left(counts, count) for count in at)
    return [shares[place] if place < len(shares) else 0.0 for place in places]
