"""Random links within a budget: the yardstick that a method must beat.

RandomA and RandomM of Chen, Tock, Jacobsen (ICDCS 2016, section IX): pairs drawn uniformly, until
the budget of edges is used, or until no pair is left whose ends may take one more link.
"""

from __future__ import annotations

from meshwright.kernels.components import join_all, new_components
from meshwright.overlay.engine import NO_LIMIT, Edges
from meshwright.overlay.random_links_kernel import random_edges
from meshwright.values import Instance


def random_links(
    instance: Instance,
    *,
    max_edges: int | None = None,
    max_degree: int | None = None,
    seed: int = 1,
) -> Edges:
    """Return the links of `random-average` (with `max_edges`) or `random-max`."""
    n = instance.n_nodes
    most = n * (n - 1) // 2
    edges = random_edges(
        n,
        most if max_edges is None else min(most, max_edges),
        NO_LIMIT if max_degree is None else max_degree,
        seed,
    )
    components = new_components(instance.indptr, instance.topics, instance.n_topics)
    return edges, join_all(components, edges)
