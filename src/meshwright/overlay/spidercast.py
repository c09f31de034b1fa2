"""SpiderCast: each node looks for a few neighbours that cover its topics, as peers would.

Chockler, Melamed, Tock, Vitenberg, "SpiderCast", DEBS 2007, with the degree limit of Chen, Tock,
Jacobsen (ICDCS 2016, section IX: SpiderCastM). In rounds, in id order, each node that is not full
adds one link: while a topic of it is covered by fewer than `k_greedy` neighbours, to the node that
covers most of these; then up to `k_greedy + k_random`, to one drawn among those that cover one.
"""

from __future__ import annotations

from meshwright.kernels.bits import new_words, set_bits
from meshwright.kernels.components import join_all, new_components
from meshwright.overlay.engine import NO_LIMIT, Edges
from meshwright.overlay.spidercast_kernel import spidercast_edges
from meshwright.values import Instance


def spidercast(
    instance: Instance,
    *,
    max_degree: int | None = None,
    max_edges: int | None = None,
    k_greedy: int = 3,
    k_random: int = 1,
    seed: int = 1,
) -> Edges:
    """Return the links of SpiderCast, limited when `max_degree` is given."""
    components = new_components(instance.indptr, instance.topics, instance.n_topics)
    wants = new_words(instance.n_nodes, instance.n_topics, instance.n_subscriptions)
    set_bits(wants, instance.indptr, instance.topics)
    edges = spidercast_edges(
        components,
        wants,
        NO_LIMIT if max_degree is None else max_degree,
        -1 if max_edges is None else max_edges,
        k_greedy,
        k_random,
        seed,
    )
    return edges, join_all(components, edges)
