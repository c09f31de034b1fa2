"""The claims of paper 2 on degrees and diameters, and how cells decide them."""

from __future__ import annotations

import math
from collections.abc import Callable

from meshwright.experiments.findings import (
    at_most,
    ends,
    mean,
    number,
    ordered,
    ratio_mean,
    values,
    where,
)
from meshwright.experiments.model import Claim, Finding, Row, Rows
from meshwright.experiments.reasons import EQUAL_SIZES, EQUAL_STARS, EVEN_TIES

V, T, S = "workload_nodes", "workload_topics", "workload_low"


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
        return number(100 * (ratio - 1), paper, "{:.1f}% more")

    return find


def between_ends(
    column: str, over: str, rising: dict[str, bool]
) -> Callable[[Rows], Finding | None]:
    """Return the finding that columns rise or fall from the first point to the last."""

    def find(rows: Rows) -> Finding | None:
        rows = _last_topics(rows, over)
        pairs, told = [], []
        for method, up in rising.items():
            first, last = ends(rows, column, over, method=method)
            pairs.append((last, first) if up else (first, last))
            told.append(f"{method} {first:.3g} to {last:.3g}")
        found = ordered(pairs)
        return None if found is None else Finding("; ".join(told), pairs=found.pairs)

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
    """Return the claims on maximum degrees, with both tie rules; `even` is why the second differs.

    `why` is why the first does.
    """
    return [
        Claim(
            f"{name}: maximum degree of GM (ties by id) against MinMax-ODA, on average",
            f"{times:g} times",
            times_as_large("max_degree", over, times),
            why,
            at_default=True,
        ),
        Claim(
            f"{name}: the same with GM's ties by degree",
            f"{times:g} times",
            times_as_large("max_degree", over, times, "gm"),
            even,
            at_default=True,
        ),
    ]


def _gain(over: str, other: str) -> Callable[[Rows], float]:
    """Return by how many percent CD-ODA-II needs fewer edges than another, on average."""
    return lambda rows: 100 * (1 - ratio_mean(rows, "edges", over, "cd2", other))


def _most_times(over: str) -> Callable[[Rows], float]:
    def find(rows: Rows) -> float:
        ratios = [
            mean(rows, "edges", method="cd2", **{over: at})
            / mean(rows, "edges", method="gm-id", **{over: at})
            for at in values(rows, over)
        ]
        return max(ratios, default=math.nan)

    return find


def _two(rows: Rows) -> Finding | None:
    found = [row["diameter"] for row in rows if _is_star(row)]
    if not found:
        return None
    least, most = min(found), max(found)
    told = "2 in every cell" if least == most == 2 else f"{least} to {most}"
    return Finding(told, pairs=((least, 2.0), (2.0, most)))


def _is_star(row: Row) -> bool:
    return str(row["method"]).startswith("cd")


def star_claims(
    over: str, times: float, cd: float, cd1: float, why: str = EQUAL_STARS
) -> list[Claim]:
    """Return the claims of Figs. 17 to 19; `why` is why gains differ."""
    most, over_cd, over_cd1 = _most_times(over), _gain(over, "cd"), _gain(over, "cd1")
    return [
        Claim(
            "CD-ODA-II needs at most so many times the edges of GM",
            f"at most {times:g} times",
            lambda rows: at_most(most(rows), times, "{:.2f} times"),
            why,
            at_default=True,
        ),
        Claim(
            "CD-ODA-II improves on CD-ODA, on average",
            f"{cd:g}%",
            lambda rows: number(over_cd(rows), cd, "{:.1f}%"),
            why,
            at_default=True,
        ),
        Claim(
            "CD-ODA-II improves on CD-ODA-I, on average",
            f"{cd1:g}%",
            lambda rows: number(over_cd1(rows), cd1, "{:.1f}%"),
            why,
            at_default=True,
        ),
        Claim("Every diameter of the CD methods is 2", "2", _two, at_default=True),
    ]
