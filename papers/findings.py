"""Findings from the rows of cells: means over seeds, orderings, ratios."""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from papers.model import Finding, Limit, Number, Rows

POINTS = 10.0  # the base of percentages and of points
SHARES = 0.1  # the base of shares of 1


def where(rows: Rows, **wanted: Any) -> Rows:
    """Return the rows whose columns have these values."""
    return [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]


def mean(rows: Rows, column: str, **wanted: Any) -> float:
    """Return the mean of a column over the matching rows; NaN if there is none."""
    found = [row[column] for row in where(rows, **wanted) if row.get(column) is not None]
    return math.fsum(found) / len(found) if found else math.nan


def values(rows: Rows, column: str, **wanted: Any) -> list[Any]:
    """Return the distinct values of a column, sorted."""
    return sorted({row[column] for row in where(rows, **wanted) if row.get(column) is not None})


def ratio_mean(rows: Rows, column: str, over: str, one: Any, other: Any, **kind: Any) -> float:
    """Return the mean ratio of a column of method `one` to that of `other`.

    The mean is over the points, the values of the column `over`.
    """
    ratios = []
    for point in values(rows, over):
        high = mean(rows, column, **{over: point}, method=one, **kind)
        low = mean(rows, column, **{over: point}, method=other, **kind)
        if low and not math.isnan(high / low):
            ratios.append(high / low)
    return math.fsum(ratios) / len(ratios) if ratios else math.nan


def number(ours: float, paper: float, form: str = "{:.3g}", *, base: float = 0.0) -> Finding | None:
    """Return the finding on a number, or None if it was not measured; `base` as in `Number`."""
    return None if math.isnan(ours) else Finding(form.format(ours), Number(ours, paper, base))


def at_most(
    ours: float, limit: float, form: str = "{:.3g}", *, base: float = 0.0
) -> Finding | None:
    """Return the finding on an upper limit."""
    known = Limit(limit, ours, base)
    return None if math.isnan(ours) else Finding(form.format(ours), limit=known)


def at_least(
    ours: float, limit: float, form: str = "{:.3g}", *, base: float = 0.0
) -> Finding | None:
    """Return the finding on a lower limit."""
    known = Limit(ours, limit, base)
    return None if math.isnan(ours) else Finding(form.format(ours), limit=known)


def ordered(pairs: Iterable[tuple[float, float]], what: str = "points") -> Finding | None:
    """Return the finding on an ordering, larger first, with the number of points where it holds."""
    known = [pair for pair in pairs if not (math.isnan(pair[0]) or math.isnan(pair[1]))]
    if not known:
        return None
    kept = sum(large >= small for large, small in known)
    short = [(small - large) / abs(small) for large, small in known if large < small and small]
    worst = f", short by up to {max(short):.1%}" if short else ""
    return Finding(f"at {kept} of {len(known)} {what}{worst}", pairs=tuple(known))


def ranking(rows: Rows, column: str, methods: Sequence[str], over: Sequence[str]) -> Finding | None:
    """Return the finding on a ranking of methods, best first, at every point of `over`."""
    pairs: list[tuple[float, float]] = []
    for point in sorted({tuple(row[name] for name in over) for row in rows}):
        at = dict(zip(over, point, strict=True))
        pairs += pairwise(mean(rows, column, method=method, **at) for method in methods)
    return ordered(pairs, "comparisons")


def trend(
    rows: Rows, column: str, over: str, *, rising: bool, **kind: Any
) -> list[tuple[float, float]]:
    """Return the pairs of `falling` for a column that rises or falls over the points."""
    means = [mean(rows, column, **{over: point}, **kind) for point in values(rows, over)]
    return [(small, large) for large, small in falling(means)] if rising else falling(means)


def falling(found: Sequence[float]) -> list[tuple[float, float]]:
    """Return the pairs of numbers that fall: each and the next, and the first and the last.

    The last pair catches many small steps in the wrong direction, each of them close.
    """
    steps = list(pairwise(found))
    return [*steps, (found[0], found[-1])] if len(steps) > 1 else steps


def ends(rows: Rows, column: str, over: str, **kind: Any) -> tuple[float, float]:
    """Return the means of a column at the first and the last point."""
    points = values(rows, over, **kind)
    if not points:
        return math.nan, math.nan
    first, last = points[0], points[-1]
    return mean(rows, column, **{over: first}, **kind), mean(rows, column, **{over: last}, **kind)
