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


def publish(given: Mapping[str, Any], place: Path) -> dict[str, Any]:
    """Return the overhead and the paths of publications, and the support of the overlay."""
    workload = json.dumps(given["workload"], sort_keys=True)
    kinds = {name: given[name] for name in ("fingers", "fill") if given[name] is not None}
    options = json.dumps({**kinds, "seed": given["seed"]}, sort_keys=True)
    world = _world(workload, str(place), given["overlay"], options)
    run = simulate(
        world,
        given["method"],
        publications=given["publications"],
        seed=given["seed"],
        direction=given["direction"],
        match=given["match"],
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
def _world(workload: str, place: str, overlay: str, options: str) -> SmallWorld:
    instance = instance_of(json.loads(workload), Path(place))
    world = design(instance, METHODS[overlay], certify=False, **json.loads(options))
    assert isinstance(world, SmallWorld)
    return world
