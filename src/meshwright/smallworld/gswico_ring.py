"""GSwicoS: the ring by greedy gain.

Chen, Tock, Girdzijauskas, "BeaConvey" (DEBS 2018), Alg. 1. Each edge is the best among those that
can still end in one circle through all nodes: no node gets three links, and no path is closed
before all nodes are on it. Two nodes of different paths have no topic joined yet, so the gain of
such an edge is the common interest of its ends, from first to last.

The paper leaves three points open. Ties are settled as everywhere here: the lower of the larger
degrees, then smaller ids. When no edge gains any more, the remaining paths are joined end to end,
the smallest pair first (the interests of their ends have nothing in common). Position 0 is node
0, and the circle is walked towards its smaller neighbour.
"""

from __future__ import annotations

import numpy as np

from meshwright.overlay.engine import Tell
from meshwright.smallworld.circle_kernel import close_circle, walk_circle
from meshwright.smallworld.greedy import circle_edges
from meshwright.smallworld.world import Ints
from meshwright.values import Instance


def gswico_ring(instance: Instance, tell: Tell | None = None) -> Ints:
    """Return the node at each position.

    Cost: one scan over the pairs that share a topic and parts of it again, time; memory in the
    order of the subscriptions. See Also: gswico_fingers, for the fingers of it.

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
    edges = circle_edges(instance, tell)
    ring: Ints = walk_circle(close_circle(n, edges))
    return ring
