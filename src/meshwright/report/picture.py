"""The picture of an overlay as numbers: where nodes are drawn, or groups of them when too many."""

from __future__ import annotations

from typing import Any

import numpy as np

from meshwright.report.groups import find_groups, links_between, ring_groups
from meshwright.report.layout import disc_layout, force_layout, ring_layout
from meshwright.smallworld import SmallWorld
from meshwright.values import Overlay

MOST_NODES = 2_000  # above that a picture of nodes is a hairball
MOST_LINKS = 30_000


def picture(overlay: Overlay, *, most_nodes: int = MOST_NODES) -> dict[str, Any]:
    """Return what is drawn: `nodes` with their places, or `groups` and the links between them."""
    n, edges = overlay.instance.n_nodes, overlay.edges
    ring = overlay.ring if isinstance(overlay, SmallWorld) else None
    layout = "force" if ring is None else "ring"
    if n <= most_nodes and overlay.n_edges <= MOST_LINKS:
        x, y = force_layout(n, edges) if ring is None else ring_layout(ring)
        return {"of": "nodes", "layout": layout, "x": x.tolist(), "y": y.tolist()}
    group = find_groups(n, edges) if ring is None else ring_groups(ring)
    size = np.bincount(group)
    pairs, counts, inside = links_between(group, edges)
    radius = np.sqrt(size.astype(np.float64))
    (x, y), discs = disc_layout(radius, pairs, counts.astype(np.float64))
    if ring is not None:
        x, y = ring_layout(np.arange(len(size), dtype=np.int32))
        discs = np.full(len(size), int(10_000 * np.pi / len(size) * 0.36), np.int32)
    return {
        "of": "groups",
        "layout": layout,
        "x": x.tolist(),
        "y": y.tolist(),
        "radius": discs.tolist(),
        "size": size.tolist(),
        "links_inside": inside.tolist(),
        "links": {
            "one": pairs[:, 0].tolist(),
            "other": pairs[:, 1].tolist(),
            "count": counts.tolist(),
        },
        "group": group.tolist(),
    }
