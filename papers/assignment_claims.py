"""The claims of paper 5, and how cells decide them."""

import math
from collections.abc import Callable, Mapping, Sequence

from papers.assignment_grids import (
    ALPHAS,
    CROWDS,
    KEPT,
    LABELS,
    SET_1,
    alpha_of,
    by_value,
    over_fractional,
)
from papers.findings import at_least, at_most, mean, number, ordered, values, where
from papers.model import Claim, Finding, Kind, Rows
from papers.reasons import GENERATOR, SIZE_DECIDES, SMALL_SET_2, SMALL_SET_3

TABLE_1 = {
    "IS:L BI:L": {"slp": 7.12 / 3.09, "gr-star": 6.53 / 3.09, "gr": 9.50 / 3.09},
    "IS:H BI:L": {"slp": 1.86 / 1.2, "gr-star": 1.53 / 1.2, "gr": 2.09 / 1.2},
    "IS:L BI:H": {"slp": 8.48 / 3.81, "gr-star": 7.79 / 3.81, "gr": 10.5 / 3.81},
    "IS:H BI:H": {"slp": 2.13 / 1.29, "gr-star": 2.39 / 1.29, "gr": 2.78 / 1.29},
}
TABLE_2 = {
    "set 2": {"slp": 1.37 / 1.01, "gr-star": 0.85 / 1.01, "gr-no-latency": 220 / 1.01e7},
    "set 3": {"slp": 5.4 / 2.48, "gr-star": 5.3 / 2.48, "gr-no-latency": 5.09 / 2.48},
}
OTHER_SET = {"set 2": SMALL_SET_2, "set 3": SMALL_SET_3}  # why ratios differ there
COMPARABLE = max(max(row["slp"], row["gr-star"]) / min(row["slp"], row["gr-star"])
                 for row in TABLE_1.values())  # fmt: skip
BLIND = ("closest", "closest-balanced", "balance")


def ratios(table: Mapping[str, Mapping[str, float]]) -> list[Claim]:
    """Return a claim per workload and method: bandwidth over the fractional solution."""
    return [
        Claim(
            f"{name}: {LABELS[method]} over the fractional solution",
            f"{paper:.3g}",
            lambda rows, name=name, method=method, paper=paper: number(  # type: ignore[misc]
                over_fractional(rows, name, method), paper, "{:.2f}"
            ),
            OTHER_SET.get(name, SIZE_DECIDES),
            kind=Kind.PRIVATE,
        )
        for name, methods in table.items()
        for method, paper in methods.items()
    ]


def at_each(
    column: str, larger: Sequence[str], smaller: Sequence[str]
) -> Callable[[Rows], Finding | None]:
    """Return whether all of some methods have more of a column than all of others, by workload."""
    return lambda rows: ordered(
        (
            mean(rows, column, name=name, workload_latency=latency, method=one),
            mean(rows, column, name=name, workload_latency=latency, method=other),
        )
        for latency, name in sorted(
            {(row.get("workload_latency"), row["name"]) for row in rows},
            key=lambda at: (at[0] != "tight", at[1]),
        )
        for one in larger
        for other in smaller
    )


def keep(methods: Sequence[str], *, broken: bool, **at: str) -> Callable[[Rows], Finding | None]:
    """Return whether methods keep (or break) the limit on load in every run."""

    def find(rows: Rows) -> Finding | None:
        mine = [row for row in where(rows, **at) if row["method"] in methods]
        if not mine:
            return None
        over = sum(bool(row["load_violated"]) for row in mine)
        words = f"over the limit in {over} of {len(mine)} runs"
        return at_least(over, len(mine), words) if broken else at_most(over, 0.0, words)

    return find


def feasible(methods: Sequence[str], **at: str) -> Callable[[Rows], Finding | None]:
    """Return whether methods keep every limit in every run."""

    def find(rows: Rows) -> Finding | None:
        mine = [row for row in where(rows, **at) if row["method"] in methods]
        kept = sum(bool(row["feasible"]) for row in mine)
        words = f"feasible in {kept} of {len(mine)} runs"
        return at_least(kept, len(mine), words) if mine else None

    return find


def largest_factor(rows: Rows) -> Finding | None:
    """Return whether slp and Gr* are within a small factor of the fractional solution."""
    found = [over_fractional(rows, name, m) for name in SET_1 for m in ("slp", "gr-star")]
    return at_most(max(found), 2.7, "{:.2f}")


def excess(name: str) -> Callable[[Rows], float]:
    """Return by how many percent Gr is above the largest load."""
    return lambda rows: 100 * (mean(rows, "over", name=name, method="gr") - 1)


def times_of(one: str, other: str) -> Callable[[Rows], Finding | None]:
    """Return whether a method needs no more bandwidth than another, on average over workloads."""

    def find(rows: Rows) -> Finding | None:
        points = {(row["name"], row.get("workload_latency")) for row in rows}
        factors = [
            mean(rows, "bandwidth", name=name, workload_latency=latency, method=one)
            / mean(rows, "bandwidth", name=name, workload_latency=latency, method=other)
            for name, latency in points
        ]
        if not factors:
            return None
        words = f"{{:.2f}} times on average, {min(factors):.2f} to {max(factors):.2f}"
        return at_most(math.fsum(factors) / len(factors), 1.0, words)

    return find


