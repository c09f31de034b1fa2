"""Paper 1: partial overlays under degree budgets."""

from __future__ import annotations

import math
from collections.abc import Callable

from meshwright.experiments.findings import (
    at_least,
    ends,
    mean,
    number,
    ordered,
    ranking,
    trend,
    values,
    where,
)
from meshwright.experiments.model import Claim, Experiment, Finding, Rows
from meshwright.experiments.partial_grids import (
    FAMILIES,
    RANKED,
    TITLES,
    by_nodes,
    by_ratio,
    by_ratio_on_graph,
    by_size,
    by_topics,
    draw_families,
    draw_graph,
    draw_spreads,
    draw_table,
    spreads,
    table_on_graphs,
)

POINTS = "{:.1f} points"
GRAPHS = (
    "The sample is of another graph than the paper's: its hubs are smaller, so the complete "
    "overlay needs a lower maximum degree, and a share of that is a tighter budget."
)
DENSE = (
    "The paper does not say how the sizes from 20 to 600 are spread; ours are uniform (310 on "
    "average), and with that many topics per node even random links join most of them."
)
BUDGET = (
    "The maximum degree of minmax times the ratio allows many more edges than the ratio of its "
    "edges, so GPM may use more edges than GPA is given."
)


def _free(rows: Rows) -> Rows:
    return where(rows, equal=False)


def _equal(rows: Rows) -> Rows:
    """Return the rows stopped at equal edges; the methods with a budget of edges always are."""
    return [*where(rows, equal=True), *where(rows, method="gpa")]


def _rank(pick: Callable[[Rows], Rows], *over: str) -> Callable[[Rows], Finding | None]:
    return lambda rows: ranking(pick(rows), "support", RANKED, over)()


def _support(rows: Rows, method: str, **kind: object) -> float:
    return 100 * mean(_free(rows), "support", method=method, **kind)


def _gap(rows: Rows, other: str, **kind: object) -> float:
    return 100 * (mean(rows, "support", method="gpm", **kind)
                  - mean(rows, "support", method=other, **kind))  # fmt: skip


def _edges_used(rows: Rows) -> Finding | None:
    """Return the ratio, furthest from 1, of edges used to those allowed, at ratio 0.2."""
    at = where(_free(rows), ratio=0.2)
    allowed = mean(at, "edges", method="gpa")
    used = {m: mean(at, "edges", method=m) / allowed for m in RANKED[1:]}
    if any(math.isnan(value) for value in used.values()):
        return None
    worst = max(used.values(), key=lambda value: abs(math.log(value)))
    told = ", ".join(f"{name} {value:.2f}" for name, value in used.items())
    return Finding(f"of GPA's edges: {told}", worst, 1.0)


