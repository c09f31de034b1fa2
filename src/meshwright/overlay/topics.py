"""Evaluate each topic's sub-overlay: links inside, components, diameter."""

from dataclasses import dataclass

import numpy as np

from meshwright.model.instance import Instance
from meshwright.model.kernels.graphs import group_by_key
from meshwright.model.overlay import Overlay
from meshwright.overlay.kernels import topics as kernel
from meshwright.overlay.kernels.topics import SubOverlays
from meshwright.runtime.arrays import Bools, Ints, Longs
from meshwright.runtime.threads import in_parts

EXACT_UP_TO = 20_000  # nodes of a component; above that its diameter might take too long
MOST_STEPS = 30_000_000_000  # of searches from every node, of which few are made: seconds


@dataclass(frozen=True, slots=True, eq=False)
class TopicRows:
    """One entry per topic. The diameter is the largest over the components; low = high if exact."""

    subscribers: Longs
    links: Longs
    components: Longs
    largest: Longs
    diameter_low: Longs
    diameter_high: Longs


def sub_overlays(instance: Instance, carries: Bools | None, u: Ints, v: Ints) -> SubOverlays:
    """Return the sub-overlays of an instance and links (u, v); `carries` None: all carry."""
    n_nodes, n_topics = instance.n_nodes, instance.n_topics
    sizes = np.diff(instance.indptr)
    u_owns = sizes[u] <= sizes[v]
    owner, other = np.where(u_owns, u, v), np.where(u_owns, v, u)
    pointers, members = group_by_key(instance.topics, instance.nodes, n_topics)
    carrying = np.ones(len(members), np.bool_)
    if carries is not None:
        carrying = group_by_key(instance.topics, carries.astype(np.int32), n_topics)[1] > 0
    return SubOverlays(pointers, members, carrying, *group_by_key(owner, other, n_nodes))


def evaluate_range(graph: SubOverlays, first: int, last: int, exact: int = EXACT_UP_TO) -> Longs:
    """Return the components, largest, diameter at least and at most of the topics first..last-1."""
    rows = np.zeros((last - first, kernel.N_COLUMNS), np.int64)
    kernel.evaluate_topics(graph, exact, first, last, rows)
    return rows


def topic_rows(overlay: Overlay, most_steps: int = MOST_STEPS) -> TopicRows:
    """Return the evaluation of each topic, from the edges alone.

    Diameters are exact up to `EXACT_UP_TO` subscribers, or fewer where a search from each of them
    would take more than `most_steps` in all; the others are bounded.
    """
    n_topics = overlay.instance.n_topics
    u, v = overlay.edges.T
    graph = sub_overlays(overlay.instance, overlay.carries, u, v)
    links = np.zeros(n_topics, np.int64)
    in_parts(lambda first, last: kernel.count_links(graph, first, last, links), n_topics)
    sizes = np.diff(graph.topic_ptr)
    exact = exact_up_to(sizes, links, most_steps)
    rows = np.zeros((n_topics, kernel.N_COLUMNS), np.int64)

    def evaluate(first: int, last: int) -> None:
        rows[first:last] = evaluate_range(graph, first, last, exact)

    in_parts(evaluate, n_topics)
    return TopicRows(sizes, links, *rows.T)


def exact_up_to(sizes: Longs, links: Longs, most_steps: int) -> int:
    """Return the largest size of topics whose diameters can all be computed.

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
