"""The claims of paper 1 on budgets and on samples of graphs, and how cells decide them."""

import math
from bisect import bisect_left
from collections.abc import Callable

from papers.findings import (
    POINTS,
    SHARES,
    at_least,
    at_most,
    mean,
    number,
    ordered,
    ranking,
    values,
    where,
)
from papers.model import Claim, Finding, Kind, Rows
from papers.partial_grids import LABELS, PRINTED, RANKED
from papers.reasons import (
    DEGREE_BUDGET,
    EDGE_BUDGET,
    FIFTH_OF_EDGES,
    MORE_EDGES,
    OTHER_GRAPHS,
    SPIDER_GAP,
    WHOLE_DEGREES,
)

IN_POINTS = "{:.1f} points"
ALIKE = 1.2  # times as much, for what the paper calls roughly the same


def by_budget(rows: Rows) -> Rows:
    """Return the rows whose budgets are those of Eq. 36 alone."""
    return where(rows, equal=False)


def by_equal_edges(rows: Rows) -> Rows:
    """Return the rows stopped at equal edges; the methods with a budget of edges always are."""
    return [*where(rows, equal=True), *where(rows, method="gpa")]


def ranked(pick: Callable[[Rows], Rows], *over: str) -> Callable[[Rows], Finding | None]:
    """Return the finding on the rank of the methods at every point of `over`."""
    return lambda rows: ranking(pick(rows), "support", RANKED, over)


def percent(rows: Rows, method: str, **kind: object) -> float:
    """Return the support of a method in percent."""
    return 100 * mean(by_budget(rows), "support", method=method, **kind)


def gap(rows: Rows, other: str, **kind: object) -> float:
    """Return the support of GPM minus that of another method, in points."""
    return 100 * (mean(rows, "support", method="gpm", **kind)
                  - mean(rows, "support", method=other, **kind))  # fmt: skip


def alike_in_edges(rows: Rows) -> Finding | None:
    """Return the most edges of a method over the fewest, where no overlay is complete.

    The methods are those of the paper as printed. A mean over the ratios and samples at which all
    of them have to spend their budget: one that is complete stops, as the paper says of GPA.
    """
    methods = ("gpa", *PRINTED, "random-max", "random-average")
    printed = [row for row in by_budget(rows) if row["method"] in methods]
    found = []
    for point in sorted({(row["workload_graph"], row["seed"], row["ratio"]) for row in printed}):
        graph, seed, ratio = point
        at = where(printed, workload_graph=graph, seed=seed, ratio=ratio)
        if all(row["support"] < 1 for row in at):
            edges = [row["edges"] for row in at]
            found.append(max(edges) / min(edges))
    if not found:
        return None
    words = f"{{:.2f}} times, at {len(found)} ratios of samples"
    return at_most(math.fsum(found) / len(found), ALIKE, words)


def eighty(
    name: str, why: str, kind: Kind, pick: Callable[[Rows], Rows] = lambda rows: rows
) -> list[Claim]:
    """Return the claims that methods which look at interests have 80% support at ratio 0.2."""

    def find(method: str) -> Callable[[Rows], Finding | None]:
        return lambda rows: at_least(
            percent(pick(rows), method, ratio=0.2), 80.0, "{:.1f}%", base=POINTS
        )

    return [
        Claim(
            f"{name}: 80% support by {LABELS[method]} with 20% of the budget",
            "over 80%",
            find(method),
            why,
            at_default=True,
            kind=kind,
        )
        for method in RANKED[:3]
    ]


def _ranked_on_each(rows: Rows) -> Finding | None:
    """Return whether GPA >= GPM >= SpiderCastM >= RandomM, RandomA at every ratio of each graph."""
    kept = by_budget(rows)
    over = ("workload_graph", "ratio")
    pairs: list[tuple[float, float]] = []
    for methods in (RANKED, ("spidercast", "random-average")):
        found = ranking(kept, "support", methods, over)
        pairs += found.pairs if found is not None else ()
    return ordered(pairs, "comparisons")


def _more_edges(rows: Rows) -> Finding | None:
    """Return whether a complete overlay by minmax has more edges than one by gm, on each graph."""
    pairs = []
    for graph in values(rows, "workload_graph"):
        whole = where(by_budget(rows), ratio=1.0, workload_graph=graph)
        pairs.append((mean(whole, "edges", method="gpm"), mean(whole, "edges", method="gpa")))
    if not pairs or any(math.isnan(one) for pair in pairs for one in pair):
        return None
    words = "; ".join(f"{most:,.0f} against {least:,.0f}" for most, least in pairs)
    return Finding(words, pairs=tuple(pairs))


def _random_alike(rows: Rows) -> Finding | None:
    """Return RandomA's support over RandomM's at equal edges, mean over the graphs."""
    found = []
    for graph in values(rows, "workload_graph"):
        mine = where(rows, workload_graph=graph)
        found.append(
            mean(mine, "support", method="random-average")
            / mean(where(mine, equal=True), "support", method="random-max")
        )
    ours = math.fsum(found) / len(found) if found else math.nan
    return number(ours, 1.0, "{:.3f} times RandomM's support at equal edges")


