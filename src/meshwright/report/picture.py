"""The picture of an overlay as numbers: where nodes are drawn, or groups of them when too many."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from meshwright.report.distributions import short
from meshwright.report.groups import find_groups, links_between, ring_groups
from meshwright.report.layout import disc_layout, force_layout, ring_layout
from meshwright.smallworld import SmallWorld
from meshwright.values import Instance, Overlay

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
    part = overlay_parts(overlay)
    spread = np.unique(group * max(n, 1) + part) // max(n, 1)
    return {
        "of": "groups",
        "layout": layout,
        "parts": np.bincount(spread, minlength=len(size)).tolist(),
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
        "head": heads(overlay, group),
        **common_topics(overlay.instance, group),
    }


def overlay_parts(overlay: Overlay) -> npt.NDArray[np.int64]:
    """Return the part of the overlay that each node is in: from one to another there is no way."""
    n, edges = overlay.instance.n_nodes, overlay.edges
    links = coo_array((np.ones(len(edges), np.int8), (edges[:, 0], edges[:, 1])), shape=(n, n))
    return np.asarray(connected_components(links, directed=False)[1], np.int64)


def heads(overlay: Overlay, group: npt.NDArray[np.int64]) -> list[str]:
    """Return for each group the name of its node with most links, which it is called by."""
    order = np.lexsort((-overlay.degrees, group))
    first = order[np.unique(group[order], return_index=True)[1]]
    return [overlay.instance.node_names[v] for v in first.tolist()]


def common_topics(instance: Instance, group: npt.NDArray[np.int64]) -> dict[str, list[Any]]:
    """Return for each group the topic that sets it apart, and the shares that want it.

    It is the one whose share within the group is most above that among all nodes.
    """
    size = np.bincount(group)
    node = np.repeat(np.arange(instance.n_nodes), np.diff(instance.indptr))
    pairs, counts = np.unique(group[node] * instance.n_topics + instance.topics, return_counts=True)
    of, topic = np.divmod(pairs, max(instance.n_topics, 1))
    overall = np.bincount(instance.topics, minlength=instance.n_topics) / max(instance.n_nodes, 1)
    share = counts / size[of]
    order = np.lexsort((topic, overall[topic] - share, of))
    first = order[np.unique(of[order], return_index=True)[1]]
    best = np.full(len(size), -1)
    best[of[first]] = topic[first]
    within = np.zeros(len(size))
    within[of[first]] = share[first]
    return {
        "common_topic": [instance.topic_names[t] if t >= 0 else None for t in best.tolist()],
        "common_share": [short(value) for value in within],
        "common_share_of_all": [short(overall[t]) if t >= 0 else 0.0 for t in best.tolist()],
    }