def bandwidth(rows: Rows, method: str, alpha: int) -> float:
    """Return the mean bandwidth of a method with a filter complexity."""
    return mean([row for row in rows if alpha_of(row) == alpha], "bandwidth", method=method)


def diminishing(rows: Rows) -> Finding | None:
    """Return whether 1 to 3 boxes save something, and more than 3 to the most, by method."""
    pairs, words = [], []
    for method in KEPT:
        one, three, most = (bandwidth(rows, method, alpha) for alpha in (1, 3, ALPHAS[-1]))
        # A rise is not less of a saving.
        pairs += [(one, three), (max(0.0, one - three), max(0.0, three - most))]
        words.append(f"{LABELS[method]} {three / one - 1:+.0%} then {most / three - 1:+.0%}")
    return (
        None
        if any(math.isnan(a) for a, _ in pairs)
        else Finding("; ".join(words), pairs=tuple(pairs))
    )


def several_boxes(rows: Rows) -> Finding | None:
    """Return whether each number of boxes takes less bandwidth than a single one, by method."""
    return ordered(
        (bandwidth(rows, method, 1), bandwidth(rows, method, alpha))
        for method in KEPT
        for alpha in ALPHAS[1:]
    )


def vulnerable(rows: Rows) -> Finding | None:
    """Return whether slp loses more than Gr and Gr* with one or two boxes instead of three."""
    loss = {
        (method, alpha): bandwidth(rows, method, alpha) / bandwidth(rows, method, 3)
        for method in KEPT
        for alpha in (1, 2)
    }
    return ordered(
        (loss["slp", alpha], loss[other, alpha]) for alpha in (1, 2) for other in ("gr", "gr-star")
    )


def sweep_claim(which: str) -> Claim:
    """Return the row of a sweep over one setting of slp.

    The paper says that SLP is robust across constraints and workloads and that its settings were
    verified, not that they matter little: the row is counted apart.
    """

    def find(rows: Rows) -> Finding | None:
        found = [bandwidth for _, bandwidth in by_value(rows, which)]
        return at_most(max(found) / min(found), 1.2, "largest over smallest {:.2f}")

    note = (
        "the threshold is the share of the leaves below a broker that must be in time: the paper "
        "defines its own in its technical report only"
    )
    text = (
        "Bandwidth depends little on the setting (largest over smallest at most 1.2, a limit of "
        "ours)"
    )
    return Claim(
        f"{text}; {note}" if which == "threshold" else text,
        "settings verified",
        find,
        GENERATOR,
        kind=Kind.ORDERING,
        repeated=True,
    )


def more_than_greedy(rows: Rows) -> Finding | None:
    """Return on how many of four workloads SLP as printed needs at least the bandwidth of Gr*."""
    names = values(rows, "name")
    more = sum(
        mean(rows, "bandwidth", name=name, method="slp-paper")
        >= mean(rows, "bandwidth", name=name, method="gr-star")
        for name in names
    )
    return at_least(more, 3, f"on {more} of {len(names)}") if names else None


def comparable(one: str, other: str) -> Callable[[Rows], Finding | None]:
    """Return how far apart two methods are in bandwidth, on the workload where it is most.

    The limit is the largest factor of Table I, whose bandwidths the paper calls comparable.
    """

    def find(rows: Rows) -> Finding | None:
        factors = [
            mean(rows, "bandwidth", name=name, method=one)
            / mean(rows, "bandwidth", name=name, method=other)
            for name in values(rows, "name")
        ]
        apart = max((max(x, 1 / x) for x in factors), default=math.nan)
        words = f"{min(factors):.2f} to {max(factors):.2f} times" if factors else ""
        return at_most(apart, COMPARABLE, words)

    return find


def on_average(
    column: str, larger: Sequence[str], smaller: Sequence[str]
) -> Callable[[Rows], Finding | None]:
    """Return whether methods have more of a column than others, on average over workloads."""
    return lambda rows: ordered(
        (mean(rows, column, method=one), mean(rows, column, method=other))
        for one in larger
        for other in smaller
    )


def least_factor(rows: Rows) -> Finding | None:
    """Return the load balance factor of Balance, the least there is for the latencies allowed."""
    return number(mean(rows, "lbf", method="balance"), 6.0, "{:.2f}")


def nearer_if_loose(rows: Rows) -> Finding | None:
    """Return whether slp and Gr* are nearer to each other with loose latency, over workloads."""
    apart = {}
    for latency in ("tight", "loose"):
        logs = [
            abs(
                math.log(
                    mean(rows, "bandwidth", workload_latency=latency, name=name, method="slp")
                    / mean(rows, "bandwidth", workload_latency=latency, name=name, method="gr-star")
                )
            )
            for name in SET_1
        ]
        apart[latency] = math.exp(math.fsum(logs) / len(logs))
    words = f"{apart['tight']:.2f} times apart with tight, {apart['loose']:.2f} with loose latency"
    return Finding(words, pairs=((apart["tight"], apart["loose"]),))


def one_level_longer(rows: Rows) -> Finding | None:
    """Return the time of a million subscribers on one level over that on several."""
    most = CROWDS[0][-1]
    one, many = (
        mean(rows, "seconds", workload_levels=levels, workload_subscribers=most)
        for levels in ("one", "many")
    )
    return number(one / many, 23 / 4, "{:.2f} times")
