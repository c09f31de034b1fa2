"""SpiderCast: each node looks for a few neighbours that cover its topics, as peers would.

Chockler, Melamed, Tock, Vitenberg, "SpiderCast", DEBS 2007, with the degree limit of Chen, Tock,
Jacobsen (ICDCS 2016, section IX: SpiderCastM). In rounds, in id order, each node that is not full
adds one link: while a topic of it is covered by fewer than `k_greedy` neighbours, to the node that
covers most of these; then up to `k_greedy + k_random`, to one drawn among those that cover one.

Paper 1 lets each node look for neighbours "until the node degree reaches the given maximum". We
take that as a limit: a node whose topics are covered stops (`until` ``covered``). With ``full`` it
goes on, drawing among the nodes that share a topic, until it has `max_degree` links.
"""

import numpy as np

from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.model.kernels.components import join_all, new_components
from meshwright.overlay.greedy.kernels.run import NO_LIMIT
from meshwright.overlay.greedy.rule import Edges
from meshwright.overlay.kernels.spidercast import Coverage, Limits, spidercast_edges


def spidercast(
    instance: Instance,
    *,
    max_degree: int | None = None,
    max_edges: int | None = None,
    k_greedy: int = 3,
    k_random: int = 1,
    until: str = "covered",
    seed: int = 1,
) -> Edges:
    """Return the links of SpiderCast, limited when `max_degree` is given."""
    if until == "full":
        if max_degree is None:
            raise InputError("until 'full' needs max_degree (--max-degree).")
        k_random = NO_LIMIT - k_greedy  # no topic is ever covered often enough
    n = instance.n_nodes
    components = new_components(instance.indptr, instance.topics, instance.n_topics)
    counts, touched = np.zeros((2, n), np.int32)
    coverage = Coverage(np.zeros(instance.n_subscriptions, np.int32), counts, touched)
    max_degree = NO_LIMIT if max_degree is None else max_degree
    limits = Limits(max_degree, -1 if max_edges is None else max_edges, k_greedy, k_random)
    edges = spidercast_edges(components, coverage, limits, seed)
    return edges, join_all(components, edges)