def rank_claims(name: str) -> list[Claim]:
    """Return what the paper says of its graphs together, one sentence each."""
    return [
        Claim(
            f"{name}: GPA >= GPM >= SpiderCastM >= RandomA, RandomM at every ratio",
            "through all cases",
            _ranked_on_each,
            MORE_EDGES,
            at_default=True,
            kind=Kind.ORDERING,
        ),
        Claim(
            f"{name}: all methods use roughly as many edges, where none is complete (the most over "
            f"the fewest at most {ALIKE}, a limit of ours)",
            "roughly the same",
            alike_in_edges,
            WHOLE_DEGREES,
            at_default=True,
            kind=Kind.ORDERING,
        ),
        Claim(
            f"{name}: MinMax-ODA needs more edges than GM",
            "generally more",
            _more_edges,
            OTHER_GRAPHS,
            at_default=True,
            kind=Kind.ORDERING,
        ),
        Claim(
            f"{name}: RandomA is about RandomM",
            "negligible difference",
            _random_alike,
            OTHER_GRAPHS,
            at_default=True,
            kind=Kind.ORDERING,
        ),
    ]


def graph_claims(name: str, graph: str, spider: float) -> list[Claim]:
    """Return the claims of Fig. 4 or 5 alone; `spider` is GPM minus SpiderCastM, in points."""

    def mine(rows: Rows) -> Rows:
        return where(rows, workload_graph=graph)

    return [
        Claim(
            f"{name}: GPA >= GPM >= SpiderCastM >= RandomM, all stopped at equal edges",
            "at every ratio",
            ranked(lambda rows: by_equal_edges(mine(rows)), "ratio"),
            MORE_EDGES,
            at_default=True,
            kind=Kind.ORDERING,
            repeated=True,
        ),
        *eighty(name, EDGE_BUDGET, Kind.PRIVATE, mine),
        Claim(
            f"{name}: GPM minus SpiderCastM, on average",
            f"{spider} points",
            lambda rows: number(
                gap(by_budget(mine(rows)), "spidercast"), spider, IN_POINTS, base=POINTS
            ),
            SPIDER_GAP,
            at_default=True,
            kind=Kind.PRIVATE,
        ),
    ]


def hub_claims(name: str) -> list[Claim]:
    """Return the claims on FB1K at single ratios."""
    return [
        Claim(
            f"{name}: GPM at ratio 0.15",
            "94.3%",
            lambda rows: number(percent(rows, "gpm", ratio=0.15), 94.3, "{:.1f}%", base=POINTS),
            DEGREE_BUDGET,
            at_default=True,
            kind=Kind.PRIVATE,
        ),
        Claim(
            f"{name}: maximum degree of a complete overlay by MinMax-ODA",
            "231",
            lambda rows: number(mean(by_budget(rows), "budget_degree", ratio=1.0), 231, "{:.0f}"),
            OTHER_GRAPHS,
            at_default=True,
            kind=Kind.PRIVATE,
        ),
        Claim(
            f"{name}: GPA complete at ratio 0.2",
            "100%",
            lambda rows: number(percent(rows, "gpa", ratio=0.2), 100, "{:.1f}%", base=POINTS),
            EDGE_BUDGET,
            at_default=True,
            kind=Kind.PRIVATE,
        ),
        Claim(
            f"{name}: average degree of GPA at ratio 0.2",
            "2.74",
            lambda rows: number(mean(rows, "average_degree", method="gpa", ratio=0.2), 2.74),
            FIFTH_OF_EDGES,
            at_default=True,
            kind=Kind.PRIVATE,
        ),
        Claim(
            f"{name}: maximum degree of GPA at ratio 0.2",
            "373",
            lambda rows: number(mean(rows, "max_degree", method="gpa", ratio=0.2), 373, "{:.0f}"),
            OTHER_GRAPHS,
            at_default=True,
            kind=Kind.PRIVATE,
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


def _gap_grows(rows: Rows) -> Finding | None:
    """Return whether GPM minus RandomM is larger on the larger sample of FB."""
    small, large = (
        gap(rows, "random-max", workload_graph="fb", workload_nodes=n) for n in (1000, 10_000)
    )
    if math.isnan(large - small):
        return None
    return Finding(f"{small:.1f} to {large:.1f} points", pairs=((large, small),))


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
                        mean(rows, "support", **kind), paper, "{:.3f}", base=SHARES
                    ),
                    EDGE_BUDGET if method == "gpa" else DEGREE_BUDGET,
                    at_default=True,
                    kind=Kind.PRIVATE,
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
                    gap(rows, "random-max", **kind), paper, IN_POINTS, base=POINTS
                ),
                DEGREE_BUDGET,
                at_default=True,
                kind=Kind.PRIVATE,
            )
        )
    claims.append(
        Claim(
            "FB: GPM minus RandomM is larger on 10K than on 1K",
            "58.5 to 91.4 points",
            _gap_grows,
            OTHER_GRAPHS,
            at_default=True,
            kind=Kind.ORDERING,
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
            kind=Kind.ORDERING,
        )
    )
    return claims


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
            kind=Kind.PRIVATE,
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
