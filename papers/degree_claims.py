"""The claims of paper 2 on degrees and diameters, and how cells decide them."""

import math
from collections.abc import Callable
from dataclasses import replace

from papers.findings import (
    POINTS,
    at_most,
    ends,
    mean,
    number,
    ordered,
    ratio_mean,
    trend,
    values,
    where,
)
from papers.model import Claim, Finding, Kind, Row, Rows
from papers.reasons import EQUAL_SIZES, EQUAL_STARS, EVEN_TIES

V, T, S = "workload_nodes", "workload_topics", "workload_low"
CD = ("cd", "cd1", "cd2")


def times_as_large(
    column: str, over: str, paper: float, one: str = "gm-id"
) -> Callable[[Rows], Finding | None]:
    """Return the finding on a column of GM against that of minmax, on average over points."""
    return lambda rows: number(
        ratio_mean(_last_topics(rows, over), column, over, one, "minmax"), paper, "{:.2f} times"
    )


def _last_topics(rows: Rows, over: str) -> Rows:
    return where(rows, **{T: values(rows, T)[-1]}) if over == V and rows else rows


def percent_more(over: str, paper: float, base: str = "gm-id") -> Callable[[Rows], Finding | None]:
    """Return the finding on the extra average degree of minmax, in percent."""

    def find(rows: Rows) -> Finding | None:
        rows = _last_topics(rows, over)
        ratio = ratio_mean(rows, "average_degree", over, "minmax", base)
        return number(100 * (ratio - 1), paper, "{:.1f}% more", base=POINTS)

    return find


def stepwise(column: str, over: str, rising: dict[str, bool]) -> Callable[[Rows], Finding | None]:
    """Return the finding that columns rise or fall, step by step and as a whole."""

    def find(rows: Rows) -> Finding | None:
        rows = _last_topics(rows, over)
        pairs, words = [], []
        for method, up in rising.items():
            first, last = ends(rows, column, over, method=method)
            pairs += trend(rows, column, over, rising=up, method=method)
            words.append(f"{method} {first:.3g} to {last:.3g}")
        found = ordered(pairs, "comparisons")
        return None if found is None else replace(found, ours=f"{'; '.join(words)}; {found.ours}")

    return find


def degrees_part(over: str, what: str, why: str = EQUAL_SIZES) -> list[Claim]:
    """Return the claims that the maximum degree falls for minmax and rises for GM."""
    return [
        Claim(
            f"The maximum degree {words} with {what} for {name}, from each point to the next",
            words,
            stepwise("max_degree", over, {method: words == "rises"}),
            why,
            at_default=True,
            kind=Kind.ORDERING,
        )
        for method, name, words in (("minmax", "MinMax-ODA", "falls"), ("gm-id", "GM", "rises"))
    ]


def ties_by_degree(column: str, over: str) -> Callable[[Rows], Finding | None]:
    """Return the finding that GM has less of a column with ties by degree than by id."""

    def find(rows: Rows) -> Finding | None:
        rows = _last_topics(rows, over)
        found = ordered(
            (
                mean(rows, column, method="gm-id", **{over: at}),
                mean(rows, column, method="gm", **{over: at}),
            )
            for at in values(rows, over)
        )
        if found is None:
            return None
        ours, theirs = (ratio_mean(rows, column, over, m, "minmax") for m in ("gm", "gm-id"))
        words = f"{ours:.2f} times MinMax-ODA's instead of {theirs:.2f}; less {found.ours}"
        return replace(found, ours=words)

    return find


def larger_with_more_topics(rows: Rows) -> Finding | None:
    """Return whether the maximum degree is larger with 200 topics than with 100."""
    return ordered(
        (
            mean(rows, "max_degree", method=method, **{T: 200}),
            mean(rows, "max_degree", method=method, **{T: 100}),
        )
        for method in ("gm-id", "minmax")
    )


def a_seventh(rows: Rows) -> Finding | None:
    """Return whether the maximum degree of minmax is below a seventh of that of GM."""
    return at_most(ratio_mean(rows, "max_degree", V, "minmax", "gm-id"), 1 / 7)


def pair_claims(
    over: str, times: float, *, name: str, why: str = EQUAL_SIZES, even: str = EVEN_TIES
) -> list[Claim]:
    """Return the claim on maximum degrees, and our improvement by ties by degree.

    `why` is why the claim differs, `even` why the improvement is one.
    """
    return [
        Claim(
            f"{name}: maximum degree of GM (ties by id) against MinMax-ODA, on average",
            f"{times:g} times",
            times_as_large("max_degree", over, times),
            why,
            at_default=True,
            kind=Kind.SYNTHETIC,
        ),
        Claim(
            f"{name}: maximum degree of GM, ties by degree instead of by id",
            f"{times:g} times MinMax-ODA's",
            ties_by_degree("max_degree", over),
            even,
            at_default=True,
            kind=Kind.IMPROVEMENT,
        ),
    ]


def _gain(over: str, other: str) -> Callable[[Rows], float]:
    """Return by how many percent CD-ODA-II needs fewer edges than another, on average."""
    return lambda rows: 100 * (1 - ratio_mean(rows, "edges", over, "cd2", other))


