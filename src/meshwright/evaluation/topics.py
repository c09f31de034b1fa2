"""How each topic fares in an overlay: links inside, components, diameter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from meshwright.evaluation import topic_kernel as kernel
from meshwright.kernels.threads import in_parts
from meshwright.values import Overlay

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

EXACT_UP_TO = 20_000  # nodes of a component; above that its diameter might take too long
MOST_STEPS = 30_000_000_000  # of searches from every node, of which few are made: seconds


class SubOverlays(NamedTuple):
    """Who wants each topic, and which links each node has: all that sub-overlays are made of."""

    topic_ptr: Longs
    members: Ints
    owned_ptr: Longs  # a link belongs to the end that wants fewer topics
    owned: Ints


@dataclass(frozen=True, slots=True, eq=False)
class TopicRows:
    """One entry per topic. The diameter is the largest over the components; low = high if exact."""

    subscribers: Longs
    links: Longs
    components: Longs
    largest: Longs
    diameter_low: Longs
    diameter_high: Longs


def sub_overlays(
    nodes: Ints, topics: Ints, u: Ints, v: Ints, n_nodes: int, n_topics: int
) -> SubOverlays:
    """Return the sub-overlays of pairs (node, topic) and links (u, v)."""
    sizes = np.bincount(nodes, minlength=n_nodes)
    topic_ptr, members = kernel.by_key(topics, nodes, n_topics)
    owner, other = kernel.owners(u, v, sizes)
    return SubOverlays(topic_ptr, members, *kernel.by_key(owner, other, n_nodes))


def topic_costs(graph: SubOverlays) -> Longs:
    """Return for each topic how many subscribers, and links of theirs, are looked at."""
    costs: Longs = kernel.topic_costs(graph.topic_ptr, graph.members, graph.owned_ptr)
    return costs


def evaluated(graph: SubOverlays, exact: int, first: int, last: int) -> Longs:
    """Return of the topics first..last-1: components, largest, diameter at least and at most."""
    rows = np.zeros((last - first, 4), np.int64)
    kernel.evaluate_topics(*graph, exact, first, last, rows)
    return rows


def topic_rows(overlay: Overlay, most_steps: int = MOST_STEPS) -> TopicRows:
    """Return how each topic fares, from the edges alone.

    Diameters are exact up to `EXACT_UP_TO` subscribers, or fewer where a search from each of them
    would take more than `most_steps` in all; the others are bounded.
    """
    instance = overlay.instance
    n_nodes, n_topics = instance.n_nodes, instance.n_topics
    nodes = np.repeat(np.arange(n_nodes, dtype=np.int32), np.diff(instance.indptr))
    u, v = overlay.edges[:, 0].copy(), overlay.edges[:, 1].copy()
    graph = sub_overlays(nodes, instance.topics, u, v, n_nodes, n_topics)
    links = np.zeros(n_topics, np.int64)
    in_parts(lambda a, b: kernel.count_links(*graph, a, b, links), n_topics)
    sizes = np.diff(graph.topic_ptr)
    exact = exact_up_to(sizes, links, most_steps)
    rows = np.zeros((n_topics, 4), np.int64)
    in_parts(lambda a, b: kernel.evaluate_topics(*graph, exact, a, b, rows[a:b]), n_topics)
    return TopicRows(sizes, links, rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3])


def exact_up_to(sizes: Longs, links: Longs, most_steps: int) -> int:
    """Return the largest size of topics whose diameters can all be worked out.

    Examples
    --------
    >>> exact_up_to(np.array([2, 10, 100]), np.array([1, 9, 99]), 1000)
    99

    """
    order = np.argsort(sizes, kind="stable")
    steps = np.cumsum((sizes * (sizes + 2 * links)).astype(np.float64)[order])
    over = np.flatnonzero(steps > most_steps)
    if len(over) == 0:
        return EXACT_UP_TO
    return min(EXACT_UP_TO, int(sizes[order[over[0]]]) - 1)
