"""Paper 3: the time of the fast methods as a share of the naive ones.

The naive methods are ours too (`naive_greedy.py`), compiled by the same compiler, and choose the
same edges; the share is of processor time. They keep components up to date, which the papers' do
not: see `disc12_literal.py`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from papers.chart import Panel, Series, draw
from papers.findings import at_least, at_most, ends, mean, number, ordered, trend, values, where
from papers.model import Cell, Claim, Experiment, Finding, Kind, Rows
from papers.partial_grids import ALPHA, FAMILIES, TITLES, cell, seeds
from papers.reasons import DENSE_PATHS, FAST_NAIVE, MORE_TOPICS, OTHER_PATH
from papers.workloads import family

MEASURE = "measure_time:share"
NODES = (tuple(range(100, 1001, 100)), (100, 200, 400, 600))  # full, default
TOPICS = (tuple(range(100, 1001, 100)), (100, 400, 700, 1000))
SIZES = (tuple(range(10, 101, 10)), (10, 40, 70, 100))
FIXED_NODES = (300, 150)
TEN = (10, 10)
V, T, S = "workload_nodes", "workload_topics", "workload_low"


def drawn(name: str, nodes: int, topics: int, sizes: tuple[int, int], seed: int) -> dict[str, Any]:
    """Return the workload of a family, as paper 3 draws them."""
    return family(name, nodes, topics, sizes, seed, alpha=ALPHA if name == "zipf" else None)


def _cost(nodes: int, sizes: int) -> float:
    """Return an estimate of the seconds of the naive method."""
    return 0.1 + (nodes / 400) ** 3 * sizes / 10


def by_nodes(method: str) -> Callable[[bool], Sequence[Cell]]:
    """Return the grid of Figs. 2a and 3a; 1,000 Zipf nodes without the naive side too."""

    def cells(full: bool) -> list[Cell]:
        found = [
            cell(drawn(name, nodes, 100, TEN, seed), method, seed,
                 measure=MEASURE, cost=_cost(nodes, 10), naive=True)
            for seed in seeds(full)
            for name in FAMILIES
            for nodes in NODES[not full]
        ]  # fmt: skip
        fast = [
            cell(drawn("zipf", 1000, 100, TEN, seed), method, seed, measure=MEASURE, naive=False)
            for seed in seeds(full)
        ]
        return [*found, *fast]

    return cells


def by_topics(method: str) -> Callable[[bool], Sequence[Cell]]:
    """Return the grid of Figs. 2b and 3b."""

    def cells(full: bool) -> list[Cell]:
        nodes = FIXED_NODES[not full]
        return [
            cell(drawn(name, nodes, topics, TEN, seed), method, seed,
                 measure=MEASURE, cost=_cost(nodes, 10), naive=True)
            for seed in seeds(full)
            for name in FAMILIES
            for topics in TOPICS[not full]
        ]  # fmt: skip

    return cells


def by_size(method: str) -> Callable[[bool], Sequence[Cell]]:
    """Return the grid of Figs. 2c and 3c."""

    def cells(full: bool) -> list[Cell]:
        nodes = FIXED_NODES[not full]
        return [
            cell(drawn(name, nodes, 200, (size, size), seed), method, seed,
                 measure=MEASURE, cost=_cost(nodes, size), naive=True)
            for seed in seeds(full)
            for name in FAMILIES
            for size in SIZES[not full]
        ]  # fmt: skip

    return cells


def figure(over: str, x: str) -> Callable[[Rows, str], str]:
    """Return the share against a column, a line per family."""

    def drawn(rows: Rows, title: str) -> str:
        series = []
        for name in FAMILIES:
            mine = where(rows, workload_family=name, naive=True)
            points = [(float(at), 100 * mean(mine, "share", **{over: at}))
                      for at in values(mine, over)]  # fmt: skip
            series.append(Series(TITLES[name], points))
        panel = Panel("", x, "share of the naive time, %", series, log_y=True)
        return draw(title, "processor time, means over the seeds", [panel])

    return drawn


def _average(name: str, over: str) -> Callable[[Rows], float]:
    def find(rows: Rows) -> float:
        mine = where(rows, workload_family=name, naive=True)
        found = [mean(mine, "share", **{over: at}) for at in values(mine, over)]
        return 100 * math.fsum(found) / len(found) if found else math.nan

    return find


def _last(name: str, over: str) -> Callable[[Rows], float]:
    return lambda rows: 100 * ends(where(rows, naive=True), "share", over, workload_family=name)[1]


def _trend(over: str, *, rising: bool) -> Callable[[Rows], Finding | None]:
    """Return the finding that the share rises, or falls, step by step and as a whole."""

    def find(rows: Rows) -> Finding | None:
        pairs, words = [], []
        for name in FAMILIES:
            mine = where(rows, naive=True, workload_family=name)
            first, last = ends(mine, "share", over)
            pairs += trend(mine, "share", over, rising=rising)
            words.append(f"{TITLES[name]} {first:.3%} to {last:.3%}")
        found = ordered(pairs, "comparisons")
        return None if found is None else replace(found, ours=f"{'; '.join(words)}; {found.ours}")

    return find


def _limit(text: str, paper: float, find: Callable[[Rows], float], why: str = FAST_NAIVE) -> Claim:
    """Return the claim on a share in percent; a smaller one is faster still."""
    return Claim(
        text,
        f"{paper:g}%",
        lambda rows: at_most(find(rows), paper, "{:.3g}%"),
        why,
        kind=Kind.SYNTHETIC,
    )


def _headlines() -> list[Claim]:
    """Return the claims of the introduction, on 1,000 nodes and on all workloads."""
    large = {"workload_family": "zipf", V: NODES[0][-1]}

    def speedup(rows: Rows) -> float:
        shares = [
            mean(rows, "share", naive=True, workload_family=name, **{V: NODES[0][-1]})
            for name in ("unif", "zipf")
        ]
        return 1 / max(shares)

    def over_all(rows: Rows) -> float:
        return math.fsum(_average(name, V)(rows) for name in FAMILIES) / len(FAMILIES)

    return [
        Claim(
            "1,000 nodes x 100 topics, Zipf: seconds of F-MinMax-ODA, at most",
            "3.823 s",
            lambda rows: at_most(mean(rows, "seconds", naive=False), 3.823, "{:.3f} s"),
            at_default=True,
            kind=Kind.HARDWARE,
        ),
        Claim(
            "1,000 nodes x 100 topics, Zipf: minutes of MinMax-ODA without the index (processor)",
            "over 555",
            lambda rows: at_least(mean(rows, "naive_cpu", **large) / 60, 555.0, "{:.2f}"),
            FAST_NAIVE,
            kind=Kind.HARDWARE,
        ),
        Claim(
            "At 1,000 nodes it is so many times as fast, under Unif and Zipf",
            "over 1,000 times",
            lambda rows: at_least(speedup(rows), 1000.0, "{:,.0f} times at least"),
            FAST_NAIVE,
            kind=Kind.SYNTHETIC,
        ),
        _limit("At most this share of the naive time, mean of all families and nodes", 0.37,
               over_all),
    ]  # fmt: skip


def _stable(name: str) -> list[Claim]:
    """Return the claims on the shares of more than 50 subscriptions."""

    def shares(rows: Rows) -> list[float]:
        mine = where(rows, workload_family=name, naive=True)
        return [100 * mean(mine, "share", **{S: at}) for at in values(mine, S) if at > 50]

    def middle(rows: Rows) -> Finding | None:
        found = shares(rows)
        return number(math.fsum(found) / len(found), 0.02, "{:.3g}%") if found else None

    def spread(rows: Rows) -> Finding | None:
        found = shares(rows)
        words = "largest over smallest {:.2f}"
        return at_most(max(found) / min(found), 1.2, words) if found else None

    return [
        Claim(
            f"{TITLES[name]}: share above 50 subscriptions, mean",
            "0.02%",
            middle,
            FAST_NAIVE,
            kind=Kind.SYNTHETIC,
        ),
        Claim(
            f"{TITLES[name]}: the share is stable there (largest over smallest at most 1.2)",
            "stable",
            spread,
            DENSE_PATHS,
            kind=Kind.ORDERING,
            repeated=True,
        ),
    ]


def _experiments(part: str, method: str, name: str, papers: dict[str, float]) -> list[Experiment]:
    """Return the three figures of a method; `papers` has the shares in percent that they claim."""
    topics = [
        _limit(f"{TITLES[f]}: at most this share of the naive time, mean over topics",
               papers[f"topics {f}"], _average(f, T))
        for f in ("unif", "zipf")
    ]  # fmt: skip
    rises = _trend(T, rising=True)
    text = "The share rises with the topics, from each point to the next"
    topics.append(Claim(text, "rises", rises, MORE_TOPICS, kind=Kind.ORDERING, repeated=True))
    if method == "low":
        topics.append(
            Claim(
                "The share is smaller under Zipf and Expo than under Unif, mean over topics",
                "more speedup",
                lambda rows: ordered(
                    (_average("unif", T)(rows), _average(f, T)(rows)) for f in ("zipf", "expo")
                ),
                FAST_NAIVE,
                kind=Kind.ORDERING,
                repeated=True,
            )
        )
    nodes = []
    for f in ("unif", "zipf"):
        nodes += [
            _limit(f"{TITLES[f]}: at most this share of the naive time, mean over nodes",
                   papers[f"mean {f}"], _average(f, V)),
            _limit(f"{TITLES[f]}: at most this share at the most nodes", papers[f"last {f}"],
                   _last(f, V)),
        ]  # fmt: skip
    text = "The share falls as nodes grow, from each point to the next"
    nodes.append(
        Claim(text, "falls", _trend(V, rising=False), OTHER_PATH, kind=Kind.ORDERING, repeated=True)
    )
    if method == "minmax":
        nodes += _headlines()
    # With the paper's own programs the trends are those of `disc12_literal`, and counted there.
    return [
        Experiment(
            f"disc12-fig{part}a",
            f"time of {name} against the naive method, nodes vary",
            by_nodes(method),
            figure(V, "nodes"),
            "100 to 600 nodes, 100 topics, 10 subscriptions",
            "100 to 1,000 nodes, 100 topics, 10 subscriptions",
            nodes,
            alone=True,
        ),
        Experiment(
            f"disc12-fig{part}b",
            f"time of {name} against the naive method, topics vary",
            by_topics(method),
            figure(T, "topics"),
            "150 nodes, 100 to 1,000 topics, 10 subscriptions",
            "300 nodes, 100 to 1,000 topics, 10 subscriptions",
            topics,
            alone=True,
        ),
        Experiment(
            f"disc12-fig{part}c",
            f"time of {name} against the naive method, subscription sizes vary",
            by_size(method),
            figure(S, "subscription size"),
            "150 nodes, 200 topics, 10 to 100 subscriptions",
            "300 nodes, 200 topics, 10 to 100 subscriptions",
            [
                Claim(
                    "The share falls as subscriptions grow, from each point to the next",
                    "falls",
                    _trend(S, rising=False),
                    DENSE_PATHS,
                    kind=Kind.ORDERING,
                    repeated=True,
                ),
                *[claim for f in ("unif", "zipf") for claim in _stable(f)],
            ],
            alone=True,
        ),
    ]


MINMAX = {
    "mean unif": 0.858,
    "mean zipf": 1.17,
    "last unif": 0.0158,
    "last zipf": 0.0115,
    "topics unif": 0.236,
    "topics zipf": 0.019,
}
LOW = {
    "mean unif": 1.2,
    "mean zipf": 0.6,
    "last unif": 0.15,
    "last zipf": 0.11,
    "topics unif": 0.172,
    "topics zipf": 0.020,
}
EXPERIMENTS = (
    *_experiments("2", "minmax", "F-MinMax-ODA", MINMAX),
    *_experiments("3", "low", "F-Low-ODA", LOW),
)
