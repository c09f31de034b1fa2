"""All experiments by id, in the order of the papers."""

from collections.abc import Mapping, Sequence

from meshwright.errors import unknown_choice
from papers import (
    debs18,
    disc12,
    disc12_degrees,
    disc12_literal,
    icdcs16,
    icde11,
    refined_rows,
    ton11,
    ton11_each,
)
from papers.model import Experiment

PAPER_MODULES = (
    icdcs16,
    ton11,
    ton11_each,
    disc12,
    disc12_literal,
    disc12_degrees,
    debs18,
    icde11,
    refined_rows,
)
EXPERIMENTS: Mapping[str, Experiment] = {
    experiment.id: experiment for module in PAPER_MODULES for experiment in module.EXPERIMENTS
}


def choose(ids: Sequence[str]) -> list[Experiment]:
    """Return the experiments with the given ids or paper keys, or all if none is given."""
    if not ids:
        return list(EXPERIMENTS.values())
    found: dict[str, Experiment] = {}
    for name in ids:
        mine = [one for one in EXPERIMENTS.values() if one.id == name or one.paper.key == name]
        if not mine:
            raise unknown_choice("experiment", name, EXPERIMENTS)
        found |= {one.id: one for one in mine}
    return [one for one in EXPERIMENTS.values() if one.id in found]
