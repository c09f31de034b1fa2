"""Paper 2: the lowest maximum degree, and overlays of constant diameter.

GM runs with both tie rules: by id, as the paper's figures show it, and by degree, ours. The second
takes most of the advantage of MinMax-ODA away; the ledger lists it among our improvements.
"""

from collections.abc import Callable, Sequence

from papers.chart import Panel, Series, draw
from papers.degree_claims import (
    S,
    T,
    V,
    a_seventh,
    conclusions,
    degrees_part,
    larger_with_more_topics,
    pair_claims,
    percent_more,
    star_claims,
    stepwise,
    ties_by_degree,
    times_as_large,
)
from papers.findings import at_most, mean, ratio_mean, values, where
from papers.model import Cell, Claim, Experiment, Kind, Rows
from papers.partial_grids import cell, seeds
from papers.reasons import EQUAL_SIZES, EVEN_TIES, EXTRA_EDGES, LONGER_PATHS, TIES_UNTOLD
from papers.workloads import family

NODES = tuple(range(1000, 10_001, 1000))
SIZES = tuple(range(10, 51, 5))
PAIR = ("gm-id", "gm", "minmax")
STARS = ("gm-id", "cd", "cd1", "cd2")
LABELS = {
    "gm-id": "GM (ties by id, as in the paper)",
    "gm": "GM (ties by degree)",
    "minmax": "MinMax-ODA",
    "cd": "CD-ODA",
    "cd1": "CD-ODA-I",
    "cd2": "CD-ODA-II",
}
TEN = (10, 10)
FIXED = "successive"  # each node has exactly s topics


def by_nodes(*topics: int, draw: str = FIXED) -> Callable[[bool], Sequence[Cell]]:
    """Return the grid of Figs. 2 to 6: uniform interests, 10 subscriptions."""

    def cells(full: bool) -> list[Cell]:
        return [
            cell(
                family("unif", nodes, n_topics, TEN, seed, draw=draw),
                method,
                seed,
                cost=nodes / 5000,
                diameter=True,
            )
            for seed in seeds(full)
            for n_topics in topics
            for nodes in NODES
            for method in PAIR
        ]

    return cells


def by_size(methods: Sequence[str], draw: str = FIXED) -> Callable[[bool], Sequence[Cell]]:
    """Return the grid of Figs. 7, 8 and 19: 100 nodes, 100 topics, 10 to 50 subscriptions."""
    return lambda full: [
        small_cell(100, 100, size, seed, method, draw)
        for seed in seeds(full, 5)
        for size in SIZES
        for method in methods
    ]


def small_cell(nodes: int, topics: int, size: int, seed: int, method: str, draw: str) -> Cell:
    """Return a cell of the small grids."""
    workload = family("unif", nodes, topics, (size, size), seed, draw=draw)
    cost = 0.1 if nodes > 100 else 0.05
    return cell(workload, method, seed, cost=cost, diameter=True)


def by_nodes_zipf(full: bool) -> list[Cell]:
    """Return the grid of Figs. 9 and 10: Zipf 0.5, nodes drawn again until they have 10 topics."""
    return [
        cell(
            family("zipf", nodes, 100, TEN, seed, alpha=0.5, draw="conditional"),
            method,
            seed,
            cost=nodes / 5000,
        )
        for seed in seeds(full)
        for nodes in NODES
        for method in PAIR
    ]


def stars_by_nodes(draw: str = FIXED) -> Callable[[bool], Sequence[Cell]]:
    """Return the grid of Fig. 17."""
    return lambda full: [
        small_cell(nodes, 100, 10, seed, method, draw)
        for seed in seeds(full, 5)
        for nodes in range(100, 1001, 100)
        for method in STARS
    ]


def stars_by_topics(draw: str = FIXED) -> Callable[[bool], Sequence[Cell]]:
    """Return the grid of Fig. 18."""
    return lambda full: [
        small_cell(100, topics, 20, seed, method, draw)
        for seed in seeds(full, 5)
        for topics in range(100, 501, 50)
        for method in STARS
    ]


