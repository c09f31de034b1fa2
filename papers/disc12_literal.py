"""Paper 3 with its own programs: MinMax-ODA and Low-ODA to the letter, and the EdgeContrib index.

These compare what the paper compares, as far as the literal methods can be run, and state what
depends on nobody's constant: how time grows with |V|. The figures of `disc12.py` compare our engine
with a naive method that keeps components up to date, so both grow more slowly than the paper's.
"""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace

from papers.chart import Panel, Series, draw
from papers.disc12 import MINMAX, TEN, S, T, V, drawn
from papers.findings import at_most, falling, mean, number, ordered, values, where
from papers.model import Cell, Claim, Experiment, Finding, Kind, Rows
from papers.partial_grids import FAMILIES, TITLES, cell, seeds
from papers.reasons import (
    COMMON_TOPICS,
    EDGES_DECIDE,
    KEPT_COMPONENTS,
    LAST_TOPICS,
    OUR_ENGINE,
    SMALL_NETWORKS,
)

MEASURE = "measure_time:program"
PROGRAMS = {
    "literal": "MinMax-ODA, components counted",
    "naive": "MinMax-ODA, components kept",
    "edge-contrib": "F-MinMax-ODA, EdgeContrib",
    "ours": "our engine",
}
GROWING = ("unif", "zipf")  # the distributions that the paper names in its results
NODES = {  # where each can be run in seconds
    "literal": (20, 30, 40, 60),
    "naive": (100, 150, 200, 300),
    "edge-contrib": (20, 30, 40, 60, 100, 200, 400, 800),
    "ours": (100, 200, 400, 800),
}
FITTED = {**NODES, "edge-contrib": NODES["ours"]}  # where its growth is fitted
TOPICS = (100, 250, 400, 550, 700, 850, 1000)
SUBSCRIPTIONS = (10, 25, 40, 55, 70, 85, 100)
COMPARED = ("literal", "edge-contrib")
FEW = 25  # nodes where topics or subscriptions vary
STABLE = 0.025 / 0.015  # times: the shares between these are printed as 0.02%
METHODS = {"2": ("minmax", "MinMax-ODA"), "3": ("low", "Low-ODA")}  # by the number of the figure


def _cell(workload: dict, method: str, seed: int, program: str, cost: float) -> Cell:  # type: ignore[type-arg]
    return cell(workload, method, seed, measure=MEASURE, cost=cost, program=program)


def by_nodes(method: str, programs: Sequence[str]) -> Callable[[bool], list[Cell]]:
    """Return the grid of the growth: each program at the nodes that it can be run at.

    A comparison of two programs needs only the nodes of the literal one.
    """
    nodes = {one: NODES["literal"] if programs == COMPARED else NODES[one] for one in programs}
    return lambda full: [
        _cell(drawn(name, n, 100, TEN, seed), method, seed, program,
              cost=(n / 60) ** 4 if program == "literal" else 0.1)
        for seed in seeds(full)
        for name in GROWING
        for program in programs
        for n in nodes[program]
    ]  # fmt: skip


def by_topics(method: str) -> Callable[[bool], list[Cell]]:
    """Return the grid of Figs. 2b and 3b at few nodes."""
    return lambda full: [
        _cell(drawn(name, FEW, topics, TEN, seed), method, seed, program, 0.2)
        for seed in seeds(full)
        for name in FAMILIES
        for topics in TOPICS
        for program in COMPARED
    ]


def by_size(method: str) -> Callable[[bool], list[Cell]]:
    """Return the grid of Figs. 2c and 3c at few nodes."""
    return lambda full: [
        _cell(drawn(name, FEW, 200, (size, size), seed), method, seed, program, 0.2)
        for seed in seeds(full)
        for name in FAMILIES
        for size in SUBSCRIPTIONS
        for program in COMPARED
    ]


def growth(rows: Rows, program: str, nodes: Sequence[int] | None = None) -> float:
    """Return the exponent of the time in |V|: the slope of log time against log |V|.

    A least squares fit of the means over the seeds, at `nodes` or at all points of the program.
    """
    mine = where(rows, program=program)
    at = values(mine, V) if nodes is None else nodes
    times = [mean(mine, "cpu", **{V: n}) for n in at]
    if len(at) < 2 or any(math.isnan(one) for one in times):
        return math.nan
    fit = statistics.linear_regression([math.log(n) for n in at], [math.log(s) for s in times])
    return fit.slope


def implied_growth(mean_share: float, last_share: float) -> float:
    """Return the power of |V| that a share falls by, from its mean over 100, 200, ... 1,000 nodes.

    The paper gives that mean and the share at 1,000. A share that falls as |V|^-p has a mean of
    (1^-p + ... + 10^-p) / 10^(1-p) times the last.
    """
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        of_last = math.fsum((n / 10) ** -middle for n in range(1, 11)) / 10
        low, high = (middle, high) if of_last < mean_share / last_share else (low, middle)
    return low


