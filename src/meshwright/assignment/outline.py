"""A problem whose subscribers stay on disk: its brokers and limits, and how many there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from meshwright.datasets import open_dataset
from meshwright.errors import InputError
from meshwright.problem import Problem
from meshwright.problem.dataset import LIMITS, density_of, load_tree


@dataclass(frozen=True, slots=True, eq=False)
class Outline(Problem):
    """A problem without its subscribers.

    Parameters
    ----------
    count
        How many subscribers there are.
    delays
        The least and the largest delay that a subscriber allows.

    """

    count: int = 0
    delays: tuple[float, float] = (0.0, 0.0)

    @property
    def n_subscribers(self) -> int:
        """The number of subscribers, none of whom is here."""
        return self.count


def load_outline(path: str | Path, overrides: Mapping[str, Any] | None = None) -> Outline:
    """Return the problem of a dataset without its subscribers, with other limits where given."""
    directory = Path(path)
    manifest = open_dataset(directory, "problem")
    limits: dict[str, Any] = {limit: manifest[limit] for limit in LIMITS}
    limits |= {"density": density_of(manifest.get("density")), **(overrides or {})}
    least, most = manifest["max_delay"]
    delay = limits.pop("max_delay", None)
    if delay is not None and not 0.0 <= delay < np.inf:
        raise InputError(f"max_delay is {delay}; it must be 0 or more.")
    tree = load_tree(directory)
    nobody = np.zeros((0, manifest["n_dimensions"]))
    return Outline(
        tree=tree,
        location=np.zeros((0, tree.location.shape[1])),
        low=nobody,
        high=nobody,
        max_delay=np.zeros(0),
        count=manifest["n_subscribers"],
        delays=(least, most) if delay is None else (delay, delay),
        **limits,
    )


def without_subscribers(outline: Outline) -> Problem:
    """Return the same brokers and limits as a problem that has no subscriber at all."""
    names = (*LIMITS, "tree", "location", "low", "high", "max_delay", "density")
    return Problem(**{name: getattr(outline, name) for name in names})


def delays_of(problem: Problem) -> tuple[float, float]:
    """Return the least and the largest delay that a subscriber allows."""
    if isinstance(problem, Outline):
        return problem.delays
    return float(problem.max_delay.min()), float(problem.max_delay.max())
