"""How many messages and bytes per second cross each link, if messages travel over trees.

Each topic has the spanning tree that `simulate --routing tree` takes, and crosses a link only
towards a subscriber. The sums are exact: no publication is drawn. A publisher of a filter counts
at the filter's own tree, because nobody knows how its messages are spread over narrower topics.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from meshwright.model.overlay import Overlay
from meshwright.runtime.arrays import Floats, Ints
from meshwright.smallworld.routing.kernels import protocols as kernel
from meshwright.smallworld.routing.protocols import Direction, Match, tree_tables
from meshwright.storage.digest import pack

MOST_BUSIEST = 5  # links and nodes that are named


@dataclass(frozen=True, slots=True, eq=False)
class Traffic:
    """Messages and bytes per second over each link of an overlay, in both directions.

    Bytes count the publications whose size is known, and messages those whose rate is known;
    `n_unknown` are the publications of the workload without a rate.
    """

    edges: Ints  # [n_edges, 2]
    messages: Floats  # [n_edges, 2]: from u to v, from v to u
    bytes: Floats  # [n_edges, 2]
    topics: npt.NDArray[np.int64]  # [n_edges], that cross the link
    n_unknown: int

    def of_nodes(self, n_nodes: int) -> tuple[Floats, Floats]:
        """Return the messages and bytes per second that each node sends and receives over links."""
        ends = self.edges.ravel()
        messages, size = (
            np.bincount(ends, np.repeat(flow.sum(axis=1), 2), minlength=n_nodes)
            for flow in (self.messages, self.bytes)
        )
        return messages.astype(np.float64), size.astype(np.float64)


def traffic(overlay: Overlay) -> Traffic | None:
    """Return the traffic of an overlay, or None if no rate of its workload is known.

    Examples
    --------
    >>> from meshwright.model.instance import Instance
    >>> from meshwright.overlay import design
    >>> published = [("edge", "temp", 2.0, 100)]
    >>> wanted = [("cloud", "temp"), ("log", "temp")]
    >>> found = traffic(design(Instance.from_pairs(wanted, publications=published), "gm"))
    >>> found.messages.sum(), found.bytes.sum()
    (np.float64(4.0), np.float64(400.0))
    """
    instance = overlay.instance
    made = instance.publications
    known = ~np.isnan(made.rates)
    source = (instance.workload or instance).publications
    n_unknown = int(np.count_nonzero(np.isnan(source.rates)))
    if instance.wants is None or not known.any():
        return None
    trees = tree_tables(overlay, Direction.ONE, Match.FINGERS)
    pointers, nodes = trees.members.pointers, trees.members.nodes
    topics = np.repeat(np.arange(instance.n_topics, dtype=np.int32), np.diff(pointers))
    places = pack(topics, nodes)
    order = np.argsort(places)
    wanted = pack(made.topics[known], made.nodes[known])
    taking = np.isin(wanted, places)  # others publish what nobody wants
    at = order[np.searchsorted(places[order], wanted[taking])]
    rates, sizes = made.rates[known][taking], made.sizes[known][taking]
    inner = np.flatnonzero(trees.parent != kernel.NO_PARENT)
    parents = nodes[pointers[topics[inner]] + trees.parent[inner]]
    u, v = np.minimum(nodes[inner], parents), np.maximum(nodes[inner], parents)
    link = _places_of(overlay.edges, u, v)
    up = np.where(nodes[inner] == u, 0, 1)  # the column of the way to the parent
    crossed = np.zeros(len(inner), np.bool_)
    flows = []
    for values in (rates, rates * np.nan_to_num(sizes)):
        published = np.zeros(len(nodes))
        published[at] = values
        below, total = kernel.sum_subtrees(pointers, trees.parent, published)
        flow = np.zeros((overlay.n_edges, 2))
        up_flow = np.where(trees.beyond, below, 0.0)[inner]
        down_flow = np.where(trees.below, total - below, 0.0)[inner]
        np.add.at(flow, (link, up), up_flow)
        np.add.at(flow, (link, 1 - up), down_flow)
        crossed |= (up_flow > 0) | (down_flow > 0)
        flows.append(flow)
    n_topics = np.bincount(link[crossed], minlength=overlay.n_edges)
    return Traffic(overlay.edges, flows[0], flows[1], n_topics, n_unknown)


def traffic_facts(overlay: Overlay) -> dict[str, Any] | None:
    """Return the traffic in all, and the busiest links and nodes by messages per second.

    None if no rate is known.
    """
    found = traffic(overlay)
    if found is None:
        return None
    names = overlay.instance.node_names
    per_link, link_bytes = found.messages.sum(axis=1), found.bytes.sum(axis=1)
    per_node, node_bytes = found.of_nodes(overlay.instance.n_nodes)
    return {
        "n_unknown": found.n_unknown,
        "messages": float(per_link.sum()),
        "bytes": float(link_bytes.sum()),
        "links": [
            {
                "ends": [names[v] for v in found.edges[i].tolist()],
                "messages": float(per_link[i]),
                "bytes": float(link_bytes[i]),
                "topics": int(found.topics[i]),
            }
            for i in _busiest(per_link)
        ],
        "nodes": [
            {
                "node": names[v],
                "messages": float(per_node[v]),
                "bytes": float(node_bytes[v]),
            }
            for v in _busiest(per_node)
        ],
    }


def _busiest(flow: Floats) -> list[int]:
    """Return where most flows, MOST_BUSIEST places at most."""
    order = np.argsort(-flow, kind="stable")[:MOST_BUSIEST].tolist()
    return [i for i in order if flow[i] > 0]


def _places_of(edges: Ints, u: Ints, v: Ints) -> npt.NDArray[np.int64]:
    """Return the index of each link (u, v) among the edges."""
    packed = pack(edges[:, 0], edges[:, 1])
    order = np.argsort(packed)
    return order[np.searchsorted(packed[order], pack(u, v))]
