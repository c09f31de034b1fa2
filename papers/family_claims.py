"""The claims of paper 1 on drawn workloads (Expo, Zipf, Unif), and how cells decide them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from papers.findings import POINTS, ends, falling, mean, number, ordered, trend, values, where
from papers.model import Claim, Finding, Kind, Rows
from papers.partial_claims import gap
from papers.partial_grids import FAMILIES, RANKED, TITLES
from papers.reasons import SPREAD_OF_SIZES


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
                find(where(rows, workload_family=name)), paper, "{:.1f}", base=POINTS
            ),
            why,
            at_default=at,
            kind=Kind.SYNTHETIC,
        )
        for name, paper in zip(FAMILIES, papers, strict=True)
    ]


def mean_gap(over: str) -> Callable[[Rows], float]:
    """Return GPM minus RandomM in points, mean over points."""

    def find(rows: Rows) -> float:
        gaps = [gap(where(rows, **{over: x}), "random-max") for x in values(rows, over)]
        return sum(gaps) / len(gaps) if gaps else math.nan

    return find


def at_last(over: str, method: str) -> Callable[[Rows], float]:
    """Return the support of a method at the last point, in percent."""
    return lambda rows: 100 * ends(rows, "support", over, method=method)[1]


def of_family(rows: Rows, name: str) -> Rows:
    """Return the rows of a family of workloads."""
    return where(rows, workload_family=name)


def trends(
    over: str, directions: dict[str, bool], methods: Sequence[str] = RANKED
) -> Callable[[Rows], Finding | None]:
    """Return the finding that support rises, or falls, step by step and as a whole, by family."""
    return lambda rows: ordered(
        (pair for name, rising in directions.items()
         for method in methods
         for pair in trend(of_family(rows, name), "support", over, rising=rising, method=method)),
        "comparisons",
    )  # fmt: skip


def mean_trends(over: str, directions: dict[str, bool]) -> Callable[[Rows], Finding | None]:
    """Return the finding that the mean support of all methods rises, or falls, by family."""

    def find(rows: Rows) -> Finding | None:
        pairs, words = [], []
        for name, rising in directions.items():
            mine = of_family(rows, name)
            found = [mean(mine, "support", **{over: at}) for at in values(mine, over)]
            steps = falling(found)
            pairs += [(small, large) for large, small in steps] if rising else steps
            if found:
                words.append(f"{TITLES[name]} {found[0]:.3f} to {found[-1]:.3f}")
        known = ordered(pairs, "comparisons")
        return None if known is None else replace(known, ours=f"{'; '.join(words)}; {known.ours}")

    return find


def gap_trend(over: str, best: str, *, rising: bool) -> Callable[[Rows], Finding | None]:
    """Return whether a method minus RandomM rises, or falls, step by step and as a whole."""

    def find(rows: Rows) -> Finding | None:
        pairs, words = [], []
        for name in FAMILIES:
            mine = of_family(rows, name)
            found = [
                100 * (mean(mine, "support", method=best, **{over: at})
                       - mean(mine, "support", method="random-max", **{over: at}))
                for at in values(mine, over)
            ]  # fmt: skip
            steps = falling(found)
            pairs += [(small, large) for large, small in steps] if rising else steps
            if found:
                words.append(f"{TITLES[name]} {found[0]:.1f} to {found[-1]:.1f}")
        known = ordered(pairs, "comparisons")
        return None if known is None else replace(known, ours=f"{'; '.join(words)}; {known.ours}")

    return find


def eighty_by_skew(over: str, why: str, *, at: bool = False) -> list[Claim]:
    """Return the claims that skewed interests give 80% support within the budget, even ones not."""
    skewed, even = ("expo", "zipf"), ("unif",)

    def supports(rows: Rows, names: Sequence[str]) -> list[float]:
        return [
            mean(of_family(rows, name), "support", method=method, **{over: at})
            for name in names
            for method in ("gpa", "gpm")
            for at in values(rows, over)
        ]

    return [
        Claim(
            "GPA and GPM have 80% under Expo and Zipf",
            "the 80-20 rule holds",
            lambda rows: ordered((one, 0.8) for one in supports(rows, skewed)),
            why,
            at_default=at,
            kind=Kind.SYNTHETIC,
        ),
        Claim(
            "GPA and GPM do not have it under Unif",
            "the rule gets lost",
            lambda rows: ordered((0.8, one) for one in supports(rows, even)),
            why,
            at_default=at,
            kind=Kind.SYNTHETIC,
        ),
    ]


def topics_fall(why: str) -> list[Claim]:
    """Return the claims on the support of GPM with the fewest and the most topics, under Expo.

    The paper names no family; it is neither Zipf, which falls by 0.39 points, nor Unif, where GPM
    has 38.3% with more nodes and a larger degree.
    """

    def find(place: int, paper: float) -> Callable[[Rows], Finding | None]:
        return lambda rows: number(100 * _fall(rows, "expo")[place], paper, "{:.1f}%", base=POINTS)

    return [
        Claim(
            f"GPM with {what} (Expo, as the paper's other figures tell)",
            f"{paper}%",
            find(place, paper),
            why,
            at_default=True,
            kind=Kind.SYNTHETIC,
        )
        for place, what, paper in ((0, "1,000 topics", 65.3), (1, "10,000 topics", 24.4))
    ]


def _fall(rows: Rows, name: str) -> tuple[float, float]:
    return ends(of_family(rows, name), "support", "workload_topics", method="gpm")


def zipf_falls(rows: Rows) -> Finding | None:
    """Return by how much GPM falls with topics under Zipf."""
    first, last = _fall(rows, "zipf")
    return number(100 * (first - last), 0.39, "{:.2f} points", base=POINTS)


def zipf_falls_least(rows: Rows) -> Finding | None:
    """Return whether GPM falls less with topics under Zipf than under the other families."""
    falls = {name: first - last for name in FAMILIES for first, last in [_fall(rows, name)]}
    words = ", ".join(f"{TITLES[name]} {100 * fall:.1f}" for name, fall in falls.items())
    pairs = tuple((falls[name], falls["zipf"]) for name in ("expo", "unif"))
    return None if any(math.isnan(one) for one in falls.values()) else Finding(words, pairs=pairs)