def _most_times(over: str, method: str) -> Callable[[Rows], float]:
    """Return the most edges of a method over those of GM, at any point."""

    def find(rows: Rows) -> float:
        ratios = [
            mean(rows, "edges", method=method, **{over: at})
            / mean(rows, "edges", method="gm-id", **{over: at})
            for at in values(rows, over)
        ]
        return max(ratios, default=math.nan)

    return find


def _two(rows: Rows) -> Finding | None:
    found = [row["diameter"] for row in rows if _is_star(row)]
    if not found:
        return None
    furthest = max(found, key=lambda diameter: abs(diameter - 2))
    words = "2 in every cell" if furthest == 2 else "{:.0f}, furthest from 2"
    return number(furthest, 2.0, words)


def _is_star(row: Row) -> bool:
    return str(row["method"]).startswith("cd")


def _points(rows: Rows) -> list[Rows]:
    """Return the rows of each workload, without its seeds."""
    points = sorted({(row[V], row[T], row[S]) for row in rows})
    return [where(rows, **dict(zip((V, T, S), point, strict=True))) for point in points]


def shorter(rows: Rows) -> Finding | None:
    """Return whether the diameter of GM is above that of each star method, mean over points."""
    points = _points(rows)
    if not points:
        return None
    means = {
        method: math.fsum(mean(at, "diameter", method=method) for at in points) / len(points)
        for method in ("gm-id", *CD)
    }
    found = ordered((means["gm-id"], means[method]) for method in CD)
    words = ", ".join(f"{means[method]:.1f}" for method in CD)
    return None if found is None else replace(found, ours=f"{means['gm-id']:.1f} against {words}")


def most_of_all(rows: Rows) -> Finding | None:
    """Return the most edges of any star method over those of GM, at any point."""
    ratios = [
        mean(at, "edges", method=method) / mean(at, "edges", method="gm-id")
        for at in _points(rows)
        for method in CD
    ]
    return at_most(max(ratios, default=math.nan), 2.3, "{:.2f} times")


def conclusions(why: str = EQUAL_STARS) -> list[Claim]:
    """Return what the paper says of Figs. 17 to 19 together."""
    return [
        Claim(
            "Figs. 17 to 19: every CD method needs at most 2.3 times the edges of GM",
            "at most 2.3 times",
            most_of_all,
            why,
            at_default=True,
            kind=Kind.SYNTHETIC,
        ),
        Claim(
            "Figs. 17 to 19: every diameter of the CD methods is 2",
            "2",
            _two,
            at_default=True,
            kind=Kind.ORDERING,
        ),
        Claim(
            "Figs. 17 to 19: the diameter of GM is larger than that of each CD method, mean over "
            "the points",
            "outperforms",
            shorter,
            why,
            at_default=True,
            kind=Kind.ORDERING,
        ),
    ]


def star_claims(
    over: str,
    times: float,
    cd: float,
    cd1: float,
    *,
    rising: bool,
    why: str = EQUAL_STARS,
    apart: bool = False,
) -> list[Claim]:
    """Return the claims of Figs. 17 to 19; `rising` is whether average degrees rise or fall.

    `why` is why gains differ; `apart` whether the paper has a sentence for GM and one for its own.
    """
    most, over_cd, over_cd1 = _most_times(over, "cd2"), _gain(over, "cd"), _gain(over, "cd1")
    words = "rises" if rising else "falls"
    sentences: list[tuple[str, str, tuple[str, ...]]] = [
        ("GM and for the CD methods", words, ("gm-id", *CD))
    ]
    if apart:
        sentences = [("GM", words, ("gm-id",)), ("the CD methods", f"slightly {words}", CD)]
    # At the points of its figure: the rows may be those of all three.
    fixed = {V: 100, T: 100}

    def here(find: Callable[[Rows], Finding | None]) -> Callable[[Rows], Finding | None]:
        return lambda rows: find(where(rows, **fixed) if over == S else rows)

    return [
        *[
            Claim(
                f"The average degree {words} for {name}, from each point to the next",
                paper,
                here(stepwise("average_degree", over, dict.fromkeys(methods, rising))),
                why,
                at_default=True,
                kind=Kind.ORDERING,
            )
            for name, paper, methods in sentences
        ],
        Claim(
            "CD-ODA-II needs at most so many times the edges of GM",
            f"at most {times:g} times",
            here(lambda rows: at_most(most(rows), times, "{:.2f} times")),
            why,
            at_default=True,
            kind=Kind.SYNTHETIC,
        ),
        Claim(
            "CD-ODA-II improves on CD-ODA, on average",
            f"{cd:g}%",
            here(lambda rows: number(over_cd(rows), cd, "{:.1f}%", base=POINTS)),
            why,
            at_default=True,
            kind=Kind.SYNTHETIC,
        ),
        Claim(
            "CD-ODA-II improves on CD-ODA-I, on average",
            f"{cd1:g}%",
            here(lambda rows: number(over_cd1(rows), cd1, "{:.1f}%", base=POINTS)),
            why,
            at_default=True,
            kind=Kind.SYNTHETIC,
        ),
    ]
