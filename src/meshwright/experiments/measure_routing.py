"""Cells of paper 4: publications on a small world."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from meshwright.experiments.workloads import instance_of
from meshwright.routing import simulate
from meshwright.smallworld import SmallWorld, design

METHODS = {"SL": "sl", "S": "s", "L": "l", "-": "none"}
OPEN = ("S", "-")  # the overlays whose long fingers are by Chord or by chance


def publish(given: Mapping[str, Any], place: Path) -> dict[str, Any]:
    """Return what publications come to: overhead, paths and the overlay's support."""
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
    kind = {"fingers": fingers} if overlay in OPEN else {}
    world = design(instance, METHODS[overlay], certify=False, seed=seed, **kind)
    assert isinstance(world, SmallWorld)
    return world
