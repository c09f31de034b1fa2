"""A large overlay in few parts: groups of well-linked nodes, and the links between them.

Blondel et al. (2008) by modularity, with groups of bounded size: without the bound a hub draws a
third of the nodes into one group. Nodes are taken in id order, so equal overlays give equal groups.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array

from meshwright.report.groups_kernel import move_nodes

Ints = npt.NDArray[np.int64]

MOST_GROUPS = 80  # more are no easier to read than the nodes
SHARE = 30  # a group holds at most 1/SHARE of the nodes
ROUNDS = 12
LEVELS = 8


def find_groups(n: int, edges: npt.NDArray[np.int32], most: int = MOST_GROUPS) -> Ints:
    """Return the group of each node, numbered by falling size, then by smallest node."""
    group = np.arange(n)
    size = np.ones(n, np.int64)
    largest = max(2, -(-n // SHARE))
    graph = _graph(edges, n)
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


def ring_groups(order: npt.NDArray[np.int32], most: int = MOST_GROUPS) -> Ints:
    """Return the group of each node: consecutive stretches of a ring, numbered around it."""
    group = np.empty(len(order), np.int64)
    group[order] = np.arange(len(order)) * min(most, len(order)) // max(len(order), 1)
    return group


def links_between(
    group: Ints, edges: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.int32], Ints, Ints]:
    """Return the pairs of linked groups, how many links each has, and the links inside groups."""
    n = int(group.max(initial=-1)) + 1
    a, b = group[edges[:, 0]], group[edges[:, 1]]
    inside = np.bincount(a[a == b], minlength=n)
    low, high = np.minimum(a, b)[a != b], np.maximum(a, b)[a != b]
    pairs, counts = np.unique(low * n + high, return_counts=True)
    return np.column_stack((pairs // max(n, 1), pairs % max(n, 1))).astype(np.int32), counts, inside


def _graph(edges: npt.NDArray[np.int32], n: int) -> csr_array:
    both = np.concatenate((edges, edges[:, ::-1]))
    return csr_array(coo_array((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=(n, n)))


def _merge_small(group: Ints, graph: csr_array, size: Ints, most: int, largest: int) -> Ints:
    """Return groups of which there are at most `most`: the smallest join who they link to most.

    A group that links to nobody joins the others of its kind: separate parts, drawn as one.
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


def _by_size(group: Ints) -> Ints:
    kept, first, index, counts = np.unique(
        group, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.lexsort((first, -counts))
    rank = np.empty(len(kept), np.int64)
    rank[order] = np.arange(len(kept))
    return rank[index]
