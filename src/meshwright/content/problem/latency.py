"""The leaves that serve each subscriber in time, as rows of bits and as counts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meshwright.content.problem.kernels.latency import count_in_time, mark_in_time
from meshwright.model.problem import Problem
from meshwright.runtime.threads import in_parts


def n_words(n_bits: int) -> int:
    """Return the number of 64-bit words that hold n_bits."""
    return (n_bits + 63) // 64


def bits_of(selected: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint64]:
    """Return one row of bits: bit i is set if element i is selected.

    Examples
    --------
    >>> bits_of(np.array([True, False, True])).tolist()
    [5]

    """
    row = np.zeros(n_words(len(selected)), np.uint64)
    for i in np.flatnonzero(selected):
        row[i >> 6] |= np.uint64(1) << np.uint64(i & 63)
    return row


def marks_in_time(problem: Problem) -> npt.NDArray[np.uint64]:
    """Return uint64[subscribers, words], where bit i is set if leaf i is in time."""
    leaves = problem.leaf_location, problem.leaf_down
    marks = np.zeros((problem.n_subscribers, n_words(len(problem.tree.leaves))), np.uint64)

    def mark(first: int, last: int) -> None:
        some = slice(first, last)
        mark_in_time(problem.location[some], problem.max_delay[some], *leaves, marks[some])

    in_parts(mark, problem.n_subscribers)
    return marks


def in_time_counts(problem: Problem) -> npt.NDArray[np.int64]:
    """Return int64[leaves + 1]: how many subscribers have 0, 1, 2, ... leaves in time."""
    leaves = problem.leaf_location, problem.leaf_down
    counts: npt.NDArray[np.int64] = count_in_time(problem.location, problem.max_delay, *leaves)
    return counts


def spread_of(counts: npt.NDArray[np.int64]) -> dict[str, int]:
    """Return the least, the median and the most of a histogram of counts."""
    below = np.cumsum(counts)
    if below[-1] == 0:
        return {"least": 0, "median": 0, "most": 0}
    found = np.flatnonzero(counts)
    median = int(np.searchsorted(below, (below[-1] + 1) // 2))
    return {"least": int(found[0]), "median": median, "most": int(found[-1])}
