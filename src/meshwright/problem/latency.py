"""Which leaves serve each subscriber in time, as rows of bits."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meshwright.kernels.threads import in_parts
from meshwright.problem.latency_kernel import mark_in_time
from meshwright.problem.problem import Problem


def n_words(n_bits: int) -> int:
    """Return how many words of 64 bits hold so many."""
    return (n_bits + 63) // 64


def marks_in_time(problem: Problem) -> npt.NDArray[np.uint64]:
    """Return a row of bits per subscriber: the leaves that serve it in time."""
    down, place = problem.leaf_down, problem.leaf_location
    marks = np.zeros((problem.n_subscribers, n_words(len(down))), np.uint64)

    def mark(first: int, last: int) -> None:
        rows = marks[first:last]
        mark_in_time(problem.location, problem.max_delay, place, down, first, last, rows)

    in_parts(mark, problem.n_subscribers)
    return marks
