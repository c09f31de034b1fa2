"""The picture of an overlay as numbers: the places of its nodes, or of groups of its nodes.

Groups are found as by Blondel et al. (2008), by modularity, with a bound on their size: without it
a hub draws a third of the nodes into one group. Nodes are taken in id order, so equal overlays give
equal groups.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array

from meshwright.model.instance import Instance
from meshwright.model.overlay import Overlay, linked_parts
from meshwright.model.small_world import SmallWorld
from meshwright.report.distributions import short
from meshwright.report.kernels.drawing import move_nodes
from meshwright.report.layout import disc_layout, force_layout, ring_layout
from meshwright.runtime.arrays import Ints, Longs

MOST_NODES = 2_000  # above that a picture of nodes is a hairball
MOST_LINKS = 30_000
MOST_GROUPS = 80  # more are no easier to read than the nodes
SHARE = 30  # a group holds at most 1/SHARE of the nodes
ROUNDS = 12
LEVELS = 8


def picture(overlay: Overlay, *, most_nodes: int = MOST_NODES) -> dict[str, Any]:
    """Return the places of nodes, or those of groups and the links between them."""
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
    one, other = pairs.T.tolist()
    return {
        "of": "groups",
        "layout": layout,
        "parts": count_distinct(group, linked_parts(n, edges), len(size)).tolist(),
        "x": x.tolist(),
        "y": y.tolist(),
        "radius": discs.tolist(),
        "size": size.tolist(),
        "links_inside": inside.tolist(),
        "links": {"one": one, "other": other, "count": counts.tolist()},
        "group": group.tolist(),
        "head": heads(overlay, group),
        **common_topics(overlay.instance, group),
    }


def count_distinct(key: npt.NDArray[Any], value: Longs, n_keys: int) -> Longs:
    """Return how many different values go with each of the keys 0 to n_keys - 1."""
    n_values = int(value.max(initial=0)) + 1
    pairs = np.unique(key.astype(np.int64) * n_values + value)
    return np.bincount(pairs // n_values, minlength=n_keys)


def heads(overlay: Overlay, group: Longs) -> list[str]:
    """Return the name of each group: that of its node with the most links."""
    order = np.lexsort((-overlay.degrees, group))
    first = order[np.unique(group[order], return_index=True)[1]]
    return [overlay.instance.node_names[v] for v in first.tolist()]


def common_topics(instance: Instance, group: Longs) -> dict[str, list[Any]]:
    """Return the topic of each group whose share of subscribers exceeds that of all nodes most."""
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


def find_groups(n: int, edges: Ints, most: int = MOST_GROUPS) -> Longs:
    """Return the group of each node, numbered by falling size, then by smallest node."""
    group = np.arange(n)
    size = np.ones(n, np.int64)
    largest = max(2, -(-n // SHARE))
    both = np.concatenate((edges, edges[:, ::-1]))
    graph = csr_array(coo_array((np.ones(len(both)), both.T), shape=(n, n)))
    for _ in range(LEVELS):
        found = move_nodes(graph.indptr, graph.indices, graph.data, size, largest, ROUNDS)
        kept, index = np.unique(found, return_inverse=True)
        if len(kept) == graph.shape[0]:
            break
        group = index[group]
        size = np.bincount(index, weights=size).astype(np.int64)
        between = graph.tocoo()
        ends = index[between.row], index[between.col]
        graph = csr_array(coo_array((between.data, ends), shape=(len(kept), len(kept))))
        if len(kept) <= most:
            break
    return _by_size(_merge_small(group, graph, size, most, largest))


def ring_groups(order: Ints, most: int = MOST_GROUPS) -> Longs:
    """Return the group of each node: consecutive stretches of a ring, numbered around it."""
    group = np.empty(len(order), np.int64)
    group[order] = np.arange(len(order)) * min(most, len(order)) // max(len(order), 1)
    return group


def links_between(group: Longs, edges: Ints) -> tuple[Ints, Longs, Longs]:
    """Return the pairs of linked groups, the links of each pair, and the links inside groups."""
    n = int(group.max(initial=-1)) + 1
    a, b = group[edges[:, 0]], group[edges[:, 1]]
    inside = np.bincount(a[a == b], minlength=n)
    low, high = np.minimum(a, b)[a != b], np.maximum(a, b)[a != b]
    pairs, counts = np.unique(low * n + high, return_counts=True)
    return np.column_stack((pairs // max(n, 1), pairs % max(n, 1))).astype(np.int32), counts, inside


def _merge_small(group: Longs, graph: csr_array, size: Longs, most: int, largest: int) -> Longs:
    """Merge the smallest groups, each into the one it has most links to, until `most` are left.

    Groups without links are merged with each other: separate components, drawn as one.
    """
    n = len(size)
    if n <= most:
        return group
    table = graph.tolil()
    links: list[dict[int, float]] = [
        {int(b): float(w) for b, w in zip(table.rows[a], table.data[a], strict=True) if b != a}
        for a in range(n)
    ]
    parent, alive, held = np.arange(n), set(range(n)), size.tolist()
    apart: int | None = None
    order = sorted(range(n), key=lambda a: (held[a], -a), reverse=True)
    while len(alive) > most and order:
        a = order.pop()
        if a not in alive or a == apart:
            continue
        fits = [b for b in links[a] if held[a] + held[b] <= 2 * largest] or list(links[a])
        if fits:
            b = max(fits, key=lambda b: (links[a][b] / held[b], -b))
        elif apart is None:
            apart = a
            continue
        else:
            b = apart
        parent[a] = b
        alive.discard(a)
        held[b] += held[a]
        for c, weight in links[a].items():
            links[c].pop(a, None)
            if c != b:
                links[c][b] = links[c].get(b, 0) + weight
                links[b][c] = links[b].get(c, 0) + weight
        links[a] = {}
    root = parent.copy()
    while not np.array_equal(root, root[root]):
        root = root[root]
    return root[group]


def _by_size(group: Longs) -> Longs:
    _, first, index, counts = np.unique(
        group, return_index=True, return_inverse=True, return_counts=True
    )
    rank = np.argsort(np.lexsort((first, -counts)))
    return rank[index]
