"""Cut work into parts that tasks can take: by what it costs, wherever it will run."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def cut(costs: npt.NDArray[np.int64], part: int) -> npt.NDArray[np.int64]:
    """Return where parts of about equal cost begin, and where the last one ends."""
    before = np.cumsum(costs)
    marks = np.arange(part, int(before[-1]) if len(before) else 0, part)
    inner = np.searchsorted(before, marks) + 1
    return np.unique(np.concatenate(([0], inner, [len(costs)]))).astype(np.int64)
