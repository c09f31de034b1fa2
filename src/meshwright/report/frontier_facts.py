"""What the report says of a frontier: its points, its bounds, and where other plans lie."""

from dataclasses import asdict
from typing import Any

from meshwright.model.instance import Instance
from meshwright.overlay import design
from meshwright.overlay.dataset import designed_for
from meshwright.overlay.frontier import read_frontier
from meshwright.report.distributions import rounded
from meshwright.storage import Manifest

COMPARED = ("gm", "minmax", "low", "star", "full-mesh")
MOST_SUBSCRIPTIONS = 20_000  # up to which other methods are designed for comparison, in a second


def frontier_facts(label: str, manifest: Manifest, workload: Instance) -> dict[str, Any]:
    """Return the points of a frontier, and of other methods where that takes no time."""
    points = read_frontier(manifest).points
    return {
        "label": label,
        "points": [
            {name: rounded(value) for name, value in asdict(point).items()} for point in points
        ],
        "others": _others(designed_for(manifest, workload)),
        "seconds": rounded(manifest["seconds"]),
        "command": manifest.command,
        "created": manifest.created,
    }


def _others(instance: Instance) -> list[dict[str, Any]]:
    """Return the links, the maximum degree and the support of what other methods design."""
    if instance.n_subscriptions > MOST_SUBSCRIPTIONS:
        return []
    found = []
    for method in COMPARED:
        plan = design(instance, method, certify=False)
        found.append(
            {
                "method": method,
                "links": plan.n_edges,
                "degree": plan.max_degree,
                "support": rounded(plan.support),
                "connected": plan.connected,
            }
        )
    return found