def all_stars(draw: str = FIXED) -> Callable[[bool], Sequence[Cell]]:
    """Return the grids of Figs. 17 to 19 together; they share some points."""

    def cells(full: bool) -> list[Cell]:
        grids = (stars_by_nodes(draw), stars_by_topics(draw), by_size(STARS, draw))
        return list({one.key(): one for grid in grids for one in grid(full)}.values())

    return cells


def star_sizes(rows: Rows, title: str) -> str:
    """Return Fig. 19 from the rows of Figs. 17 to 19."""
    drawn = figure(S, "subscription size", *AVERAGE, STARS)
    return drawn(where(rows, **{V: 100, T: 100}), title)


def figure(
    over: str, x: str, column: str, y: str, methods: Sequence[str] = PAIR
) -> Callable[[Rows, str], str]:
    """Return a figure of one panel, a line per method, for the largest number of topics."""

    def drawn(rows: Rows, title: str) -> str:
        if over == V:
            rows = where(rows, **{T: values(rows, T)[-1]})
        series = []
        for method in methods:
            mine = where(rows, method=method)
            points = [(float(at), mean(mine, column, **{over: at})) for at in values(mine, over)]
            series.append(Series(LABELS[method], points))
        return draw(title, "means over the seeds", [Panel("", x, y, series)])

    return drawn


def one(  # type: ignore[no-untyped-def]
    id: str, what: str, cells, figure, size: str, claims: Sequence[Claim], other: str = ""
) -> Experiment:
    """Return an experiment whose default grid is that of the paper."""
    return Experiment(f"ton11-{id}", what, cells, figure, size, size, claims, other=other)


LARGE = "1,000 to 10,000 nodes, 10 subscriptions"
SMALL = "100 nodes, 100 topics, 10 to 50 subscriptions"
DEGREE, AVERAGE = ("max_degree", "maximum degree"), ("average_degree", "average degree")


def averages_fall(over: str, what: str) -> Claim:
    """Return the claim that average degrees fall for both methods."""
    falling = dict.fromkeys(("gm-id", "minmax"), False)
    return Claim(
        f"The average degree falls with {what} for both, from each point to the next",
        "falls",
        stepwise("average_degree", over, falling),
        EXTRA_EDGES,
        at_default=True,
        kind=Kind.ORDERING,
    )


