"""Our `refined` and our bounds beside the methods of papers 1 and 2, on their workloads.

No paper has a method that takes links back, and none has a lower bound for an instance: what is
known of GM is that it has at most a logarithmic number of times the fewest links. These rows are no
claims of a paper; the ledger lists them among our improvements.
"""

import math
from collections.abc import Callable, Sequence

from papers.chart import Panel, Series, draw
from papers.degree_claims import S
from papers.findings import at_most, mean, ordered, values, where
from papers.model import Cell, Claim, Experiment, Finding, Kind, Rows
from papers.partial_grids import cell, sampled, seeds
from papers.reasons import BOUNDED, TAKEN_BACK
from papers.workloads import family

MEASURE = "measure_overlay:refined_and_bound"
ROUNDS = 2_000  # of each search: a few seconds
SIZES = (10, 20, 30, 40, 50)
GRAPHS = ("fb", "tw")
GRAPH = "workload_graph"
LABELS = {
    "minmax_edges": "MinMax-ODA",
    "capped_edges": "refined, maximum degree of MinMax-ODA",
    "gm_edges": "GM",
    "edges": "refined",
    "bound": "bound",
}


def by_size(full: bool) -> list[Cell]:
    """Return the grid of Figs. 7 and 8 of paper 2, every other size."""
    return [
        cell(family("unif", 100, 100, (size, size), seed), "refined", seed,
             cost=4.0, measure=MEASURE, rounds=ROUNDS)
        for seed in seeds(full, 5)
        for size in SIZES
    ]  # fmt: skip


def on_graphs(full: bool) -> list[Cell]:
    """Return the samples of Figs. 4 and 5 of paper 1."""
    found = []
    for seed in seeds(full, 5):
        for graph in GRAPHS:
            workload, sample = sampled(graph, 1000, seed)
            found.append(
                cell(workload, "refined", seed, graph=sample, cost=10.0, measure=MEASURE,
                     rounds=ROUNDS)
            )  # fmt: skip
    return found


def fewer(over: str, more: str, less: str) -> Callable[[Rows], Finding | None]:
    """Return whether a column is below another at every point of `over`, and the mean ratio."""

    def find(rows: Rows) -> Finding | None:
        pairs = [(mean(rows, more, **{over: at}), mean(rows, less, **{over: at}))
                 for at in values(rows, over)]  # fmt: skip
        found = ordered(pairs)
        if found is None:
            return None
        share = math.fsum(small / large for large, small in pairs) / len(pairs)
        return Finding(f"{share:.2f} times as many; fewer {found.ours}", pairs=found.pairs)

    return find


def near_the_bound(rows: Rows) -> Finding | None:
    """Return whether links are within the logarithmic factor that the paper proves for GM.

    The factor of a row is the natural logarithm of its subscriptions, the joins that GM has to
    make, which is the least reading of the paper's O(log(|V| |T|)).
    """
    times = max((row["edges"] / row["bound"] for row in rows), default=math.nan)
    least = min((math.log(row["subscriptions"]) for row in rows), default=math.nan)
    return at_most(times, least, "at most {:.2f} times the bound")


def figure(over: str, x: str, groups: Sequence[str] = ()) -> Callable[[Rows, str], str]:
    """Return links against a column: lines, or bars for named groups."""

    def drawn(rows: Rows, title: str) -> str:
        points = list(groups) or values(rows, over)
        series = [
            Series(label, [(float(i if groups else at), mean(where(rows, **{over: at}), column))
                           for i, at in enumerate(points)])
            for column, label in LABELS.items()
        ]  # fmt: skip
        names = [f"{name.upper()}1K" for name in groups]
        panel = Panel("", x, "links", series, kind="bar" if groups else "line", groups=names)
        return draw(title, "means over the seeds", [panel])

    return drawn


def claims(over: str) -> list[Claim]:
    """Return the rows: against both methods of the papers, and against the bound."""
    rows = (
        ("Links of `refined` against those of GM", "GM", fewer(over, "gm_edges", "edges"),
         TAKEN_BACK),
        ("Links of `refined` within the maximum degree of MinMax-ODA, against its links",
         "MinMax-ODA", fewer(over, "minmax_edges", "capped_edges"), TAKEN_BACK),
        ("Links of `refined` against the fewest possible", "GM: a logarithmic factor",
         near_the_bound, BOUNDED),
    )  # fmt: skip
    return [
        Claim(text, paper, find, why, at_default=True, kind=Kind.IMPROVEMENT)
        for text, paper, find, why in rows
    ]


ON_GRAPHS = "samples of 1,000 nodes, 2,000 rounds of search"
BY_SIZE = "100 nodes, 100 topics, 10 to 50 subscriptions, 2,000 rounds of search"
EXPERIMENTS = (
    Experiment(
        "icdcs16-refined",
        "links of refined, GM and MinMax-ODA, and the bound, FB1K and TW1K",
        on_graphs,
        figure(GRAPH, "", GRAPHS),
        ON_GRAPHS,
        ON_GRAPHS,
        claims(GRAPH),
    ),
    Experiment(
        "ton11-refined",
        "links of refined, GM and MinMax-ODA, and the bound, against subscriptions",
        by_size,
        figure(S, "subscription size"),
        BY_SIZE,
        BY_SIZE,
        claims(S),
    ),
)
