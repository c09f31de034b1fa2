"""Cells of paper 4: publications on a small world."""

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from meshwright.model.small_world import SmallWorld
from meshwright.overlay import design
from meshwright.smallworld.routing.simulate import simulate
from papers.workloads import instance_of

METHODS = {"SL": "sl", "S": "s", "L": "l", "-": "none"}
CHOICE = ("S", "-")  # the overlays whose long fingers are those of Chord or random


def publish(given: Mapping[str, Any], place: Path) -> dict[str, Any]:
    """Return the overhead and the paths of publications, and the support of the overlay."""
    workload = json.dumps(given["workload"], sort_keys=True)
    world = _world(workload, str(place), given["overlay"], given["fingers"], given["seed"])
    run = simulate(
        world, given["method"], publications=given["publications"], seed=given["seed"]
    ).totals
    return {
        "overhead": run["overhead"],
        "deliveries": run["deliveries"],
        "hops_mean": run["hops_mean"],
        "hops_max": run["hops_max"],
        "support": world.support,
        "seconds": world.seconds,
    }


@lru_cache(maxsize=1)
def _world(workload: str, place: str, overlay: str, fingers: str | None, seed: int) -> SmallWorld:
    instance = instance_of(json.loads(workload), Path(place))
    kind = {"fingers": fingers} if overlay in CHOICE else {}
    world = design(instance, METHODS[overlay], certify=False, seed=seed, **kind)
    assert isinstance(world, SmallWorld)
    return world
