"""Rings: the order of the nodes on the circle of a small world, by gain or random.

Chen, Tock, Girdzijauskas, "BeaConvey" (DEBS 2018). A ring is an array: the node at each position.
"""

from __future__ import annotations

import numpy as np

from meshwright.model.instance import Instance, Ints
from meshwright.runtime.progress import ProgressCallback
from meshwright.smallworld.greedy import circle_edges
from meshwright.smallworld.kernels.ring import close_circle, random_keys, walk_circle


def gswico_ring(instance: Instance, on_progress: ProgressCallback | None = None) -> Ints:
    """Return the ring of GSwicoS, Alg. 1: greedy by gain.

    Each edge is the best among those that can still end in one circle through all nodes: no node
    gets three links, and no path is closed before all nodes are on it. Two nodes of different
    paths have no topic joined yet, so the gain of such an edge is always the common interest of
    its ends.

    The paper leaves three points open. Ties: the lower of the larger degrees, then smaller ids, as
    everywhere here. When no edge gains any more, the remaining paths are joined end to end, the
    smallest pair first (the interests of their ends have nothing in common). Position 0 is node 0,
    and the circle is walked towards its smaller neighbour.

    Cost: one scan over the pairs that share a topic and parts of it again; memory proportional to
    the subscriptions.

    Examples
    --------
    >>> wants = {"a": "pq", "b": "rs", "c": "qr", "d": "sp"}
    >>> pairs = [(node, topic) for node, topics in wants.items() for topic in topics]
    >>> gswico_ring(Instance.from_pairs(pairs)).tolist()  # a, c, b, d
    [0, 2, 1, 3]

    """
    n = instance.n_nodes
    if n < 3:
        return np.arange(n, dtype=np.int32)
    ring: Ints = walk_circle(close_circle(n, circle_edges(instance, on_progress)))
    return ring


def random_ring(n: int, seed: int) -> Ints:
    """Return the ring of RandomS, section 5.1: a random order, every order equally likely.

    Nodes are sorted by number 0 of the stream of (seed, node).

    Examples
    --------
    >>> sorted(random_ring(6, seed=1).tolist())
    [0, 1, 2, 3, 4, 5]

    """
    return np.argsort(random_keys(n, seed), kind="stable").astype(np.int32)
