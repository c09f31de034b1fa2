"""Stars: every topic gets a centre that all its subscribers link to, so its diameter is 2.

Onus, Richa (ToN 2011), section VIII: CD-ODA picks in each round the node with most neighbours,
CD-ODA-I the one with most weighted neighbours, CD-ODA-II the one of greatest density, weighted
neighbours per neighbour; it is linked to all nodes that share an open topic with it, and its
topics are closed. A node is not its own neighbour, ties go to the smallest id, densities compare
as fractions, and rounds end when no topic with two subscribers is open.
"""

from functools import partial

import numpy as np

from meshwright.model.instance import Instance
from meshwright.model.kernels.components import join_all, new_components
from meshwright.overlay.greedy.rule import Edges
from meshwright.overlay.kernels import stars as kernel


def _stars(instance: Instance, rank: int) -> Edges:
    components = new_components(instance.indptr, instance.topics, instance.n_topics)
    most = instance.n_subscriptions - int(np.count_nonzero(components.open_count))
    edges = kernel.star_edges(components, rank, most)
    return edges, join_all(components, edges)


cd = partial(_stars, rank=kernel.NEIGHBOURS)  # CD-ODA: the node with most neighbours first
cd1 = partial(_stars, rank=kernel.WEIGHT)  # CD-ODA-I: most weighted neighbours
cd2 = partial(_stars, rank=kernel.DENSITY)  # CD-ODA-II: the greatest density
