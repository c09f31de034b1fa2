"""From the rows of cells to findings: means over seeds, orderings, ratios."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

from meshwright.experiments.model import Finding, Rows


def where(rows: Rows, **wanted: Any) -> Rows:
    """Return the rows whose columns have these values."""
    return [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]


def mean(rows: Rows, column: str, **wanted: Any) -> float:
    """Return the mean of a column over the rows wanted; NaN where there is none."""
    found = [row[column] for row in where(rows, **wanted) if row.get(column) is not None]
    return math.fsum(found) / len(found) if found else math.nan


def values(rows: Rows, column: str, **wanted: Any) -> list[Any]:
    """Return the distinct values of a column, sorted."""
    return sorted({row[column] for row in where(rows, **wanted) if row.get(column) is not None})


def ratio_mean(rows: Rows, column: str, over: str, one: Any, other: Any, **kind: Any) -> float:
    """Return the mean over points of one method's column against another's.

    `one` and `other` are methods; `over` is the column of the points.
    """
    ratios = []
    for point in values(rows, over):
        high = mean(rows, column, **{over: point}, method=one, **kind)
        low = mean(rows, column, **{over: point}, method=other, **kind)
        if low and not math.isnan(high / low):
            ratios.append(high / low)
    return math.fsum(ratios) / len(ratios) if ratios else math.nan


def number(ours: float, paper: float, form: str = "{:.3g}") -> Finding | None:
    """Return the finding on a number; None where it was not measured."""
    return None if math.isnan(ours) else Finding(form.format(ours), ((ours, paper),))


def at_most(ours: float, limit: float, form: str = "{:.3g}") -> Finding | None:
    """Return the finding on an upper limit."""
    return None if math.isnan(ours) else Finding(form.format(ours), pairs=((limit, ours),))


def at_least(ours: float, limit: float, form: str = "{:.3g}") -> Finding | None:
    """Return the finding on a lower limit."""
    return None if math.isnan(ours) else Finding(form.format(ours), pairs=((ours, limit),))


def ordered(pairs: Iterable[tuple[float, float]], what: str = "points") -> Finding | None:
    """Return the finding on an ordering, larger first; it says at how many points it holds."""
    known = [pair for pair in pairs if not (math.isnan(pair[0]) or math.isnan(pair[1]))]
    if not known:
        return None
    kept = sum(large >= small for large, small in known)
    short = [(small - large) / abs(small) for large, small in known if large < small and small]
    worst = f", short by up to {max(short):.1%}" if short else ""
    return Finding(f"at {kept} of {len(known)} {what}{worst}", pairs=tuple(known))


def ranking(
    rows: Rows, column: str, methods: Sequence[str], over: Sequence[str]
) -> Callable[[], Finding | None]:
    """Return the finding that methods rank in this order, best first, at every point of `over`."""

    def find() -> Finding | None:
        points = sorted({tuple(row[name] for name in over) for row in rows})
        pairs = []
        for point in points:
            at = dict(zip(over, point, strict=True))
            means = [mean(rows, column, method=method, **at) for method in methods]
            pairs += list(pairwise(means))
        return ordered(pairs, "comparisons")

    return find


def trend(
    rows: Rows, column: str, over: str, *, rising: bool, **kind: Any
) -> list[tuple[float, float]]:
    """Return the pairs that say a column rises (or falls), as `falling` has them."""
    means = [mean(rows, column, **{over: point}, **kind) for point in values(rows, over)]
    return [(small, large) for large, small in falling(means)] if rising else falling(means)


def falling(found: Sequence[float]) -> list[tuple[float, float]]:
    """Return the pairs that say numbers fall: from each to the next, and from first to last.

    Many small steps in the wrong direction may each be close and together go the wrong way.
    """
    steps = list(pairwise(found))
    return [*steps, (found[0], found[-1])] if len(steps) > 1 else steps


def ends(rows: Rows, column: str, over: str, **kind: Any) -> tuple[float, float]:
    """Return a column's means at the first and the last point."""
    points = values(rows, over, **kind)
    if not points:
        return math.nan, math.nan
    first, last = points[0], points[-1]
    return mean(rows, column, **{over: first}, **kind), mean(rows, column, **{over: last}, **kind)
