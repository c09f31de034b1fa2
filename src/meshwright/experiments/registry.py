"""All experiments by id, in the order of the papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from meshwright.errors import unknown_choice
from meshwright.experiments import disc12, icdcs16, ton11
from meshwright.experiments.model import Experiment

EXPERIMENTS: Mapping[str, Experiment] = {
    experiment.id: experiment
    for paper in (icdcs16, ton11, disc12)
    for experiment in paper.EXPERIMENTS
}


def choose(ids: Sequence[str]) -> list[Experiment]:
    """Return the experiments asked for, all if none; a paper's key stands for all of its own."""
    if not ids:
        return list(EXPERIMENTS.values())
    found: dict[str, Experiment] = {}
    for name in ids:
        mine = [one for one in EXPERIMENTS.values() if one.id == name or one.paper.key == name]
        if not mine:
            raise unknown_choice("experiment", name, EXPERIMENTS)
        found |= {one.id: one for one in mine}
    return [one for one in EXPERIMENTS.values() if one.id in found]