def _of(name: str, find: Callable[[Rows], Finding | None]) -> Callable[[Rows], Finding | None]:
    return lambda rows: find(where(rows, workload_family=name))


def _share_growth(rows: Rows) -> float:
    return growth(rows, "literal") - growth(rows, "edge-contrib", NODES["literal"])


def _grow_less(one: str, other: str) -> Callable[[Rows], Finding | None]:
    """Return whether the time of a program grows less than that of another, by family."""

    def find(rows: Rows) -> Finding | None:
        mine = {name: where(rows, workload_family=name) for name in GROWING}
        pairs = {
            name: (growth(mine[name], other, FITTED[other]), growth(mine[name], one, FITTED[one]))
            for name in GROWING
        }
        found = ordered(pairs.values(), "families")
        words = "; ".join(f"{TITLES[f]} {less:.2f}, not {more:.2f}" for f, (more, less) in
                          pairs.items())  # fmt: skip
        return None if found is None else replace(found, ours=words)

    return find


def shares(rows: Rows, over: str) -> list[float]:
    """Return the share of EdgeContrib in the time of the literal method, by point."""
    slow, fast = (where(rows, program=one) for one in ("literal", "edge-contrib"))
    return [
        mean(fast, "cpu", **{over: at}) / mean(slow, "cpu", **{over: at})
        for at in values(slow, over)
    ]


def share_trend(
    over: str, names: Sequence[str], *, rising: bool
) -> Callable[[Rows], Finding | None]:
    """Return whether the share rises, or falls, step by step and as a whole, by family."""

    def find(rows: Rows) -> Finding | None:
        pairs, words = [], []
        for name in names:
            found = shares(where(rows, workload_family=name), over)
            steps = falling(found)
            pairs += [(b, a) for a, b in steps] if rising else steps
            words.append(f"{TITLES[name]} {found[0]:.3%} to {found[-1]:.3%}")
        known = ordered(pairs, "comparisons")
        return None if known is None else replace(known, ours=f"{'; '.join(words)}; {known.ours}")

    return find


def _share_falls() -> Claim:
    return Claim(
        "The share falls as nodes grow, from each point to the next (EdgeContrib, literal; 20 to "
        "60 nodes)",
        "falls",
        share_trend(V, GROWING, rising=False),
        SMALL_NETWORKS,
        kind=Kind.ORDERING,
        below=True,  # the paper has 100 to 1,000
    )


def _growth_claims() -> list[Claim]:
    claims = []
    for name in GROWING:
        title = TITLES[name]
        implied = implied_growth(MINMAX[f"mean {name}"], MINMAX[f"last {name}"])
        claims += [
            Claim(
                f"{title}: the time of MinMax-ODA to the letter grows as |V| to the power of",
                "4, as O(|V|^4 |T|)",
                _of(name, lambda rows: number(growth(rows, "literal"), 4.0, "{:.2f}")),
                SMALL_NETWORKS,
                at_default=True,
                kind=Kind.SYNTHETIC,
            ),
            Claim(
                f"{title}: the time of F-MinMax-ODA, by EdgeContrib, grows at most as |V| to the "
                "power of",
                "2, as O(|V|^2 |T|)",
                _of(name, lambda rows: at_most(
                    growth(rows, "edge-contrib", FITTED["edge-contrib"]), 2.0, "{:.2f}")),
                SMALL_NETWORKS,
                at_default=True,
                kind=Kind.SYNTHETIC,
            ),
            Claim(
                f"{title}: the share of F-MinMax-ODA in the time of MinMax-ODA falls as |V| to the "
                "power of (20 to 60 nodes)",
                f"{implied:.2f}, as its shares over 100 to 1,000 nodes imply",
                _of(name, lambda rows, implied=implied: number(  # type: ignore[misc]
                    _share_growth(rows), implied, "{:.2f}")),
                SMALL_NETWORKS,
                at_default=True,
                kind=Kind.SYNTHETIC,
            ),
        ]  # fmt: skip
    return [
        *claims,
        _share_falls(),
        Claim(
            "The index lowers the growth of the time with |V|",
            "2, not 4",
            _grow_less("edge-contrib", "literal"),
            at_default=True,
            kind=Kind.ORDERING,
        ),
        Claim(
            "Growth of the time with |V|, components kept instead of counted for every pair",
            "4",
            _grow_less("naive", "literal"),
            KEPT_COMPONENTS,
            at_default=True,
            kind=Kind.IMPROVEMENT,
        ),
        Claim(
            "Growth of the time with |V|, our engine instead of EdgeContrib",
            "2",
            _grow_less("ours", "edge-contrib"),
            OUR_ENGINE,
            at_default=True,
            kind=Kind.IMPROVEMENT,
        ),
    ]


def draw_growth(rows: Rows, title: str) -> str:
    """Return the processor time against |V|, a panel per family and a line per program."""
    panels = []
    for name in GROWING:
        mine = where(rows, workload_family=name)
        series = [
            Series(label, [(float(at), mean(mine, "cpu", program=program, **{V: at}))
                           for at in values(where(mine, program=program), V)])
            for program, label in PROGRAMS.items()
        ]  # fmt: skip
        panels.append(Panel(TITLES[name], "nodes", "seconds", series, log_x=True, log_y=True))
    return draw(title, "processor time, means over the seeds", panels)


