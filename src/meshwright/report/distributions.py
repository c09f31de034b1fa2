"""Distributions in few numbers: CCDFs, boxes, thinned curves and their knees."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meshwright.runtime.arrays import Floats

MOST_POINTS = 240  # a curve of more points looks the same on any screen


def summary(values: npt.ArrayLike) -> dict[str, Any]:
    """Return mean, median, most, and the CCDF: (value, share with at least that value), thinned.

    Examples
    --------
    >>> summary([1, 1, 3, 4])["ccdf"]
    [[1, 1.0], [3, 0.5], [4, 0.25]]
    """
    array = np.asarray(values)
    if len(array) == 0:
        return {"mean": 0.0, "median": 0.0, "most": 0, "ccdf": []}
    found, counts = np.unique(array, return_counts=True)
    at_least = np.cumsum(counts[::-1])[::-1] / len(array)
    return {
        "mean": short(array.mean()),
        "median": short(np.median(array)),
        "most": rounded(found[-1].item()),
        "ccdf": [[rounded(found[i].item()), short(at_least[i])] for i in thin(len(found))],
    }


def box(values: npt.NDArray[Any]) -> dict[str, float]:
    """Return the five numbers of a box: least, quartiles, most; all 0 if there are no values.

    Examples
    --------
    >>> box(np.array([1, 2, 3, 4, 5]))
    {'least': 1, 'low': 2.0, 'median': 3.0, 'high': 4.0, 'most': 5}
    """
    array = values if len(values) else np.zeros(1, np.int64)
    least, most = rounded(array.min().item()), rounded(array.max().item())
    low, median, high = map(short, np.quantile(array, [0.25, 0.5, 0.75]))
    return {"least": least, "low": low, "median": median, "high": high, "most": most}


def thin(size: int, also: Sequence[int] = ()) -> list[int]:
    """Return about `MOST_POINTS` of `size` indices, with both ends and those in `also`.

    Half of them are spaced evenly and half geometrically, as curves bend near their start.
    """
    if size <= MOST_POINTS:
        return list(range(size))
    evenly = np.linspace(0, size - 1, MOST_POINTS // 2)
    closely = np.geomspace(1, size, MOST_POINTS // 2) - 1
    kept = np.unique(np.concatenate((evenly, closely)).round().astype(np.int64))
    return sorted({*kept.tolist(), *also})


def knee(height: Floats) -> tuple[int, float]:
    """Return the index where a rising curve is highest above the line of its ends, and how high.

    Examples
    --------
    >>> at, above = knee(np.array([0.0, 0.6, 0.8, 0.9, 1.0]))
    >>> at, round(above, 2)
    (1, 0.35)
    """
    above = height - np.linspace(height[0], height[-1], len(height))
    at = int(np.argmax(above))
    return at, float(above[at])


def short(value: float, digits: int = 6) -> float:
    """Return a number rounded to some significant digits."""
    return float(f"{float(value):.{digits}g}")


def rounded(value: Any) -> Any:
    """Return a value, with all floats in it shortened."""
    if isinstance(value, dict):
        return {name: rounded(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    return short(value) if isinstance(value, float) else value
