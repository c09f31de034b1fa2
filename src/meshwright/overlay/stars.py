"""Stars: every topic gets a centre that all its subscribers link to, so its diameter is 2.

Onus, Richa (ToN 2011), section VIII: CD-ODA picks in each round the node with most neighbours,
CD-ODA-I the one with most weighted neighbours, CD-ODA-II the one of greatest density, weighted
neighbours per neighbour; it is linked to all nodes that share an open topic with it, and its
topics are closed. A node is not its own neighbour, ties go to the smallest id, densities compare
as fractions, and rounds end when no topic with two subscribers is open.
"""

from __future__ import annotations

import numpy as np

from meshwright.kernels.components import join_all, new_components
from meshwright.overlay import stars_kernel as kernel
from meshwright.overlay.engine import Edges
from meshwright.values import Instance

RANKS = {"cd": kernel.NEIGHBOURS, "cd1": kernel.WEIGHT, "cd2": kernel.DENSITY}


def stars(instance: Instance, *, method: str = "cd2") -> Edges:
    """Return the edges of `cd`, `cd1` or `cd2`."""
    components = new_components(instance.indptr, instance.topics, instance.n_topics)
    most = instance.n_subscriptions - int(np.count_nonzero(components.open_count))
    edges = kernel.star_edges(components, RANKS[method], most)
    return edges, join_all(components, edges)