def draw_shares(over: str, x: str) -> Callable[[Rows, str], str]:
    """Return the share of EdgeContrib in the time of the literal method, a line per family."""

    def figure(rows: Rows, title: str) -> str:
        series = []
        for name in FAMILIES:
            mine = where(rows, workload_family=name)
            points = zip(values(mine, over), shares(mine, over), strict=True)
            series.append(Series(TITLES[name], [(float(at), 100 * one) for at, one in points]))
        panel = Panel("", x, "share of the literal time, %", series, log_y=True)
        return draw(title, "processor time, means over the seeds", [panel])

    return figure


def stable_share(rows: Rows) -> Finding | None:
    """Return whether the share is stable above 50 subscriptions, in each family."""
    spread = {}
    for name in GROWING:
        found = shares([row for row in where(rows, workload_family=name) if row[S] > 50], S)
        if not found:
            return None
        spread[name] = max(found) / min(found)
    words = ", ".join(f"{TITLES[name]} {one:.2f}" for name, one in spread.items())
    return at_most(max(spread.values()), STABLE, f"largest over smallest: {words}")


def more_if_skewed(rows: Rows) -> Finding | None:
    """Return whether the share under Unif grows on that under Zipf, step by step and as a whole."""
    even, skewed = (shares(where(rows, workload_family=name), T) for name in GROWING)
    times = [one / other for one, other in zip(even, skewed, strict=True)]
    found = ordered(((large, small) for small, large in falling(times)), "comparisons")
    if found is None:
        return None
    words = f"Unif {times[0]:.2f} to {times[-1]:.2f} times the share of Zipf"
    return replace(found, ours=f"{words}; {found.ours}")


def _few_nodes(part: str) -> list[Experiment]:
    """Return parts b and c of a figure with the paper's own programs, at few nodes."""
    method, name = METHODS[part]
    topics = [
        Claim(
            "The share rises with the topics, from each point to the next (Unif and Zipf, as the "
            "paper's results)",
            "rises",
            share_trend(T, GROWING, rising=True),
            EDGES_DECIDE,
            kind=Kind.ORDERING,
        )
    ]
    if method == "low":
        topics.append(
            Claim(
                "The share under Unif grows on that under Zipf with the topics, from each point to "
                "the next",
                "more speedup for skewed distributions as topics increase",
                more_if_skewed,
                LAST_TOPICS,
                kind=Kind.ORDERING,
            )
        )
    sizes = [
        Claim(
            "The share falls as subscriptions grow, from each point to the next (Unif and Zipf, as "
            "the paper's results)",
            "falls",
            share_trend(S, GROWING, rising=False),
            COMMON_TOPICS,
            kind=Kind.ORDERING,
        ),
        Claim(
            "The share is stable above 50 subscriptions, under Unif and Zipf (largest over "
            f"smallest at most {STABLE:.2f}, what is printed as 0.02%)",
            "relatively stable around 0.02%",
            stable_share,
            COMMON_TOPICS,
            kind=Kind.ORDERING,
        ),
    ]
    return [
        Experiment(
            f"disc12-fig{part}{letter}-literal",
            f"Fig. {part}{letter} ({name}) with the paper's own programs, at few nodes",
            grid(method),
            draw_shares(over, x),
            size,
            size,
            claims,
            alone=True,
            below=True,  # the paper has 100 nodes or more
        )
        for letter, grid, over, x, size, claims in (
            ("b", by_topics, T, "topics",
             f"{FEW} nodes, 100 to 1,000 topics, 10 subscriptions", topics),
            ("c", by_size, S, "subscription size",
             f"{FEW} nodes, 200 topics, 10 to 100 subscriptions", sizes),
        )
    ]  # fmt: skip


GROWTH_SIZE = (
    "20 to 60 nodes (literal), 100 to 300 (components kept), 100 to 800 (EdgeContrib, ours); 100 "
    "topics, 10 subscriptions"
)
EXPERIMENTS = (
    Experiment(
        "disc12-growth",
        "growth of the time with nodes: MinMax-ODA to the letter, EdgeContrib, ours",
        by_nodes("minmax", tuple(PROGRAMS)),
        draw_growth,
        GROWTH_SIZE,
        GROWTH_SIZE,
        _growth_claims(),
        alone=True,
    ),
    Experiment(
        "disc12-fig3a-literal",
        "Fig. 3a (Low-ODA) with the paper's own programs, at few nodes",
        by_nodes("low", COMPARED),
        draw_growth,
        "20 to 60 nodes, 100 topics, 10 subscriptions",
        "20 to 60 nodes, 100 topics, 10 subscriptions",
        [_share_falls()],
        alone=True,
    ),
    *[one for part in METHODS for one in _few_nodes(part)],
)