EXPERIMENTS = (
    one(
        "fig2",
        "maximum degree against nodes, 100 topics",
        by_nodes(100),
        figure(V, "nodes", *DEGREE),
        f"{LARGE}, 100 topics",
        [
            *pair_claims(V, 10, name="100 topics"),
            *degrees_part(V, "nodes"),
        ],
    ),
    one(
        "fig3",
        "maximum degree against nodes, 200 topics",
        by_nodes(100, 200),
        figure(V, "nodes", *DEGREE),
        f"{LARGE}, 200 topics",
        [
            *pair_claims(V, 10, name="200 topics"),
            *degrees_part(V, "nodes"),
            Claim(
                "The maximum degree is slightly larger with 200 topics than with 100",
                "larger",
                larger_with_more_topics,
                EQUAL_SIZES,
                at_default=True,
                kind=Kind.ORDERING,
            ),
        ],
    ),
    one(
        "fig4",
        "average degree against nodes, 100 topics",
        by_nodes(100),
        figure(V, "nodes", *AVERAGE),
        f"{LARGE}, 100 topics",
        [
            Claim(
                "Average degree of MinMax-ODA over GM's, on average",
                "9% more",
                percent_more(V, 9.0),
                EXTRA_EDGES,
                at_default=True,
                kind=Kind.SYNTHETIC,
            ),
            averages_fall(V, "nodes"),
        ],
    ),
    one(
        "fig5",
        "average degree against nodes, 200 topics",
        by_nodes(200),
        figure(V, "nodes", *AVERAGE),
        f"{LARGE}, 200 topics",
        [
            Claim(
                "Average degree of MinMax-ODA over GM's, similar to Fig. 4",
                "about 9% more",
                percent_more(V, 9.0),
                EXTRA_EDGES,
                at_default=True,
                kind=Kind.SYNTHETIC,
            ),
            averages_fall(V, "nodes"),
        ],
    ),
    one(
        "fig6",
        "diameter against nodes, 100 topics",
        by_nodes(100),
        figure(V, "nodes", "diameter", "largest diameter of a topic"),
        f"{LARGE}, 100 topics",
        [
            Claim(
                "Diameter of GM (ties by id) against MinMax-ODA, on average",
                "0.7 times",
                times_as_large("diameter", V, 0.7),
                EQUAL_SIZES,
                at_default=True,
                kind=Kind.SYNTHETIC,
            ),
            Claim(
                "Diameter of GM, ties by degree instead of by id",
                "0.7 times MinMax-ODA's",
                ties_by_degree("diameter", V),
                LONGER_PATHS,
                at_default=True,
                kind=Kind.IMPROVEMENT,
            ),
            Claim(
                "The diameter rises with nodes for both, from each point to the next",
                "rises",
                stepwise("diameter", V, {"gm-id": True, "minmax": True}),
                EQUAL_SIZES,
                at_default=True,
                kind=Kind.ORDERING,
            ),
        ],
    ),
    one(
        "fig7",
        "maximum degree against subscription size",
        by_size(PAIR),
        figure(S, "subscription size", *DEGREE),
        SMALL,
        [
            *pair_claims(S, 4, name="10 to 50 subscriptions"),
            *degrees_part(S, "the size"),
        ],
    ),
    one(
        "fig8",
        "average degree against subscription size",
        by_size(PAIR),
        figure(S, "subscription size", *AVERAGE),
        SMALL,
        [
            Claim(
                "Average degree of MinMax-ODA over GM's, on average",
                "10% more",
                percent_more(S, 10.0),
                EXTRA_EDGES,
                at_default=True,
                kind=Kind.SYNTHETIC,
            ),
            averages_fall(S, "the size"),
        ],
    ),
    one(
        "fig9",
        "maximum degree against nodes, Zipf 0.5",
        by_nodes_zipf,
        figure(V, "nodes", *DEGREE),
        f"{LARGE}, 100 topics, Zipf 0.5",
        [
            Claim(
                "Maximum degree of MinMax-ODA against GM's (ties by id), on average",
                "less than 1/7 (0.143)",
                a_seventh,
                TIES_UNTOLD,
                at_default=True,
                kind=Kind.SYNTHETIC,
            ),
            Claim(
                "Zipf 0.5: maximum degree of GM, ties by degree instead of by id",
                "more than 7 times MinMax-ODA's",
                ties_by_degree("max_degree", V),
                EVEN_TIES,
                at_default=True,
                kind=Kind.IMPROVEMENT,
            ),
        ],
    ),
    one(
        "fig10",
        "average degree against nodes, Zipf 0.5",
        by_nodes_zipf,
        figure(V, "nodes", *AVERAGE),
        f"{LARGE}, 100 topics, Zipf 0.5",
        [
            Claim(
                "Average degree of MinMax-ODA: a small increase over GM's (at most 10%)",
                "small",
                lambda rows: at_most(
                    100 * (ratio_mean(rows, "average_degree", V, "minmax", "gm-id") - 1),
                    10.0,
                    "{:.1f}% more",
                ),
                at_default=True,
                kind=Kind.SYNTHETIC,
            ),
        ],
    ),
    one(
        "fig17",
        "average degree of constant diameter overlays against nodes",
        stars_by_nodes(),
        figure(V, "nodes", *AVERAGE, STARS),
        "100 to 1,000 nodes, 100 topics, 10 subscriptions",
        star_claims(V, 2.3, 3, 2, rising=False, apart=True),
    ),
    one(
        "fig18",
        "average degree of constant diameter overlays against topics",
        stars_by_topics(),
        figure(T, "topics", *AVERAGE, STARS),
        "100 nodes, 100 to 500 topics, 20 subscriptions",
        star_claims(T, 1.9, 6, 2, rising=True),
    ),
    one(
        "fig19",
        "average degree of constant diameter overlays against subscription size",
        all_stars(),
        star_sizes,
        f"{SMALL}; the points of Figs. 17 and 18, too, where it is said",
        [*star_claims(S, 1.8, 20, 1, rising=False), *conclusions()],
    ),
)