def _eighty(rows: Rows) -> Finding | None:
    at = where(_free(rows), ratio=0.2)
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
            _rank(_free, "ratio"),
            BUDGET,
            at_default=True,
        ),
        Claim(
            f"{name}: the same, all stopped at equal edges",
            "at every ratio",
            _rank(_equal, "ratio"),
            BUDGET,
            at_default=True,
        ),
        Claim(
            f"{name}: all methods use roughly the same number of edges (ratio 0.2)",
            "roughly the same",
            _edges_used,
            "A share of the maximum degree of minmax binds few nodes: degrees are uneven, so the "
            "same share of the degree lets through more edges than the share of the edges.",
            at_default=True,
        ),
        Claim(
            f"{name}: 80% support by GPA and GPM with 20% of the budget",
            "over 80%",
            _eighty,
            GRAPHS,
            at_default=True,
        ),
        Claim(
            f"{name}: RandomA is about RandomM",
            "negligible difference",
            _random_alike,
            GRAPHS,
            at_default=True,
        ),
    ]
    if spider is not None:
        claims.append(
            Claim(
                f"{name}: GPM minus SpiderCastM, on average",
                f"{spider} points",
                lambda rows: number(_gap(_free(rows), "spidercast"), spider, POINTS),
                GRAPHS,
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
            lambda rows: number(_support(rows, "gpm", ratio=0.15), 94.3, "{:.1f}%"),
            GRAPHS,
            at_default=True,
        ),
        Claim(
            f"{name}: maximum degree of a complete overlay by MinMax-ODA",
            "231",
            lambda rows: number(mean(_free(rows), "budget_degree", ratio=1.0), 231, "{:.0f}"),
            GRAPHS,
            at_default=True,
        ),
        Claim(
            f"{name}: GPA complete at ratio 0.2",
            "100%",
            lambda rows: number(_support(rows, "gpa", ratio=0.2), 100, "{:.1f}%"),
            GRAPHS,
            at_default=True,
        ),
        Claim(
            f"{name}: average degree of GPA at ratio 0.2",
            "2.74",
            lambda rows: number(mean(rows, "average_degree", method="gpa", ratio=0.2), 2.74),
            GRAPHS,
            at_default=True,
        ),
        Claim(
            f"{name}: maximum degree of GPA at ratio 0.2",
            "373",
            lambda rows: number(mean(rows, "max_degree", method="gpa", ratio=0.2), 373, "{:.0f}"),
            GRAPHS,
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
NAMES = {"gpa": "GPA", "gpm": "GPM", "spidercast": "SpiderCastM", "random-max": "RandomM"}


def _table_claims() -> list[Claim]:
    claims = []
    for method, row in TABLE.items():
        for (column, (graph, nodes)), paper in zip(COLUMNS.items(), row, strict=True):
            kind = {"method": method, "workload_graph": graph, "workload_nodes": nodes}
            claims.append(
                Claim(
                    f"{column}: {NAMES[method]} at ratio 0.2",
                    f"{paper:g}",
                    lambda rows, kind=kind, paper=paper: number(  # type: ignore[misc]
                        mean(rows, "support", **kind), paper, "{:.3f}"
                    ),
                    GRAPHS,
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
                GRAPHS,
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
            GRAPHS,
            at_default=True,
        )
    )
    return claims


def _per_family(
    text: str,
    papers: tuple[float, float, float],
    find: Callable[[Rows], float],
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
            DENSE,
            at_default=at,
        )
        for name, paper in zip(FAMILIES, papers, strict=True)
    ]


def _mean_gap(over: str) -> Callable[[Rows], float]:
    def find(rows: Rows) -> float:
        gaps = [_gap(where(rows, **{over: x}), "random-max") for x in values(rows, over)]
        return sum(gaps) / len(gaps) if gaps else math.nan

    return find


def _at_last(over: str, method: str) -> Callable[[Rows], float]:
    return lambda rows: 100 * ends(rows, "support", over, method=method)[1]


def _family(rows: Rows, name: str) -> Rows:
    return where(rows, workload_family=name)


def _rises(over: str, directions: dict[str, bool]) -> Callable[[Rows], Finding | None]:
    return lambda rows: ordered(
        (pair for name, rising in directions.items()
         for method in RANKED[:3]
         for pair in _end_pair(_family(rows, name), over, method, rising)),
        "families and methods",
    )  # fmt: skip


def _end_pair(rows: Rows, over: str, method: str, rising: bool) -> list[tuple[float, float]]:
    first, last = ends(rows, "support", over, method=method)
    return [(last, first) if rising else (first, last)]


def _gaps_shrink(rows: Rows) -> Finding | None:
    """Return whether GPA minus RandomM is smaller at the largest subscriptions than the least."""
    pairs = []
    for name in FAMILIES:
        mine = _family(rows, name)
        best, worst = (ends(mine, "support", "middle", method=m) for m in ("gpa", "random-max"))
        pairs.append((best[0] - worst[0], best[1] - worst[1]))
    return ordered(pairs, "families")


def _topics_fall(rows: Rows) -> Finding | None:
    unif = _family(rows, "unif")
    first, last = (100 * x for x in ends(unif, "support", "workload_topics", method="gpm"))
    if math.isnan(first):
        return None
    return Finding(f"{first:.1f}% to {last:.1f}% (Unif)", first - last, 65.3 - 24.4)


def _zipf_falls(rows: Rows) -> Finding | None:
    first, last = ends(_family(rows, "zipf"), "support", "workload_topics", method="gpm")
    return number(100 * (first - last), 0.39, "{:.2f} points")


EXPERIMENTS = (
    Experiment(
        "icdcs16-fig3",
        "followees and followers of the graphs and of samples of 10,000 (CCDF)",
        spreads(("fb", "tw")),
        draw_spreads,
        "whole graphs and samples of 10,000 nodes",
        "whole graphs and samples of 10,000 nodes",
    ),
    Experiment(
        "icdcs16-fig4",
        "support against the budget ratio, FB1K",
        by_ratio_on_graph("fb", 1000),
        draw_graph,
        "samples of 1,000 nodes, 11 ratios",
        "samples of 1,000 nodes, 11 ratios",
        [*graph_claims("FB1K", 3.4), *hub_claims("FB1K")],
    ),
    Experiment(
        "icdcs16-fig4-ego",
        "the same on ego-Facebook, whose hubs are closer to the paper's",
        by_ratio_on_graph("ego", 1000),
        draw_graph,
        "samples of 1,000 nodes, 11 ratios",
        "samples of 1,000 nodes, 11 ratios",
        [*graph_claims("ego1K", 3.4), *hub_claims("ego1K")],
    ),
    Experiment(
        "icdcs16-fig5",
        "support against the budget ratio, TW1K",
        by_ratio_on_graph("tw", 1000),
        draw_graph,
        "samples of 1,000 nodes, 11 ratios",
        "samples of 1,000 nodes, 11 ratios",
        graph_claims("TW1K", 4.8),
    ),
    Experiment(
        "icdcs16-table1",
        "support at ratio 0.2 on FB and TW",
        table_on_graphs,
        draw_table,
        "samples of 1,000 and 10,000 nodes",
        "samples of 1,000 and 10,000 nodes",
        _table_claims(),
    ),
    Experiment(
        "icdcs16-fig6",
        "support against |V| (Expo, Zipf, Unif)",
        by_nodes,
        draw_families("workload_nodes", "|V|"),
        "1,000 to 3,000 nodes, 1,000 topics, 20-600 subscriptions",
        "1,000 to 10,000 nodes, 1,000 topics, 20-600 subscriptions",
        [
            *_per_family("GPM minus RandomM, mean over |V|, points", (43.9, 22.7, 30.1),
                         _mean_gap("workload_nodes")),
            *_per_family("GPM at the most nodes, %", (83.5, 92.0, 38.3),
                         _at_last("workload_nodes", "gpm")),
            Claim(
                "GPA, GPM and SpiderCastM rise with |V|",
                "rise noticeably",
                _rises("workload_nodes", dict.fromkeys(FAMILIES, True)),
                DENSE,
            ),
            Claim(
                "Support drops from Expo and Zipf to Unif (GPM)",
                "83.5, 92 against 38.3%",
                lambda rows: ordered(
                    (mean(_family(rows, name), "support", method="gpm"),
                     mean(_family(rows, "unif"), "support", method="gpm"))
                    for name in ("expo", "zipf")
                ),
                DENSE,
            ),
            Claim(
                "GPA >= GPM >= SpiderCastM >= RandomM everywhere",
                "at every point",
                _rank(lambda rows: rows, "workload_family", "workload_nodes"),
            ),
        ],
    ),
    Experiment(
        "icdcs16-fig7",
        "support against |T| (Expo, Zipf, Unif)",
        by_topics,
        draw_families("workload_topics", "|T|"),
        "2,000 nodes, 1,000 to 10,000 topics (3 points), 20-600 subscriptions",
        "2,000 nodes, 1,000 to 10,000 topics (10 points), 20-600 subscriptions",
        [
            Claim(
                "GPM falls as topics grow tenfold",
                "65.3% to 24.4%, by 40.9 points",
                _topics_fall,
                DENSE,
                at_default=True,
            ),
            Claim("Zipf: GPM falls only by", "0.39 points", _zipf_falls, DENSE, at_default=True),
            *_per_family("GPM minus RandomM, mean over |T|, points", (26.7, 22.0, 14.7),
                         _mean_gap("workload_topics")),
            Claim(
                "Support falls with |T| for all methods",
                "decreases",
                lambda rows: ordered(
                    pair
                    for name in FAMILIES
                    for method in RANKED
                    for pair in trend(_family(rows, name), "support", "workload_topics",
                                      rising=False, method=method)
                ),
                DENSE,
                at_default=True,
            ),
            Claim(
                "GPA >= GPM >= SpiderCastM >= RandomM everywhere",
                "at every point",
                _rank(lambda rows: rows, "workload_family", "workload_topics"),
                at_default=True,
            ),
        ],
    ),
    Experiment(
        "icdcs16-fig8",
        "support against the subscription size (Expo, Zipf, Unif)",
        by_size,
        draw_families("middle", "middle subscription size"),
        "2,000 nodes, 1,000 topics, sizes 10-90 to 100-180 (4 points)",
        "2,000 nodes, 1,000 topics, sizes 10-90 to 100-180 (10 points)",
        [
            Claim(
                "Support rises with the subscription size under Expo and Unif, falls under Zipf",
                "rises, falls",
                _rises("middle", {"expo": True, "zipf": False, "unif": True}),
                at_default=True,
            ),
            Claim(
                "The gap between methods shrinks as sizes grow (GPA minus RandomM)",
                "shrinks",
                _gaps_shrink,
                at_default=True,
            ),
        ],
    ),
    Experiment(
        "icdcs16-fig9",
        "support against the budget ratio (Expo, Zipf, Unif)",
        by_ratio,
        draw_families("ratio", "budget ratio β"),
        "1,000 nodes, 1,000 topics, 20-600 subscriptions, 11 ratios",
        "1,000 nodes, 1,000 topics, 20-600 subscriptions, 11 ratios",
        [
            Claim(
                "GPA >= GPM >= SpiderCastM >= RandomM at every ratio",
                "at every ratio",
                _rank(_free, "workload_family", "ratio"),
                BUDGET,
                at_default=True,
            ),
            Claim(
                "The same, all stopped at equal edges",
                "at every ratio",
                _rank(_equal, "workload_family", "ratio"),
                BUDGET,
                at_default=True,
            ),
            *[
                Claim(
                    f"{TITLES[name]}: 80% support by GPM with 20% of the budget",
                    "over 80%",
                    lambda rows, name=name: at_least(  # type: ignore[misc]
                        _support(_family(rows, name), "gpm", ratio=0.2), 80.0, "{:.1f}%"
                    ),
                    at_default=True,
                )
                for name in ("expo", "zipf")
            ],
        ],
    ),
)  # fmt: skip
